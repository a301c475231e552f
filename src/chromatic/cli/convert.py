"""`chromatic convert`: any format in, any out."""

from __future__ import annotations

from chromatic.cli import options


def convert(
    inputs: options.Inputs, output: options.Output, reading: options.Reading, to: options.To = None
) -> None:
    """Write data in another format, all of its features and values kept.

    Example: chromatic convert clicks.svm.gz more.svm.gz -o clicks.parquet
    """
    from chromatic._files import check_target
    from chromatic.data.batch import LeftOut
    from chromatic.data.writers import format_to_write, write

    to = format_to_write(output, to)  # what is wrong with the target is told before the work
    check_target(output)
    with reading.reader(inputs) as reader:
        batches = reader.batches(inputs)
    options.say_what_was_left_out(LeftOut.of(batches))
    write(batches, output, to, reader.threads)
