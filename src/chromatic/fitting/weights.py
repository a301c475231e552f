"""The weight of each feature in one linear model over all of them, by all rows and out of each fold.

A feature's rate repeats what the features beside it say already. Its weight in a model of all features
says what it adds. The model is L2-penalized: logistic regression for labels of two kinds, ridge regression
for numbers. Dual coordinate descent finds it (Yu, Huang and Lin 2011): a row is one dual variable, and a
step on it costs as much as its features. The rows are visited in a new random order in every epoch; in
any fixed order, and most of all in the order of a sorted file, the steps need many times as many epochs.

The weights of a fold come from the rows outside of it alone and start from nothing, so that no label of
the fold is in them. Fewer rows would mean a stronger penalty: each is scaled to the rows it knows. The
models of all folds go over the rows together (`solving`): each skips the rows of its fold, and tells their
loss.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from chromatic._lanes import LANES
from chromatic.coloring import Size
from chromatic.data.limit import FOR_KERNELS
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.encoding.statistics import Extent
from chromatic.fitting.packed import Block, InMemory
from chromatic.fitting.solving import Lane, Level, Together
from chromatic.fitting.stored import bytes_of_chunks
from chromatic.fitting.weighing import NO_FOLD, Weighing

if TYPE_CHECKING:
    from chromatic.fitting.onward import Certainty

log = logging.getLogger("chromatic")

Floats = npt.NDArray[np.float64]
Used = npt.NDArray[np.bool_]

STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of C, the inverse of the penalty
STEP, MOST_STRENGTH = 1.8, 10.0  # from one strength to the next, where all rows choose
WORTH = 0.002  # a weaker penalty must predict better by this share
MOST_EPOCHS, TOLERANCE = 30, 0.04  # the tolerance is of what the labels differ from their mean
MOST_EPOCHS_OF_NUMBERS, TOLERANCE_OF_NUMBERS = 100, 0.005  # the tolerance is of what is left of them
UNSETTLED = 0.1  # of what the labels differ from their mean, where it is said
MOST_TO_CHOOSE = 1 << 17  # rows that choose the penalty
MOST_ENTRIES = 1 << 22  # of these rows
WEIGHING = "finding the weights of linear columns (--linear 0 does without)"


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


def bytes_to_weigh(size: Size, n_folds: int) -> int:
    """Return the memory for all rows at once, a sample, and the models with copies of their weights."""
    models = LANES * -(-(n_folds + 1) // LANES)
    rows = 4 * size.n_entries + size.n_rows * (80 + 16 * size.n_dense)
    sample = 12 * min(size.n_entries, MOST_ENTRIES) + 80 * min(size.n_rows, MOST_TO_CHOOSE)
    choosing = sample + 4 * len(STRENGTHS) * size.n_features
    solving = 4 * models * (size.n_rows + size.n_features) + 8 * (n_folds + 2) * size.n_features
    return rows + max(choosing, solving)


def bytes_from_disk(rows: StoredRows, extent: Extent) -> int:
    """Return the memory where the rows are read some at a time.

    What is held of each row is its dual variables and its place or, before, what orders it.
    """
    models, several, n_rows = LANES * -(-(extent.n_folds + 1) // LANES), extent.n_several, rows.n_rows
    n_sample = min(n_rows, MOST_TO_CHOOSE)
    sample = 8 * min(rows.n_entries, MOST_ENTRIES) + 8 * (8 + rows.n_dense) * n_sample
    choosing = sample + 4 * len(STRENGTHS) * (several + n_sample)
    ordering = (64 if rows.n_dense else 40) * n_rows
    solving = (4 * models + 8) * n_rows + (4 * models + 8 * (extent.n_folds + 2)) * several
    weighing = 16 * n_rows + bytes_of_chunks(rows) + max(choosing, solving)
    return 8 * n_rows + 4 * extent.n_features + max(ordering, weighing)


def check_weighing(rows: Rows | StoredRows, extent: Extent, for_labels: int, *, in_memory: bool) -> None:
    """Refuse rows before they are colored if there will be no memory to weigh them, beside their labels."""
    if isinstance(rows, Rows):
        return
    others = for_labels + 8 * rows.n_features + 4 * rows.n_rows + FOR_KERNELS
    rows.memory.check(_least(rows, extent, in_memory=in_memory) + others, WEIGHING)


def to_weigh(rows: Rows | StoredRows, extent: Extent, *, in_memory: bool) -> Rows | StoredRows:
    """Return the rows in memory where it has room for them, else as they are."""
    if isinstance(rows, Rows):
        return rows
    rows.memory.check(_least(rows, extent, in_memory=in_memory), WEIGHING)
    fits = bytes_to_weigh(Size.of(rows), extent.n_folds) <= rows.memory.left()
    log.info("weights: found from rows %s", "in memory" if fits else "on disk")
    return rows.load() if fits else rows


def _least(rows: StoredRows, extent: Extent, *, in_memory: bool) -> int:
    """Return the memory without which weights cannot be found."""
    whole = bytes_to_weigh(Size.of(rows), extent.n_folds)
    return whole if in_memory else min(whole, bytes_from_disk(rows, extent))


def weigh(task: Weighing, n_folds: int, threads: int = 1) -> Weights:
    """Find the weights by all rows that have a fold and, where there are several folds, out of each.

    Features of one row have no weight out of its fold.
    """
    strength, loss = choose_strength(task, threads)
    folds = [*range(n_folds)] if n_folds > 1 else []
    lanes = [_out_of_fold(task, fold, n_folds) for fold in (*folds, NO_FOLD)]
    sizes = task.n_several, len(task.dense.centers)
    level = _rise(
        Together(task.packed, lanes, sizes, binary=task.binary, threads=threads),
        strength,
        binary=task.binary,
        most=MOST_STRENGTH if folds else strength,
    )
    log.info("weights: a penalty of %g on their squares is best for held-out rows", 1 / level.strength)
    (center, unit), of_all_rows = task.scale, level.found[-1]
    by_fold = np.empty((task.n_several, len(folds)), np.float32)
    for fold in folds:
        by_fold[:, fold] = unit * level.found[fold].weights
    if folds:
        loss = unit**2 * level.loss / max(_weight(task, task.fold >= 0), 1e-300)
    of_dense = unit * of_all_rows.of_dense[:-1] * task.dense.factors
    said = center + unit * (lanes[-1].offset + float(of_all_rows.of_dense[-1]))
    return Weights(
        of_features=task.all_weights(level),
        by_fold=by_fold,
        of_dense=of_dense,
        intercept=said - float(of_dense @ task.dense.centers),
        strength=level.strength,
        held_out_loss=loss,
    )


def _rise(together: Together, strength: float, *, binary: bool, most: float) -> Level:
    """Return the best C for all folds, from a given one on, and what each model has found.

    All rows may want a weaker penalty than a sample: they have more rows of each feature. Each solution is
    the start of the next, as long as the rows that are held out are predicted better.
    """
    loss = _solve(together, strength, math.inf, binary=binary)
    if (together.off() > UNSETTLED).any():
        log.warning(
            "the weights of linear columns are not settled after %d epochs, rows are off by %.2g of what "
            "their labels differ by; they are used as they are",
            MOST_EPOCHS if binary else MOST_EPOCHS_OF_NUMBERS,
            together.off().max(),
        )
    best = Level(strength, loss, together.found(), together.duals(-1))
    while strength < most:
        strength *= STEP
        loss = _solve(together, strength, (1.0 - WORTH) * best.loss, binary=binary)
        if loss >= (1.0 - WORTH) * best.loss:
            break
        best = Level(strength, loss, together.found(), together.duals(-1))
    return best


def _solve(together: Together, strength: float, enough: float, *, binary: bool) -> float:
    """Go over the rows until all models are settled or will not come below a loss; return their loss.

    A model that is settled learns no more: no label of its fold is to tell how far it goes.
    """
    last = loss = math.inf
    settled = np.zeros(together.n, bool)
    for _ in range(MOST_EPOCHS if binary else MOST_EPOCHS_OF_NUMBERS):
        together.stop(settled)
        together.epoch(strength)
        last, loss = loss, float(together.lost().sum())
        settled |= _settled(together, binary=binary)
        if settled.all() or _expected(last, loss) >= enough:
            break
    return loss


def choose_strength(task: Weighing, threads: int = 1) -> tuple[float, float]:
    """Return the C under which the labels of a fifth of the rows are about likeliest, and their loss.

    Of penalties that are alike, the strongest is chosen: weaker ones take more epochs.
    """
    sample = _sample(task)
    held_out = sample.heads["fold"] == 1
    known = sample.heads[~held_out]
    lane = _lane(known["label"] > 0 if task.binary else known["label"], known["weight"], binary=task.binary)
    if lane is None or not held_out.any():
        return STRENGTHS[0], 0.0
    learns, tells = np.array([True, False]), np.array([False, True])
    lanes = [lane._replace(factor=strength, learns=learns, tells=tells) for strength in STRENGTHS]
    rows = InMemory(sample, np.arange(len(sample.heads), dtype=np.uint32), task.seed)
    sizes = task.n_several, len(task.dense.centers)
    together = Together(rows, lanes, sizes, binary=task.binary, threads=threads)
    last = losses = np.full(len(lanes), np.inf)
    for _ in range(MOST_EPOCHS if task.binary else MOST_EPOCHS_OF_NUMBERS):
        together.epoch(1.0)
        last, losses = losses, together.lost()
        hopeless = _expected(last, losses) >= (1.0 - WORTH) * losses.min()
        if (_settled(together, binary=task.binary) | hopeless).all():
            break
    best = int((losses <= losses.min() * (1.0 + WORTH)).argmax())
    weight = float(np.sort(sample.heads["weight"][held_out]).sum(dtype=np.float64))
    return STRENGTHS[best], float(losses[best]) / weight * task.scale[1] ** 2


def _settled(together: Together, *, binary: bool) -> Used:
    """Return which models are near enough to their optimum."""
    return np.asarray(together.off() <= (TOLERANCE if binary else TOLERANCE_OF_NUMBERS * together.left()))


def _expected(last: Any, now: Any) -> Any:
    """Return what losses will come to, if each epoch gains a third of what the one before it did.

    >>> float(_expected(9.0, 5.0)), float(_expected(math.inf, 5.0))
    (3.0, -inf)
    """
    return now - 0.5 * np.maximum(last - now, 0.0)


def _sample(task: Weighing) -> Block:
    """Return rows to choose the penalty by, as many as are worth the time; fold 1 is held out."""
    n_rows, n_entries = task.packed.n_used, task.packed.n_entries
    share = min(1.0, MOST_TO_CHOOSE / max(n_rows, 1), MOST_ENTRIES / max(n_entries, 1))
    parts, lacking = [], int(n_rows * share)
    for block, order, _ in task.packed.visits(0):
        parts.append(block.taken(order[:lacking]))
        lacking -= len(parts[-1].heads)
        if not lacking:
            break
    sample = Block.joined(parts)
    sample.heads["fold"] = np.arange(len(sample.heads)) < len(sample.heads) // 5
    return sample


def _out_of_fold(task: Weighing, fold: int, n_folds: int) -> Lane:
    """Return the model of the rows outside of a fold."""
    used, (center, unit) = (task.fold >= 0) & (task.fold != fold), task.scale
    weights = None if task.importance is None else task.importance[used]
    lane = _lane((task.labels[used] - center) / unit, weights, binary=task.binary)
    folds = np.arange(n_folds)
    if lane is None:
        log.warning(
            "the rows outside of fold %d have labels of one kind; the linear columns of its rows are 0",
            fold,
        )
        return Lane(1.0, 0.0, 0.0, folds < 0, folds == fold)
    share = _weight(task, used) / max(_weight(task, task.fold >= 0), 1.0)
    return lane._replace(factor=1.0 / share, learns=folds != fold, tells=folds == fold)


def _lane(labels: Any, weights: Any, *, binary: bool) -> Lane | None:
    """Return a model of some labels, which knows its rows not yet; None where all labels are of one kind.

    No order of the rows changes it.
    """
    if not len(labels) or labels.min() == labels.max():
        return None
    if weights is None:
        labels = np.sort(labels).astype(np.float64)
        mean = float(labels.mean())
        spread = float(np.abs(np.subtract(labels, mean, out=labels), out=labels).sum())
    else:
        order = np.lexsort((weights, labels))
        labels, weights = labels[order].astype(np.float64), weights[order].astype(np.float64)
        mean = float(np.average(labels, weights=weights))
        spread = float((weights * np.abs(labels - mean)).sum())
    nothing = np.zeros(0, bool)
    return Lane(1.0, math.log(mean / (1 - mean)) if binary else mean, spread, nothing, nothing)


def _weight(task: Weighing, which: Used) -> float:
    """Return the weight of some rows, together."""
    return float(which.sum() if task.importance is None else np.sort(task.importance[which]).sum())
