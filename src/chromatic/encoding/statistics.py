"""What is summed over rows before anything is encoded.

A statistic holds numbers for each feature and fold. Two halves of the rows add up to the whole, so that it
can be counted in memory, from disk or by the workers of Spark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, prefetch
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Colors = npt.NDArray[np.int32]
Given = tuple[Floats, npt.NDArray[np.int32], Colors]  # labels and folds of rows, colors of features

LOWER_HALF = np.int64(0xFFFFFFFF)


class Extent(NamedTuple):
    """How large a statistic is."""

    n_features: int
    n_folds: int
    n_several: int  # features that may be in several rows; those after them are in one at most
    n_colors: int


class Statistic(ABC):
    """Numbers for each feature and fold, summed over rows."""

    measures: ClassVar[tuple[str, ...]]  # what is summed; the first is the number of rows

    @classmethod
    @abstractmethod
    def zeros(cls, extent: Extent) -> Self:
        """Return the statistic of no rows."""

    @staticmethod
    @abstractmethod
    def bytes_needed(extent: Extent) -> int:
        """Return the memory that counting and learning from it take."""

    @abstractmethod
    def add(self, rows: Rows, labels: Floats, fold: npt.NDArray[np.int32], colors: Colors) -> None:
        """Add rows by the colors of their features; those of a negative fold are left out.

        A row counts once for each of its features, and once for each color that it has a feature of. The
        statistic of rows with weights takes them too, and counts a row so often.
        """

    def add_transposed(self, rows: Rows, transposed: Transposed, given: Given, threads: int) -> bool:
        """Add all rows, by their transpose, where that is faster; tell whether it was done."""
        return False

    @abstractmethod
    def cells(self) -> Floats:
        """Return measures × (features + colors + 1) × folds; the last stands for all rows."""

    @classmethod
    @abstractmethod
    def of_cells(cls, cells: Floats, n_colors: int) -> Self:
        """Return the statistic with these cells."""

    @abstractmethod
    def label_moments(self) -> tuple[float, float]:
        """Return the mean and the variance of the labels of all rows."""

    @abstractmethod
    def shares(self) -> Floats:
        """Return of each fold the share of all rows that are outside of it."""


def packed(positives: Integers, rows: Integers) -> Integers:
    """Rows and how many of them are positive in one word: sums and differences are those of both."""
    return rows + (positives << 32)


@dataclass(frozen=True)
class LabelCounts(Statistic):
    """How many rows of each fold have each feature, and how many of those are positive, `packed`.

    Most features are in one row only. They come after those of several, as codes descend with counts,
    and a byte tells all of one: 0 for none, 1 for a row, 3 for a positive row.
    """

    measures = "rows", "positives"

    several: Integers  # features of several rows × folds
    alone: npt.NDArray[np.uint8]  # the features after them
    of_colors: Integers  # rows with a feature of the color, colors × folds
    whole: Integers  # all rows of each fold

    @classmethod
    def zeros(cls, extent: Extent) -> Self:
        return cls(
            np.zeros((extent.n_several, extent.n_folds), np.int64),
            np.zeros(extent.n_features - extent.n_several, np.uint8),
            np.zeros((extent.n_colors, extent.n_folds), np.int64),
            np.zeros(extent.n_folds, np.int64),
        )

    @staticmethod
    def bytes_needed(extent: Extent) -> int:
        return 12 * extent.n_folds * extent.n_several + 40 * extent.n_features

    def add(self, rows: Rows, labels: Floats, fold: npt.NDArray[np.int32], colors: Colors) -> None:
        counts = self.several, self.alone, self.of_colors, self.whole
        last_row = np.full(len(self.of_colors), -1, np.int64)
        _count_labels((rows.indptr, rows.codes), labels == 1, fold, (colors, last_row), counts)

    def add_transposed(self, rows: Rows, transposed: Transposed, given: Given, threads: int) -> bool:
        from chromatic.encoding.by_feature import MOST_FOLDS, count_by_feature

        if len(self.whole) > MOST_FOLDS:
            return False
        count_by_feature(self, rows, transposed, given, threads)
        return True

    def totals(self) -> Integers:
        """The counts of each feature in all folds, and those of all rows as the last element."""
        out = np.empty(len(self.several) + len(self.alone) + 1, np.int64)
        _add_folds(self.several, self.alone, out)
        out[-1] = self.whole.sum()
        return out

    def seen(self) -> npt.NDArray[np.bool_]:
        """Which features are in a row that was counted."""
        return np.asarray(self.totals()[:-1] > 0)

    def of_null(self) -> Integers:
        """The counts of the rows without any feature of each color."""
        without: Integers = self.whole.sum() - self.of_colors.sum(axis=1)
        return without

    def cells(self) -> Floats:
        if len(self.alone):
            raise ValueError("features of one row are not told by fold; count them as those of several")
        every = np.concatenate((self.several, self.of_colors, self.whole[None]))
        return np.stack((every & LOWER_HALF, every >> 32)).astype(np.float64)

    @classmethod
    def of_cells(cls, cells: Floats, n_colors: int) -> Self:
        rows, positives = cells.astype(np.int64)
        every = packed(positives, rows)
        n_features = len(every) - n_colors - 1
        return cls(every[:n_features], np.empty(0, np.uint8), every[n_features:-1], every[-1])

    def shares(self) -> Floats:
        return _shares((self.whole & LOWER_HALF).astype(np.float64))

    def label_moments(self) -> tuple[float, float]:
        whole = int(self.whole.sum())
        rows, positives = whole & int(LOWER_HALF), whole >> 32
        mean = positives / rows if rows else 0.0
        return mean, mean * (1 - mean)


@dataclass(frozen=True)
class LabelMoments(Statistic):
    """Rows, and the sums of their labels and of the squares; a row counts as often as its weight says."""

    measures = "rows", "sum", "squares"

    of_features: Floats  # 3 × features × folds
    of_colors: Floats  # of rows with a feature of the color, 3 × colors × folds
    whole: Floats  # of all rows, 3 × folds

    @classmethod
    def zeros(cls, extent: Extent) -> Self:
        sizes = (extent.n_features, extent.n_folds), (extent.n_colors, extent.n_folds), (extent.n_folds,)
        return cls(*(np.zeros((3, *size)) for size in sizes))

    @staticmethod
    def bytes_needed(extent: Extent) -> int:
        return 100 * extent.n_folds * extent.n_features

    def add(
        self,
        rows: Rows,
        labels: Floats,
        fold: npt.NDArray[np.int32],
        colors: Colors,
        weights: Floats | None = None,
    ) -> None:
        last_row = np.full(self.of_colors.shape[1], -1, np.int64)
        sums = self.of_features, self.of_colors, self.whole
        of_rows = labels, np.empty(0) if weights is None else weights, fold
        _add_moments((rows.indptr, rows.codes), of_rows, (colors, last_row), sums)

    def totals(self) -> Floats:
        """The sums of each feature over all folds, 3 × features."""
        return np.asarray(self.of_features.sum(axis=2))

    def seen(self) -> npt.NDArray[np.bool_]:
        """Which features are in a row that was counted."""
        return np.asarray(self.totals()[0] > 0)

    def outside(self, fold: int) -> Floats:
        """The sums of each feature over the other folds; exactly 0 where none of their rows has it."""
        return np.asarray(np.delete(self.of_features, fold, axis=2).sum(axis=2))

    def of_null(self) -> Floats:
        """The sums over the rows without any feature of each color, 3 × colors."""
        return np.asarray((self.whole[:, None] - self.of_colors).sum(axis=2))

    def cells(self) -> Floats:
        return np.concatenate((self.of_features, self.of_colors, self.whole[:, None]), axis=1)

    @classmethod
    def of_cells(cls, cells: Floats, n_colors: int) -> Self:
        n_features = cells.shape[1] - n_colors - 1
        return cls(cells[:, :n_features], cells[:, n_features:-1], cells[:, -1])

    def shares(self) -> Floats:
        return _shares(self.whole[0])

    def label_moments(self) -> tuple[float, float]:
        rows, total, squares = self.whole.sum(axis=1)
        mean = total / rows if rows else 0.0
        return float(mean), float(max(squares / rows - mean * mean, 0.0)) if rows else 0.0


def _shares(rows: Floats) -> Floats:
    """Return of each fold the share of all rows that are outside of it, from the rows of each."""
    return np.asarray(1.0 - rows / max(float(rows.sum()), 1.0))


@kernel
def _count_labels(rows, positive, fold, coloring, out):  # type: ignore[no-untyped-def]
    indptr, codes = rows
    colors, last_row = coloring
    several, alone, of_colors, whole = out
    n_several, n_folds = several.shape
    for row in range(len(indptr) - 1):
        f = fold[row]
        if f < 0:
            continue
        one = np.int64(1) + (np.int64(positive[row]) << 32)
        whole[f] += one
        for i in range(indptr[row], indptr[row + 1]):
            if i + 16 < len(codes):
                prefetch(several, np.int64(codes[i + 16]) * n_folds)
            code = np.int64(codes[i])
            color = colors[code]
            if last_row[color] != row:
                last_row[color] = row
                of_colors[color, f] += one
            if code < n_several:
                several[code, f] += one
            else:
                alone[code - n_several] = 3 if positive[row] else 1


@kernel
def _add_folds(several, alone, out):  # type: ignore[no-untyped-def]
    n_several, n_folds = several.shape
    for v in range(n_several):
        total = np.int64(0)
        for f in range(n_folds):
            total += several[v, f]
        out[v] = total
    for v in range(len(alone)):
        out[n_several + v] = np.int64(alone[v] & 1) + (np.int64(alone[v] >> 1) << 32)


@kernel
def _add_moments(rows, of_rows, coloring, out):  # type: ignore[no-untyped-def]
    indptr, codes = rows
    y, weights, fold = of_rows
    colors, last_row = coloring
    of_features, of_colors, whole = out
    for row in range(len(indptr) - 1):
        f = fold[row]
        if f < 0:
            continue
        weight = weights[row] if len(weights) else 1.0
        moments = weight, weight * y[row], weight * y[row] * y[row]
        for m in range(3):
            whole[m, f] += moments[m]
        for i in range(indptr[row], indptr[row + 1]):
            color = colors[codes[i]]
            new = last_row[color] != row
            last_row[color] = row
            for m in range(3):
                of_features[m, codes[i], f] += moments[m]
                if new:
                    of_colors[m, color, f] += moments[m]
