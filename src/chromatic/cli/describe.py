"""`chromatic describe`: a data set in one row of figures, as the paper's table of data sets."""

from __future__ import annotations

import json
from typing import Any

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
    figures = {
        "rows": data.rows.n_rows,
        "dense_features": len(data.vocabulary.dense_names),
        "sparse_features": len(data.vocabulary),
        "avg_nnz": data.rows.average_nnz,
        "max_nnz": data.rows.largest_nnz,
        "positive_rate": data.rows.positive_rate,
        "elided_values": data.rows.elided_values,
        "dropped_features": data.vocabulary.dropped_features,
        "skipped_lines": data.skipped_lines,
    }
    print(json.dumps(figures) if json_ else "\n".join(map(_line, figures.items())))


def _line(figure: tuple[str, Any]) -> str:
    name, value = figure
    shown = f"{value:,.4g}" if isinstance(value, float) else "-" if value is None else f"{value:,}"
    return f"{name.replace('_', ' '):<18}{shown:>15}"
