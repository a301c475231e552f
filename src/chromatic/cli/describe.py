"""`chromatic describe`: a data set in one row of figures, as the paper's table of data sets."""

from __future__ import annotations

from chromatic.cli import options


def describe(
    inputs: options.Inputs,
    json_: options.Json = False,
    format: options.Format = None,
    features: options.Features = "auto",
    label: options.Label = None,
    on_bad_line: options.OnBadLine = "raise",
    threads: options.Threads = None,
    dense_threshold: options.DenseThreshold = 0.1,
    min_count: options.MinCount = 1,
    values: options.Values = "elide",
) -> None:
    """Print how many rows and features there are, and what was left out.

    Example: chromatic describe clicks.svm.gz --json
    """
    with options.reader(
        inputs, format=format, features=features, label=label, on_bad_line=on_bad_line, n_jobs=threads
    ) as reader:
        data = reader.read(
            inputs,
            dense_threshold=dense_threshold,
            min_count=min_count,
            values=values,
            keep_names=False,
        )
    options.say_what_was_left_out(data.skipped_lines, data.ignored_numbers, data.missing_numbers)
    figures = options.size_of(data) | {
        "positive_rate": data.rows.positive_rate,
        "elided_values": data.rows.elided_values,
        "dropped_features": data.vocabulary.dropped_features,
        "skipped_lines": data.skipped_lines,
    }
    options.show(figures, json_)
