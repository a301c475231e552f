"""What holds when processes die: an executor in the middle of a fit, or the driver."""

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spark_rows import bytes_of, frame_of, some_rows

from chromatic import ChromaticEncoder

pytestmark = pytest.mark.xdist_group("spark")  # one cluster for all

HALF_WRITTEN = """
import sys
from chromatic.spark.files import replacing
from chromatic.spark.session import session

with session("local") as opened, replacing(opened, sys.argv[1], overwrite=False) as beside:
    opened.range(3).write.parquet(beside)
    print("half", flush=True)
    sys.stdin.read()
"""


class Killer(logging.Handler):
    """Kills an executor when the log says some words, once."""

    def __init__(self, spark, words):
        super().__init__(logging.INFO)
        self.spark, self.words, self.killed = spark, words, []

    def emit(self, record):
        if self.words in record.getMessage() and not self.killed:
            executor = self.spark.sparkContext.parallelize([0], 1).map(executor_of).first()
            os.kill(executor, signal.SIGKILL)
            self.killed.append(executor)


def executor_of(_):
    """The process of the JVM that started this Python worker."""
    with open(f"/proc/{os.getppid()}/stat") as daemon:
        return int(daemon.read().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    "words",
    ["of which", "colored by the rows", "colors: "],
    ids=["rows are coded next", "executors hold the coded rows", "labels are counted next"],
)
def test_an_executor_that_dies_in_the_middle_changes_nothing(spark, tmp_path, words):
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows()
    frame = frame_of(spark, rows, labels, "array<long>")
    log, killer = logging.getLogger("chromatic"), Killer(spark, words)
    level = log.level
    log.addHandler(killer)
    log.setLevel(logging.INFO)
    try:
        model = ChromaticEstimator(budget=64, linear=0).fit(frame)
    finally:
        log.removeHandler(killer)
        log.setLevel(level)
    assert len(killer.killed) == 1
    local = ChromaticEncoder(64, linear=0).fit(rows, labels)
    assert bytes_of(model.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)


def kill_after(process, stream, words):
    """Kill a driver when it has said some words, and wait until its JVM has ended."""
    said = []
    for line in stream:
        said.append(line)
        if words in line:
            break
    else:
        raise AssertionError("".join(said))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.kill()
    process.wait()
    while any(is_running(child) for child in children):
        time.sleep(0.1)


def is_running(process):
    """Whether a process has not ended; what has no parent to ask for it stays as a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_driver_that_is_killed_in_the_middle_of_a_fit_leaves_nothing(spark, tmp_path):
    rows, labels = some_rows()
    frame_of(spark, rows, labels, "array<long>").write.parquet(f"{tmp_path}/train")
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-m", "chromatic.cli.main", "-v", "fit", f"{tmp_path}/train"]
    command += ["-o", f"{out}/model.chroma", "--encoded", f"{out}/encoded", "--linear", "0"]
    command += ["--engine", "spark", "--master", "local-cluster[2,1,1024]"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as driver:
        kill_after(driver, driver.stderr, "colored by the rows")
    assert os.listdir(out) == []


def test_a_driver_that_is_killed_while_it_writes_leaves_nothing(java, tmp_path):
    command = [sys.executable, "-c", HALF_WRITTEN, f"{tmp_path}/encoded"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as driver:
        kill_after(driver, driver.stdout, "half")
    assert os.listdir(tmp_path) == []
