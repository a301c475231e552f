"""What `drift` finds, as plain values, and what goes beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from chromatic.drift.columns import Counts, LabelCounts
from chromatic.drift.measures import Floats, Integers, Stability, most_errors
from chromatic.encoding.naming import text_of
from chromatic.encoding.protocol import ClassPart
from chromatic.model import Model

Rate = tuple[float | None, float | None, float | None]  # then, now, and how far in standard errors
FEATURES = 5  # of a column that are told, the most frequent in new rows


@dataclass(frozen=True)
class Window:
    """Rows that follow each other."""

    first: int  # the number of the first row, from 0
    rows: int
    unseen: float  # share of a row's features that training did not have, on average
    rows_with_unseen: float  # share of rows with any


@dataclass(frozen=True)
class Predicted:
    """Labels and predictions, on average over a window."""

    observed: float
    predicted: float | None


@dataclass(frozen=True)
class Labels:
    """The labels then and now, and what the linear columns predict."""

    label: str | None  # the class, where there are several
    then: float  # rate or mean
    now: float
    predicted: float | None  # None without linear columns
    slope: float | None  # of labels on predictions: 1 where they are right
    slope_error: float | None
    windows: list[Predicted]


@dataclass(frozen=True)
class Feature:
    """A feature of a column, in occurrences a row."""

    feature: str
    then: float
    now: float


@dataclass(frozen=True)
class Column:
    """How far a column moved."""

    column: int
    name: str
    then: float  # occurrences of its features a row
    now: float
    psi: float
    noise: float  # the index by chance, on average
    limit: float  # what it exceeds by chance in one of a hundred files, in any column
    moved: bool  # whether it is beyond
    rate_then: float | None
    rate_now: float | None
    errors: float | None  # the difference in standard errors
    rate_moved: bool  # whether it is more than chance makes of it, in any column
    features: list[Feature]


@dataclass(frozen=True)
class Drift:
    """What has moved between the rows of training and new rows."""

    training_rows: int
    rows: int
    window: int  # rows of one
    unseen: float  # share of a row's features that training did not have, on average
    rows_with_unseen: float
    expected_unseen: float | None  # in rows like those of training
    windows: list[Window]
    labels: list[Labels]  # one, or one for each of several classes; none without labels
    columns: list[Column]  # in their order

    @property
    def moved(self) -> list[Column]:
        """The columns whose index is beyond chance, the largest first."""
        return sorted((one for one in self.columns if one.moved), key=lambda one: (-one.psi, one.column))

    @property
    def rates_moved(self) -> list[Column]:
        """The columns whose rate moved, by chance or not, the furthest in standard errors first."""
        told = [one for one in self.columns if one.errors]
        return sorted(told, key=lambda one: (-abs(one.errors or 0.0), one.column))

    def above(self, most: float) -> list[str]:
        """Return what is above a limit: the index of a column beyond chance, or unseen features.

        The share of these in a window counts where it is as much above what is expected.
        """
        said = [f"the PSI of column {one.column} ({one.name}) is {one.psi:.3g}" for one in self.moved]
        said = said[: sum(one.psi > most for one in self.moved)]
        expected = self.expected_unseen or 0.0
        for one in self.windows:
            if one.unseen - expected > most:
                rows = f"rows {one.first:,} to {one.first + one.rows - 1:,}"
                said.append(
                    f"{one.unseen:.1%} of the features of {rows} are unseen, {expected:.1%} expected"
                )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists."""
        return asdict(self)


def labels_of(
    parts: Sequence[ClassPart], counted: Sequence[LabelCounts], windows: Integers, rows: list[int]
) -> list[Labels]:
    """Return labels and predictions, of all rows and by window; `windows` are those of blocks."""
    found = []
    sizes, n_rows = np.bincount(windows, rows), sum(rows)
    for one, of_part in zip(parts, counted, strict=False):
        told, slope = bool(of_part.predicted), of_part.fitted.slope()
        observed = np.bincount(windows, of_part.observed) / sizes
        predicted = np.bincount(windows, of_part.predicted) / sizes if told else [None] * len(sizes)
        each = zip(observed.tolist(), list(predicted), strict=True)
        found.append(
            Labels(
                label=one.label or None,
                then=float(one.part.prior or 0.0),
                now=sum(of_part.observed) / n_rows,
                predicted=sum(of_part.predicted) / n_rows if told else None,
                slope=None if slope is None else slope.slope,
                slope_error=None if slope is None else slope.error,
                windows=[Predicted(seen, None if said is None else float(said)) for seen, said in each],
            )
        )
    return found


@dataclass(frozen=True)
class Seen:
    """Occurrences of features a row, then and now."""

    model: Model
    then: Floats
    now: Floats

    def by_column(self, side: Counts) -> tuple[list[float], list[float]]:
        """Return occurrences of the features of each column, then and now."""
        columns, n = side.columns, side.n_columns
        some = columns >= 0
        then, now = (np.bincount(columns[some], of[some], minlength=n) for of in (self.then, self.now))
        return then.tolist(), now.tolist()

    def most_frequent(self, side: Counts) -> list[list[Feature]]:
        """Return the features of each column that are in most new rows."""
        order = np.lexsort((-self.now, side.columns))
        order = order[side.columns[order] >= 0]
        starts = np.searchsorted(side.columns[order], np.arange(side.n_columns + 1))
        name = self.model.encoding.vocabulary.name
        return [
            [
                Feature(text_of(name(code)), float(self.then[code]), float(self.now[code]))
                for code in order[start : min(start + FEATURES, stop)].tolist()
            ]
            for start, stop in pairwise(starts.tolist())
        ]


def columns_of(
    seen: Seen,
    sides: Sequence[Counts],
    stability: Sequence[Stability],
    of_labels: Sequence[LabelCounts],
    n_rows: int,
) -> list[Column]:
    """Return how far each column moved; a side is the own columns of a part, or its linear ones."""
    names = seen.model.column_names()
    rates = {id(one.part): _rates(one, n_rows) for one in of_labels}
    told = [errors for each in rates.values() for _, _, errors in each if errors is not None]
    furthest = most_errors(len(told))
    found: list[Column] = []
    for side, index in zip(sides, stability, strict=True):
        untold: list[Rate] = [(None, None, None)] * side.n_columns
        of_side = rates.get(id(side.part), untold) if side.own else untold
        each = zip(*seen.by_column(side), seen.most_frequent(side), of_side, strict=True)
        for at, (then, now, features, (rate_then, rate_now, errors)) in enumerate(each):
            found.append(
                Column(
                    column=len(found),
                    name=names[len(found)],
                    then=then,
                    now=now,
                    psi=float(index.index[at]),
                    noise=float(index.noise[at]),
                    limit=float(index.limit[at]),
                    moved=bool(index.index[at] > index.limit[at]),
                    rate_then=rate_then,
                    rate_now=rate_now,
                    errors=errors,
                    rate_moved=abs(errors or 0.0) > furthest,
                    features=features,
                )
            )
    return found


def _rates(counted: LabelCounts, n_rows: int) -> list[Rate]:
    """Return the rate of each own column then and now, and the difference in standard errors."""
    then = counted.then()
    if then is None:
        return [(None, None, None)] * counted.part.n_own_columns
    now, errors = counted.labels / np.maximum(counted.times, 1), counted.errors(then, n_rows)
    both = (counted.times > 0) & (then.times > 0)
    return [
        (old, new, off) if some else (old, None, None)
        for old, new, off, some in zip(
            then.rates.tolist(), now.tolist(), errors.tolist(), both, strict=True
        )
    ]
