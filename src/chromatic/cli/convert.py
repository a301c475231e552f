"""`chromatic convert`: any format in, any out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings


@options.inputs()
@options.output("The file to write; - is standard output.")
@options.to
@options.parameters("threads")
@options.reading
def convert(inputs: list[str], output: str, to: str | None, settings: Settings, reading: Reading) -> None:
    """Write data in another format, all of its features and values kept.

    Example: chromatic convert clicks.svm.gz more.svm.gz -o clicks.parquet
    """
    from chromatic import jobs
    from chromatic.data.batch import LeftOut
    from chromatic.data.writers import WEIGHTED, write

    target = jobs.target_of(output, to)
    with jobs.opened(inputs, reading, settings.threads) as reader:
        batches = reader.batches(inputs)
    left_out = LeftOut.of(batches)
    (replace(left_out, ignored_weights=0) if target.format in WEIGHTED else left_out).warn()
    write(batches, *target, reader.threads)
