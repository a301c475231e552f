"""What the weights of features are found from: rows with their labels, in memory or in a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.encoding.linear import chances
from chromatic.fitting import descent
from chromatic.fitting.packed import Block, InMemory, Numbers, Packed, by_content
from chromatic.fitting.solving import Level
from chromatic.fitting.stored import OnDisk, Packing

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Folds = npt.NDArray[np.int32]

NO_FOLD = -1


class Dense(NamedTuple):
    """Dense columns as the model sees them: less their mean, over their standard deviation."""

    centers: Floats
    factors: Floats  # 0 for a column that never changes

    @classmethod
    def of(cls, rows: Rows | StoredRows, importance: Floats | None = None, threads: int = 1) -> Dense:
        """Return what the model makes of the dense columns of rows; no order of the rows changes it."""

        def moments(column: npt.NDArray[np.floating]) -> tuple[float, float]:
            return ordered_moments(column, importance)

        if isinstance(rows, StoredRows):  # there is memory for one at a time
            both = list(map(moments, rows.dense_columns()))
        else:
            both = list(ordered_map(moments, rows.dense.T, threads))
        return cls.of_moments(*np.array(both).reshape(-1, 2).T)

    @classmethod
    def of_moments(cls, centers: Floats, spread: Floats) -> Dense:
        """Return it from means and standard deviations."""
        large = spread > 1e-9 * np.abs(centers)
        return cls(centers, np.where(large, 1.0 / np.where(large, spread, 1.0), 0.0))

    def seen(self, rows: Rows) -> npt.NDArray[np.float32]:
        """Return the dense columns of rows as the model sees them."""
        seen = np.empty(rows.dense.shape, np.float32)
        for start in range(0, rows.n_rows, 1 << 16):
            here = slice(start, start + (1 << 16))
            seen[here] = (rows.dense[here] - self.centers) * self.factors
        return seen


def ordered_moments(numbers: npt.NDArray[np.floating], weights: Floats | None) -> tuple[float, float]:
    """Return the mean and the standard deviation of numbers with weights; no order of them changes it."""
    if weights is None:
        ordered = np.sort(numbers).astype(np.float64)
        return float(ordered.mean()), float(ordered.std())
    order = np.lexsort((weights, numbers))
    ordered, weights = numbers[order].astype(np.float64), weights[order]
    mean = float(np.average(ordered, weights=weights))
    return mean, math.sqrt(float(np.average((ordered - mean) ** 2, weights=weights)))


@dataclass(frozen=True)
class Weighing:
    """Rows with their labels: 0 and 1, or numbers."""

    rows: Rows | StoredRows
    dense: Dense
    labels: Floats
    fold: Folds  # rows of a negative fold play no part
    sums: npt.NDArray[np.uint64]  # of the hashes of each row's features: what tells rows apart
    n_several: int  # features that may be in several rows; those after them are in one at most
    binary: bool
    seed: int
    importance: Floats | None = None  # the weight of each row, 0 where it plays no part; None: all are 1

    def __post_init__(self) -> None:
        if self.importance is not None:
            object.__setattr__(self, "fold", np.where(self.importance > 0, self.fold, NO_FOLD))

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The mean and the standard deviation of labels that are numbers: kernels work in units of them."""
        if self.binary:
            return 0.0, 1.0
        used = self.fold >= 0
        weights = None if self.importance is None else self.importance[used]
        mean, spread = ordered_moments(self.labels[used], weights) if used.any() else (0.0, 0.0)
        return mean, spread if spread > 0 else 1.0

    @cached_property
    def packed(self) -> Packed:
        """The rows as kernels take them, with dense columns as the model sees them."""
        if isinstance(self.rows, StoredRows):
            return OnDisk(self.rows, Packing(self.block, told_apart, self._order, self.seed))
        block = self.block(0, self.rows)
        return InMemory(block, self._order(told_apart(block)), self.seed)

    def block(self, start: int, rows: Rows) -> Block:
        """Return rows as kernels take them; `start` is the number of the first."""
        here, (center, unit) = slice(start, start + rows.n_rows), self.scale
        heads = np.empty(rows.n_rows, descent.HEAD)
        descent.place((rows.indptr, rows.codes), self.n_several, heads)
        labels = self.labels[here]
        heads["label"] = np.where(labels == 1, 1.0, -1.0) if self.binary else (labels - center) / unit
        heads["weight"] = 1.0 if self.importance is None else self.importance[here]
        heads["fold"], heads["number"] = self.fold[here], np.arange(start, start + rows.n_rows)
        return Block(heads, rows.codes, self.dense.seen(rows))

    def _order(self, columns: Floats) -> Numbers:
        """Return the rows that play a part, in the order of their content.

        Of equal rows, the labels of one fold change the order of no other.
        """
        keys = [columns] if len(columns) else []
        weights = [] if self.importance is None else [self.importance]
        return by_content([*keys, self.fold, self.labels, *weights], self.sums, self.fold >= 0)

    def orders(self) -> Iterator[Numbers]:
        """Yield the rows that play a part in a new random order, over and over; they are in memory."""
        for epoch in count():
            yield np.concatenate([visit.order for visit in self.packed.visits(epoch)])

    @property
    def csr(self) -> tuple[Integers, npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
        """The rows, which are in memory, with dense columns as the model sees them."""
        assert isinstance(self.rows, Rows)
        return self.rows.indptr, self.rows.codes, self.dense.seen(self.rows)

    def all_weights(self, level: Level) -> npt.NDArray[np.float32]:
        """Return the weights of all features: those of one row are what its dual variable says."""
        weights = np.zeros(self.rows.n_features, np.float32)
        weights[: self.n_several] = self.scale[1] * level.found[-1].weights
        if self.n_several == self.rows.n_features:
            return weights
        moves = level.duals.astype(np.float64)
        if self.binary:
            moves = level.strength * chances(moves)
            np.negative(moves, out=moves, where=self.labels != 1)
            if self.importance is not None:
                moves *= self.importance
        else:
            moves *= self.scale[1]
        moves[self.fold < 0] = 0.0
        for start, piece in self.rows.pieces():
            own = piece.codes >= self.n_several
            of_rows = np.repeat(moves[start : start + piece.n_rows], np.diff(piece.indptr))
            weights[piece.codes[own]] = of_rows[own]
        return weights


def told_apart(block: Block) -> Floats:
    """Return a number for each row that tells its dense columns from others; none where there are none.

    It is added up column by column, so that it is the same in whichever block a row is.
    """
    column = np.zeros(len(block.heads) if block.dense.shape[1] else 0)
    for d in range(block.dense.shape[1]):
        column += math.sqrt(2.0 + d) * block.dense[:, d].astype(np.float64)
    return column
