"""Weights of features by rounds over coded rows that stay on the workers (`fitting.gradients`)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Size
from chromatic.data.vocabulary import Vocabulary
from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.gradients import (
    STEPS,
    STEPS_OF_LOSS,
    Asked,
    Descent,
    Floats,
    Problem,
    own_weights,
    scale_of,
    summed,
)
from chromatic.fitting.source import n_several
from chromatic.fitting.weighing import NO_FOLD
from chromatic.fitting.weights import (
    MOST_ENTRIES,
    MOST_STRENGTH,
    MOST_TO_CHOOSE,
    STEP,
    WORTH,
    Weights,
    choose_strength,
)
from chromatic.parameters import Settings
from chromatic.spark.coding import DRAW, FOLD
from chromatic.spark.frames import Batches, coded_chunks, fetch, given_back, rows_of_table
from chromatic.spark.shuffle import add_up, merged
from chromatic.spark.sums import OfRows
from chromatic.spark.weighing import weighing

log = logging.getLogger("chromatic")

AT_ONCE = 3  # strengths that are tried in the same rounds


@dataclass(frozen=True)
class Far:
    """Coded rows on the workers, and what their weights are found by."""

    coded: DataFrame
    vocabulary: Vocabulary
    settings: Settings
    size: Size
    of_class: int | None
    binary: bool

    def weigh(self) -> Weights:
        """Find the weights by all rows and out of each fold."""
        n_folds = number_of_folds(self.settings)
        strength, loss = self._strength, self._chosen[1]
        by_fold = np.zeros((self.problem.n_several, n_folds if n_folds > 1 else 0), np.float32)
        models = []
        if n_folds > 1:
            strength, loss, solved = self._finer(strength, n_folds)
            for fold, descent in solved.items():
                by_fold[:, fold] = descent.at[: self.problem.n_several]
            models = [self._asked(fold, strength) for fold in range(n_folds - 2)]
        log.info("weights: a penalty of %g on their squares is best for held-out rows", 1 / strength)
        models.append(self._asked(NO_FOLD, strength))
        *others, whole = self._solve(models)[0]
        for fold, descent in enumerate(others):
            by_fold[:, fold] = descent.at[: self.problem.n_several]
        dense, n = self.problem.dense, self.problem.n_several
        of_dense = whole.at[n:-1] * dense.factors
        return Weights(
            of_features=self._all_weights(models[-1], whole),
            by_fold=by_fold,
            of_dense=of_dense,
            intercept=models[-1].offset + float(whole.at[-1] - of_dense @ dense.centers),
            strength=strength,
            held_out_loss=loss,
        )

    @cached_property
    def _chosen(self) -> tuple[float, float, Any]:
        """The penalty by a sample of rows on the driver, the loss, and how dense columns are seen."""
        share = min(1.0, MOST_TO_CHOOSE / self.size.n_rows, MOST_ENTRIES / max(self.size.n_entries, 1))
        table = fetch(self.coded.filter(F.col(DRAW) < int(share * 2**32)).drop(DRAW))
        rows = rows_of_table(table, len(self.vocabulary), self.vocabulary.fingerprint)
        told = OfRows.of(table, self.of_class)
        task = weighing(rows, told, self.vocabulary, self.settings, binary=self.binary)
        return (*choose_strength(task), task.dense)

    @property
    def _strength(self) -> float:
        return float(self._chosen[0])

    @cached_property
    def problem(self) -> Problem:
        """What all rounds share."""
        low, high = self._moments[NO_FOLD][2:]
        several = n_several(self.vocabulary, number_of_folds(self.settings))
        return Problem(several, self._chosen[2], self.binary, 1.0 if self.binary else high - low)

    @cached_property
    def _moments(self) -> dict[int, tuple[float, float, float, float]]:
        """Rows, and the sum, the least and the largest of their labels, of each fold and of all."""
        label: Any = F.col("label")
        if self.of_class is not None:
            label = (label == F.lit(float(self.of_class))).cast("double")
        weight = F.col("weight") if "weight" in self.coded.columns else F.lit(1.0)
        used = self.coded.select(label.alias("y"), weight.alias("w"), FOLD).filter(F.col(FOLD) >= 0)
        asked = F.sum("w"), F.sum(F.col("w") * F.col("y")), F.min("y"), F.max("y")
        told = {int(row[0]): tuple(map(float, row[1:])) for row in used.groupBy(FOLD).agg(*asked).collect()}
        rows, sums, low, high = zip(*(told[fold] for fold in sorted(told)), strict=True)
        return {**told, NO_FOLD: (math.fsum(rows), math.fsum(sums), min(low), max(high))}  # type: ignore[dict-item]

    def _asked(self, fold: int, strength: float) -> Asked:
        """Return a model whose penalty is scaled to the rows that it knows."""
        rows, total, _, _ = self._moments[NO_FOLD]
        out = self._moments.get(fold, (0.0, 0.0, 0.0, 0.0)) if fold != NO_FOLD else (0.0, 0.0)
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
        rows, total, _, _ = self._moments[NO_FOLD]
        spread = 1.0
        if self.binary:
            spread = float(np.prod([total / rows, 1 - total / rows]))
        descents = []
        for model in models:
            scale = scale_of(self.vocabulary.counts[:n], self.size.n_rows, n_dense, model, spread)
            descents.append(Descent(scale, np.zeros(len(scale))))
        held = np.zeros((2, len(models)))
        number = 0
        while not all(one.done for one in descents):
            open = [i for i, one in enumerate(descents) if not one.done]
            losses, gradients = self._round([models[i] for i in open], [descents[i] for i in open])
            for at, i in enumerate(open):
                of_row = 1.0 if self.binary else 2.0 * self.problem.span**2  # of a square in units
                held[:, i] = of_row * losses[1, at], losses[2, at]
                factor = models[i].strength * self.problem.span
                descents[i].tell(factor * self.problem.span * losses[0, at], factor * gradients[:, at])
            number += 1
        log.info("spark: %d rounds over the rows found %d models", number, len(models))
        return descents, held

    def _round(self, models: list[Asked], descents: list[Descent]) -> tuple[Floats, Floats]:
        """Return the losses of models, and their gradients by weight."""
        problem, of_class = self.problem, self.of_class
        n_features, fingerprint = len(self.vocabulary), self.vocabulary.fingerprint
        weights = np.column_stack([one.trial for one in descents])
        shared = self.coded.sparkSession.sparkContext.broadcast(weights)
        names = [f"m{i}" for i in range(len(models))]

        def asked(batches: Batches) -> Iterator[pa.Table]:
            for rows, table in coded_chunks(batches, n_features, fingerprint):
                sums = summed(rows, OfRows.of(table, of_class), problem, models, shared.value)
                after = np.arange(len(sums.of_dense) + 3) + problem.n_several
                slots = np.concatenate((sums.codes.astype(np.int64), after))
                cells = np.concatenate((sums.of_features, sums.of_dense, sums.losses))
                yield pa.table({"key": slots, **dict(zip(names, cells.T, strict=True))})

        cells = np.zeros((len(weights) + 3, len(models)), np.int64)
        try:
            for table in merged(self.coded.drop(DRAW), asked, add_up):
                for i, name in enumerate(names):
                    cells[table.column("key").to_numpy(), i] = table.column(name).to_numpy()
        finally:
            shared.unpersist()
        return cells[-3:] / STEPS_OF_LOSS, cells[:-3] / STEPS

    def _all_weights(self, model: Asked, found: Descent) -> Any:
        """Return the weights of all features: those of one row follow from what the others say of it."""
        n, of_class, problem = self.problem.n_several, self.of_class, self.problem
        weights = np.zeros(len(self.vocabulary), np.float32)
        weights[:n] = found.at[:n]
        if n == len(self.vocabulary):
            return weights
        n_features, fingerprint = len(self.vocabulary), self.vocabulary.fingerprint
        shared = self.coded.sparkSession.sparkContext.broadcast(found.at)

        def own(batches: Batches) -> Iterator[pa.RecordBatch]:
            for rows, table in coded_chunks(batches, n_features, fingerprint):
                told = OfRows.of(table, of_class)
                at, alone = shared.value, rows.codes >= n
                of_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
                known = np.where(alone, 0.0, at[np.where(alone, 0, rows.codes)])
                margins = np.bincount(of_row, known, rows.n_rows) + model.offset + at[-1]
                margins += problem.dense.seen(rows).astype(np.float64) @ at[n:-1]
                counts = np.ones(rows.n_rows) if told.weights is None else told.weights
                counts = np.where(told.fold >= 0, counts, 0.0)
                own = np.bincount(of_row[alone], minlength=rows.n_rows) * model.strength * counts
                slopes = own_weights(margins, told.labels, own, problem) * counts
                numbers = -model.strength * problem.span * slopes
                yield from given_back(
                    {"code": rows.codes[alone].astype(np.int64), "weight": numbers[of_row[alone]]}
                )

        table = fetch(self.coded.drop(DRAW).mapInArrow(own, "code long, weight double"))
        weights[table.column("code").to_numpy()] = table.column("weight").to_numpy()
        return weights
