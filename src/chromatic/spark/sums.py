"""The statistic of an encoding over coded rows of a frame: counted on the workers, added up by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from chromatic.coloring import Coloring, represent
from chromatic.data.rows import Rows
from chromatic.encoding.statistics import Extent, Floats, Statistic
from chromatic.spark.coding import FOLD
from chromatic.spark.frames import Batches, coded_chunks
from chromatic.spark.shuffle import add_up, merged


class Summing(NamedTuple):
    """What is summed: which statistic, in how many folds, with all features of a color or the rarest."""

    statistic: Any  # the class
    n_folds: int
    sums: bool
    of_class: int | None = None  # of several classes the one that is told from the others


class OfRows(NamedTuple):
    """What coded rows bring beside their features."""

    labels: Floats
    fold: npt.NDArray[np.int32]
    weights: Floats | None

    @classmethod
    def of(cls, table: pa.Table, of_class: int | None = None) -> OfRows:
        """Take it from a table of coded rows; rows without folds are all of the first."""
        columns = {name: table.column(name).to_numpy() for name in table.column_names if name in _BESIDE}
        labels = np.array(columns["label"], np.float64)
        if of_class is not None:
            labels = (labels == of_class).astype(np.float64)
        fold = np.zeros(len(labels), np.int32)
        if FOLD in columns:
            fold = columns[FOLD].astype(np.int32)
        return cls(labels, fold, columns.get("weight"))


_BESIDE = ("label", FOLD, "weight")


def accumulate(coded: DataFrame, coloring: Coloring, summing: Summing) -> Statistic:
    """Sum a statistic over coded rows.

    A slot f + folds · v is of feature v in fold f. After the features come the colors, then all rows.
    Without `sums`, a row counts for the rarest of its features of a color only.
    """
    statistic, n_folds, sums, of_class = summing
    # The workers need colors only; what each feature found taken is as large again.
    light = replace(coloring, forbidden=np.empty(0, np.int32))
    shared = coded.sparkSession.sparkContext.broadcast(light)
    n_features, fingerprint = len(coloring.colors), coloring.vocabulary
    measures = statistic.measures

    def counted(batches: Batches) -> Iterator[pa.Table]:
        for rows, table in coded_chunks(batches, n_features, fingerprint):
            kept = rows if sums else represent(rows, shared.value)[0]
            yield pa.table(_cells(kept, OfRows.of(table, of_class), shared.value, summing))

    n_places = n_features + coloring.n_colors + 1
    cells = np.zeros((len(measures), n_places * n_folds))
    needed = coded.select("codes", *(name for name in coded.columns if name in _BESIDE))
    try:
        for table in merged(needed, counted, add_up):
            slots = table.column("key").to_numpy()
            for place, measure in enumerate(measures):
                cells[place, slots] = table.column(measure).to_numpy()
    finally:
        shared.unpersist()
    made: Statistic = statistic.of_cells(cells.reshape(len(measures), n_places, n_folds), coloring.n_colors)
    return made


def _cells(rows: Rows, told: OfRows, coloring: Coloring, summing: Summing) -> dict[str, Any]:
    """Return the cells of some rows that are not empty, with their slots."""
    statistic, n_folds = summing.statistic, summing.n_folds
    codes, number = np.unique(rows.codes, return_inverse=True)
    compact = replace(rows, codes=number.astype(np.uint32), n_features=len(codes))
    sums = statistic.zeros(Extent(len(codes), n_folds, len(codes), coloring.n_colors))
    weights = {} if told.weights is None else {"weights": told.weights}
    fold = np.minimum(told.fold, np.int32(n_folds - 1))  # folds matter where they are summed apart
    sums.add(compact, told.labels, fold, coloring.colors[codes], **weights)
    cells = sums.cells().reshape(len(statistic.measures), -1)
    after = np.arange(rows.n_features, rows.n_features + coloring.n_colors + 1)
    slots = (np.append(codes.astype(np.int64), after)[:, None] * n_folds + np.arange(n_folds)).ravel()
    some = np.flatnonzero(cells[0])
    return {"key": slots[some], **dict(zip(statistic.measures, cells[:, some], strict=True))}
