"""Parquet in, Parquet and model files out: what the commands do on Spark."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame, SparkSession

from chromatic.parameters import Settings
from chromatic.spark.estimator import ChromaticEstimator, ChromaticModel, params_of
from chromatic.spark.files import check_target, replacing
from chromatic.spark.session import session

log = logging.getLogger("chromatic")

OUTPUT = "columns"


def fit(
    train: list[str],
    output: str,
    encoded: str | None,
    *,
    settings: Settings,
    features: str,
    label: str,
    master: str | None,
) -> None:
    """Fit, write the model file and, where a path is given for them, the training rows."""
    with session(master) as opened:
        if encoded is not None:
            check_target(opened, encoded, overwrite=False)
        frame = _read(opened, train, features, label)
        columns = {"inputCol": features, "labelCol": label, "outputCol": OUTPUT}
        model = ChromaticEstimator(**columns, **params_of(settings)).fit(frame)
        if encoded is not None:
            _write(opened, model.transformTraining(frame), features, encoded)
        model.writeFile(output)


def transform(
    model: str, inputs: list[str], output: str, *, features: str, label: str, master: str | None
) -> None:
    """Write rows as the columns of a model."""
    with session(master) as opened:
        check_target(opened, output, overwrite=False)
        read = ChromaticModel.load(model).setInputCol(features).setOutputCol(OUTPUT)
        _write(opened, read.transform(_read(opened, inputs, features, label)), features, output)


def _read(opened: SparkSession, paths: list[str], features: str, label: str) -> DataFrame:
    frame = opened.read.parquet(*paths)
    others = ", ".join(name for name in frame.columns if name not in (features, label))
    if others:
        log.warning("only the column %s has features; carried along: %s", features, others)
    return frame


def _write(opened: SparkSession, frame: DataFrame, features: str, path: str) -> None:
    """Write all columns but the features to a folder of Parquet."""
    with replacing(opened, path, overwrite=False) as beside:
        frame.drop(features).write.parquet(beside)
