"""A session for commands, and the errors of Spark that are the user's to mend."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkRuntimeError
from pyspark.sql import SparkSession

from chromatic.errors import InputError
from chromatic.spark.frames import errors_of_workers


@contextlib.contextmanager
def session(master: str | None) -> Iterator[SparkSession]:
    """The session that is there, else one on this master that ends with the block.

    Without a master, Spark's own configuration says where it runs, as with spark-submit.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    there = SparkSession.getActiveSession()
    builder = SparkSession.builder.appName("chromatic")
    if master is not None:
        builder = builder.master(master)
    try:
        opened = there or builder.getOrCreate()
    except (PySparkRuntimeError, FileNotFoundError) as error:
        raise InputError(f"Spark did not start ({_line(error)}); expected Java 17 or later here") from error
    try:
        if there is None:
            opened.sparkContext.setLogLevel("OFF")  # an error is told once, by the exception
        with errors_of_workers():
            yield opened
    except AnalysisException as error:
        if error.getCondition() == "UNABLE_TO_INFER_SCHEMA":
            told = "there is no Parquet with rows at the path"
            raise InputError(f"{told}; expected Parquet, as chromatic convert writes it") from error
        raise InputError(f"{_line(error)}; check the paths and columns") from error
    except Py4JJavaError as error:
        unread = re.search(
            r"\[FAILED_READ_FILE\S*\] Encountered error while reading file (\S+?)\.?\s", str(error)
        )
        if unread is None:
            raise
        raise InputError(
            f"{unread[1]}: is no whole Parquet file; expected Parquet, as chromatic convert writes it, or "
            "--engine local"
        ) from error
    finally:
        if there is None:
            opened.stop()


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
