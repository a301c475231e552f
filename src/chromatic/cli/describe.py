"""`chromatic describe`: a data set in one row of figures, as the paper's table of data sets."""

from __future__ import annotations

from dataclasses import asdict

from chromatic.cli import options


def describe(
    inputs: options.Inputs,
    reading: options.Reading,
    learning: options.Learning,
    json_: options.Json = False,
) -> None:
    """Print how many rows and features there are, and what was left out.

    Example: chromatic describe clicks.svm.gz --json
    """
    with reading.reader(inputs) as reader:
        data = reader.read(inputs, **asdict(learning), keep_names=False)
    options.say_what_was_left_out(data.left_out)
    figures = options.size_of(data) | {
        "positive_rate": data.rows.positive_rate,
        "elided_values": data.rows.elided_values,
        "dropped_features": data.vocabulary.dropped_features,
        "skipped_lines": data.left_out.skipped_lines,
    }
    options.show(figures, json_)
