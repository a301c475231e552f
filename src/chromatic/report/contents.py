"""What a report embeds: the columns, and as many features as the page has room for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.explain import column_names
from chromatic.encoding.fitting import Encoding, SubmodularEncoding
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.encoding.target import TargetEncoding
from chromatic.modelfile import Model
from chromatic.report.markup import hint
from chromatic.report.observed import Observed, labels_by_column, sums_by

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_COLUMNS = 4000
MOST_FEATURES = 30_000
MOST_BYTES = 3_000_000  # of the embedded features
MOST_LOST = 25
FIRST_OF_COLUMN = 8
LONGEST_NAME = 160  # characters


@dataclass(frozen=True)
class Columns:
    """The columns that come from sparse features, by number."""

    colors: Integers
    rows: Integers  # of training: those with one of the column's features
    rates: Floats  # of training, or the mean value, or how many codes there are
    features: Integers  # how many it stands for
    absent: Integers  # training rows without any feature of its color, where that makes the column 1
    order: Integers  # those that tell most of the label first
    test_rows: Integers | None = None
    test_sums: Floats | None = None  # of the labels of these rows

    def __len__(self) -> int:
        return len(self.colors)


@dataclass(frozen=True)
class Subject:
    """What a report is about."""

    name: str  # of the model's file
    model: Model
    columns: Columns
    observed: Observed | None

    @property
    def binary(self) -> bool:
        """Whether labels are of two kinds, as far as the model or the test rows tell."""
        return isinstance(self.model.encoding, SubmodularEncoding) or (
            self.observed is not None and self.observed.positive_rate is not None
        )

    def needs_test(self, why: str) -> str:
        """What stands where only test rows could tell more."""
        command = f"chromatic report {self.name} --test test.svm -o report.html"
        return hint(f"{why} Give some: <code>{escape(command)}</code>")


def kind_of(encoding: Encoding) -> str:
    """What the columns hold: "submodular", "target" or "frequency"."""
    if isinstance(encoding, SubmodularEncoding):
        return "submodular"
    return "target" if isinstance(encoding, TargetEncoding) else "frequency"


def column_of_features(encoding: Encoding) -> npt.NDArray[np.int32]:
    """The column of each feature, or -1."""
    if isinstance(encoding, SubmodularEncoding):
        return encoding.columns
    if isinstance(encoding, TargetEncoding):
        return encoding.coloring.colors
    return np.where(encoding.codes > 0, encoding.coloring.colors, np.int32(-1))


def measure_of_features(encoding: Encoding) -> Floats:
    """The smoothed rate of each feature, or its value, or its code."""
    if isinstance(encoding, SubmodularEncoding):
        return encoding.codebook.rates
    if isinstance(encoding, TargetEncoding):
        return encoding.values
    return encoding.codes.astype(np.float64)


def columns_of(encoding: Encoding, observed: Observed | None) -> Columns:
    """Every column that comes from sparse features."""
    n, counts = encoding.n_sparse_columns, encoding.vocabulary.counts
    column = column_of_features(encoding)
    some = column >= 0
    rows = sums_by(column[some], counts[some], n).astype(np.int64)
    features = np.bincount(column[some], minlength=n)
    if not isinstance(encoding, SubmodularEncoding):
        return _columns_of_colors(encoding, rows, features)
    book = encoding.codebook
    sums = sums_by(column[some], (counts * book.rates)[some], n)
    absent = np.zeros(n, np.int64)
    if encoding.null == "emit":
        colors, n_colors = encoding.coloring.colors, encoding.coloring.n_colors
        mass = sums_by(colors, counts, n_colors).astype(np.int64)
        of_null = book.columns[book.null_bins]
        absent[of_null] = np.maximum(encoding.vocabulary.n_rows - mass, 0)
        rows += absent
        sums[of_null] += absent[of_null] * book.null_rates
    rates: Floats = np.where(rows > 0, sums / np.maximum(rows, 1), book.prior).astype(np.float64)
    of_bin = np.repeat(np.arange(len(book.bin_starts) - 1), np.diff(book.bin_starts))
    color = of_bin[book.columns >= 0]  # columns ascend with the bins
    order = _descending(rows * _divergence(rates, book.prior))
    if observed is None:
        return Columns(color, rows, rates, features, absent, order)
    test_rows, test_sums = labels_by_column(encoding, observed)
    labelled = observed.positive_rate is not None
    return Columns(color, rows, rates, features, absent, order, test_rows, test_sums if labelled else None)


def _columns_of_colors(
    encoding: TargetEncoding | FrequencyEncoding, rows: Integers, features: Integers
) -> Columns:
    n, absent, counts = len(rows), np.zeros(len(rows), np.int64), encoding.vocabulary.counts
    if isinstance(encoding, FrequencyEncoding):
        codes = features.astype(np.float64) + 1  # and 0, for what is absent
        return Columns(np.arange(n), rows, codes, features, absent, _descending(rows))
    colors = encoding.coloring.colors
    means = sums_by(colors, counts * encoding.values, n) / np.maximum(rows, 1)
    strength = sums_by(colors, counts * np.abs(encoding.values), n)
    return Columns(np.arange(n), rows, means, features, absent, _descending(strength))


def _descending(values: npt.NDArray[Any]) -> Integers:
    return np.argsort(-values, kind="stable")


def _divergence(rates: Floats, prior: float) -> Floats:
    """What a row with this rate tells of its label beyond the overall rate, in nats."""
    r = np.clip(rates, 1e-12, 1 - 1e-12)
    found: Floats = r * np.log(r / prior) + (1 - r) * np.log((1 - r) / (1 - prior))
    return found


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
    text = name.decode("utf-8", "backslashreplace")
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def embedded(encoding: Encoding, columns: Columns, observed: Observed | None) -> dict[str, Any]:
    """What the page's script reads: columns, and features as far as they fit.

    First come the most lost ones, then the first of each column, then the most frequent of all.
    """
    vocabulary, column = encoding.vocabulary, column_of_features(encoding)
    listed = columns.order[:MOST_COLUMNS]
    wanted = np.concatenate(
        (most_lost(observed), _first_of_columns(column, len(columns), listed), np.arange(len(column)))
    )
    codes, names = _fitting(vocabulary, wanted)
    measure = measure_of_features(encoding)
    sources = encoding.coloring.colors[codes], column[codes], vocabulary.counts[codes]
    features: dict[str, Any] = {"name": names}
    features |= dict(zip(("color", "column", "rows"), (s.tolist() for s in sources), strict=True))
    features["rate"] = _rounded(measure[codes])
    table: dict[str, Any] = {
        "number": listed.tolist(),
        "name": _names_of(encoding, listed),
        "color": columns.colors[listed].tolist(),
        "rows": columns.rows[listed].tolist(),
        "rate": _rounded(columns.rates[listed]),
        "features": columns.features[listed].tolist(),
        "absent": columns.absent[listed].tolist(),
    }
    if observed is not None:
        features["seen"], features["lost"] = observed.seen[codes].tolist(), observed.lost[codes].tolist()
    if columns.test_rows is not None:
        table["test_rows"] = columns.test_rows[listed].tolist()
        if columns.test_sums is not None:
            observed_rates = columns.test_sums[listed] / np.maximum(columns.test_rows[listed], 1)
            table["test_rate"] = _rounded(observed_rates)
    return {
        "kind": kind_of(encoding),
        "prior": prior_of(encoding),
        "n_features": len(vocabulary),
        "n_columns": len(columns),
        "features": features,
        "columns": table,
    }


def prior_of(encoding: Encoding) -> float | None:
    """The overall rate, or the mean label; None where no labels were used."""
    if isinstance(encoding, SubmodularEncoding):
        return encoding.codebook.prior
    return encoding.prior if isinstance(encoding, TargetEncoding) else None


def _names_of(encoding: Encoding, listed: Integers) -> list[str]:
    names = column_names(encoding)
    return [names[int(number)] for number in listed]


def _first_of_columns(column: npt.NDArray[np.int32], n: int, listed: Integers) -> Integers:
    """The most frequent features of the listed columns: every column's first, then every second, ..."""
    by_column = np.argsort(column, kind="stable")  # codes descend in count
    starts = np.searchsorted(column[by_column], np.arange(n + 1))
    found = []
    for rank in range(FIRST_OF_COLUMN):
        at = starts[listed] + rank
        found.append(by_column[at[at < starts[listed + 1]]])
    return np.concatenate(found)


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
