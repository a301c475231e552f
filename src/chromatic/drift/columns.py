"""The columns of a model as groups of features, counted in new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chromatic.data.rows import Rows
from chromatic.drift.measures import (
    Floats,
    Integers,
    Margins,
    Moved,
    Products,
    Stability,
)
from chromatic.encoding.linear import chances
from chromatic.encoding.protocol import Encoding

GROUPS = 10  # of a column's features, at most


class Grouped(NamedTuple):
    """Features in groups; those of a column are neighbors."""

    of_features: Integers  # -1: of no column
    column_of: Integers  # of each group


def grouped(columns: Integers, measure: Floats, counts: Integers) -> Grouped:
    """Cut the features of each column, by their measure, into groups of about as many occurrences.

    >>> found = grouped(np.array([0, 0, 1, -1]), np.array([0.9, 0.1, 0.5, 0.5]), np.array([4, 4, 2, 1]))
    >>> found.of_features.tolist(), found.column_of.tolist()
    ([1, 0, 2, -1], [0, 0, 1])
    """
    order = np.lexsort((measure, columns))
    order = order[columns[order] >= 0]
    own, times = columns[order], counts[order].astype(np.float64)
    totals = np.bincount(own, times, minlength=1)
    before = np.concatenate(([0.0], np.cumsum(totals)))[own]
    middle = (np.cumsum(times) - times / 2 - before) / np.maximum(totals[own], 1.0)
    parts = own * GROUPS + np.clip((middle * GROUPS).astype(np.int64), 0, GROUPS - 1)
    kinds, numbers = np.unique(parts, return_inverse=True)
    of_features = np.full(len(columns), -1, np.int64)
    of_features[order] = numbers
    return Grouped(of_features, kinds // GROUPS)


class Counts:
    """How often new rows have features of an encoding's own columns, or of its linear ones, by group."""

    def __init__(self, part: Encoding, *, own: bool) -> None:
        self.part, self.own = part, own
        if own:
            columns, self.n_columns, measure = part.tables.of_features, part.n_own_columns, part.measure
        else:
            assert part.linear is not None
            columns, self.n_columns = part.linear.columns_of(part.coloring.colors), part.linear.n_columns
            measure = part.linear.weights.astype(np.float64)
        self.columns = columns.astype(np.int64)  # of each feature, or -1
        self.groups = grouped(self.columns, measure, part.vocabulary.counts)
        self.now, self.squares = np.zeros((2, len(self.groups.column_of)), np.int64)
        self.column_squares = np.zeros(self.n_columns, np.int64)

    def add(self, rows: Rows) -> None:
        """Count some rows."""
        n, groups = len(self.groups.column_of), self.groups
        if not n:
            return
        row, group, times = by_row(rows, groups.of_features, n)
        self.now += _sums(group, times, n)
        self.squares += _sums(group, times * times, n)
        row_and_column = row * self.n_columns + groups.column_of[group]  # ascending
        starts = np.flatnonzero(np.diff(row_and_column, prepend=-1))
        if len(starts):
            together = np.add.reduceat(times, starts)
            columns = row_and_column[starts] % self.n_columns
            self.column_squares += _sums(columns, together * together, self.n_columns)

    def stability(self, expected: Floats, n_rows: int, n_compared: int) -> Stability:
        """Return how far each column moved; `expected` is how often training promises each feature."""
        vocabulary = self.part.vocabulary
        moved = Moved(
            then=self._by_group(expected),
            now=self.now,
            corrected=self._by_group(np.abs(expected - vocabulary.counts)),
            squares=self.squares,
            column_squares=self.column_squares,
            column_of=self.groups.column_of,
            n_then=vocabulary.n_rows,
            n_now=n_rows,
        )
        return moved.stability(n_compared)

    def _by_group(self, of_features: Floats) -> Floats:
        some = self.groups.of_features >= 0
        n = len(self.groups.column_of)
        return np.bincount(self.groups.of_features[some], of_features[some], minlength=n).astype(np.float64)


def by_row(rows: Rows, places: Integers, n: int) -> tuple[Integers, Integers, Integers]:
    """Return how often each row has features of each of n places, as (row, place, times), ascending."""
    place = places[rows.codes]
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    some = place >= 0
    pairs, times = np.unique(row[some] * n + place[some], return_counts=True)
    return pairs // n, pairs % n, times


def _sums(places: Integers, whole: Integers, n: int) -> Integers:
    """Return sums of whole numbers by place; floats hold those of a block exactly."""
    return np.bincount(places, whole, minlength=n).astype(np.int64)


@dataclass(frozen=True)
class RatesThen:
    """What training tells of the labels where features of own columns are."""

    rates: Floats  # smoothed, by column
    times: Floats  # occurrences of the features
    unsure: Floats  # by how much smoothing moved rates: columns are chosen by them, so it may not do


class LabelCounts:
    """The labels of new rows by own column, and what the linear model predicts."""

    def __init__(self, part: Encoding, *, binary: bool) -> None:
        self.part, self.binary = part, binary
        self.columns = part.tables.of_features.astype(np.int64)
        n = part.n_own_columns
        self.times, self.squares, self.labels = np.zeros((3, n))
        self.fitted: Margins | Products = Margins() if binary else Products()
        self.predicted: list[float] = []  # sums over each block
        self.observed: list[float] = []
        self.label_squares = 0.0

    def add(self, rows: Rows, labels: Floats) -> None:
        """Count some rows with their labels."""
        n = self.part.n_own_columns
        if n:
            row, column, times = by_row(self.part.resolve(rows), self.columns, n)
            self.times += _sums(column, times, n)
            self.squares += _sums(column, times * times, n)
            self.labels += np.bincount(column, times * labels[row], minlength=n)
        self.observed.append(float(labels.sum()))
        self.label_squares += float((labels * labels).sum())
        if self.part.linear is not None:
            margins = self.part.linear.margins(rows)
            predicted = chances(margins) if self.binary else margins
            self.predicted.append(float(predicted.sum()))
            self.fitted.add(margins, labels)

    def then(self) -> RatesThen | None:
        """Return what training tells; None where the model does not say it."""
        rates, counts, n = self.part.label_means, self.part.vocabulary.counts, self.part.n_own_columns
        if rates is None:
            return None
        some = self.columns >= 0
        times = np.bincount(self.columns[some], counts[some], minlength=n)
        sums = np.bincount(self.columns[some], (counts * rates)[some], minlength=n)
        off = (rates - (self.part.prior or 0.0)) * (self.part.smoothing or 0.0)
        unsure = np.bincount(self.columns[some], off[some], minlength=n) / np.maximum(times, 1)
        return RatesThen(sums / np.maximum(times, 1), times.astype(np.float64), unsure)

    def errors(self, then: RatesThen, n_rows: int) -> Floats:
        """Return how far rates moved in standard errors, 0 where nothing tells it."""
        mean = sum(self.observed) / n_rows
        variance = np.full(len(then.rates), self.label_squares / n_rows - mean * mean)
        if self.binary:
            variance = then.rates * (1 - then.rates)
        both = (self.times > 0) & (then.times > 0) & (variance > 0)
        times, old = np.where(both, self.times, 1.0), np.where(both, then.times, 1.0)
        spread = self.squares / times * variance * (1 / times + 1 / old) + then.unsure**2
        moved = self.labels / times - then.rates
        return np.where(both, moved / np.sqrt(np.where(both, spread, 1.0)), 0.0)
