"""`chromatic report`: a model on one HTML page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings


@options.model
@options.output("The page to write; - is standard output.")
@options.option(
    "--test", several=True, help="Rows to count collisions and labels on; may be given several times."
)
@options.parameters("threads")
@options.reading
def report(model: str, output: str, test: list[str], settings: Settings, reading: Reading) -> None:
    """Show a model on one page: data, colors, columns, and what becomes of TEST.

    Example: chromatic report model.chroma --test test.svm.gz -o report.html
    """
    from chromatic._files import check_target, replacing
    from chromatic._threads import thread_count
    from chromatic.jobs import code, reading_for
    from chromatic.modelfile import load
    from chromatic.report import page

    if output != "-":
        check_target(output)
    loaded, threads = load(model), settings.threads
    reading = reading_for(loaded, reading)
    rows = code(test, loaded.encoding.vocabulary, reading, threads).rows if test else None
    html = page.report(loaded, rows, name=os.path.basename(model), threads=thread_count(threads))
    with replacing(output) as file:
        file.write(html.encode())
