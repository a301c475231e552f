"""Weights that go on: what later rows add to the weights that earlier ones gave.

The rows behind known weights are gone. What is left of them is each weight and its certainty: the second
derivative of the loss of those rows along that weight alone, what the penalty adds apart. Later rows move
the weights, and a move costs half its square times the certainty (Laplace's approximation, one weight at a
time: Chapelle and Li 2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.data.rows import Rows
from chromatic.encoding.linear import Linear, chances
from chromatic.fitting import descent
from chromatic.fitting.weighing import Floats, Weighing
from chromatic.fitting.weights import MOST_EPOCHS, TOLERANCE, Weights

STEPS = float(1 << 24)  # of a second derivative: whole numbers of them add up without rounding


class Certainty(NamedTuple):
    """How sure rows make the weights of a linear model, beside its penalty."""

    of_features: npt.NDArray[np.float32]
    of_dense: Floats  # of the dense columns less their centers; the last is that of the intercept
    centers: Floats  # of the dense columns

    def decayed(self, decay: float) -> Certainty:
        """Return what is left where the rows count less."""
        return Certainty(self.of_features * np.float32(decay), self.of_dense * decay, self.centers)

    def __add__(self, other: object) -> Certainty:
        """Return the certainty by the rows of both, around the centers of both."""
        assert isinstance(other, Certainty)
        mine, theirs = self.of_dense[-1], other.of_dense[-1]
        share = mine / (mine + theirs) if mine + theirs > 0 else 0.5
        centers = share * self.centers + (1.0 - share) * other.centers
        of_dense = self.of_dense + other.of_dense
        of_dense[:-1] += mine * (self.centers - centers) ** 2 + theirs * (other.centers - centers) ** 2
        return Certainty(self.of_features + other.of_features, of_dense, centers)


def with_certainty(weights: Weights, task: Weighing) -> Weights:
    """Return weights with how sure the rows make them."""
    return replace(weights, certainty=certainty_of(task, Linear.of(1, weights)))


def certainty_of(task: Weighing, linear: Linear) -> Certainty:
    """Return how sure rows, which are in memory, make the weights; no order of the rows changes it."""
    assert isinstance(task.rows, Rows)
    slopes = np.where(task.fold >= 0, _slopes(linear.margins(task.rows), binary=task.binary), 0.0)
    if task.importance is not None:
        slopes *= task.importance
    slopes = np.rint(slopes * STEPS) / STEPS
    entries = np.repeat(slopes, np.diff(task.rows.indptr))
    of_features = np.bincount(task.rows.codes, entries, task.rows.n_features).astype(np.float32)
    dense, total = task.rows.dense.astype(np.float64), float(slopes.sum())
    centers = _sums(slopes, dense) / total if total > 0 else np.zeros(dense.shape[1])
    return Certainty(of_features, np.append(_sums(slopes, (dense - centers) ** 2), total), centers)


def _sums(slopes: Floats, columns: Floats) -> Floats:
    """Return the sum of each column, weighted; no order of the rows changes it."""
    sums = [np.sort(slopes * column).sum() for column in columns.T]
    return np.array(sums, np.float64)


def _slopes(margins: Floats, *, binary: bool) -> Floats:
    """Return the second derivative of each row's loss."""
    if not binary:
        return np.ones(len(margins))
    odds = np.exp(-np.abs(margins))
    return np.asarray(odds / (1.0 + odds) ** 2)


def shrunk(linear: Linear, certainty: Certainty, decay: float) -> Linear:
    """Return weights where their rows count less, from a certainty that does not know of it yet.

    The penalty then draws them closer to 0.
    """
    penalty, of_rows = 1.0 / linear.strength, certainty.of_features.astype(np.float64)
    left = decay * (penalty + of_rows) / (penalty + decay * of_rows)
    return replace(linear, weights=(linear.weights * left).astype(np.float32))


def go_on(task: Weighing, linear: Linear, certainty: Certainty, residual: float) -> Weights:
    """Return the weights after later rows; `residual` is what is left of labels that are numbers."""
    penalty, factors = 1.0 / linear.strength, np.append(task.dense.factors, 1.0)
    room = 1.0 / (penalty + certainty.of_features.astype(np.float64))
    room_of_dense = 1.0 / (penalty + certainty.of_dense * factors**2)
    assert isinstance(task.rows, Rows)
    margins, n_dense, used = linear.margins(task.rows), len(task.dense.centers), task.fold >= 0
    solution = np.zeros(task.rows.n_rows), np.zeros(task.rows.n_features), np.zeros(n_dense + 1)
    _, moves, of_dense = solution
    importance = np.empty(0) if task.importance is None else task.importance
    said = chances(margins) if task.binary else margins
    left = np.abs(task.labels - said)[used]
    tolerance = TOLERANCE * float(left.sum() if task.importance is None else left @ importance[used])
    rows = task.csr
    for order in islice(task.orders() if used.any() else (), MOST_EPOCHS):
        problem = task.labels, order, importance, task.binary
        if descent.advance(rows, problem, (margins, room, room_of_dense), solution) <= tolerance:
            break
    intercept, of_dense = of_dense[-1], of_dense[:-1] * task.dense.factors
    moved = replace(
        linear,
        weights=(linear.weights + moves).astype(np.float32),
        of_dense=linear.of_dense + of_dense,
        intercept=linear.intercept + float(intercept - of_dense @ task.dense.centers),
    )
    return Weights(
        of_features=moved.weights,
        by_fold=np.zeros((task.rows.n_features, 0), np.float32),
        of_dense=moved.of_dense,
        intercept=moved.intercept,
        strength=linear.strength,
        held_out_loss=residual,
        certainty=certainty + certainty_of(task, moved),
    )


def merged_weights(linears: Sequence[Linear], certainties: Sequence[Certainty]) -> Linear:
    """Return the weights of models of different rows, each counting by its certainty.

    The penalty, of which each has its own, is their mean: the geometric one, by their rows.
    """
    rows = np.array([one.of_dense[-1] for one in certainties])
    shares = rows / rows.sum() if rows.sum() > 0 else np.full(len(rows), 1.0 / len(rows))
    penalties = np.array([1.0 / one.strength for one in linears])
    penalty = math.exp(float(shares @ np.log(penalties)))
    sure = [p + one.of_features.astype(np.float64) for p, one in zip(penalties, certainties, strict=True)]
    total = np.sum(sure, axis=0) - penalties.sum() + penalty
    weights = np.sum([q * one.weights for q, one in zip(sure, linears, strict=True)], axis=0) / total
    of_dense = np.sum([s[:-1] * one.of_dense for s, one in _by(certainties, linears)], axis=0)
    # Margins at the common centers are averaged: at 0, where the intercept is, there may be no row.
    centers = shares @ np.array([one.centers for one in certainties]).reshape(len(rows), -1)
    middle = float(shares @ [one.intercept + one.of_dense @ centers for one in linears])
    return replace(
        linears[0],
        weights=weights.astype(np.float32),
        of_dense=of_dense,
        intercept=middle - float(of_dense @ centers),
        strength=1.0 / penalty,
    )


def _by(certainties: Sequence[Certainty], linears: Sequence[Linear]) -> list[tuple[Floats, Linear]]:
    """Return each model with the share that each of its dense weights has among those of all."""
    sure = np.array([one.of_dense for one in certainties])
    total, even = sure.sum(axis=0), 1.0 / len(linears)
    shares = np.where(total > 0, sure / np.where(total > 0, total, 1.0), even)
    return list(zip(shares, linears, strict=True))
