"""`chromatic transform`: other rows as the columns of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings


@options.model
@options.inputs()
@options.output("The file to write; - is standard output.")
@options.to
@options.parameters("threads")
@options.reading
@options.engine
def transform(
    model: str,
    inputs: list[str],
    output: str,
    to: str | None,
    *,
    settings: Settings,
    reading: Reading,
    engine: options.Engine,
) -> None:
    """Write rows as the columns that a model has learned.

    Example: chromatic transform model.chroma test.svm.gz -o test-columns.svm
    """
    from chromatic import jobs
    from chromatic.modelfile import load

    if engine.is_spark:
        jobs.check_for_spark(reading, to, settings)
        _transform_on_spark(model, inputs, output, reading.label, engine)
        return
    target = jobs.target_of(output, to)
    jobs.transform_files(inputs, load(model), target, reading, settings.threads)


def _transform_on_spark(
    model: str, inputs: list[str], output: str, label: str | None, engine: options.Engine
) -> None:
    from chromatic.spark import check_installed

    check_installed()
    from chromatic.spark import commands

    commands.transform(
        model,
        inputs,
        output,
        features=engine.input_col,
        label=label or "label",
        master=engine.master,
    )
