"""What the page's script reads: the columns, and as many features as the page has room for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.explain import strongest
from chromatic.report.subject import Integers, Subject, most_collided, name_of

MOST_COLUMNS = 4000
MOST_FEATURES = 30_000
MOST_BYTES = 3_000_000  # of the embedded features
FIRST_OF_COLUMN = 8
MOST_WEIGHTS = 200  # in each direction


def embedded(subject: Subject) -> dict[str, Any]:
    """Return what the page's script reads: columns, and features as far as they fit.

    First come those in the page's tables, then the first of each column, then the most frequent of all.
    """
    encoding, observed, facts = subject.encoding, subject.observed, subject.facts
    vocabulary, column = encoding.vocabulary, encoding.tables.of_features
    listed = subject.order[:MOST_COLUMNS]
    wanted = np.concatenate(
        (
            most_collided(observed),
            *(strongest(encoding, None, MOST_WEIGHTS)[:1] if encoding.linear is not None else ()),
            _first_of_columns(column, len(facts.colors), listed),
            np.arange(len(column)),
        )
    )
    codes, names = _fitting(vocabulary, wanted)
    features: dict[str, Any] = {
        "name": names,
        "color": encoding.coloring.colors[codes].tolist(),
        "column": column[codes].tolist(),
        "rows": vocabulary.counts[codes].tolist(),
        "measure": _rounded(encoding.measure[codes]),
    }
    if observed is not None:
        features["seen"] = observed.seen[codes].tolist()
        features["collided"] = observed.collided[codes].tolist()
    if encoding.linear is not None:
        features["weight"] = _rounded(encoding.linear.weights[codes])
    return {
        "measure_key": encoding.measure_key,
        "prior": encoding.prior,
        "sums": encoding.sums,
        "n_features": len(vocabulary),
        "n_own_columns": encoding.n_own_columns,
        "n_linear": encoding.n_sparse_columns - encoding.n_own_columns,
        "features": features,
        "columns": _columns(subject, listed),
    }


def _columns(subject: Subject, listed: Integers) -> dict[str, Any]:
    """Return what the page's script reads of the columns that are listed."""
    facts, names = subject.facts, subject.model.column_names()
    table: dict[str, Any] = {
        "number": listed.tolist(),
        "name": [names[int(number)] for number in listed],
        "color": facts.colors[listed].tolist(),
        "rows": facts.rows[listed].tolist(),
        "measure": _rounded(facts.measure[listed]),
        "features": facts.features[listed].tolist(),
        "absent": facts.absent[listed].tolist(),
    }
    if subject.in_test is not None:
        times, positives, _ = subject.in_test
        table["test_times"] = times[listed].tolist()
        if subject.observed is not None and subject.observed.positive_rate is not None:
            table["test_rate"] = _rounded(positives[listed] / np.maximum(times[listed], 1))
    return table


def _first_of_columns(column: npt.NDArray[np.int32], n: int, listed: Integers) -> Integers:
    """Return the most frequent features of listed columns: the first of each, then the second, ..."""
    by_column = np.argsort(column, kind="stable")  # codes descend in count
    starts = np.searchsorted(column[by_column], np.arange(n + 1))
    ranked = []
    for rank in range(FIRST_OF_COLUMN):
        at = starts[listed] + rank
        ranked.append(by_column[at[at < starts[listed + 1]]])
    return np.concatenate(ranked)


def _fitting(vocabulary: Vocabulary, wanted: Integers) -> tuple[Integers, list[str]]:
    """Return as many of the features as the page has room for, by descending count, and their names."""
    _, first = np.unique(wanted, return_index=True)
    wanted = wanted[np.sort(first)][:MOST_FEATURES]
    names, size = {}, 0
    for code in wanted.tolist():
        name = name_of(vocabulary, code)
        size += len(as_json(name).encode()) + 56  # and its numbers
        if size > MOST_BYTES:
            break
        names[code] = name
    codes = np.array(sorted(names), np.int64)
    return codes, [names[code] for code in codes.tolist()]


def _rounded(numbers: npt.NDArray[np.floating]) -> list[float]:
    return [float(f"{number:.4g}") for number in numbers.tolist()]


def as_json(value: Any) -> Markup:
    """Return JSON that is safe inside a script element: no tag can begin or end in it.

    >>> print(as_json("</script>"))
    "\\u003c/script\\u003e"
    """
    return htmlsafe_json_dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
