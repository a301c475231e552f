"""Columns of features to encoded columns: a map with the model broadcast, or a join with it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from chromatic.data.rows import Rows
from chromatic.data.unseen import check_known
from chromatic.encoding.encoded import Tables
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError
from chromatic.fitting.folds import row_sums
from chromatic.spark.arrays import arrays_of
from chromatic.spark.coding import DRAW, FOLD, SUM, Numbering
from chromatic.spark.columns import batch_of, check_features, is_integer
from chromatic.spark.frames import Batches, with_columns
from chromatic.spark.joining import Joined, bytes_in_worker

log = logging.getLogger("chromatic")


class Encoder:
    """An encoding on its way to the workers, once for all frames."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.most_broadcast = 1 << 30  # bytes of a worker; a larger model is joined
        self._shared: Any = None

    def encode(self, frame: DataFrame, features: str, output: str, handle_unknown: str) -> DataFrame:
        """The frame with the columns of its rows."""
        self._check(frame, features, output)
        if self._is_joined(frame):
            joined = Joined(frame.sparkSession, self.encoding)
            return joined.encode(frame, features, self._fields(output), handle_unknown)
        shared = self._broadcast(frame)

        def encoded(features: pa.Array) -> list[pa.Array]:
            encoding = shared.value
            rows = _coded(encoding, features)
            check_known(rows, handle_unknown)
            return arrays_of(encoding.encode(rows), levels=encoding.gives_levels)

        return with_columns(frame, [features], self._fields(output), encoded)

    def encode_by_fold(
        self,
        frame: DataFrame,
        features: str,
        output: str,
        numbering: Numbering,
        tables: Tables | None,
    ) -> DataFrame:
        """The frame with columns by each row's fold; without tables, only the rows that do not estimate."""
        self._check(frame, features, output)
        if self._is_joined(frame, tables):
            joined, made = Joined(frame.sparkSession, self.encoding, tables), self._fields(output)
            split = tables is None
            return joined.encode_by_fold(frame, features, made, numbering, only_estimated=split)
        shared = self._broadcast(frame)
        shared_tables = frame.sparkSession.sparkContext.broadcast(tables)
        place = frame.columns.index(features)

        def sums_of(features: pa.Array) -> list[pa.Array]:
            sums = row_sums(_coded(shared.value, features), shared.value.vocabulary.hashes)
            return [pa.array(sums.view(np.int64))]

        def encoded(batches: Batches) -> Iterator[pa.RecordBatch]:
            encoding, tables = shared.value, shared_tables.value
            for batch in batches:
                fold = np.array(batch.column(FOLD).to_numpy(zero_copy_only=False), np.int32)
                if tables is None:
                    batch, fold = batch.filter(pa.array(fold < 0)), fold[fold < 0] + np.int32(1)
                rows = encoding.resolve(_coded(encoding, batch.column(place)))
                columns = encoding.encode_resolved(rows, tables, fold)
                arrays = arrays_of(columns, levels=encoding.gives_levels)
                yield pa.RecordBatch.from_arrays(batch.columns[:-1] + arrays, names)

        ordered = frame.select("*", *numbering.columns())
        summed = with_columns(ordered, [features], [T.StructField(SUM, T.LongType())], sums_of)
        schema = T.StructType([*frame.schema.fields, *self._fields(output)])
        names = schema.names
        return numbering.with_folds(summed).drop(DRAW).mapInArrow(encoded, schema)

    def _is_joined(self, frame: DataFrame, tables: Tables | None = None) -> bool:
        """Whether the model is too large for a worker; a stream cannot be joined with it."""
        size = bytes_in_worker(self.encoding, tables)
        joined = size > self.most_broadcast
        how = "joined" if joined else "broadcast"
        log.info("spark: the model needs %s MB in a worker and is %s", f"{size >> 20:,}", how)
        if joined and frame.isStreaming:
            raise InputError(
                f"the model needs {size >> 20:,} MB in a worker, more than broadcastInMB, and a stream is "
                "not joined with it; expected more broadcastInMB, or foreachBatch, whose batches are frames"
            )
        return joined

    def _broadcast(self, frame: DataFrame) -> Any:
        """The encoding without what only explanations need."""
        context = frame.sparkSession.sparkContext
        if self._shared is None or self._shared[0] is not context:
            self._shared = context, context.broadcast(self.encoding.without_explanations())
        return self._shared[1]

    def _check(self, frame: DataFrame, features: str, output: str) -> None:
        kind = check_features(frame, features)
        vocabulary = self.encoding.vocabulary
        if len(vocabulary) and is_integer(kind, vocabulary.schema) != vocabulary.integers:
            kinds = ("integers", "strings") if vocabulary.integers else ("strings", "integers")
            raise InputError(
                f"the column {features!r} has {kinds[1]} and the model knows {kinds[0]}; expected the kind "
                "that it was fitted on"
            )
        for name in (output, *([f"{output}_dense"] if self._has_dense else [])):
            if name in frame.columns:
                raise InputError(f"the frame has a column {name!r} already; name another outputCol")

    @property
    def _has_dense(self) -> bool:
        """Whether dense columns stand beside levels, which are integers."""
        return self.encoding.gives_levels and bool(self.encoding.vocabulary.dense_names)

    def _fields(self, output: str) -> list[T.StructField]:
        """The columns that are made."""
        if not self.encoding.gives_levels:
            size = self.encoding.n_sparse_columns + len(self.encoding.vocabulary.dense_names)
            return [T.StructField(output, VectorUDT(), metadata={"ml_attr": {"num_attrs": size}})]
        made = [T.StructField(output, T.ArrayType(T.IntegerType()))]
        if self._has_dense:
            made.append(T.StructField(f"{output}_dense", T.ArrayType(T.DoubleType())))
        return made


def _coded(encoding: Encoding, features: pa.Array) -> Rows:
    """Return rows as the vocabulary of an encoding codes them."""
    vocabulary = encoding.vocabulary
    return vocabulary.encode([batch_of(features, vocabulary.schema)])
