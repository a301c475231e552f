"""`chromatic report`: a model on one HTML page."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from chromatic.cli import options


def report(
    model: Annotated[str, typer.Argument(help="A model file that `chromatic fit` wrote.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The page to write; - is standard output.")],
    reading: options.Reading,
    test: Annotated[
        list[str] | None,
        typer.Option(help="Rows to count collisions and labels on; may be given several times."),
    ] = None,
) -> None:
    """Show a model on one page: data, colors, columns, and what becomes of TEST.

    Example: chromatic report model.chroma --test test.svm.gz -o report.html
    """
    from chromatic._files import check_target, replacing
    from chromatic._threads import thread_count
    from chromatic.modelfile import load
    from chromatic.report import page

    if output != "-":
        check_target(output)
    loaded = load(model)
    rows = reading.code(test, loaded.encoding.vocabulary).rows if test else None
    html = page.report(loaded, rows, name=os.path.basename(model), threads=thread_count(reading.threads))
    with replacing(output) as file:
        file.write(html.encode())
