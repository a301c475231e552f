"""What the labels of coded rows tell of each feature: counted on the workers, added up by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Coloring, represent
from chromatic.data.rows import Rows
from chromatic.encoding.statistics import LabelCounts
from chromatic.encoding.target import sum_moments
from chromatic.spark.frames import Batches, coded_chunks, fetch, given_back

SCHEMA = "slot long, count long, total double, squares double"


@dataclass(frozen=True)
class LabelSums:
    """Rows, and the sums of their labels and of the squares: 3 × features × folds, and of all rows."""

    of_features: npt.NDArray[np.float64]
    whole: npt.NDArray[np.float64]  # 3 × folds

    def counts(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Positive rows and rows of each feature, and of all rows as the last, over all folds."""
        joined = np.concatenate((self.of_features.sum(axis=2), self.whole.sum(axis=1)[:, None]), axis=1)
        return joined[1].astype(np.int64), joined[0].astype(np.int64)

    def by_fold(self) -> LabelCounts:
        """The counts of features, packed; the line of all rows stays empty, for nothing asks for it."""
        rows, positives = self.of_features[:2].astype(np.int64)
        nothing = np.zeros((1, rows.shape[1]), np.int64)
        return LabelCounts(np.concatenate((rows + (positives << 32), nothing)))


def sum_labels(coded: DataFrame, coloring: Coloring, n_folds: int) -> LabelSums:
    """Sum labels over the coded rows, collisions resolved; rows of a negative fold are left out."""
    # The workers need colors only; what each feature found taken is as large again.
    light = replace(coloring, forbidden=np.empty(0, np.int32))
    shared = coded.sparkSession.sparkContext.broadcast(light)
    n_features, fingerprint = len(coloring.colors), coloring.vocabulary

    def sums(batches: Batches) -> Iterator[pa.RecordBatch]:
        for rows, table in coded_chunks(batches, n_features, fingerprint):
            fold = np.zeros(rows.n_rows, np.int32)
            if "fold" in table.column_names:
                fold = table.column("fold").to_numpy().astype(np.int32)
            kept = represent(rows, shared.value)[0]
            yield from given_back(_sums_of(kept, table.column("label").to_numpy(), fold, n_folds))

    found = coded.mapInArrow(sums, SCHEMA).groupBy("slot")
    columns = [F.sum(name).alias(name) for name in ("count", "total", "squares")]
    try:
        table = fetch(found.agg(*columns))
    finally:
        shared.unpersist()
    arrays = np.zeros((3, (n_features + 1) * n_folds))
    slots = table.column("slot").to_numpy()
    for moment, name in enumerate(("count", "total", "squares")):
        arrays[moment, slots] = table.column(name).to_numpy()
    shaped = arrays.reshape(3, n_features + 1, n_folds)
    return LabelSums(shaped[:, :-1], shaped[:, -1])


def _sums_of(kept: Rows, labels: Any, fold: npt.NDArray[np.int32], n_folds: int) -> dict[str, Any]:
    """The sums of some rows: slot f + folds · v is of feature v in fold f, those after the last of all."""
    codes, number = np.unique(kept.codes, return_inverse=True)
    compact = replace(kept, codes=number.astype(np.uint32), n_features=len(codes))
    of_features, whole = sum_moments(compact, np.array(labels, np.float64), fold, n_folds)
    arrays = np.concatenate((of_features, whole[:, None]), axis=1).reshape(3, -1)
    features = np.append(codes.astype(np.int64), kept.n_features)
    slots = (features[:, None] * n_folds + np.arange(n_folds)).ravel()
    some = np.flatnonzero(arrays[0])
    count, total, squares = arrays[:, some]
    return {"slot": slots[some], "count": count.astype(np.int64), "total": total, "squares": squares}
