"""Commands that are killed, interrupted, or run out of disk or memory leave nothing half done.

`KILLS` in the environment says how many processes are killed in all; `make soak` kills two hundred.
"""

import contextlib
import os
import random
import resource
import shutil
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from moments import at, calls_of

from chromatic._files import replacing
from chromatic.data import Reader
from chromatic.errors import InputError

KILLS = int(os.environ.get("KILLS", "5"))
COMMAND = [sys.executable, "-c", "from chromatic.cli import run; run()"]
PATIENCE = 900  # seconds, on a machine that is busy
OLD = b"what was there before"
LOW_MEMORY = "memory ran out; give the process more, or let it work from disk with --memory"


def start(args, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *map(str, args)], **pipes | options)


def run(*args, **options):
    process = start(args, **options)
    out, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, out, errors.decode()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    draw = np.random.default_rng(0)
    features = np.concatenate(
        (draw.integers(40, size=(30_000, 1)), draw.integers(40, 4000, (30_000, 9))), axis=1
    )
    with open(path, "w") as file:
        for row in features.tolist():
            words = " ".join(f"{feature}:1" for feature in sorted(set(row)))
            file.write(f"{int(row[0] % 3 == 0)} {words}\n")
    return path


@pytest.fixture(scope="module")
def model(rows):
    path = rows.parent / "model.chroma"
    code, output, told = run("fit", rows, f"-o{path}", "--budget=64", "--keep-statistics")
    assert (code, output) == (0, b"") and "kB of the model are statistics" in told
    return path


def command_of(name, rows, model, folder):
    """A command, and the files that it writes."""
    files = {
        "fit": "m.chroma",
        "fit from disk": "m.chroma",
        "update": "m.chroma",
        "transform": "columns.svm",
        "convert": "rows.parquet",
        "evaluate": "grid.parquet",
    }
    out = folder / files.get(name, "table-graph.md")
    fit_from_disk = ["fit", rows, "-o", out, "--budget", 64, "--memory", "1G"]
    commands = {
        "fit": ["fit", rows, "-o", out, "--budget", 64],
        "update": ["update", model, rows, "-o", out],
        "fit from disk": [*fit_from_disk, "--cache", folder / "cache"],
        "transform": ["transform", model, rows, "-o", out],
        "convert": ["convert", rows, "-o", out],
        "evaluate": [
            "evaluate",
            rows,
            rows,
            "--encoder",
            "ft",
            "--encoder",
            "ht",
            "--learner",
            "lr",
            "--out",
            out,
        ],
        "reproduce": ["reproduce", "table-graph", "--train", rows, "--test", rows, "--out", folder],
    }
    return commands[name], out


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def kill_sometime(args, folder, draw, calls):
    """Kill a command at any moment of its work, or as soon as a file is being written."""
    if draw.random() < 0.5:
        at(draw.randrange(1, calls), "SIGKILL", args)
        return
    process = start(args)
    while process.poll() is None and not parts(folder):
        time.sleep(0.001)
    process.kill()
    process.communicate()


@pytest.mark.parametrize(
    "name", ["fit", "fit from disk", "update", "transform", "convert", "evaluate", "reproduce"]
)
def test_a_killed_command_leaves_the_old_file_or_the_whole_new_one(name, rows, model, tmp_path):
    draw = random.Random(name)
    args, out = command_of(name, rows, model, tmp_path)
    calls = calls_of(args)
    whole = out.read_bytes()
    keeps_results = name in ("evaluate", "reproduce")
    for _ in range(max(1, KILLS // 5)):
        for path in tmp_path.iterdir():
            if keeps_results and not path.name.startswith("."):
                path.unlink()
        if not keeps_results:
            out.write_bytes(OLD)
        if draw.random() < 0.7:
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        kill_sometime(args, tmp_path, draw, calls)
        if not keeps_results:
            assert out.read_bytes() in (OLD, whole)
        for path in tmp_path.glob("*.parquet"):
            if path.read_bytes() != OLD:
                pq.read_table(path)
    assert run(*args)[0] == 0
    assert list(tmp_path.rglob("*.part")) == []
    assert out.read_bytes() == whole or name == "evaluate"


def test_leftovers_of_killed_writers_are_removed_and_files_being_written_are_not(tmp_path):
    (tmp_path / ".x.svm.dead.part").write_bytes(b"half")
    (tmp_path / ".other.svm.dead.part").write_bytes(b"half")
    with replacing(tmp_path / "x.svm") as first:
        first.write(b"first")
        with replacing(tmp_path / "x.svm") as second:
            second.write(b"second")
        assert (tmp_path / "x.svm").read_bytes() == b"second"
    assert (tmp_path / "x.svm").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == [".other.svm.dead.part", "x.svm"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_broken_pipe_is_the_exit_code_of_other_tools(rows, unbuffered):
    script = '"$@" | head -1; echo "${PIPESTATUS[0]}"'
    command = ["bash", "-c", script, "bash", *COMMAND, "convert", str(rows), "-o", "-", "--to", "svmlight"]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, env=environment)
    assert done.stdout.splitlines()[1:] == [b"141"] and done.stderr == b""


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 300 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True
    ).returncode:
        pytest.skip("only root may mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("name", ["transform", "convert", "reproduce", "fit from disk"])
def test_a_full_disk_is_one_line_and_leaves_nothing(name, rows, model, small_disk):
    with open(small_disk / "filler", "wb") as file, contextlib.suppress(OSError):
        file.write(bytes(304_000 if name == "reproduce" else 1000))
    args, out = command_of(name, rows, model, small_disk)
    code, _, errors = run(*args)
    assert (code, errors.count("\n")) == (1, 1) and "No space left on device" in errors
    assert str(small_disk) in errors, "the file is named"
    assert not out.exists() and parts(small_disk) == []


def test_a_disk_that_may_not_be_written_is_one_line(rows, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    code, _, errors = run("convert", rows, "-o", small_disk / "x.svm")
    assert (code, errors.count("\n")) == (1, 1) and "Read-only file system" in errors


@pytest.mark.parametrize("suffix", ["svm", "parquet", "svm.gz", "npz"])
def test_a_file_that_shrinks_while_it_is_read_is_no_crash(rows, tmp_path, suffix):
    path = tmp_path / f"rows.{suffix}"
    assert run("convert", *[rows] * 6, "-o", path)[0] == 0
    size = path.stat().st_size

    def shrink(count):
        os.truncate(path, size // 3)

    try:
        read = sum(batch.n_rows for batch in Reader(progress=shrink).batches(path))
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert suffix == "svm" and 0 < read < 180_000


def test_too_little_memory_is_one_line_that_names_the_way_out(rows, tmp_path):
    limit = 450 << 20
    long = tmp_path / "long.svm"
    long.write_bytes(rows.read_bytes() * 30)
    code, _, errors = run(
        *("fit", long, "-o", tmp_path / "m.chroma", "--threads", 1),
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert (code, errors) == (1, f"chromatic: {LOW_MEMORY}\n")


def test_a_command_ends_with_one_line_wherever_memory_runs_out(rows, tmp_path):
    """The limits go from what Python itself takes to more than enough, by the need of a free run."""
    fit = ["fit", rows, "-o", tmp_path / "m.chroma", "--threads", 2]
    script = (
        "import sys\nfrom chromatic.cli import run\ntry:\n    run()\nfinally:\n"
        "    print(*(line.split()[1] for line in open('/proc/self/status') if 'VmPeak' in line))"
    )
    free = subprocess.run([sys.executable, "-c", script, *map(str, fit)], capture_output=True, timeout=300)
    need = int(free.stdout) << 10
    outcomes = set()
    for percent in range(60, 105, 3):
        limit = need * percent // 100
        outcomes.add(run(*fit, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))))  # noqa: B023
    assert outcomes == {(0, b"", ""), (1, b"", f"chromatic: {LOW_MEMORY}\n")}
