"""Weights that go on: what later rows add to the weights that earlier ones gave.

The rows behind known weights are gone. What is left of them is each weight and its certainty: the second
derivative of the loss of those rows along that weight alone, what the penalty adds apart. Later rows move
the weights, and a move costs half its square times the certainty (Laplace's approximation, one weight at a
time: Chapelle and Li 2011).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.encoding.linear import Linear
from chromatic.fitting import descent
from chromatic.fitting.weights import (
    MOST_EPOCHS,
    NO_FOLD,
    TOLERANCE,
    Floats,
    Solution,
    Used,
    Weighing,
    Weights,
)


class Certainty(NamedTuple):
    """How sure rows make the weights of a linear model, beside its penalty."""

    of_features: npt.NDArray[np.float32]
    of_dense: Floats  # of the dense columns, less their means; the last is that of the intercept

    def decayed(self, decay: float) -> Certainty:
        """Return what is left where earlier rows count less."""
        return Certainty(self.of_features * np.float32(decay), self.of_dense * decay)

    def __add__(self, other: object) -> Certainty:
        """Return the certainty by the rows of both."""
        assert isinstance(other, Certainty)
        return Certainty(self.of_features + other.of_features, self.of_dense + other.of_dense)


def with_certainty(weights: Weights, task: Weighing) -> Weights:
    """Return weights with how sure the rows make them."""
    return replace(weights, certainty=certainty_of(task, Linear.of(1, weights)))


def certainty_of(task: Weighing, linear: Linear) -> Certainty:
    """Return how sure rows make the weights that were found."""
    slopes = np.where(task.fold >= 0, _slopes(linear.margins(task.rows), binary=task.binary), 0.0)
    if task.importance is not None:
        slopes *= task.importance
    entries = np.repeat(slopes, np.diff(task.rows.indptr))
    of_features = np.bincount(task.rows.codes, entries, task.rows.n_features).astype(np.float32)
    apart = (task.rows.dense - task.dense.centers) ** 2
    return Certainty(of_features, np.append(slopes @ apart, slopes.sum()))


def _slopes(margins: Floats, *, binary: bool) -> Floats:
    """Return the second derivative of each row's loss."""
    if not binary:
        return np.ones(len(margins))
    odds = np.exp(-np.abs(margins))
    return np.asarray(odds / (1.0 + odds) ** 2)


def decayed(linear: Linear, certainty: Certainty, decay: float) -> Linear:
    """Return the weights where earlier rows count less: the penalty draws them closer to 0."""
    penalty, of_rows = 1.0 / linear.strength, certainty.of_features.astype(np.float64)
    left = decay * (penalty + of_rows) / (penalty + decay * of_rows)
    return replace(linear, weights=(linear.weights * left).astype(np.float32))


def go_on(task: Weighing, linear: Linear, certainty: Certainty, n_folds: int, threads: int) -> Weights:
    """Return the weights after later rows, and those of each fold by the later rows outside of it.

    The earlier rows are behind all of them: none of their labels is that of a later row.
    """
    margins = linear.margins(task.rows)

    def solve(fold: int) -> Linear:
        return _moved(task, linear, certainty, margins, (task.fold >= 0) & (task.fold != fold))

    solutions = ordered_map(solve, (*range(n_folds), NO_FOLD), threads)
    by_fold = np.stack([next(solutions).weights for _ in range(n_folds)], axis=1)
    whole = next(solutions)
    return Weights(
        of_features=whole.weights,
        by_fold=by_fold,
        of_dense=whole.of_dense,
        intercept=whole.intercept,
        strength=linear.strength,
        held_out_loss=0.0,
        certainty=certainty + certainty_of(task, whole),
    )


def _moved(task: Weighing, linear: Linear, certainty: Certainty, margins: Floats, used: Used) -> Linear:
    """Return the weights after some of the later rows."""
    penalty, factors = 1.0 / linear.strength, np.append(task.dense.factors, 1.0)
    room = 1.0 / (penalty + certainty.of_features.astype(np.float64))
    room_of_dense = 1.0 / (penalty + certainty.of_dense * factors**2)
    n_dense = len(task.dense.centers)
    solution = Solution(np.zeros(task.rows.n_rows), np.zeros(task.rows.n_features), np.zeros(n_dense + 1))
    importance = np.empty(0) if task.importance is None else task.importance
    left = np.abs(task.labels - (1.0 / (1.0 + np.exp(-margins)) if task.binary else margins))[used]
    tolerance = TOLERANCE * float(left.sum() if task.importance is None else left @ importance[used])
    for order in islice(task.orders(used) if used.any() else (), MOST_EPOCHS):
        problem = task.labels, order, importance, task.binary
        off = descent.advance(task.csr, problem, (margins, room, room_of_dense), solution)
        if off <= tolerance:
            break
    of_dense = solution.dense[:-1] * task.dense.factors
    return replace(
        linear,
        weights=(linear.weights + solution.weights).astype(np.float32),
        of_dense=linear.of_dense + of_dense,
        intercept=linear.intercept + float(solution.dense[-1] - of_dense @ task.dense.centers),
    )


def merged_weights(linears: tuple[Linear, Linear], certainties: tuple[Certainty, Certainty]) -> Linear:
    """Return the weights of two models of different rows, each counting by its certainty."""
    first, second = linears
    penalty = 1.0 / first.strength
    sure, other = (penalty + one.of_features.astype(np.float64) for one in certainties)
    weights = (sure * first.weights + other * second.weights) / (sure + other - penalty)
    shares = [
        one.of_dense / np.maximum(sum(each.of_dense for each in certainties), 1e-300) for one in certainties
    ]
    dense = sum(
        share * np.append(one.of_dense, one.intercept) for share, one in zip(shares, linears, strict=True)
    )
    assert not isinstance(dense, int)
    return replace(
        first, weights=weights.astype(np.float32), of_dense=dense[:-1], intercept=float(dense[-1])
    )
