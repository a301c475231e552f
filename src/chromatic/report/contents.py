"""What a report embeds: the columns, and as many features as the page has room for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.explain import column_names, text_of
from chromatic.encoding.protocol import ColumnFacts
from chromatic.model import Model
from chromatic.report.markup import hint
from chromatic.report.observed import Observed, labels_by_column

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_COLUMNS = 4000
MOST_FEATURES = 30_000
MOST_BYTES = 3_000_000  # of the embedded features
MOST_LOST = 25
FIRST_OF_COLUMN = 8
LONGEST_NAME = 160  # characters


@dataclass(frozen=True)
class Subject:
    """What a report is about."""

    name: str  # of the model's file
    model: Model
    observed: Observed | None

    @cached_property
    def facts(self) -> ColumnFacts:
        """What the model knows of its columns."""
        return self.model.encoding.column_facts()

    @cached_property
    def order(self) -> Integers:
        """The numbers of the columns, the strongest first."""
        return np.argsort(-self.facts.strength, kind="stable")

    @cached_property
    def in_test(self) -> tuple[Integers, Floats | None] | None:
        """The test rows where each one-hot column is 1, and the sum of their labels."""
        encoding, observed = self.model.encoding, self.observed
        if observed is None or encoding.tables.values is not None:
            return None
        rows, sums = labels_by_column(encoding, observed)
        return rows, None if observed.positive_rate is None else sums

    @property
    def binary(self) -> bool:
        """Whether labels are of two kinds, as far as the model or the test rows tell."""
        encoding, observed = self.model.encoding, self.observed
        by_model = encoding.prior is not None and not encoding.numeric_labels
        return by_model or (observed is not None and observed.positive_rate is not None)

    def needs_test(self, why: str) -> str:
        """What stands where only test rows could tell more."""
        command = f"chromatic report {self.name} --test test.svm -o report.html"
        return hint(f"{why} Give some: <code>{escape(command)}</code>")


def most_lost(observed: Observed | None) -> Integers:
    """The features that collisions dropped most often from test rows."""
    if observed is None:
        return np.empty(0, np.int64)
    order = np.argsort(-observed.lost, kind="stable")[:MOST_LOST]
    return order[observed.lost[order] > 0]


def name_of(vocabulary: Vocabulary, code: int) -> str:
    """A feature's name as text, cut where it is very long."""
    return shortened(vocabulary.name(code))


def shortened(name: bytes) -> str:
    """Bytes as text, cut where it is very long.

    >>> shortened(b"caf\\xe9"), len(shortened(b"a" * 1000))
    ('caf\\\\xe9', 160)
    """
    text = text_of(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def embedded(subject: Subject) -> dict[str, Any]:
    """Return what the page's script reads: columns, and features as far as they fit.

    First come the most lost ones, then the first of each column, then the most frequent of all.
    """
    encoding, observed, facts = subject.model.encoding, subject.observed, subject.facts
    vocabulary, column = encoding.vocabulary, encoding.tables.of_features
    listed = subject.order[:MOST_COLUMNS]
    wanted = np.concatenate(
        (most_lost(observed), _first_of_columns(column, len(facts.colors), listed), np.arange(len(column)))
    )
    codes, names = _fitting(vocabulary, wanted)
    features: dict[str, Any] = {
        "name": names,
        "color": encoding.coloring.colors[codes].tolist(),
        "column": column[codes].tolist(),
        "rows": vocabulary.counts[codes].tolist(),
        "rate": _rounded(encoding.measure[codes]),
    }
    if observed is not None:
        features["seen"], features["lost"] = observed.seen[codes].tolist(), observed.lost[codes].tolist()
    return {
        "measure": encoding.measure_key,
        "prior": encoding.prior,
        "n_features": len(vocabulary),
        "n_columns": len(facts.colors),
        "features": features,
        "columns": _columns(subject, listed),
    }


def _columns(subject: Subject, listed: Integers) -> dict[str, Any]:
    """Return what the page's script reads of the columns that are listed."""
    facts, names = subject.facts, column_names(subject.model.encoding)
    table: dict[str, Any] = {
        "number": listed.tolist(),
        "name": [names[int(number)] for number in listed],
        "color": facts.colors[listed].tolist(),
        "rows": facts.rows[listed].tolist(),
        "rate": _rounded(facts.measure[listed]),
        "features": facts.features[listed].tolist(),
        "absent": facts.absent[listed].tolist(),
    }
    if subject.in_test is not None:
        rows, sums = subject.in_test
        table["test_rows"] = rows[listed].tolist()
        if sums is not None:
            table["test_rate"] = _rounded(sums[listed] / np.maximum(rows[listed], 1))
    return table


def _first_of_columns(column: npt.NDArray[np.int32], n: int, listed: Integers) -> Integers:
    """The most frequent features of the listed columns: every column's first, then every second, ..."""
    by_column = np.argsort(column, kind="stable")  # codes descend in count
    starts = np.searchsorted(column[by_column], np.arange(n + 1))
    ranked = []
    for rank in range(FIRST_OF_COLUMN):
        at = starts[listed] + rank
        ranked.append(by_column[at[at < starts[listed + 1]]])
    return np.concatenate(ranked)


def _fitting(vocabulary: Vocabulary, wanted: Integers) -> tuple[Integers, list[str]]:
    """As many of the features as the page has room for, by descending count, with their names."""
    _, first = np.unique(wanted, return_index=True)
    wanted = wanted[np.sort(first)][:MOST_FEATURES]
    names, size = {}, 0
    for code in wanted.tolist():
        name = name_of(vocabulary, code)
        size += len(as_json(name).encode()) + 48  # and its numbers
        if size > MOST_BYTES:
            break
        names[code] = name
    codes = np.array(sorted(names), np.int64)
    return codes, [names[code] for code in codes.tolist()]


def _rounded(numbers: Floats) -> list[float]:
    return [float(f"{number:.4g}") for number in numbers.tolist()]


def as_json(value: Any) -> str:
    """JSON that is safe inside a script element: no tag can begin or end in it.

    >>> as_json("</script>")
    '"\\\\u003c/script>"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
