"""Weights of features by rounds over rows that are far away (`gradients`): which models are asked for."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chromatic.data.vocabulary import Vocabulary
from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.gradients import Asked, Descent, Floats, Integers, Problem, Singles, scale_of
from chromatic.fitting.source import n_several
from chromatic.fitting.weighing import NO_FOLD, Dense
from chromatic.fitting.weights import MOST_STRENGTH, STEP, WORTH, Weights
from chromatic.parameters import Settings

log = logging.getLogger("chromatic")

AT_ONCE = 3  # strengths that are tried in the same rounds

Moments = tuple[float, float, float, float]


@dataclass(frozen=True)
class Rounds(ABC):
    """Rows that are far away, and what their weights are found by."""

    vocabulary: Vocabulary
    settings: Settings
    n_rows: int
    binary: bool

    @property
    @abstractmethod
    def chosen(self) -> tuple[float, float, Dense]:
        """The C that a sample of rows chooses, its loss, and how dense columns are seen."""

    @property
    @abstractmethod
    def moments(self) -> dict[int, Moments]:
        """Rows, and the sum, the least and the largest of their labels, of each fold and of all."""

    @abstractmethod
    def ask(self, models: list[Asked], weights: Singles) -> tuple[Floats, Floats]:
        """Return the losses of models, and their gradients by weight."""

    @abstractmethod
    def own(self, model: Asked, weights: Floats) -> tuple[Integers, Floats]:
        """Return the features of one row, and the weights that follow from those of the others."""

    def weigh(self) -> Weights:
        """Find the weights by all rows and out of each fold."""
        n_folds, n = number_of_folds(self.settings), self.problem.n_several
        strength, loss, dense = self.chosen
        by_fold = np.zeros((n, n_folds if n_folds > 1 else 0), np.float32)
        models = []
        if n_folds > 1:
            strength, loss, solved = self._finer(strength, n_folds)
            for fold, descent in solved.items():
                by_fold[:, fold] = descent.at[:n]
            models = [self._asked(fold, strength) for fold in range(n_folds - 2)]
        log.info("weights: a penalty of %g on their squares is best for held-out rows", 1 / strength)
        models.append(self._asked(NO_FOLD, strength))
        *others, whole = self._solve(models)[0]
        for fold, descent in enumerate(others):
            by_fold[:, fold] = descent.at[:n]
        of_dense = whole.at[n:-1] * dense.factors
        return Weights(
            of_features=self._all_weights(models[-1], whole.at),
            by_fold=by_fold,
            of_dense=of_dense,
            intercept=models[-1].offset + float(whole.at[-1] - of_dense @ dense.centers),
            strength=strength,
            held_out_loss=loss,
        )

    @cached_property
    def problem(self) -> Problem:
        """What all rounds share."""
        low, high = self.moments[NO_FOLD][2:]
        several = n_several(self.vocabulary, number_of_folds(self.settings))
        return Problem(several, self.chosen[2], self.binary, 1.0 if self.binary else high - low)

    def _asked(self, fold: int, strength: float) -> Asked:
        """Return a model whose penalty is scaled to the rows that it knows."""
        rows, total, _, _ = self.moments[NO_FOLD]
        out = self.moments.get(fold, (0.0, 0.0, 0.0, 0.0)) if fold != NO_FOLD else (0.0, 0.0)
        left = max(rows - out[0], 1e-9)
        mean = float(f"{(total - out[1]) / left:.6g}")  # no order of rows is seen in it
        if self.binary:
            mean = min(max(mean, 1e-6), 1 - 1e-6)
            mean = math.log(mean / (1 - mean))
        return Asked(fold, strength / (left / rows), mean)

    def _finer(self, strength: float, n_folds: int) -> tuple[float, float, dict[int, Descent]]:
        """Return the best C for the last two folds, from a given one on, their loss, and what was found."""
        folds = n_folds - 2, n_folds - 1
        best: tuple[float, float, dict[int, Descent]] | None = None
        while True:
            tried = [strength * STEP**i for i in range(AT_ONCE)]
            models = [self._asked(fold, one) for one in tried for fold in folds]
            descents, held = self._solve(models)
            for i, one in enumerate(tried):
                pair = slice(2 * i, 2 * i + 2)
                loss = float(held[0, pair].sum() / max(held[1, pair].sum(), 1e-9))
                if best is not None and loss >= best[1] * (1.0 - WORTH):
                    return best
                best = one, loss, dict(zip(folds, descents[pair], strict=True))
                if one >= MOST_STRENGTH:
                    return best
            strength = tried[-1] * STEP

    def _solve(self, models: list[Asked]) -> tuple[list[Descent], Floats]:
        """Go round until all models are found; return them, and loss and weight of their held-out rows."""
        n_dense, n = len(self.problem.dense.centers), self.problem.n_several
        rows, total, _, _ = self.moments[NO_FOLD]
        spread = 1.0
        if self.binary:
            spread = float(np.prod([total / rows, 1 - total / rows]))
        descents = []
        for model in models:
            scale = scale_of(self.vocabulary.counts[:n], self.n_rows, n_dense, model, spread)
            descents.append(Descent(scale, np.zeros(len(scale))))
        held = np.zeros((2, len(models)))
        number = 0
        while not all(one.done for one in descents):
            open = [i for i, one in enumerate(descents) if not one.done]
            trials = np.column_stack([descents[i].trial for i in open])
            losses, gradients = self.ask([models[i] for i in open], trials)
            for at, i in enumerate(open):
                of_row = 1.0 if self.binary else 2.0 * self.problem.span**2  # of a square in units
                held[:, i] = of_row * losses[1, at], losses[2, at]
                factor = models[i].strength * self.problem.span
                descents[i].tell(factor * self.problem.span * losses[0, at], factor * gradients[:, at])
            number += 1
        log.info("weights: %d rounds over the rows found %d models", number, len(models))
        return descents, held

    def _all_weights(self, model: Asked, found: Floats) -> Singles:
        """Return the weights of all features: those of one row follow from what the others say of it."""
        n = self.problem.n_several
        weights = np.zeros(len(self.vocabulary), np.float32)
        weights[:n] = found[:n]
        if n < len(self.vocabulary):
            codes, own = self.own(model, found)
            weights[codes] = own
        return weights
