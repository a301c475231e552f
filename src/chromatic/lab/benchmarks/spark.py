"""The fit on Spark against the local fit, on a local cluster of two executors of one core and 1 GB each.

The start of the cluster and its first fit are not timed.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chromatic.data import Reader
from chromatic.data.writers import write
from chromatic.encoder import ChromaticEncoder
from chromatic.lab.benchmarks.data import Files
from chromatic.lab.benchmarks.measure import Say, machine
from chromatic.learn.results import Record
from chromatic.spark import check_installed

QUARTERS = (1, 2, 3, 4)
PARTITIONS = 6
THREADS = 2  # of the local fit: as many as the cluster has cores


def run(files: Files, say: Say) -> list[Record]:
    """Fit a quarter, a half, three quarters and all of the rows on Spark, and all of them locally."""
    check_installed()
    from chromatic.spark import ChromaticEstimator

    path = os.path.join(files.folder, "all.parquet")
    write(Reader().batches(files.train), path, "parquet", THREADS)
    with started() as session:
        frames = _frames(session, path, files.folder)
        ChromaticEstimator().fit(frames[4])  # warms the workers
        fits = {quarter: _timed(ChromaticEstimator().fit, frames[quarter]) for quarter in QUARTERS}
        local, encoder = min((_timed(_fit_locally, path) for _ in range(2)), key=lambda timed: timed[0])
        worker = _largest_worker_mb()
    seconds = {quarter: timed for quarter, (timed, _) in fits.items()}
    ratio, growth = seconds[4] / local, seconds[4] / seconds[1]
    same = bool((fits[4][1].encoding_.columns == encoder.encoding_.columns).all())
    for what, measured, wanted in (
        (f"{files.size.rows:,} rows, the local fit with reading", f"{local:.2f} s", ""),
        *((f"Spark, {quarter}/4 of the rows", f"{seconds[quarter]:.2f} s", "") for quarter in QUARTERS),
        ("Spark against local", f"{ratio:.1f}x", "<= 15x"),
        ("Spark, 4/4 against 1/4 of the rows", f"{growth:.1f}x", "<= 4x"),
        ("the largest Python worker", f"{worker:.0f} MB", ""),
        ("the same columns", "yes" if same else "no", "yes"),
    ):
        say(f"{what:<66}{measured:>12}   {wanted}".rstrip())
    facts = {"benchmark": "spark", **machine(), "rows": files.size.rows}
    return [
        {**facts, "what": "local", "seconds": local},
        *(
            {**facts, "what": f"Spark, {quarter}/4", "seconds": seconds[quarter], "worker_mb": worker}
            for quarter in QUARTERS
        ),
    ]


@contextlib.contextmanager
def started(settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """The session that is there, else one on a local cluster that ends with the block."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    there = SparkSession.getActiveSession()
    session = there or (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "1g")
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


def _frames(session: Any, path: str, folder: str) -> dict[int, Any]:
    """Return one to four quarters of the rows as frames."""
    whole = session.read.parquet(path)
    n_rows = whole.count()
    frames = {}
    for quarter in QUARTERS:
        part = os.path.join(folder, f"{quarter}-quarters.parquet")
        whole.limit(n_rows * quarter // 4).repartition(PARTITIONS).write.parquet(part)
        frames[quarter] = session.read.parquet(part)
    return frames


def _timed(function: Callable[[Any], Any], argument: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and what it returned."""
    start = time.perf_counter()
    result = function(argument)
    return time.perf_counter() - start, result


def _fit_locally(path: str) -> ChromaticEncoder:
    return ChromaticEncoder(n_jobs=THREADS).fit(path)


def _largest_worker_mb() -> float:
    """The memory of the largest Python worker that the executors have."""
    listed = subprocess.run(["ps", "-eo", "rss,args"], capture_output=True, text=True, check=True).stdout
    sizes = [int(line.split()[0]) for line in listed.splitlines() if "pyspark.daemon" in line]
    return max(sizes, default=0) / 1024
