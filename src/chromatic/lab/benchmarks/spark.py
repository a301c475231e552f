"""The fit on Spark against the local fit, on a local cluster of two executors of one core and 2 GB each.

Both read the same Parquet files, and make no linear columns. The start of the cluster and its first fit are
not timed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from chromatic._files import peak_memory
from chromatic.data import Reader
from chromatic.data.writers import write
from chromatic.encoder import ChromaticEncoder
from chromatic.lab.benchmarks.data import Files
from chromatic.lab.benchmarks.measure import Say, machine
from chromatic.learn.results import Record
from chromatic.spark import check_installed

QUARTERS = 4
THREADS = 2  # of the local fit: as many as the cluster has cores
STAGES = {  # by the line of the log that ends each
    "vocabulary": "features counted",
    "colors": "rows coded and colored",
    "columns": "labels counted, columns made",
}


def run(files: Files, say: Say) -> list[Record]:
    """Fit a quarter and all of the rows on Spark, and all of them locally."""
    check_installed()
    from chromatic.spark import ChromaticEstimator

    paths, fit = _write_quarters(files), ChromaticEstimator(linear=0).fit
    with started() as session:
        frame = session.read.parquet(*paths)
        fit(session.read.parquet(paths[0]))  # warms the workers
        quarter = timed(fit, session.read.parquet(paths[0]))
        spark, worker = timed(fit, frame), _largest_worker_mb()
        driver = peak_memory() / 2**20
    local = timed(ChromaticEncoder(linear=0, n_jobs=THREADS).fit, paths)
    columns = [one.result.encoding_.columns for one in (spark, local)]
    for what, measured, wanted in (
        (f"{files.size.rows:,} rows, the local fit with reading", f"{local.seconds:.2f} s", ""),
        ("Spark, 1/4 of the rows", f"{quarter.seconds:.2f} s", ""),
        ("Spark, 4/4 of the rows", f"{spark.seconds:.2f} s", ""),
        ("Spark against local", f"{spark.seconds / local.seconds:.1f}x", "<= 8x"),
        *(
            (f"  {stage}", f"{spark.stages[stage]:.2f} s", f"local {local.stages[stage]:.2f} s")
            for stage in STAGES.values()
        ),
        ("Spark, 4/4 against 1/4 of the rows", f"{spark.seconds / quarter.seconds:.1f}x", "<= 4x"),
        ("the largest Python worker", f"{worker:.0f} MB", "<= 600 MB"),
        ("the driver's Python, at most", f"{driver:.0f} MB", "<= 2048 MB"),
        ("the same columns", "yes" if np.array_equal(*columns) else "no", "yes"),
    ):
        say(f"{what:<66}{measured:>12}   {wanted}".rstrip())
    facts = {"benchmark": "spark", **machine(), "rows": files.size.rows}
    of_spark = {"worker_mb": worker, "driver_mb": driver}
    return [
        {**facts, "what": "local", "seconds": local.seconds, **local.stages},
        {**facts, "what": "Spark, 1/4", "seconds": quarter.seconds, **quarter.stages, **of_spark},
        {**facts, "what": "Spark, 4/4", "seconds": spark.seconds, **spark.stages, **of_spark},
    ]


class Timed(NamedTuple):
    """The seconds of a fit, those of its stages, and what it returned."""

    seconds: float
    stages: dict[str, float]
    result: Any


class _Watch(logging.Handler):
    """Notes when the log says that a stage has ended."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.last, self.stages = time.perf_counter(), dict.fromkeys(STAGES.values(), 0.0)

    def emit(self, record: logging.LogRecord) -> None:
        stage = STAGES.get(str(record.msg).partition(":")[0])
        if stage is not None:
            now = time.perf_counter()
            self.stages[stage] += now - self.last
            self.last = now


def timed(fit: Callable[[Any], Any], rows: Any) -> Timed:
    """Fit, and take the time of each stage."""
    log, watch = logging.getLogger("chromatic"), _Watch()
    before = log.level, log.propagate
    log.addHandler(watch)
    log.setLevel(logging.INFO)
    log.propagate = False  # what the watch needs to hear, nobody needs to read
    try:
        start = time.perf_counter()
        result = fit(rows)
        return Timed(time.perf_counter() - start, watch.stages, result)
    finally:
        log.removeHandler(watch)
        log.level, log.propagate = before


def _write_quarters(files: Files) -> list[str]:
    """Write the rows to Parquet files of a quarter each."""
    batches = Reader().batches(files.train)
    ends = np.cumsum([batch.n_rows for batch in batches])
    paths = [os.path.join(files.folder, f"quarter-{i}.parquet") for i in range(QUARTERS)]
    for i, path in enumerate(paths):
        low, high = (files.size.rows * j // QUARTERS for j in (i, i + 1))
        parts = []
        for batch, end in zip(batches, ends.tolist(), strict=True):
            rows = np.arange(end - batch.n_rows, end)
            inside = (rows >= low) & (rows < high)
            if inside.any():
                parts.append(batch.take(inside))
        write(parts, path, "parquet", THREADS)
    return paths


@contextlib.contextmanager
def started(settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """The session that is there, else one on a local cluster that ends with the block."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    there = SparkSession.getActiveSession()
    session = there or (
        SparkSession.builder.master("local-cluster[2,1,2048]")
        .config("spark.executor.memory", "2g")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.files.maxPartitionBytes", 4 << 20)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config(map=dict(settings or {}))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        if there is None:
            session.stop()


def _largest_worker_mb() -> float:
    """The memory of the largest Python worker that the executors have."""
    listed = subprocess.run(["ps", "-eo", "rss,args"], capture_output=True, text=True, check=True).stdout
    sizes = [int(line.split()[0]) for line in listed.splitlines() if "pyspark.daemon" in line]
    return max(sizes, default=0) / 1024
