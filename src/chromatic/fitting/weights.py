"""The weight of each feature in one linear model over all of them, by all rows and out of each fold.

A feature's rate repeats what the features beside it say already. Its weight in a model of all features
says what it adds. The model is L2-penalized: logistic regression for labels of two kinds, ridge regression
for numbers. Dual coordinate descent finds it (Yu, Huang and Lin 2011): a row is one dual variable, and a
step on it costs as much as its features. The rows are visited in a new random order in every epoch; in
any fixed order, and most of all in the order of a sorted file, the steps need many times as many epochs.

The weights of a fold come from the rows outside of it alone and start from nothing, so that no label of
the fold is in them. Fewer rows would mean a stronger penalty: each is scaled to the rows it knows.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.coloring import Size
from chromatic.data.rows import Rows
from chromatic.fitting import descent

if TYPE_CHECKING:
    from chromatic.fitting.onward import Certainty

log = logging.getLogger("chromatic")

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Folds = npt.NDArray[np.int32]
Used = npt.NDArray[np.bool_]

STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of C, the inverse of the penalty
STEP = 1.8  # from one strength to the next, where the choice is a finer one
WORTH = 0.002  # a weaker penalty must predict better by this share
MOST_EPOCHS, TOLERANCE = 30, 0.04  # the tolerance is of what the labels differ from their mean
MOST_EPOCHS_OF_NUMBERS, TOLERANCE_OF_NUMBERS = 100, 0.005  # the tolerance is of what is left of them
UNSETTLED = 0.1  # the same, where it is said
MOST_TO_CHOOSE = 1 << 17  # rows that choose the penalty
MOST_ENTRIES = 1 << 22  # of these rows
NO_FOLD = -1


@dataclass(frozen=True)
class Weights:
    """What each feature adds to the log-odds of the label, or to its mean where labels are numbers."""

    of_features: npt.NDArray[np.float32]
    by_fold: npt.NDArray[np.float32]  # features of several rows × folds; the others are 0 out of fold
    of_dense: Floats
    intercept: float
    strength: float  # C: the inverse of the penalty on the square of the weights
    held_out_loss: float  # of a row that did not choose the weights: of numbers the squared error
    certainty: Certainty | None = None  # by all rows, where that is to be kept


class Dense(NamedTuple):
    """Dense columns as the model sees them: less their mean, over their standard deviation."""

    centers: Floats
    factors: Floats  # 0 for a column that never changes

    @classmethod
    def of(cls, rows: Rows, importance: Floats | None = None) -> Dense:
        # Sorted, so that the order of the rows does not change the last digit.
        columns = rows.dense.astype(np.float64)
        if importance is None:
            columns = np.sort(columns, axis=0)
            centers, spread = columns.mean(axis=0), columns.std(axis=0)
        else:
            orders = [np.lexsort((importance, column)) for column in columns.T]
            both = [_moments(column[o], importance[o]) for column, o in zip(columns.T, orders, strict=True)]
            centers, spread = np.array(both).reshape(-1, 2).T
        large = spread > 1e-9 * np.abs(centers)
        return cls(centers, np.where(large, 1.0 / np.where(large, spread, 1.0), 0.0))

    def seen(self, rows: Rows) -> npt.NDArray[np.float32]:
        """Return the dense columns of rows as the model sees them."""
        seen = np.empty(rows.dense.shape, np.float32)
        for start in range(0, rows.n_rows, 1 << 16):
            here = slice(start, start + (1 << 16))
            seen[here] = (rows.dense[here] - self.centers) * self.factors
        return seen


class Solution(NamedTuple):
    """The dual variable of each row, and the weights that follow from all of them."""

    duals: Floats
    weights: Floats  # of the features that may be in several rows
    dense: Floats  # of the dense columns as the model sees them; the last is the intercept

    def scaled(self, factor: float) -> Solution:
        """Return a copy for a C that is so many times as large, to go on from."""
        return Solution(*(numbers * factor for numbers in self))


@dataclass(frozen=True)
class Weighing:
    """Rows with their labels: 0 and 1, or numbers."""

    rows: Rows
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

    def weight(self, which: Used) -> float:
        """Return the weight of some rows, together."""
        return float(which.sum() if self.importance is None else np.sort(self.importance[which]).sum())

    def taken(self, numbers: Integers) -> Weighing:
        """Return some of the rows."""
        lengths = np.diff(self.rows.indptr)[numbers]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        entries = np.repeat(self.rows.indptr[numbers] - indptr[:-1], lengths) + np.arange(indptr[-1])
        rows = Rows(
            indptr=indptr,
            codes=self.rows.codes[entries],
            labels=None,
            dense=self.rows.dense[numbers],
            n_features=self.rows.n_features,
            vocabulary=self.rows.vocabulary,
        )
        return replace(
            self,
            rows=rows,
            labels=self.labels[numbers],
            fold=self.fold[numbers],
            sums=self.sums[numbers],
            importance=None if self.importance is None else self.importance[numbers],
        )

    @cached_property
    def csr(self) -> tuple[Integers, Integers, npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
        """The rows as kernels take them, with dense columns as the model sees them."""
        indptr, codes = self.rows.indptr, self.rows.codes
        ends = indptr[1:]
        if self.n_several < self.rows.n_features:
            ends = np.empty(self.rows.n_rows, np.int64)
            descent.several_until((indptr, codes), self.n_several, ends)
        return indptr, ends, codes, self.dense.seen(self.rows)

    def orders(self, used: Used) -> Iterator[Integers]:
        """Yield rows in a new random order, over and over; their content decides, not their numbers.

        Nothing of the other rows matters.
        """
        order, epoch = self._sorted[used[self._sorted]], 0
        while True:
            descent.shuffle(order, np.uint64((self.seed << 20) + epoch & 0xFFFFFFFFFFFFFFFF))
            yield order
            epoch += 1

    @cached_property
    def _sorted(self) -> Integers:
        """The rows in the order of their content; equal ones in that of their labels."""
        dense = self.rows.dense @ np.sqrt(np.arange(2.0, 2.0 + self.rows.dense.shape[1]))
        weights = () if self.importance is None else (self.importance,)
        return np.lexsort((*weights, dense, self.labels, self.sums))

    def all_weights(self, solution: Solution) -> npt.NDArray[np.float32]:
        """Return the weights of all features: those of one row are what its dual variable says."""
        indptr, ends, codes, _ = self.csr
        weights = np.zeros(self.rows.n_features, np.float32)
        weights[: self.n_several] = solution.weights
        signed = (
            np.where(self.labels == 1, solution.duals, -solution.duals) if self.binary else solution.duals
        )
        weights[codes[codes >= self.n_several]] = np.repeat(signed, indptr[1:] - ends)
        return weights


def bytes_to_weigh(size: Size, n_folds: int, threads: int) -> int:
    """Return the memory for all rows at once, a sample, and the solutions that are kept or worked on."""
    rows = 4 * size.n_entries + size.n_rows * (72 + 28 * size.n_dense)
    sample = 28 * min(size.n_entries, MOST_ENTRIES)
    solution = 8 * size.n_features + 8 * size.n_rows
    working = (threads + 4) * solution + threads * 40 * size.n_rows
    return rows + sample + working + 4 * (n_folds + 1) * size.n_features


def weigh(task: Weighing, n_folds: int, threads: int = 1) -> Weights:
    """Find the weights by all rows that have a fold and, where there are several folds, out of each.

    Features of one row have no weight out of its fold.
    """
    strength, loss = choose_strength(task)
    by_fold = np.zeros((task.n_several, n_folds if n_folds > 1 else 0), np.float32)
    if n_folds > 1:
        strength, loss, solved = _choose_finer(task, strength, n_folds, threads)
        for fold, (_, solution) in solved.items():
            by_fold[:, fold] = solution.weights
    log.info("weights: a penalty of %g on their squares is best for held-out rows", 1 / strength)

    def solve(fold: int) -> tuple[float, Solution]:
        return _out_of_fold(task, fold, strength, _nothing(task))

    folds = range(n_folds - 2)
    solutions = ordered_map(solve, (*folds, NO_FOLD), threads)
    for fold in folds:
        by_fold[:, fold] = next(solutions)[1].weights
    intercept, solution = next(solutions)
    of_dense = solution.dense[:-1] * task.dense.factors
    return Weights(
        of_features=task.all_weights(solution),
        by_fold=by_fold,
        of_dense=of_dense,
        intercept=intercept + float(solution.dense[-1] - of_dense @ task.dense.centers),
        strength=strength,
        held_out_loss=loss,
    )


def _out_of_fold(task: Weighing, fold: int, strength: float, start: Solution) -> tuple[float, Solution]:
    """Return the mean and the solution of the rows outside of a fold."""
    used = (task.fold >= 0) & (task.fold != fold)
    share = task.weight(used) / max(task.weight(task.fold >= 0), 1.0)
    offset = _offset(task, used)
    if offset is None:
        log.warning(
            "the rows outside of fold %d have labels of one kind; the linear columns of its rows are 0",
            fold,
        )
        return 0.0, _nothing(task)
    return offset, _solve(task, used, (offset, strength / share), start)


def choose_strength(task: Weighing) -> tuple[float, float]:
    """Return the C under which the labels of a fifth of the rows are about likeliest, and their loss.

    From the strongest penalty on, each solution is the start of the next, until held-out rows are
    predicted worse. Of penalties that are alike, the strongest is chosen: weaker ones take more epochs.
    """
    sample, held_out = _sample(task)
    used, held_out = (sample.fold >= 0) & ~held_out, held_out & (sample.fold >= 0)
    offset = _offset(sample, used)
    if offset is None or not held_out.any():
        return STRENGTHS[0], 0.0
    solution, losses, last = _nothing(sample), [], STRENGTHS[0]
    for strength in STRENGTHS:
        solution = _solve(sample, used, (offset, strength), solution.scaled(strength / last))
        last = strength
        losses.append(_loss(sample, (offset, solution), held_out))
        if losses[-1] > min(losses) * (1.0 + WORTH):
            break
    best = int((np.array(losses) <= min(losses) * (1.0 + WORTH)).argmax())
    return STRENGTHS[best], losses[best]


def _choose_finer(
    task: Weighing, strength: float, n_folds: int, threads: int
) -> tuple[float, float, dict[int, tuple[float, Solution]]]:
    """Return the best C for the last two folds, from a given one on, their loss, and what each has found.

    All rows may want a weaker penalty than a sample: they have more rows of each feature.
    """
    folds = n_folds - 2, n_folds - 1
    held_out = [task.fold == fold for fold in folds]
    shares = [task.weight(which) for which in held_out]

    def solve(strength: float, starts: Sequence[Solution]) -> tuple[float, list[tuple[float, Solution]]]:
        tasks = zip(folds, starts, strict=True)
        solved = list(ordered_map(lambda one: _out_of_fold(task, one[0], strength, one[1]), tasks, threads))
        losses = [_loss(task, one, which) for one, which in zip(solved, held_out, strict=True)]
        return float(np.average(losses, weights=shares if any(shares) else None)), solved

    loss, solved = solve(strength, [_nothing(task) for _ in folds])
    while strength < STRENGTHS[-1]:
        following = solve(STEP * strength, [solution.scaled(STEP) for _, solution in solved])
        if following[0] >= loss * (1.0 - WORTH):
            break
        strength, (loss, solved) = STEP * strength, following
    return strength, loss, dict(zip(folds, solved, strict=True))


def _sample(task: Weighing) -> tuple[Weighing, npt.NDArray[np.bool_]]:
    """Return rows to choose the penalty by, as many as are worth the time, and which are held out."""
    n_rows, n_entries = task.rows.n_rows, len(task.rows.codes)
    share = min(1.0, MOST_TO_CHOOSE / max(n_rows, 1), MOST_ENTRIES / max(n_entries, 1))
    drawn = next(task.orders(np.ones(n_rows, bool)))[: int(n_rows * share)]
    place = np.argsort(drawn)
    sample = task if share == 1.0 else task.taken(drawn[place])
    return sample, place < len(drawn) // 5


def _loss(task: Weighing, solved: tuple[float, Solution], which: Used) -> float:
    """Return the mean loss of some rows; 0 for none."""
    numbers = np.flatnonzero(which)
    if not len(numbers):
        return 0.0
    (offset, solution), margins = solved, np.empty(len(numbers))
    descent.predict(task.csr, solution[1:], numbers, margins)
    labels, margins = task.labels[numbers], margins + offset
    if task.binary:
        losses = np.logaddexp(0.0, np.where(labels == 1, -margins, margins))
    else:
        losses = (labels - margins) ** 2
    weights = None if task.importance is None else task.importance[which]
    return float(losses.mean() if weights is None else np.average(losses, weights=weights))


def _offset(task: Weighing, used: Used) -> float | None:
    """Return what the model says where it knows nothing; None where all labels are of one kind."""
    labels = task.labels[used]
    if not len(labels) or labels.min() == labels.max():
        return None
    mean, _ = _spread(task, used)
    return math.log(mean / (1 - mean)) if task.binary else mean


def _spread(task: Weighing, used: Used) -> tuple[float, float]:
    """Return the mean of the labels, and by how much they differ from it; no order of rows changes it."""
    if task.importance is None:
        labels = np.sort(task.labels[used])
        mean = labels.mean()
        return float(mean), float(np.abs(labels - mean).sum())
    labels, weights = task.labels[used], task.importance[used]
    order = np.lexsort((weights, labels))
    mean, _ = _moments(labels[order], weights[order])
    return mean, float((weights[order] * np.abs(labels[order] - mean)).sum())


def _moments(numbers: Floats, weights: Floats) -> tuple[float, float]:
    """Return the mean and the standard deviation of numbers with weights."""
    mean = float(np.average(numbers, weights=weights))
    return mean, math.sqrt(float(np.average((numbers - mean) ** 2, weights=weights)))


def _nothing(task: Weighing) -> Solution:
    n_dense = len(task.dense.centers)
    return Solution(np.zeros(task.rows.n_rows), np.zeros(task.n_several), np.zeros(n_dense + 1))


def _solve(
    task: Weighing,
    used: Used,
    fixed: tuple[float, float],
    start: Solution,
) -> Solution:
    """Go over the rows until their dual variables are about what the weights say of them.

    `fixed` are the offset and C.
    """
    _, spread = _spread(task, used)
    importance = np.empty(0) if task.importance is None else task.importance
    descend = descent.descend if task.binary else descent.descend_squares
    most, tolerance = MOST_EPOCHS, TOLERANCE * spread
    if not task.binary:
        most = MOST_EPOCHS_OF_NUMBERS
    for order in islice(task.orders(used), most):
        off = descend(task.csr, (task.labels, order, importance), fixed, start)
        if not task.binary:  # dual variables come to C times what is left of labels, which may be little
            tolerance = TOLERANCE_OF_NUMBERS * float(np.abs(start.duals[used]).sum()) / fixed[1]
        if off <= tolerance:
            return start
    if off > UNSETTLED * spread:
        log.warning(
            "the weights of linear columns are not settled after %d epochs, rows are off by %.2g; they are "
            "used as they are",
            most,
            off / max(task.weight(used), 1.0),
        )
    return start
