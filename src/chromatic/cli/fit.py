"""`chromatic fit` and `chromatic encode`: learn columns from training data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from chromatic.cli import on_spark, options

if TYPE_CHECKING:
    from chromatic.encoding.fitting import Fitted


def fit(
    train: options.Inputs,
    output: Annotated[str, typer.Option("-o", "--output", help="The model file to write.")],
    fitting: options.Fitting,
    reading: options.Reading,
    engine: options.Engine,
    encoded: Annotated[
        str | None, typer.Option(help="Also write the training rows, encoded without leaking labels.")
    ] = None,
    to: options.To = None,
) -> None:
    """Learn columns from TRAIN and write them to a model file.

    Example: chromatic fit train.svm.gz -o model.chroma --budget 1024 --encoded train-columns.svm
    """
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.data.writers import format_to_write

    if engine.is_spark:
        on_spark.fit(train, output, encoded, to, fitting, reading, engine)
        return
    if encoded is not None:
        to = format_to_write(encoded, to)
        check_target(encoded)
    check_target(output)
    fitting.check(to if encoded is not None else None)
    with fitting.fit(train, reading) as fitted:
        if encoded is not None and to is not None:
            _write_training_rows(fitted, encoded, to, thread_count(reading.threads))
        _save(fitted, output, fitting)


def encode(
    train: options.Inputs,
    test: Annotated[list[str], typer.Option(help="Rows to encode too; may be given several times.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The folder to write to.")],
    fitting: options.Fitting,
    reading: options.Reading,
    to: options.To = None,
) -> None:
    """Learn columns from TRAIN and write model, training rows and TEST to a folder, in one process.

    The folder gets model.chroma, train.svm and test.svm, or their suffixes for another format. Columns
    count from 1 in svmlight and Vowpal Wabbit text, and from 0 elsewhere.

    Example: chromatic encode train.svm.gz --test test.svm.gz -o columns
    """
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.data.source import SUFFIXES
    from chromatic.data.writers import format_to_write
    from chromatic.errors import InputError

    to = format_to_write("train.svm", to)
    suffix = next(suffix for suffix, format in SUFFIXES.items() if format == to)
    names = "model.chroma", f"train{suffix}", f"test{suffix}"
    model, train_rows, test_rows = (os.path.join(output, name) for name in names)
    fitting.check(to)
    reading.check_paths([*train, *test])
    if os.path.isfile(output):
        raise InputError(f"{output}: is a file; expected a folder to write to")
    os.makedirs(output, exist_ok=True)
    for path in (model, train_rows, test_rows):
        check_target(path)
    with fitting.fit(train, reading) as fitted:
        _write_training_rows(fitted, train_rows, to, thread_count(reading.threads))
        reading.transform(test, fitted.encoding, test_rows, to)
        _save(fitted, model, fitting)


def _write_training_rows(fitted: Fitted, path: str, to: str, threads: int) -> None:
    """Write the rows to train on, and say so where they are not all."""
    from chromatic.encoding.files import write_columns

    if fitted.trains is not None:
        left, of = int(fitted.trains.sum()), len(fitted.trains)
        options.log.warning("wrote the %s of %s rows that are left to train on", f"{left:,}", f"{of:,}")
    write_columns(fitted.to_train_on(), path, to, threads)


def _save(fitted: Fitted, path: str, fitting: options.Fitting) -> None:
    from chromatic.modelfile import Model, save

    save(Model(fitted.encoding, fitting.parameters), path, names=fitting.names)
