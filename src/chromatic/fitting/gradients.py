"""Weights by L-BFGS, for rows that are far away: a round asks all rows for losses and gradients, as sums.

The model is that of `fitting.weights`. Rows may be anywhere, in any parts: what each row adds is rounded to
a whole number of small steps, so that sums are exact and the same in any order. Several models are asked
for in one round: those of the folds, and those of several penalties. A feature of one row has no weight
here: the loss of its row is the least that its own features can make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from chromatic.data.rows import Rows
from chromatic.encoding.linear import chances
from chromatic.fitting.weighing import Dense

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]

STEPS = float(1 << 30)  # of what a row adds to a gradient
STEPS_OF_LOSS = float(1 << 20)
ROUNDS, MEMORY = 60, 8
FIRST = 0.1  # of the first step, before anything is known of features together
SETTLED = 1e-4  # of the loss: where a round brings less and the next promises less, the model is found
NEWTON = 12  # steps for the features of one row: enough for C times their number up to 1e5


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


class Piece(NamedTuple):
    """Some rows as every round takes them."""

    codes: npt.NDArray[np.uint32]  # the features of these rows that may be in several rows
    places: npt.NDArray[np.int32]  # of each entry, among them
    ends: npt.NDArray[np.int32]  # of each row, among the places
    own: npt.NDArray[np.int32]  # of each row, how many of its features no other row has
    dense: npt.NDArray[np.float32]  # rows × dense columns as the model sees them
    labels: Floats
    fold: npt.NDArray[np.int32]
    counts: Floats  # the weight of each row

    @classmethod
    def of(
        cls, rows: Rows, told: tuple[Floats, npt.NDArray[np.int32], Floats | None], problem: Problem
    ) -> Piece:
        """Return coded rows with their labels, folds and weights."""
        labels, fold, importance = told
        several = rows.codes < problem.n_several
        ends = np.concatenate(([0], np.cumsum(several)))[rows.indptr]
        own = np.diff(rows.indptr) - np.diff(ends)
        codes, places = np.unique(rows.codes[several], return_inverse=True)
        return cls(
            codes=codes,
            places=places.astype(np.int32),
            ends=ends[1:].astype(np.int32),
            own=own.astype(np.int32),
            dense=problem.dense.seen(rows),
            labels=labels,
            fold=fold,
            counts=np.ones(rows.n_rows) if importance is None else importance,
        )

    @classmethod
    def of_bytes(cls, buffers: Sequence[Any]) -> Piece:
        """Return a piece from the bytes of its arrays."""
        arrays = [np.frombuffer(one, kind) for one, kind in zip(buffers, _KINDS, strict=True)]
        piece = cls(*arrays)
        return piece._replace(dense=piece.dense.reshape(len(piece.labels), -1))

    def _matrix(self, kind: type) -> Any:
        """Return the rows as a matrix, with a column for each of the codes."""
        ends = np.concatenate((np.zeros(1, np.int32), self.ends))
        shape = len(self.labels), len(self.codes)
        return csr_array((np.ones(len(self.places), kind), self.places, ends), shape=shape)

    def _margins(self, problem: Problem, weights: npt.NDArray[np.floating]) -> Floats:
        """Return what models say of each row, but for their offsets."""
        margins: Floats = self._matrix(np.float64) @ weights[self.codes].astype(np.float64)
        for column, weight in zip(
            self._columns, weights[problem.n_several :].astype(np.float64), strict=True
        ):
            margins += column[:, None] * weight  # one by one: no size of a piece changes the order of sums
        return margins

    @property
    def _columns(self) -> list[Floats]:
        """The dense columns, and that of the intercept."""
        return [*self.dense.T.astype(np.float64), np.ones(len(self.labels))]

    def own_weights(self, problem: Problem, model: Asked, weights: Floats) -> Floats:
        """Return the weight of each row's own features that follows from the weights of the others."""
        counts = np.where(self.fold >= 0, self.counts, 0.0)
        margin = self._margins(problem, weights[:, None])[:, 0] + model.offset
        slope = _row_losses(margin, self.labels, self.own * (model.strength * counts), problem)[1]
        return np.asarray(-model.strength * problem.span * counts * slope)

    def summed(self, problem: Problem, models: list[Asked], weights: Singles) -> Sums:
        """Return losses and gradients; `weights` are by feature, dense column, intercept."""
        margins = self._margins(problem, weights)
        slopes, losses = np.zeros(margins.shape), np.zeros((3, len(models)), np.int64)
        for number, (out, strength, offset) in enumerate(models):
            margin, counts = margins[:, number] + offset, np.where(self.fold >= 0, self.counts, 0.0)
            used, held = (
                np.flatnonzero(same & (counts > 0)) for same in (self.fold != out, self.fold == out)
            )
            own = self.own[used] * (strength * counts[used])
            loss, slope = _row_losses(margin[used], self.labels[used], own, problem)
            slopes[used, number] = counts[used] * slope
            alone, _ = _row_losses(margin[held], self.labels[held], np.zeros(len(held)), problem)
            parts = counts[used] * loss, counts[held] * alone, counts[held]
            losses[:, number] = [_steps(part, STEPS_OF_LOSS).sum() for part in parts]
        of_dense_rows = [_steps(column[:, None] * slopes, STEPS).sum(axis=0) for column in self._columns]
        of_features = self._matrix(np.int64).T @ _steps(slopes, STEPS)
        return Sums(self.codes, of_features, np.array(of_dense_rows, np.int64), losses)


_KINDS = np.uint32, np.int32, np.int32, np.int32, np.float32, np.float64, np.int32, np.float64


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
    u[some] = _settled(signed[some], own[some])
    price = np.where(own > 0, 0.5 * (u - signed) ** 2 / np.where(own > 0, own, 1.0), 0.0)
    return np.logaddexp(0.0, -u) + price, -sign * chances(-u)


def _settled(margins: Floats, own: Floats) -> Floats:
    """Return t = margin + own · chance(-t), by Newton.

    The difference of both sides bends at 0 only. From there, or from the bound that is nearest to it, no
    step goes beyond the solution.
    """
    t = np.clip(0.0, margins, margins + own)
    for _ in range(NEWTON):
        p = chances(-t)
        t = t - (t - margins - own * p) / (1.0 + own * p * (1.0 - p))
    return np.asarray(t)


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
    def trial(self) -> Singles:
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
        gained = self.loss - loss
        self.at, self.loss, self.gradient = there, loss, gradient
        self.way, self.step = -self._turned(gradient), 1.0 if self.past else FIRST
        left = -0.5 * float(gradient @ self.way)  # what the next step promises: one poor step is no end
        self.done = max(gained, left) < SETTLED * abs(loss) or self.rounds >= ROUNDS

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
