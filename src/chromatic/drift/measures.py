"""How far counts, rates and predictions have moved, and how far chance alone would move them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.encoding.linear import chances

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CHANCE = 0.01  # that rows like those of training go beyond the limit in any column
# Counts in training, as the ends of ranges within which features are alike.
RANGES = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
ALWAYS = 4  # below it a range is corrected however few its features are
ENOUGH = 200  # features of another range
UNSURE = 0.2  # share of a correction that may be wrong, as features of one count are not all alike
SPAN, STEPS = 20.0, 4000  # margins from -SPAN to SPAN are told apart in so many steps
ROUNDS = 50  # of Newton's method


def adjusted(counts: Integers) -> Floats:
    """Return how often features are to be expected in as many new rows as there were in training.

    A feature is known because training rows had it. So rare ones are in fewer new rows than their counts
    say, and the difference is what the unseen features have. By Good and Turing, all features with counts
    from a to b - 1 have together, in other rows, the occurrences of those with counts from a + 1 to b.

    >>> adjusted(np.array([9, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1])).round(2).tolist()[::3]
    [9.0, 0.0, 0.86, 0.86]
    """
    of_range = np.searchsorted(RANGES, counts, side="right") - 1
    expected = counts.astype(np.float64)
    alike = np.bincount(counts[counts <= RANGES[-1]], minlength=int(RANGES[-1]) + 1)
    for number, (low, high) in enumerate(pairwise(RANGES.tolist())):
        here = of_range == number
        total = int((alike[low:high] * np.arange(low, high)).sum())
        if total and (low < ALWAYS or here.sum() >= ENOUGH):
            expected[here] *= max(total - low * alike[low] + high * alike[high], 0) / total
    return expected


@dataclass(frozen=True)
class Stability:
    """The population stability index of columns, and what it would be by chance."""

    index: Floats
    noise: Floats  # the mean of the index in rows like those of training
    limit: Floats  # beyond which it is by chance in one of a hundred files at most, in any column


@dataclass(frozen=True)
class Moved:
    """Occurrences of groups of features, in training and in new rows; groups of a column are neighbors."""

    then: Floats  # occurrences to be expected in `n_then` rows
    now: Integers
    corrected: Floats  # by how much `then` differs from what was counted
    squares: Integers  # of how often a new row has features of the group, summed
    column_squares: Integers  # the same of all groups of a column
    column_of: Integers  # of each group
    n_then: int
    n_now: int

    def stability(self, n_compared: int) -> Stability:
        """Return the index of each column; `n_compared` columns share the chance of a false alarm.

        The index sums (now - then) log(now / then) over the groups, each as occurrences a row or, where
        rows have several features of the column, as a share of them.
        """
        n = len(self.column_squares)
        then, now = (self.then + 0.5) / self.n_then, (self.now + 0.5) / self.n_now
        size = np.maximum(self._by_column(self.then / self.n_then), 1.0)
        index = self._by_column((now - then) * np.log(now / then)) / size
        spread = _dispersion(self.squares, self.now, self.n_now)
        unsure = (UNSURE * self.corrected / self.n_then) ** 2
        terms = spread * (1 / self.n_then + 1 / self.n_now) + unsure / then
        means = self._by_column(terms)
        groups = np.maximum(self._by_column(np.ones(len(then))), 1.0)
        # Groups that come together in rows move together: so much more than alone, on average.
        of_all = _dispersion(self.column_squares, self._by_column(self.now), self.n_now)
        alone = self._by_column(spread * now) / np.maximum(self._by_column(now), 1e-300)
        together = (of_all - alone) ** 2 * (1 / self.n_then + 1 / self.n_now) ** 2
        both = np.where(groups > 1, together * groups / np.maximum(groups - 1, 1), 0.0)
        squares = self._by_column(terms**2) + both
        some = means > 0
        limit = np.zeros(n)
        freedom = means[some] ** 2 / squares[some]
        limit[some] = squares[some] / means[some] * _upper(freedom, n_compared)
        return Stability(index, means / size, limit / size)

    def _by_column(self, of_groups: npt.NDArray[np.number]) -> Floats:
        sums = np.bincount(self.column_of, of_groups, minlength=len(self.column_squares))
        return sums.astype(np.float64)


def _dispersion(squares: npt.NDArray[np.number], sums: npt.NDArray[np.number], n_rows: int) -> Floats:
    """Return the variance of a count over rows, by its mean; 1 where there is nothing to tell it from."""
    return np.asarray((squares - sums * (sums / n_rows) + 1.0) / (sums + 1.0), np.float64)


def _upper(freedom: Floats, n_compared: int) -> Floats:
    """Return what a chi-squared variable exceeds by CHANCE in any of so many columns."""
    from scipy.special import gammainccinv

    return np.asarray(2 * gammainccinv(freedom / 2, CHANCE / max(n_compared, 1)), np.float64)


def most_errors(n_compared: int) -> float:
    """Return the standard errors that one of so many rates goes beyond by CHANCE."""
    from scipy.special import ndtri

    return float(-ndtri(CHANCE / max(n_compared, 1) / 2))


class Slope(NamedTuple):
    """How labels follow predictions: 1 where they do as predicted, less where predictions go too far."""

    slope: float
    error: float  # standard error


class Margins:
    """Margins of rows and their labels of 0 and 1, in steps: sums of whole numbers, in any order."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, STEPS + 1), np.int64)

    def add(self, margins: Floats, labels: Floats) -> None:
        """Count some rows."""
        places = np.rint((np.clip(margins, -SPAN, SPAN) / SPAN + 1) * STEPS / 2).astype(np.int64)
        for label in (0, 1):
            self.counts[label] += np.bincount(places[labels == label], minlength=STEPS + 1)

    def slope(self) -> Slope | None:
        """Return the slope of a logistic regression on the margins; None where labels do not tell it."""
        some = np.flatnonzero(self.counts.sum(axis=0))
        negative, positive = self.counts[:, some].astype(np.float64)
        x = np.stack((np.ones(len(some)), (some * 2 / STEPS - 1) * SPAN))
        if len(some) < 2 or not negative.sum() or not positive.sum():
            return None
        found = np.array([0.0, 1.0])
        for _ in range(ROUNDS):
            rates = chances(found @ x)
            weights = (negative + positive) * rates * (1 - rates)
            curvature = (x * weights) @ x.T
            if np.linalg.cond(curvature) > 1e12:
                return None  # margins separate the labels
            step = np.linalg.solve(curvature, x @ (positive - (negative + positive) * rates))
            found = found + step
            if np.abs(step).max() < 1e-9:
                break
        return Slope(float(found[1]), float(np.sqrt(np.linalg.inv(curvature)[1, 1])))


class Products:
    """Predictions of numbers and labels, as the sums that a regression line needs."""

    def __init__(self) -> None:
        self.sums = np.zeros(6)

    def add(self, margins: Floats, labels: Floats) -> None:
        """Add some rows."""
        once = np.ones(len(labels))
        pairs = (once, once), (once, margins), (once, labels), (margins, margins), (margins, labels)
        self.sums += [float((a * b).sum()) for a, b in (*pairs, (labels, labels))]

    def slope(self) -> Slope | None:
        """Return the slope of the line; None where predictions are all the same."""
        n, x, y, xx, xy, yy = self.sums
        if n < 3 or n * xx - x * x <= 1e-12 * n * xx:
            return None
        below = xx - x * x / n
        slope = (xy - x * y / n) / below
        left = max(yy - y * y / n - slope * slope * below, 0.0)
        return Slope(float(slope), float(np.sqrt(left / (n - 2) / below)))
