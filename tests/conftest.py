import gc
import os
import shutil
from pathlib import Path

import pytest
from clicks import make_clicks
from hypothesis import HealthCheck, settings
from skips import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]  # a hook

settings.register_profile(
    "default", max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("short", settings.get_profile("default"), max_examples=40)
settings.register_profile("quick", settings.get_profile("default"), max_examples=10)
settings.register_profile("long", settings.get_profile("default"), max_examples=5000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

CLUSTER = {
    "spark.locality.wait": "0",  # an idle executor need not wait for rows of its own
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "2",  # a task that fails starts a Python worker each time
}
REAL_DATA = Path(__file__).parents[2] / "shared" / "data"


def real_data(name: str) -> Path:
    if not (REAL_DATA / name).exists():
        pytest.skip(f"the data set {name} is not on this machine")
    return REAL_DATA / name


@pytest.fixture(scope="session")
def java() -> None:
    """Skip where Spark has no Java to run on."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java on this machine")
    # Jobs of seconds do not repay what a JVM compiles for hours of work: a third of the time goes.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark(java):
    """One cluster for all tests: two executors of one core and 2 GB, in processes of their own.

    It is that of the benchmark. A test that needs another one starts it in another process.
    """
    from chromatic.lab.benchmarks.spark import started

    with started(CLUSTER) as session:
        yield session


def pytest_collection_modifyitems(items) -> None:
    """The tests of the cluster run in one process."""
    for item in items:
        if "java" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))


def pytest_collection_finish() -> None:
    """What all modules hold need not be walked through whenever a test collects its garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def npm() -> Path:
    return real_data("npm")


@pytest.fixture(scope="session")
def debian_survival() -> Path:
    return real_data("debian_survival")


@pytest.fixture
def within_memory(tmp_path) -> dict[str, str]:
    """Settings for rows on disk. The limit is of the whole process, which may hold much else here."""
    return {"memory": "64G", "cache": str(tmp_path / "cache")}


@pytest.fixture(scope="module")
def clicks():
    """Rows of four fields as tokens; the label depends on two of them."""
    return make_clicks()
