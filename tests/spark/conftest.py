import os
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def spark(java):
    """A cluster of two workers with an executor each, of one core and 1 GB, in processes of their own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pyspark
    from pyspark.sql import SparkSession

    assert pyspark.__version__ >= "4"
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.locality.wait", "0")  # an idle executor need not wait for rows of its own
        .config("spark.executor.memory", "1g")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join([str(SOURCES), *sys.path]))
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
