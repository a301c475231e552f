"""What the labels of coded rows tell of each feature: counted on the workers, added up by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Coloring, represent
from chromatic.data.rows import Rows
from chromatic.encoding.statistics import LabelCounts, packed
from chromatic.encoding.target import LabelMoments
from chromatic.spark.frames import Batches, coded_chunks, fetch, given_back

SCHEMA = "slot long, count long, total double, squares double"


def counts_of(sums: LabelMoments) -> LabelCounts:
    """The sums of labels that are 0 or 1 as counts."""
    (rows, positives), (all_rows, all_positives) = (
        array[:2].astype(np.int64) for array in (sums.of_features, sums.whole)
    )
    return LabelCounts(packed(positives, rows), np.empty(0, np.uint8), packed(all_positives, all_rows))


def sum_labels(coded: DataFrame, coloring: Coloring, n_folds: int) -> LabelMoments:
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
    return LabelMoments(shaped[:, :-1], shaped[:, -1])


def _sums_of(kept: Rows, labels: Any, fold: npt.NDArray[np.int32], n_folds: int) -> dict[str, Any]:
    """The sums of some rows: slot f + folds · v is of feature v in fold f, those after the last of all."""
    codes, number = np.unique(kept.codes, return_inverse=True)
    compact = replace(kept, codes=number.astype(np.uint32), n_features=len(codes))
    sums = LabelMoments.zeros(len(codes), n_folds)
    sums.add(compact, np.array(labels, np.float64), fold)
    arrays = np.concatenate((sums.of_features, sums.whole[:, None]), axis=1).reshape(3, -1)
    features = np.append(codes.astype(np.int64), kept.n_features)
    slots = (features[:, None] * n_folds + np.arange(n_folds)).ravel()
    some = np.flatnonzero(arrays[0])
    count, total, squares = arrays[:, some]
    return {"slot": slots[some], "count": count.astype(np.int64), "total": total, "squares": squares}
