"""`chromatic transform`: other rows as the columns of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from chromatic.cli import options


def transform(
    model: Annotated[str, typer.Argument(help="A model file that `chromatic fit` wrote.")],
    inputs: options.Inputs,
    output: Annotated[str, typer.Option("-o", "--output", help="The file to write; - is standard output.")],
    to: options.To = None,
    format: options.Format = None,
    features: options.Features = "auto",
    label: options.Label = None,
    on_bad_line: options.OnBadLine = "raise",
    threads: options.Threads = None,
) -> None:
    """Write rows as the columns that a model has learned.

    Example: chromatic transform model.chroma test.svm.gz -o test-columns.svm
    """
    from chromatic._files import check_target
    from chromatic.data.writers import format_to_write
    from chromatic.modelfile import load

    to = format_to_write(output, to)
    check_target(output)
    encoding = load(model)
    with options.reader(
        inputs, format=format, features=features, label=label, on_bad_line=on_bad_line, n_jobs=threads
    ) as reader:
        data = reader.read(inputs, vocabulary=encoding.vocabulary)
    options.say_what_was_left_out(data.skipped_lines, data.ignored_numbers, data.missing_numbers)
    columns = encoding.encode(data.rows, reader.threads)
    options.write_columns(columns, data.rows.labels, output, to, reader.threads)
