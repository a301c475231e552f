"""Linear models that are solved together: they share the rows, their order and the work of reading them.

They go by fours (`descent`), and the fours on threads. Nothing but the models decides which are together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._lanes import LANES, aligned
from chromatic._threads import ordered_map
from chromatic.fitting import descent
from chromatic.fitting.packed import Packed, Visit

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

FIRST = 0.25  # of C in the first epoch, whose first rows would else take all on themselves


class Lane(NamedTuple):
    """One linear model among others."""

    factor: float  # of the C of all models
    offset: float  # what it says where it knows nothing
    spread: float  # by how much the labels that it learns from differ from their mean, together
    learns: Flags  # from the rows of which folds
    tells: Flags  # the rows of which folds it tells its loss of


class Found(NamedTuple):
    """The solution of one model."""

    weights: Singles  # of the features that may be in several rows
    of_dense: Floats  # of the dense columns as the model sees them; the last is the intercept


class Level(NamedTuple):
    """What the models of all folds, and that of all rows as the last, have found for a C."""

    strength: float
    loss: float  # of the rows that were held out, together
    found: list[Found]
    duals: Singles  # of the model of all rows


class Four:
    """Up to four models side by side: their dual variables, and the weights that follow from these."""

    def __init__(self, lanes: Sequence[Lane], sizes: tuple[int, int, int], *, binary: bool) -> None:
        n_rows, n_features, n_dense = sizes
        self.n, self._binary, self._begun = len(lanes), binary, False
        self.duals, self.weights = aligned(n_rows), aligned(n_features)
        self.of_dense = aligned(n_dense + 1)
        more = [None] * (LANES - self.n)
        self._factors = np.array([*(one.factor for one in lanes), *(1.0 for _ in more)])
        self._offsets = np.array([*(one.offset for one in lanes), *(0.0 for _ in more)], np.float32)
        self._learns, self._tells = (
            np.array([*flags, *(np.zeros_like(flags[0]) for _ in more)]).T.astype(np.float32).ravel()
            for flags in ([one.learns for one in lanes], [one.tells for one in lanes])
        )
        self._live, self._strengths, self._spare = self._learns, np.zeros(LANES, np.float32), aligned(1)
        self.sums = np.zeros((3, LANES))

    def stop(self, which: Flags) -> None:
        """Let some models learn no more; those that are not among them go on."""
        goes_on = np.append(~which, np.ones(LANES - self.n, bool))
        self._live = (self._learns.reshape(-1, LANES) * goes_on).ravel()

    def begin(self, strength: float) -> None:
        """Begin an epoch: dual variables and weights go with C."""
        strengths = (strength * self._factors).astype(np.float32)
        if self._begun and not np.array_equal(strengths, self._strengths):
            ratios = strengths / self._strengths
            for numbers in (self.weights, self.of_dense, *(() if self._binary else (self.duals,))):
                numbers.reshape(-1, LANES)[:] *= ratios
        self._strengths = strengths
        self.sums[:] = 0.0

    def visit(self, visit: Visit) -> None:
        """Go over the rows of a block."""
        block, order, numbers = visit
        duals, of_rows = self.duals, self.duals.reshape(-1, LANES)
        if numbers is not None:
            duals = aligned(len(numbers))
            np.take(of_rows, numbers, axis=0, out=duals.reshape(-1, LANES))
        fixed = self._strengths, self._offsets
        problem = order, self._live, self._tells, fixed, self._spare, not self._begun
        descend = descent.descend if self._binary else descent.descend_squares
        descend(tuple(block), problem, (duals, self.weights, self.of_dense), self.sums)
        if numbers is not None:
            of_rows[numbers] = duals.reshape(-1, LANES)

    def end(self) -> None:
        """End an epoch."""
        self._begun = True

    def left(self) -> Floats:
        """Return what is left of labels that are numbers: dual variables come to C times that."""
        return np.asarray((self.sums[2] / self._strengths)[: self.n])


class Together:
    """Models that go over the same rows."""

    def __init__(
        self,
        packed: Packed,
        lanes: Sequence[Lane],
        sizes: tuple[int, int],
        *,
        binary: bool,
        threads: int,
    ) -> None:
        n_features, n_dense = sizes
        self._packed, self._lanes, self._threads, self._epoch = packed, lanes, threads, 0
        each = np.array_split(np.arange(len(lanes)), -(-len(lanes) // LANES))
        sizes_of_four = packed.n_rows, n_features, n_dense
        self._fours = [Four([lanes[i] for i in few], sizes_of_four, binary=binary) for few in each]
        self.n = len(lanes)
        self._places = [(four, i) for four in self._fours for i in range(four.n)]

    def epoch(self, strength: float) -> None:
        """Go over all rows once."""
        if not self._epoch:
            strength *= FIRST
        for four in self._fours:
            four.begin(strength)
        for _ in map(self._go_over, self._packed.visits(self._epoch)):  # which hold no block but the last
            pass
        for four in self._fours:
            four.end()
        self._epoch += 1

    def _go_over(self, visit: Visit) -> None:
        list(ordered_map(partial(Four.visit, visit=visit), self._fours, self._threads))

    def stop(self, which: Flags) -> None:
        """Let some models learn no more, so that nothing of the others decides what they find."""
        parts = np.split(which, np.cumsum([four.n for four in self._fours])[:-1])
        for four, part in zip(self._fours, parts, strict=True):
            four.stop(part)

    def off(self) -> Floats:
        """Return by how much the rows of each model were off in the last epoch, over its spread."""
        spreads = np.array([one.spread for one in self._lanes])
        off = np.array([four.sums[0, i] for four, i in self._places])
        return np.asarray(off / np.maximum(spreads, 1e-300))

    def left(self) -> Floats:
        """Return what is left of labels that are numbers, over their spread."""
        spreads = np.array([one.spread for one in self._lanes])
        left = np.concatenate([four.left() for four in self._fours])
        return np.asarray(left / np.maximum(spreads, 1e-300))

    def lost(self) -> Floats:
        """Return the loss that each model told in the last epoch, over all rows that it tells of."""
        return np.array([four.sums[1, i] for four, i in self._places])

    def found(self) -> list[Found]:
        """Return copies of what all models have found."""
        return [
            Found(four.weights[i::LANES].copy(), four.of_dense[i::LANES].astype(np.float64))
            for four, i in self._places
        ]

    def duals(self, model: int) -> Singles:
        """Return a copy of the dual variables of a model, of logistic regression their logits."""
        four, i = self._places[model]
        return np.array(four.duals[i::LANES])
