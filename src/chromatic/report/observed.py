"""What a test set shows of a model: collisions, unseen features, and labels by column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.coloring import represent
from chromatic.data.rows import Rows
from chromatic.encoding.protocol import Encoding
from chromatic.fitting.labels import as_numbers, class_names

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Observed:
    """Test rows, counted by feature, by color and by column."""

    n_rows: int
    average_nnz: float
    unseen: int  # features that training did not know, counted once a row
    positive_rate: float | None  # None unless there are two kinds of labels
    labels: npt.NDArray[Any] | None  # 0 and 1 where there are two kinds; of several classes as they came
    mean: float  # collisions, a row
    std: float
    share_of_rows: float  # with a collision
    seen: Integers  # rows with each feature
    collided: Integers  # of them, those with a rarer feature of its color
    collided_by_color: Integers
    resolved: Rows  # with the features that count: all of them or, of each color, the rarest

    @property
    def unseen_in_a_row(self) -> float:
        """The unseen features of a row, on average."""
        return self.unseen / max(self.n_rows, 1)

    @property
    def unseen_share(self) -> float:
        """The share of the unseen features in all occurrences of sparse features."""
        every = int(self.seen.sum()) + self.unseen
        return self.unseen / every if every else 0.0

    @cached_property
    def classes(self) -> tuple[list[str], Integers]:
        """What the labels are called, ascending, and which of them each row has."""
        kinds, of_rows = np.unique([] if self.labels is None else self.labels, return_inverse=True)
        return class_names(kinds), of_rows

    def of_class(self, label: str) -> Observed:
        """Return the rows with 1 as the label of one class and 0 as that of the others."""
        if self.labels is None:
            return self
        names, of_rows = self.classes
        is_one = np.isin(of_rows, [at for at, name in enumerate(names) if name == label])
        both = is_one.any() and not is_one.all()
        rate = float(is_one.mean()) if both else None
        return replace(self, labels=is_one.astype(np.float64), positive_rate=rate)


def observe(encoding: Encoding, rows: Rows, threads: int = 1) -> Observed:
    """Count what becomes of rows that the encoding's vocabulary codes.

    As in encoding, only features that play a part collide.
    """
    counted = rows.truncated(encoding.n_kept)
    kept, collisions = represent(counted, encoding.coloring, threads)
    n, of_classes = len(encoding.vocabulary), bool(encoding.of_classes())
    collided = np.bincount(counted.codes, minlength=n) - np.bincount(kept.codes, minlength=n)
    by_color = sums_by(encoding.coloring.colors, collided, encoding.coloring.n_colors)
    return Observed(
        n_rows=rows.n_rows,
        average_nnz=rows.average_nnz,
        unseen=rows.unseen,
        positive_rate=None if of_classes else rows.positive_rate,
        labels=rows.labels if of_classes or rows.labels is None else as_numbers(rows.labels),
        mean=collisions.mean,
        std=collisions.std,
        share_of_rows=collisions.share_of_rows,
        seen=np.bincount(rows.codes, minlength=n),
        collided=collided,
        collided_by_color=by_color.astype(np.int64),
        resolved=counted if encoding.sums else kept,
    )


class LabelsByColumn(NamedTuple):
    """Test rows by own column: sums over the rows, each as often as its features are in the column."""

    times: Integers  # how often features are in the column
    positives: Floats  # of them, those in positive rows
    squares: Floats  # the squares of how often, summed over rows: what a standard error needs


def labels_by_column(encoding: Encoding, observed: Observed) -> LabelsByColumn:
    """Return how often the features of each own column are in test rows, and in positive ones."""
    n = encoding.n_own_columns
    positive = np.zeros(observed.n_rows) if observed.labels is None else observed.labels
    times, positives, squares = np.zeros(n), np.zeros(n), np.zeros(n)
    for start, piece in observed.resolved.pieces():
        encoded = encoding.encode_resolved(piece)
        own = encoded.columns < n
        columns = encoded.columns[own]
        held = np.ones(len(columns)) if encoded.values is None else encoded.values[own]
        label = np.repeat(positive[start : start + piece.n_rows], np.diff(encoded.indptr))[own]
        times += sums_by(columns, held, n)
        positives += sums_by(columns, held * label, n)
        squares += sums_by(columns, held * held, n)
    return LabelsByColumn(times.astype(np.int64), positives, squares)


def sums_by(places: npt.NDArray[np.integer], weights: npt.NDArray[Any], n: int) -> Floats:
    """Return the sum of the weights at each of n places."""
    return np.bincount(places, weights=weights, minlength=n).astype(np.float64)


@dataclass(frozen=True)
class Pooled:
    """Groups of columns or of features: what training told of each group, and what test rows showed."""

    told: Floats  # the mean measure of a group
    seen: Floats  # the mean label of its test rows
    rows: Integers


def pool(told: Floats, rows: Integers, sums: Floats, groups: int = 10) -> Pooled:
    """Put columns or features together, by ascending measure, into groups of about as many rows each.

    >>> pooled = pool(np.array([0.1, 0.2, 0.9]), np.array([2, 2, 4]), np.array([0.0, 1, 4]), 2)
    >>> pooled.told.round(2).tolist(), pooled.seen.tolist()
    ([0.15, 0.9], [0.25, 1.0])
    """
    order = np.argsort(told, kind="stable")
    told, rows, sums = told[order], rows[order], sums[order]
    middle = np.cumsum(rows) - rows / 2
    group = np.minimum((middle * groups / max(int(rows.sum()), 1)).astype(np.int64), groups - 1)
    together = sums_by(group, rows, groups)
    some = together > 0
    return Pooled(
        told=sums_by(group, told * rows, groups)[some] / together[some],
        seen=sums_by(group, sums, groups)[some] / together[some],
        rows=together[some].astype(np.int64),
    )
