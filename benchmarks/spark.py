"""The fit on Spark against the local fit, on a local cluster: python benchmarks/spark.py [FILE].

FILE is svmlight text with labels, as npm's; without it, the package names that come with the project. The
cluster has two executors of one core and 1 GB each; its start and its first fit are not timed.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import numpy as np
from measure import table

from chromatic.data import Reader
from chromatic.data.writers import write
from chromatic.encoding.fitting import Settings, as_zero_and_one, fit
from chromatic.lab.datasets.npm import load_npm_names
from chromatic.spark import ChromaticEstimator

QUARTERS = 1, 2, 3, 4
PARTITIONS = 6


def started():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "1g")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path))
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.files.maxPartitionBytes", 4 << 20)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def batches_of(arguments):
    if arguments:
        return Reader().batches(arguments[0])
    train, _ = load_npm_names()
    [batch] = Reader().batches(train.rows)
    return [replace(batch, labels=np.array(train.labels, float))]


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def fit_locally(path):
    data = Reader().read(path)
    return fit(data, as_zero_and_one(data.rows.labels), Settings(), 2).encoding


def largest_worker_mb():
    """The memory of the largest Python worker that the executors have."""
    listed = subprocess.run(["ps", "-eo", "rss,args"], capture_output=True, text=True, check=True).stdout
    sizes = [int(line.split()[0]) for line in listed.splitlines() if "pyspark.daemon" in line]
    return max(sizes) / 1024


def main(arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/all.parquet"
        write(batches_of(arguments), path, "parquet", 2)
        session = started()
        whole = session.read.parquet(path)
        n_rows = whole.count()
        frames = {}
        for quarter in QUARTERS:
            part = whole.limit(n_rows * quarter // 4).repartition(PARTITIONS)
            part.write.parquet(f"{folder}/{quarter}")
            frames[quarter] = session.read.parquet(f"{folder}/{quarter}")
        ChromaticEstimator().fit(frames[4])  # warms the workers
        seconds = {}
        for quarter in QUARTERS[:-1]:
            seconds[quarter], _ = timed(lambda: ChromaticEstimator().fit(frames[quarter]))  # noqa: B023
        local, encoding = timed(lambda: fit_locally(path))
        local = min(local, timed(lambda: fit_locally(path))[0])
        seconds[4], model = timed(lambda: ChromaticEstimator().fit(frames[4]))
        same = (model.encoding_.columns == encoding.columns).all()
        worker = largest_worker_mb()
        session.stop()
    rows = [(f"{n_rows:,} rows, the local fit with reading", f"{local:.2f} s", "")]
    for quarter in QUARTERS:
        rows.append((f"Spark, {quarter}/4 of the rows", f"{seconds[quarter]:.2f} s", ""))
    rows.append(("Spark against local", f"{seconds[4] / local:.1f}×", "<= 15×"))
    rows.append(("Spark, 4/4 against 1/4 of the rows", f"{seconds[4] / seconds[1]:.1f}×", "<= 4×"))
    rows.append(("the largest Python worker", f"{worker:.0f} MB", ""))
    rows.append(("the same columns", str(bool(same)), "True"))
    table(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
