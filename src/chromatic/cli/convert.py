"""`chromatic convert`: any format in, any out."""

from __future__ import annotations

from typing import Annotated

import typer

from chromatic.cli import options


def convert(
    inputs: options.Inputs,
    output: Annotated[str, typer.Option("-o", "--output", help="The file to write; - is standard output.")],
    to: options.To = None,
    format: options.Format = None,
    features: options.Features = "auto",
    label: options.Label = None,
    on_bad_line: options.OnBadLine = "raise",
    threads: options.Threads = None,
) -> None:
    """Write data in another format, all of its features and values kept.

    Example: chromatic convert clicks.svm.gz more.svm.gz -o clicks.parquet
    """
    from chromatic._files import check_target
    from chromatic.data.writers import format_to_write, write

    to = format_to_write(output, to)  # what is wrong with the target is told before the work
    check_target(output)
    with options.reader(
        inputs, format=format, features=features, label=label, on_bad_line=on_bad_line, n_jobs=threads
    ) as reader:
        batches = reader.batches(inputs)
    options.say_what_was_left_out(
        sum(batch.skipped_lines for batch in batches),
        sum(batch.ignored for batch in batches),
        sum(batch.missing for batch in batches),
    )
    write(batches, output, to, reader.threads)
