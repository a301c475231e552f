"""The flags of `chromatic fit` and `chromatic transform` with --engine spark."""

from __future__ import annotations

from chromatic.cli import options
from chromatic.errors import InputError


def fit(
    train: list[str],
    output: str,
    encoded: str | None,
    to: str | None,
    fitting: options.Fitting,
    reading: options.Reading,
    engine: options.Engine,
) -> None:
    """Fit on Spark."""
    _check(reading, to)
    if fitting.values != "elide":
        raise InputError(f"--values is {fitting.values}; --engine spark knows elide only")
    from chromatic.spark import commands

    label = reading.label or "label"
    commands.fit(train, output, encoded, fitting.parameters, engine.input_col, label, engine.master)


def transform(
    model: str,
    inputs: list[str],
    output: str,
    to: str | None,
    reading: options.Reading,
    engine: options.Engine,
) -> None:
    """Encode rows on Spark."""
    _check(reading, to)
    from chromatic.spark import commands

    label = reading.label or "label"
    commands.transform(model, inputs, output, engine.input_col, label, engine.master)


def _check(reading: options.Reading, to: str | None) -> None:
    from chromatic.spark import check_installed

    for name, given in (("--format", reading.format), ("--to", to)):
        if given not in (None, "parquet"):
            raise InputError(f"{name} is {given}; --engine spark reads and writes parquet")
    check_installed()
