"""Weights of features by rounds over coded rows that stay on the workers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Size
from chromatic.fitting.gradients import (
    STEPS,
    STEPS_OF_LOSS,
    Asked,
    Floats,
    Integers,
    Piece,
    Singles,
)
from chromatic.fitting.rounds import Moments, Rounds
from chromatic.fitting.weighing import NO_FOLD, Dense
from chromatic.fitting.weights import MOST_ENTRIES, MOST_TO_CHOOSE, Weights, choose_strength
from chromatic.spark.coding import DRAW, FOLD
from chromatic.spark.frames import Batches, coded_chunks, fetch, given_back, rows_of_table
from chromatic.spark.shuffle import add_up, merged
from chromatic.spark.sums import OfRows
from chromatic.spark.weighing import weighing


@dataclass(frozen=True)
class Far(Rounds):
    """Coded rows on the workers."""

    coded: DataFrame
    size: Size
    of_class: int | None

    def weigh(self) -> Weights:
        try:
            return super().weigh()
        finally:
            if "_pieces" in self.__dict__:
                self._pieces.unpersist()

    @cached_property
    def chosen(self) -> tuple[float, float, Dense]:
        """The penalty by a sample of rows on the driver, its loss, and how dense columns are seen."""
        share = min(1.0, MOST_TO_CHOOSE / self.size.n_rows, MOST_ENTRIES / max(self.size.n_entries, 1))
        table = fetch(self.coded.filter(F.col(DRAW) < int(share * 2**32)).drop(DRAW))
        rows = rows_of_table(table, len(self.vocabulary), self.vocabulary.fingerprint)
        told = OfRows.of(table, self.of_class)
        task = weighing(rows, told, self.vocabulary, self.settings, binary=self.binary)
        return (*choose_strength(task), task.dense)

    @cached_property
    def moments(self) -> dict[int, Moments]:
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

    @cached_property
    def _pieces(self) -> DataFrame:
        """The rows in pieces, each a row of bytes, held by workers: no round makes them anew."""
        problem, of_class = self.problem, self.of_class
        n_features, fingerprint = len(self.vocabulary), self.vocabulary.fingerprint

        def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
            for rows, table in coded_chunks(batches, n_features, fingerprint):
                piece = Piece.of(rows, OfRows.of(table, of_class), problem)
                arrays = [pa.array([np.ascontiguousarray(one).tobytes()], pa.binary()) for one in piece]
                yield pa.RecordBatch.from_arrays(arrays, list(Piece._fields))

        schema = ", ".join(f"{name} binary" for name in Piece._fields)
        return self.coded.drop(DRAW).mapInArrow(pack, schema).persist(StorageLevel.MEMORY_AND_DISK)

    def ask(self, models: list[Asked], weights: Singles) -> tuple[Floats, Floats]:
        """Return the losses of models, and their gradients by weight."""
        problem = self.problem
        shared = self.coded.sparkSession.sparkContext.broadcast(weights)
        names = [f"m{i}" for i in range(len(models))]

        def asked(batches: Batches) -> Iterator[pa.Table]:
            for piece in _unpacked(batches):
                sums = piece.summed(problem, models, shared.value)
                after = np.arange(len(sums.of_dense) + 3) + problem.n_several
                slots = np.concatenate((sums.codes.astype(np.int64), after))
                cells = np.concatenate((sums.of_features, sums.of_dense, sums.losses))
                yield pa.table({"key": slots, **dict(zip(names, cells.T, strict=True))})

        cells = np.zeros((len(weights) + 3, len(models)), np.int64)
        try:
            for table in merged(self._pieces, asked, add_up):
                for i, name in enumerate(names):
                    cells[table.column("key").to_numpy(), i] = table.column(name).to_numpy()
        finally:
            shared.unpersist()
        return cells[-3:] / STEPS_OF_LOSS, cells[:-3] / STEPS

    def own(self, model: Asked, weights: Floats) -> tuple[Integers, Floats]:
        """Return the features of one row, and the weights that follow from those of the others."""
        problem, of_class = self.problem, self.of_class
        n_features, fingerprint = len(self.vocabulary), self.vocabulary.fingerprint
        shared = self.coded.sparkSession.sparkContext.broadcast(weights)

        def own(batches: Batches) -> Iterator[pa.RecordBatch]:
            for rows, table in coded_chunks(batches, n_features, fingerprint):
                piece = Piece.of(rows, OfRows.of(table, of_class), problem)
                codes = rows.codes[rows.codes >= problem.n_several]
                numbers = np.repeat(piece.own_weights(problem, model, shared.value), piece.own)
                yield from given_back({"code": codes.astype(np.int64), "weight": numbers})

        try:
            table = fetch(self.coded.drop(DRAW).mapInArrow(own, "code long, weight double"))
        finally:
            shared.unpersist()
        return table.column("code").to_numpy(), table.column("weight").to_numpy()


def _unpacked(batches: Batches) -> Iterator[Piece]:
    for batch in batches:
        for row in range(batch.num_rows):
            values = [batch.column(name)[row].as_buffer() for name in Piece._fields]
            yield Piece.of_bytes(values)
