"""The weights of features from coded rows of a frame: what is fetched to find them on the driver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.fitting.folds import number_of_folds, row_sums
from chromatic.fitting.weights import Dense, Weighing
from chromatic.parameters import Settings
from chromatic.spark.frames import rows_of_lists
from chromatic.spark.sums import OfRows


def rows_of_table(table: pa.Table, n_features: int, vocabulary: int) -> Rows:
    """Return coded rows with the values of their dense columns."""
    rows = rows_of_lists(table.column("codes"), n_features, vocabulary)
    if "dense" not in table.column_names:
        return rows
    lists = table.column("dense").combine_chunks()
    lists = pa.concat_arrays(lists.chunks) if isinstance(lists, pa.ChunkedArray) else lists
    values = lists.flatten().to_numpy(zero_copy_only=False).reshape(rows.n_rows, -1)
    halves = values.astype(np.float32)
    return replace(rows, dense=halves if (halves == values).all() else values)


def n_several(vocabulary: Vocabulary, n_folds: int) -> int:
    """Return how many features may be in several rows; codes descend with counts but in tables."""
    if n_folds == 1 or vocabulary.fields is not None:
        return len(vocabulary)
    return int(np.searchsorted(-vocabulary.counts, -1))


def weighing(
    rows: Rows, told: OfRows, vocabulary: Vocabulary, settings: Settings, *, binary: bool
) -> Weighing:
    """Return what weights are found from, as a local fit has it."""
    return Weighing(
        rows,
        Dense.of(rows, told.weights),
        told.labels,
        told.fold,
        row_sums(rows, vocabulary.hashes),
        n_several=n_several(vocabulary, number_of_folds(settings)),
        binary=binary,
        seed=settings.seed,
        importance=told.weights,
    )
