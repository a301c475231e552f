"""Weights by L-BFGS, for rows that are far away: a round asks all rows for losses and gradients, as sums.

The model is that of `fitting.weights`. Rows may be anywhere, in any parts: what each row adds is rounded to
a whole number of small steps, so that sums are exact and the same in any order. Several models are asked
for in one round: those of the folds, and those of several penalties. A feature of one row has no weight
here: the loss of its row is the least that its own features can make it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from chromatic.data.rows import Rows
from chromatic.encoding.linear import chances
from chromatic.fitting.weighing import Dense

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

STEPS = float(1 << 30)  # of what a row adds to a gradient
STEPS_OF_LOSS = float(1 << 20)
ROUNDS, MEMORY = 40, 8
FIRST = 0.1  # of the first step, before anything is known of features together
SETTLED = 1e-4  # of the loss: where a round brings less, the model is found
NEWTON = 12  # steps for the features of one row


class Asked(NamedTuple):
    """A model: the rows of one fold play no part, C, and what it says where it knows nothing."""

    fold: int  # negative: all rows play a part
    strength: float
    offset: float


class Problem(NamedTuple):
    """What all rounds share."""

    n_several: int  # features that may be in several rows
    dense: Dense
    binary: bool
    span: float  # between the least and the largest label


class Sums(NamedTuple):
    """What some rows add up to, in steps: features × models, dense columns and intercept × models."""

    codes: npt.NDArray[np.uint32]
    of_features: Integers
    of_dense: Integers
    losses: Integers  # of each model, of the rows that play a part, then of the others, then their weight


def summed(
    rows: Rows,
    told: tuple[Floats, npt.NDArray[np.int32], Floats | None],
    problem: Problem,
    models: list[Asked],
    weights: npt.NDArray[np.float32],
) -> Sums:
    """Return losses and gradients of some rows; `weights` are by feature, dense column, intercept."""
    labels, fold, importance = told
    several = rows.codes < problem.n_several
    before = np.concatenate(([0], np.cumsum(several)))
    indptr, codes = before[rows.indptr], rows.codes[several]
    own = (np.diff(rows.indptr) - np.diff(indptr)).astype(np.float64)
    kinds, place = np.unique(codes, return_inverse=True)
    matrix = csr_array((np.ones(len(codes)), place, indptr), shape=(rows.n_rows, len(kinds)))
    dense = np.column_stack((problem.dense.seen(rows), np.ones(rows.n_rows, np.float32))).astype(np.float64)
    of_dense = weights[problem.n_several :].astype(np.float64)
    margins = matrix @ weights[kinds].astype(np.float64) + dense @ of_dense
    counts = np.ones(rows.n_rows) if importance is None else importance
    slopes = np.zeros((rows.n_rows, len(models)))
    losses = np.zeros((3, len(models)), np.int64)
    for number, (out, strength, offset) in enumerate(models):
        used = (fold != out) & (fold >= 0) & (counts > 0)
        margin = margins[:, number] + offset
        loss, slope = _row_losses(margin, labels, own * strength * counts, problem)
        slopes[:, number] = np.where(used, counts * slope, 0.0)
        held = (fold == out) & (fold >= 0)
        alone, _ = _row_losses(margin, labels, np.zeros(rows.n_rows), problem)
        parts = np.where(used, counts * loss, 0.0), np.where(held, counts * alone, 0.0), counts * held
        losses[:, number] = [_steps(part, STEPS_OF_LOSS).sum() for part in parts]
    steps = _steps(slopes, STEPS)
    of_dense_rows = [_steps(dense[:, d, None] * slopes, STEPS).sum(axis=0) for d in range(dense.shape[1])]
    whole = csr_array((np.ones(len(codes), np.int64), place, indptr), shape=matrix.shape)
    return Sums(kinds, whole.T @ steps, np.array(of_dense_rows, np.int64), losses)


def _steps(numbers: Floats, steps: float) -> Integers:
    return np.rint(numbers * steps).astype(np.int64)


def _row_losses(margin: Floats, labels: Floats, own: Floats, problem: Problem) -> tuple[Floats, Floats]:
    """Return the loss of each row over C, and its slope along the margin.

    `own` is C times the features of the row that no other row has: these lower its loss, at a price. Labels
    that are numbers, and their margins, are in units of their span.
    """
    if not problem.binary:
        left = (labels - margin) / problem.span
        shrunk = left / (1.0 + own)
        return 0.5 * left * shrunk, -shrunk
    sign = np.where(labels == 1, 1.0, -1.0)
    signed = sign * margin
    u = signed.copy()
    some = np.flatnonzero(own > 0)
    if len(some):
        s, a = signed[some], own[some]
        low, high = s, s + a
        t = s + a * chances(-s)
        for _ in range(NEWTON):
            p = chances(-t)
            rest = t - s - a * p
            low, high = np.where(rest < 0, t, low), np.where(rest >= 0, t, high)
            new = t - rest / (1.0 + a * p * (1.0 - p))
            t = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        u[some] = t
    price = np.where(own > 0, 0.5 * (u - signed) ** 2 / np.where(own > 0, own, 1.0), 0.0)
    return np.logaddexp(0.0, -u) + price, -sign * chances(-u)


def own_weights(margin: Floats, labels: Floats, own: Floats, problem: Problem) -> Floats:
    """Return the slope over C of each row, which is minus the weight of its own features over C."""
    return _row_losses(margin, labels, own, problem)[1]


@dataclass
class Descent:
    """L-BFGS for one model (Nocedal 1980), a trial a round; steps are halved until the loss falls."""

    scale: Floats  # about the inverse of the second derivative along each weight
    at: Floats
    loss: float = np.inf
    gradient: Floats | None = None
    past: list[tuple[Floats, Floats]] = field(default_factory=list)
    step: float = 1.0
    way: Floats | None = None
    done: bool = False
    rounds: int = 0

    @property
    def trial(self) -> npt.NDArray[np.float32]:
        """The weights to ask for."""
        there = self.at if self.way is None else self.at + self.step * self.way
        return there.astype(np.float32)

    def tell(self, loss: float, gradient: Floats) -> None:
        """Take the loss and the gradient of the trial, the penalty aside."""
        there = self.trial.astype(np.float64)
        loss, gradient = loss + 0.5 * float(there @ there), gradient + there
        self.rounds += 1
        if self.gradient is not None and self.way is not None:
            slope = float(self.gradient @ self.way)
            if loss > self.loss + 1e-4 * self.step * slope:
                self.step *= 0.5
                self.done = self.step < 1e-4 or self.rounds >= ROUNDS
                return
            moved, turned = there - self.at, gradient - self.gradient
            if float(moved @ turned) > 0:
                self.past = [*self.past[-MEMORY + 1 :], (moved, turned)]
            self.done = self.loss - loss < SETTLED * abs(loss) or self.rounds >= ROUNDS
        self.at, self.loss, self.gradient = there, loss, gradient
        self.way, self.step = -self._turned(gradient), 1.0 if self.past else FIRST

    def _turned(self, gradient: Floats) -> Floats:
        """Return the inverse of the second derivative, as far as it is known, times the gradient."""
        left, shares = gradient.copy(), []
        for moved, turned in reversed(self.past):
            share = float(moved @ left) / float(moved @ turned)
            shares.append(share)
            left -= share * turned
        left *= self.scale
        if self.past:  # features that share rows turn the slope together, more than each alone
            moved, turned = self.past[-1]
            left *= float(moved @ turned) / float(turned @ (self.scale * turned))
        for (moved, turned), share in zip(self.past, reversed(shares), strict=True):
            left += moved * (share - float(turned @ left) / float(moved @ turned))
        return left


def scale_of(counts: Integers, n_rows: int, n_dense: int, model: Asked, spread: float) -> Floats:
    """Return about the inverse of the second derivatives: a feature's rows each add `spread` times C."""
    rows = np.concatenate((counts.astype(np.float64), np.full(n_dense + 1, float(n_rows))))
    return 1.0 / (1.0 + model.strength * spread * rows)
