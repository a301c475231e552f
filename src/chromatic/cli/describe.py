"""`chromatic describe`: a data set in one row of figures, as the paper's table of data sets."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chromatic.cli import options, terminal

if TYPE_CHECKING:
    from chromatic.data import Dataset
    from chromatic.data.stored import StoredDataset
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")


@options.inputs()
@options.as_json
@options.parameters("dense_threshold", "min_count", "values", "threads")
@options.reading
def describe(inputs: list[str], as_json: bool, settings: Settings, reading: Reading) -> None:
    """Print how many rows and features there are, and what was left out.

    Example: chromatic describe clicks.svm.gz --json
    """
    from chromatic.data.schema import listed
    from chromatic.jobs import read

    data = read(inputs, reading, replace(settings, names=False))
    figures = size_of(data) | {
        "positive_rate": data.rows.positive_rate,
        "elided_values": data.rows.elided_values,
        "dropped_features": data.vocabulary.dropped_features,
        "skipped_lines": data.left_out.skipped_lines,
    }
    schema = data.vocabulary.schema
    if schema is not None and schema.columns:
        for what, some in (("categories", schema.categories), ("numbers", schema.numbers)):
            names = [column.name for column in some]
            figures[what] = names if as_json else listed(names) or None
    if schema is not None and schema.classes:
        figures["classes"] = list(schema.classes) if as_json else listed(list(schema.classes))
    terminal.show(figures, as_json)


def size_of(data: Dataset | StoredDataset) -> dict[str, Any]:
    """Return the paper's figures of a data set; those of nnz count sparse features only."""
    if data.rows.labels is None:
        log.warning("the rows have no labels; in a table, --label names their column")
    numbers = data.vocabulary.numeric_names
    if not len(data.vocabulary) and len(data.vocabulary.dense_names) > len(numbers):
        log.warning("all features are dense; a higher --dense-threshold makes them sparse")
    elif not len(data.vocabulary) and numbers:
        log.warning("all columns are numbers; --categorical names those that are categories")
    return {
        "rows": data.rows.n_rows,
        "dense_features": len(data.vocabulary.dense_names),
        "sparse_features": len(data.vocabulary),
        "avg_nnz": data.rows.average_nnz,
        "max_nnz": data.rows.largest_nnz,
    }
