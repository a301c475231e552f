"""Parquet in, Parquet and model files out: what the commands do on Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from chromatic.parameters import Settings
from chromatic.spark.estimator import ChromaticEstimator, ChromaticModel, params_of
from chromatic.spark.files import check_file, check_target, replacing
from chromatic.spark.session import session
from chromatic.spark.tables import SCALARS

if TYPE_CHECKING:
    from chromatic.learn.tuning import Trial, Tuner

log = logging.getLogger("chromatic")

OUTPUT = "columns"
EVERY = "*"


def fit(
    train: list[str],
    output: str,
    encoded: str | None,
    *,
    settings: Settings,
    features: list[str],
    label: str,
    master: str | None,
) -> None:
    """Fit, write the model file and, where a path is given for them, the training rows."""
    with session(master) as opened:
        check_file(opened, output)
        if encoded is not None:
            check_target(opened, encoded, overwrite=False)
        frame = opened.read.parquet(*train)
        estimator, inputs = _estimator(frame, features, label, settings)
        model = estimator.fit(frame)
        if encoded is not None:
            _write(opened, model.transformTraining(frame), inputs, encoded)
        model.writeFile(output)


def tune(
    train: list[str],
    validation: str,
    output: str,
    tried: Callable[[Tuner], list[Trial]],
    *,
    settings: Settings,
    features: list[str],
    label: str,
    master: str | None,
) -> None:
    """Let settings be tried, and write a model with those of the first of the trials that come back."""
    from chromatic.spark.tuning import tuner_of

    with session(master) as opened:
        check_file(opened, output)
        frame, others = opened.read.parquet(*train), opened.read.parquet(validation)
        estimator, _ = _estimator(frame, features, label, settings)
        with tuner_of(estimator, frame, others) as tuner:
            chosen = tried(tuner)[0].settings
        estimator._with_settings(chosen).fit(frame).writeFile(output)


def transform(
    model: str, inputs: list[str], output: str, *, features: list[str], label: str, master: str | None
) -> None:
    """Write rows as the columns of a model."""
    with session(master) as opened:
        check_target(opened, output, overwrite=False)
        read, frame = ChromaticModel.load(model), opened.read.parquet(*inputs)
        given = _inputs(frame, features, [label])
        _write(opened, read.setParams(**given, outputCol=OUTPUT).transform(frame), given, output)


def _estimator(
    frame: DataFrame, features: list[str], label: str, settings: Settings
) -> tuple[ChromaticEstimator, dict[str, Any]]:
    """Return an estimator for a frame, and which of its columns have the features, as parameters."""
    beside = [name for name in (label, settings.weight, settings.group) if name is not None]
    inputs = _inputs(frame, features, beside)
    return ChromaticEstimator(**inputs, labelCol=label, outputCol=OUTPUT, **params_of(settings)), inputs


def _inputs(frame: DataFrame, features: list[str], beside: list[str]) -> dict[str, Any]:
    """Return which columns have the features, as parameters: one column of them, or those of a table."""
    if features == [EVERY]:
        return {"inputCols": [name for name in frame.columns if name not in beside]}
    column = features[0] if features else "features"
    scalar = column in frame.columns and isinstance(frame.schema[column].dataType, SCALARS)
    inputs = features if len(features) > 1 or (features and scalar) else [column]
    others = ", ".join(name for name in frame.columns if name not in (*inputs, *beside))
    if others:
        log.warning("only the column %s has features; carried along: %s", ", ".join(inputs), others)
    return {"inputCols": inputs} if inputs is features else {"inputCol": column}


def _write(opened: SparkSession, frame: DataFrame, inputs: dict[str, Any], path: str) -> None:
    """Write all columns but the features to a folder of Parquet."""
    names = inputs.get("inputCols") or [inputs["inputCol"]]
    with replacing(opened, path, overwrite=False) as beside:
        frame.drop(*names).write.parquet(beside)
