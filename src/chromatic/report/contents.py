"""What the page's script reads: the columns, and as many features as the page has room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from chromatic.data.counting import by_descending_count
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
    What depends on the class stands in `parts`, one for each of several; their columns are numbered on.
    """
    encoding, observed, parts = subject.encoding, subject.observed, subject.parts
    vocabulary = encoding.vocabulary
    columns = _columns(subject)
    wanted = np.concatenate(
        (
            most_collided(observed),
            *(strongest(one.encoding, None, MOST_WEIGHTS)[0] for one in parts if one.encoding.linear),
            *_first_of_columns(parts, np.array(columns["number"], np.int64)),
            by_descending_count(vocabulary.counts),
        )
    )
    codes, names = _fitting(vocabulary, wanted, len(parts))
    features: dict[str, Any] = {
        "name": names,
        "color": encoding.coloring.colors[codes].tolist(),
        "rows": vocabulary.counts[codes].tolist(),
    }
    if observed is not None:
        features["seen"] = observed.seen[codes].tolist()
        features["collided"] = observed.collided[codes].tolist()
    return {
        "measure_key": encoding.measure_key,
        "sums": encoding.sums,
        "n_features": len(vocabulary),
        "features": features,
        "parts": [_part(one, codes) for one in parts],
        "columns": columns,
    }


def _part(one: Subject, codes: Integers) -> dict[str, Any]:
    """Return what features are in the columns of all labels, or of one class."""
    encoding = one.encoding
    of_features = encoding.tables.of_features[codes].ravel()
    part: dict[str, Any] = {
        "label": one.label,
        "prior": encoding.prior,
        "first_linear": one.first + encoding.n_own_columns,
        "n_linear": one.n_linear,
        "column": np.where(of_features >= 0, one.first + of_features, -1).tolist(),
        "measure": _rounded(encoding.measure[codes]),
    }
    if encoding.linear is not None:
        part["weight"] = _rounded(encoding.linear.weights[codes])
    return part


def _columns(subject: Subject) -> dict[str, Any]:
    """Return what the page's script reads of columns: the strongest, of all classes."""
    names, parts = subject.model.column_names(), subject.parts
    listed = np.argsort(-np.concatenate([one.facts.strength for one in parts]), kind="stable")
    listed = listed[:MOST_COLUMNS]

    def of_listed(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(arrays)[listed]

    facts = [one.facts for one in parts]
    numbers = of_listed([one.first + np.arange(len(one.facts.colors)) for one in parts])
    table: dict[str, Any] = {
        "number": numbers.tolist(),
        "part": of_listed([np.full(len(one.colors), part) for part, one in enumerate(facts)]).tolist(),
        "name": [names[number] for number in numbers.tolist()],
        "color": of_listed([one.colors for one in facts]).tolist(),
        "rows": of_listed([one.rows for one in facts]).tolist(),
        "measure": _rounded(of_listed([one.measure for one in facts])),
        "features": of_listed([one.features for one in facts]).tolist(),
        "absent": of_listed([one.absent for one in facts]).tolist(),
    }
    in_test = [one.in_test for one in parts if one.in_test is not None]
    if in_test:
        times = of_listed([one.times for one in in_test])
        table["test_times"] = times.tolist()
        if any(one.observed is not None and one.observed.positive_rate is not None for one in parts):
            positives = of_listed([one.positives for one in in_test])
            table["test_rate"] = _rounded(positives / np.maximum(times, 1))
    return table


def _first_of_columns(parts: Sequence[Subject], listed: Integers) -> Iterator[Integers]:
    """Yield the most frequent features of listed columns: the first of each, then the second, ..."""
    starts_of = []
    for one in parts:
        column, n = one.encoding.tables.of_features.ravel(), one.encoding.n_own_columns
        by_column = np.lexsort((-one.encoding.vocabulary.counts, column))
        own = listed[(listed >= one.first) & (listed < one.first + n)] - one.first
        starts = np.searchsorted(column[by_column], np.arange(n + 1))
        starts_of.append((by_column, starts[own], starts[own + 1]))
    for rank in range(FIRST_OF_COLUMN):
        for by_column, first, end in starts_of:
            yield by_column[(first + rank)[first + rank < end]]


def _fitting(vocabulary: Vocabulary, wanted: Integers, n_parts: int) -> tuple[Integers, list[str]]:
    """Return as many of the features as the page has room for, by descending count, and their names."""
    _, first = np.unique(wanted, return_index=True)
    wanted = wanted[np.sort(first)][:MOST_FEATURES]
    names, size = {}, 0
    for code in wanted.tolist():
        name = name_of(vocabulary, code)
        size += len(as_json(name).encode()) + 24 + 32 * n_parts  # and its numbers
        if size > MOST_BYTES:
            break
        names[code] = name
    codes = np.array(sorted(names), np.int64)
    codes = codes[by_descending_count(vocabulary.counts[codes])]
    return codes, [names[code] for code in codes.tolist()]


def _rounded(numbers: npt.NDArray[np.floating]) -> list[float]:
    return [float(f"{number:.4g}") for number in numbers.tolist()]


def as_json(value: Any) -> Markup:
    """Return JSON that is safe inside a script element: no tag can begin or end in it.

    >>> print(as_json("</script>"))
    "\\u003c/script\\u003e"
    """
    return htmlsafe_json_dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
