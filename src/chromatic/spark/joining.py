"""Rows joined with a model that no worker could hold: taken apart into features and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.hashing import mix_integers
from chromatic.data.rows import Rows
from chromatic.data.unseen import check_known
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded, Tables
from chromatic.encoding.protocol import Encoding
from chromatic.fitting.folds import row_sums
from chromatic.spark.arrays import arrays_of
from chromatic.spark.coding import DRAW, FOLD, SUM, Numbering, broadcast_bytes
from chromatic.spark.columns import batch_of, quoted
from chromatic.spark.frames import Batches, lists_of, spread, with_columns
from chromatic.spark.records import Shape, of_arrow, records_of, to_arrow

# Columns for the time of a join, beside those of the user.
KEYS, DENSE, SPARSE, ENTRIES = (f"_chromatic_{name}" for name in ("keys", "dense", "sparse", "entries"))
_ROW, _WHOLE = "_chromatic_row", "_chromatic_whole"
_MADE = [
    T.StructField(KEYS, T.ArrayType(T.LongType())),
    T.StructField(DENSE, T.ArrayType(T.DoubleType())),
    T.StructField(SPARSE, T.IntegerType()),
]


def bytes_in_worker(encoding: Encoding, tables: Tables | None = None) -> int:
    """The memory that an encoding needs in each Python worker: its vocabulary, and its tables."""
    tables = encoding.with_weights(encoding.tables) if tables is None else tables
    arrays = [one for part in tables.of_classes or (tables,) for one in (*part.arrays, part.weights)]
    colors = encoding.coloring.colors.nbytes
    return broadcast_bytes(encoding.vocabulary) + colors + sum(a.nbytes for a in arrays if a is not None)


class Joined:
    """A model as a frame of records, by the keys of its features."""

    def __init__(self, session: SparkSession, encoding: Encoding, tables: Tables | None = None) -> None:
        self.vocabulary = encoding.vocabulary
        self.shape, records = records_of(encoding, tables)
        keys = self.vocabulary.keys.astype(np.uint64).view(np.int64)
        codes = np.arange(len(keys), dtype=np.int32)
        table = pa.table({"key": keys, "code": codes, "record": to_arrow(records)})
        self.records = spread(session, table, "key long, code int, record binary")

    def encode(
        self, frame: DataFrame, features: str, made: list[T.StructField], handle_unknown: str
    ) -> DataFrame:
        """The frame with the columns of its rows."""
        shape, n_given = self.shape, len(frame.columns)
        schema = T.StructType([*frame.schema.fields, *made])

        def encoded(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                arrays = arrays_of(encoded_rows(batch, shape, None, handle_unknown), levels=shape.levels)
                yield pa.RecordBatch.from_arrays(batch.columns[:n_given] + arrays, schema.names)

        return self.gathered(frame, features).mapInArrow(encoded, schema)

    def encode_by_fold(
        self,
        frame: DataFrame,
        features: str,
        made: list[T.StructField],
        numbering: Numbering,
        *,
        only_estimated: bool,
    ) -> DataFrame:
        """The frame with columns by each row's fold, or only the rows that do not estimate."""
        shape, integers, n_given = self.shape, self.vocabulary.integers, len(frame.columns)
        schema = T.StructType([*frame.schema.fields, *made])

        def sums(entries: pa.Array) -> list[pa.Array]:
            return [pa.array(sums_of(entries, shape, integers=integers))]

        def encoded(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                fold = np.array(batch.column(FOLD).to_numpy(zero_copy_only=False), np.int32)
                if only_estimated:
                    batch, fold = batch.filter(pa.array(fold < 0)), fold[fold < 0] + np.int32(1)
                arrays = arrays_of(encoded_rows(batch, shape, fold), levels=shape.levels)
                yield pa.RecordBatch.from_arrays(batch.columns[:n_given] + arrays, schema.names)

        ordered = self.gathered(frame.select("*", *numbering.columns()), features)
        summed = with_columns(ordered, [ENTRIES], [T.StructField(SUM, T.LongType())], sums)
        return numbering.with_folds(summed).drop(DRAW).mapInArrow(encoded, schema)

    def gathered(self, frame: DataFrame, features: str) -> DataFrame:
        """The frame with the records of each row's features, and what else its columns follow from."""
        known = self.vocabulary
        none = {"names": None, "keys": known.keys[:0], "counts": known.counts[:0], "fields": None}
        few = replace(known, **none)  # type: ignore[arg-type]
        rows = with_columns(frame, [features], _MADE, lambda given: _apart(given, few))
        whole = F.struct(*(F.col(quoted(name)) for name in rows.columns if name != KEYS))
        rows = rows.select(F.monotonically_increasing_id().alias(_ROW), whole.alias(_WHOLE), KEYS)
        entries = rows.select(_ROW, _WHOLE, F.posexplode_outer(KEYS).alias("place", "key"))
        first = F.coalesce(F.col("place"), F.lit(0)) == 0  # the rest of a row travels once
        entries = entries.select(_ROW, "key", F.when(first, F.col(_WHOLE)).alias(_WHOLE))
        entry = F.when(F.col("code").isNotNull(), F.struct("code", "key", "record"))
        found = entries.join(self.records, "key", "left").groupBy(_ROW)
        together = found.agg(
            F.array_sort(F.collect_list(entry)).alias(ENTRIES),  # which leaves nulls out
            F.first(_WHOLE, ignorenulls=True).alias(_WHOLE),
        )
        return together.select(f"{_WHOLE}.*", ENTRIES)


def encoded_rows(
    batch: pa.RecordBatch, shape: Shape, fold: npt.NDArray[np.int32] | None, handle_unknown: str = "ignore"
) -> Encoded:
    """Return the columns of a batch of gathered rows."""
    indptr, codes, _, records = _entries(batch.column(ENTRIES), shape)
    n_rows = batch.num_rows
    lists = batch.column(DENSE)
    dense = lists.flatten().to_numpy(zero_copy_only=False).reshape(n_rows, -1)
    unseen = np.array(batch.column(SPARSE), np.int64) - np.diff(indptr)
    check_known(_unseen(indptr, unseen), handle_unknown)
    return shape.encode((indptr, codes, records), np.array(dense, np.float64), fold)


def sums_of(entries: pa.Array, shape: Shape, *, integers: bool) -> npt.NDArray[np.int64]:
    """Return what tells rows apart, by the features that the model knows."""
    indptr, codes, keys, _ = _entries(entries, shape)
    unsigned = keys.view(np.uint64)
    hashes = mix_integers(unsigned.astype(np.uint32)) if integers else unsigned
    places = np.arange(len(codes), dtype=np.uint32)
    rows = replace(_unseen(indptr, np.zeros(len(indptr) - 1, np.int64)), codes=places)
    return row_sums(rows, hashes).view(np.int64)


def _apart(features: pa.Array, few: Vocabulary) -> list[pa.Array]:
    """Return the keys of rows, the values of their dense features, and how many others they have."""
    batch = batch_of(features, few.schema).with_tokens()
    assert batch.tokens is not None
    keys = batch.tokens.integers if few.integers else batch.tokens.hashes
    assert keys is not None
    of_rows = keys[batch.ids].astype(np.uint64).view(np.int64)
    rows = few.encode([batch_of(features, few.schema)])
    n_rows, n_dense = rows.dense.shape
    dense = lists_of(np.arange(n_rows + 1) * n_dense, rows.dense.astype(np.float64).ravel())
    sparse = np.zeros(n_rows, np.int32) if rows.unseen_by_row is None else rows.unseen_by_row
    return [lists_of(batch.indptr, of_rows), dense, pa.array(sparse.astype(np.int32))]


def _entries(entries: Any, shape: Shape) -> tuple[Any, Any, Any, Any]:
    """Return gathered rows as CSR: where rows end, codes, keys and records."""
    lengths = entries.value_lengths().to_numpy(zero_copy_only=False)
    indptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    code, key, record = entries.flatten().flatten()
    codes = np.array(code.to_numpy(zero_copy_only=False), np.int32).view(np.uint32)
    keys = np.array(key.to_numpy(zero_copy_only=False), np.int64)
    return indptr, codes, keys, of_arrow(record, shape.kind)


def _unseen(indptr: npt.NDArray[np.int64], unseen: npt.NDArray[np.int64]) -> Rows:
    """Return rows without features, with how many of them are unknown."""
    return Rows(
        indptr=indptr,
        codes=np.empty(0, np.uint32),
        labels=None,
        dense=np.empty((len(unseen), 0), np.float32),
        n_features=0,
        vocabulary=0,
        unseen=int(unseen.sum()),
        unseen_by_row=unseen.astype(np.uint32),
    )
