"""Columns of features to encoded columns: a map with the model broadcast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from chromatic.data.rows import Rows
from chromatic.data.unseen import check_known
from chromatic.encoding.encoded import Encoded, Tables
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError
from chromatic.fitting.folds import row_sums
from chromatic.spark.coding import DRAW, FOLD, SUM, Numbering
from chromatic.spark.columns import batch_of, check_features, is_integer
from chromatic.spark.frames import Batches, lists_of, with_columns

_SPARSE = 0  # the type of a sparse vector of pyspark.ml
_ITEM = pa.field("element", pa.int32(), False), pa.field("element", pa.float64(), False)
_VECTOR = [
    pa.field("type", pa.int8(), False),
    pa.field("size", pa.int32()),
    pa.field("indices", pa.list_(_ITEM[0])),
    pa.field("values", pa.list_(_ITEM[1])),
]


class Encoder:
    """An encoding on its way to the workers, once for all frames."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._shared: Any = None

    def encode(self, frame: DataFrame, features: str, output: str, handle_unknown: str) -> DataFrame:
        """The frame with the columns of its rows."""
        self._check(frame, features, output)
        shared = self._broadcast(frame)

        def encoded(features: pa.Array) -> list[pa.Array]:
            encoding = shared.value
            rows = _coded(encoding, features)
            check_known(rows, handle_unknown)
            return arrays_of(encoding.encode(rows), encoding)

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
                arrays = arrays_of(encoding.encode_resolved(rows, tables, fold), encoding)
                yield pa.RecordBatch.from_arrays(batch.columns[:-1] + arrays, names)

        ordered = frame.select("*", *numbering.columns())
        summed = with_columns(ordered, [features], [T.StructField(SUM, T.LongType())], sums_of)
        schema = T.StructType([*frame.schema.fields, *self._fields(output)])
        names = schema.names
        return numbering.with_folds(summed).drop(DRAW).mapInArrow(encoded, schema)

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


def arrays_of(encoded: Encoded, encoding: Encoding) -> list[pa.Array]:
    """Return encoded rows as the columns of a frame."""
    if not encoding.gives_levels:
        return [_vectors(encoded)]
    return _levels(encoded)[: 1 + bool(encoding.vocabulary.dense_names)]


def _vectors(encoded: Encoded) -> pa.Array:
    """Rows as sparse vectors of pyspark.ml, the dense columns last."""
    folded = encoded.with_dense_folded()
    n_rows = len(folded.indptr) - 1
    values = np.ones(len(folded.columns)) if folded.values is None else folded.values.astype(np.float64)
    offsets = pa.array(folded.indptr.astype(np.int32))
    arrays = [
        pa.array(np.full(n_rows, _SPARSE, np.int8)),
        pa.array(np.full(n_rows, folded.n_columns, np.int32)),
        pa.ListArray.from_arrays(offsets, pa.array(folded.columns), type=_VECTOR[2].type),
        pa.ListArray.from_arrays(offsets, pa.array(values), type=_VECTOR[3].type),
    ]
    return pa.StructArray.from_arrays(arrays, fields=_VECTOR)


def _levels(encoded: Encoded) -> list[pa.Array]:
    """Return rows as one integer a color, 0 where it is absent, and the values of dense features."""
    n_rows, n_colors, n_dense = len(encoded.indptr) - 1, encoded.n_sparse_columns, encoded.dense.shape[1]
    levels = np.zeros((n_rows, n_colors), np.int32)
    assert encoded.values is not None
    levels[np.repeat(np.arange(n_rows), np.diff(encoded.indptr)), encoded.columns] = encoded.values
    dense = encoded.dense.astype(np.float64)
    every = np.arange(n_rows + 1)
    return [lists_of(every * n_colors, levels.ravel()), lists_of(every * n_dense, dense.ravel())]
