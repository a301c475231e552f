"""Weights by rounds over rows of this process, in pieces: what Spark does with its own."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.gradients import STEPS, STEPS_OF_LOSS, Piece
from chromatic.fitting.rounds import Rounds
from chromatic.fitting.weights import NO_FOLD, Weighing, choose_strength


@dataclass(frozen=True)
class InPieces(Rounds):
    task: Weighing
    step: int = 500

    @cached_property
    def chosen(self):
        return (*choose_strength(self.task), self.task.dense)

    @cached_property
    def moments(self):
        fold, labels = self.task.fold, self.task.labels
        counts = np.ones(len(labels)) if self.task.importance is None else self.task.importance
        which = {one: fold == one for one in range(fold.max() + 1)} | {NO_FOLD: fold >= 0}
        return {
            one: (counts[here].sum(), counts[here] @ labels[here], labels[here].min(), labels[here].max())
            for one, here in which.items()
        }

    @cached_property
    def pieces(self):
        rows, made = self.task.rows, []
        for start in range(0, rows.n_rows, self.step):
            some = slice(start, start + self.step)
            indptr = rows.indptr[start : start + self.step + 1]
            codes = rows.codes[indptr[0] : indptr[-1]]
            part = replace(
                rows, indptr=indptr - indptr[0], codes=codes, dense=rows.dense[some], labels=None
            )
            weights = None if self.task.importance is None else self.task.importance[some]
            piece = Piece.of(part, (self.task.labels[some], self.task.fold[some], weights), self.problem)
            again = Piece.of_bytes([np.ascontiguousarray(one).tobytes() for one in piece])
            made.append((codes[codes >= self.problem.n_several], again))
        return made

    def ask(self, models, weights):
        gradients = np.zeros(weights.shape, np.int64)
        losses = np.zeros((3, len(models)), np.int64)
        for _, piece in self.pieces:
            sums = piece.summed(self.problem, models, weights)
            gradients[sums.codes] += sums.of_features
            gradients[self.problem.n_several :] += sums.of_dense
            losses += sums.losses
        return losses / STEPS_OF_LOSS, gradients / STEPS

    def own(self, model, weights):
        numbers = [
            np.repeat(piece.own_weights(self.problem, model, weights), piece.own)
            for _, piece in self.pieces
        ]
        return np.concatenate([codes for codes, _ in self.pieces]), np.concatenate(numbers)


def weigh_in_pieces(source, settings, of_class=None, *, binary):
    """Stands for `LocalSource.weigh`."""
    task = source._weighing(settings, of_class, source._extent(number_of_folds(settings)), binary=binary)
    return InPieces(source.data.vocabulary, settings, task.rows.n_rows, binary, task).weigh()
