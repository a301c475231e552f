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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.coloring import Size
from chromatic.data.rows import Rows
from chromatic.fitting import descent

log = logging.getLogger("chromatic")

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Folds = npt.NDArray[np.int32]

STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of C, the inverse of the penalty
STEP = 1.8  # from one strength to the next, where the choice is a finer one
WORTH = 0.002  # a weaker penalty must predict better by this share
MOST_EPOCHS, TOLERANCE = 30, 0.02  # the tolerance is of what the labels differ from their mean
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


class Solution(NamedTuple):
    """The dual variable of each row, and the weights that follow from all of them."""

    duals: Floats
    weights: Floats
    dense: Floats  # of the dense columns as the model sees them; the last is the intercept


@dataclass(frozen=True)
class Weighing:
    """Rows with their labels: 0 and 1, or numbers."""

    rows: Rows
    dense: Dense
    labels: Floats
    fold: Folds  # rows of a negative fold play no part
    sums: npt.NDArray[np.uint64]  # of the hashes of each row's features: what tells rows apart
    binary: bool
    seed: int
    importance: Floats | None = None  # the weight of each row, 0 where it plays no part; None: all are 1

    def __post_init__(self) -> None:
        if self.importance is not None:
            object.__setattr__(self, "fold", np.where(self.importance > 0, self.fold, NO_FOLD))

    def weight(self, which: npt.NDArray[np.bool_]) -> float:
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

    @property
    def csr(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.floating]]:
        return self.rows.indptr, self.rows.codes, self.rows.dense

    def orders(self, *, by_label: bool) -> Iterator[Integers]:
        """Yield the rows in a new random order, over and over; their content decides, not their numbers.

        Equal rows come in the order of their labels or, where labels must play no part, of their numbers.
        """
        order, epoch = (self._by_label if by_label else self._by_content).copy(), 0
        while True:
            descent.shuffle(order, np.uint64((self.seed << 20) + epoch & 0xFFFFFFFFFFFFFFFF))
            yield order
            epoch += 1

    @cached_property
    def _by_label(self) -> Integers:
        return self._sorted(self.labels)

    @cached_property
    def _by_content(self) -> Integers:
        return self._sorted()

    def _sorted(self, *labels: Floats) -> Integers:
        """Return the rows in the order of their content; every solution begins with it, so it is kept."""
        dense = self.rows.dense @ np.sqrt(np.arange(2.0, 2.0 + self.rows.dense.shape[1]))
        weights = () if self.importance is None else (self.importance,)
        return np.lexsort((*weights, dense, *labels, self.sums))


def bytes_to_weigh(size: Size, n_folds: int, threads: int) -> int:
    """Return the memory for all rows at once, a sample, and as many solutions as there are threads."""
    rows = 4 * size.n_entries + size.n_rows * (64 + 24 * size.n_dense)
    sample = 28 * min(size.n_entries, MOST_ENTRIES)
    solution = 8 * size.n_features + 48 * size.n_rows
    return rows + sample + threads * solution + 4 * (n_folds + 1) * size.n_features


def weigh(task: Weighing, n_folds: int, n_several: int, threads: int = 1) -> Weights:
    """Find the weights by all rows that have a fold and, where there are several folds, out of each.

    `n_several` features may be in several rows; those after them are in one at most, and have no weight
    out of its fold.
    """
    strength, loss = choose_strength(task)
    folds = range(n_folds - 1)
    by_fold = np.empty((n_several, n_folds if folds else 0), np.float32)
    if folds:
        strength, loss, by_fold[:, -1] = _choose_finer(task, strength, (n_folds - 1, n_several), threads)
    log.info("weights: a penalty of %g on their squares is best for held-out rows", 1 / strength)
    solutions = ordered_map(lambda fold: _out_of_fold(task, fold, strength), (NO_FOLD, *folds), threads)
    intercept, whole = next(solutions)
    for fold, (_, solution) in enumerate(solutions):
        by_fold[:, fold] = solution.weights[:n_several]
    of_dense = whole.dense[:-1] * task.dense.factors
    intercept += float(whole.dense[-1] - of_dense @ task.dense.centers)
    return Weights(
        of_features=whole.weights.astype(np.float32),
        by_fold=by_fold,
        of_dense=of_dense,
        intercept=intercept,
        strength=strength,
        held_out_loss=loss,
    )


def _out_of_fold(task: Weighing, fold: int, strength: float) -> tuple[float, Solution]:
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
    orders = task.orders(by_label=fold == NO_FOLD)
    return offset, _solve(task, used, (offset, strength / share), _nothing(task), orders)


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
        solution = Solution(*(numbers * (strength / last) for numbers in solution))
        orders, last = sample.orders(by_label=True), strength
        solution = _solve(sample, used, (offset, strength), solution, orders)
        losses.append(_loss(sample, (offset, solution), held_out))
        if losses[-1] > min(losses) * (1.0 + WORTH):
            break
    best = int((np.array(losses) <= min(losses) * (1.0 + WORTH)).argmax())
    return STRENGTHS[best], losses[best]


def _choose_finer(
    task: Weighing, strength: float, extent: tuple[int, int], threads: int
) -> tuple[float, float, npt.NDArray[np.float32]]:
    """Return the best C for the last fold, from a given one on, its loss, and the weights out of that fold.

    All rows may want a weaker penalty than a sample: they have more rows of each feature. `extent` is the
    fold, and how many features have weights out of it.
    """
    fold, n_several = extent

    def out_of_fold(strength: float) -> tuple[float, npt.NDArray[np.float32]]:
        solved = _out_of_fold(task, fold, strength)
        return _loss(task, solved, task.fold == fold), solved[1].weights[:n_several].astype(np.float32)

    best, following = ordered_map(out_of_fold, (strength, STEP * strength), threads)
    while following[0] < best[0] * (1.0 - WORTH) and strength < STRENGTHS[-1]:
        strength, best = STEP * strength, following
        following = out_of_fold(STEP * strength)
    return strength, *best


def _sample(task: Weighing) -> tuple[Weighing, npt.NDArray[np.bool_]]:
    """Return rows to choose the penalty by, as many as are worth the time, and which are held out."""
    n_rows, n_entries = task.rows.n_rows, len(task.rows.codes)
    share = min(1.0, MOST_TO_CHOOSE / max(n_rows, 1), MOST_ENTRIES / max(n_entries, 1))
    drawn = next(task.orders(by_label=True))[: int(n_rows * share)]
    place = np.argsort(drawn)
    sample = task if share == 1.0 else task.taken(drawn[place])
    return sample, place < len(drawn) // 5


def _loss(task: Weighing, solved: tuple[float, Solution], which: npt.NDArray[np.bool_]) -> float:
    """Return the mean loss of some rows; 0 for none."""
    if not which.any():
        return 0.0
    (offset, solution), margins = solved, np.empty(task.rows.n_rows)
    descent.predict(task.csr, task.dense, solution[1:], offset, margins)
    labels, margins = task.labels[which], margins[which]
    if task.binary:
        losses = np.logaddexp(0.0, np.where(labels == 1, -margins, margins))
    else:
        losses = (labels - margins) ** 2
    weights = None if task.importance is None else task.importance[which]
    return float(losses.mean() if weights is None else np.average(losses, weights=weights))


def _offset(task: Weighing, used: npt.NDArray[np.bool_]) -> float | None:
    """Return what the model says where it knows nothing; None where all labels are of one kind."""
    labels = task.labels[used]
    if not len(labels) or labels.min() == labels.max():
        return None
    mean, _ = _spread(task, used)
    return math.log(mean / (1 - mean)) if task.binary else mean


def _spread(task: Weighing, used: npt.NDArray[np.bool_]) -> tuple[float, float]:
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
    return Solution(np.zeros(task.rows.n_rows), np.zeros(task.rows.n_features), np.zeros(n_dense + 1))


def _solve(
    task: Weighing,
    used: npt.NDArray[np.bool_],
    fixed: tuple[float, float],
    start: Solution,
    orders: Iterator[Integers],
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
    for order in islice(orders, most):
        off = descend(task.csr, task.dense, (task.labels, used, order, importance), fixed, start)
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
