"""`chromatic transform`: other rows as the columns of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from chromatic.cli import on_spark, options


def transform(
    model: Annotated[str, typer.Argument(help="A model file that `chromatic fit` wrote.")],
    inputs: options.Inputs,
    output: options.Output,
    reading: options.Reading,
    engine: options.Engine,
    to: options.To = None,
) -> None:
    """Write rows as the columns that a model has learned.

    Example: chromatic transform model.chroma test.svm.gz -o test-columns.svm
    """
    from chromatic._files import check_target
    from chromatic.data.writers import format_to_write
    from chromatic.modelfile import load

    if engine.is_spark:
        on_spark.transform(model, inputs, output, to, reading, engine)
        return
    to = format_to_write(output, to)
    check_target(output)
    reading.transform(inputs, load(model).encoding, output, to)
