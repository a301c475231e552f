"""Columns of features to encoded columns: a map with the model broadcast."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import represent
from chromatic.data.rows import Rows
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.fitting import Encoding, SubmodularEncoding
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.encoding.statistics import row_sums
from chromatic.errors import InputError
from chromatic.spark.coding import Numbering, with_folds, without_names
from chromatic.spark.columns import batch_of, check_features, is_integer, quoted
from chromatic.spark.frames import column_function, lists_of

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
        column = self._columns(frame, F.col(quoted(features)), handle_unknown)
        return frame.select("*", *self._named(column, output))

    def encode_by_fold(
        self,
        frame: DataFrame,
        features: str,
        output: str,
        numbering: Numbering,
        tables: npt.NDArray[Any] | None,
    ) -> DataFrame:
        """The frame with columns by each row's fold; without tables, only the rows that do not estimate."""
        self._check(frame, features, output)
        shared, of_row = self._broadcast(frame), F.col(quoted(features))

        @column_function("long")
        def sum_of(features: pa.Array) -> pa.Array:
            known = shared.value.vocabulary
            return pa.array(row_sums(known.encode([batch_of(features)]), known.hashes).view(np.int64))

        summed = frame.select(
            F.struct("*").alias("row"),
            of_row.alias("features"),
            numbering.by().alias("order"),
            sum_of(of_row).alias("sum"),
        )
        folds = with_folds(summed, numbering)
        if tables is None:
            left = folds.filter(F.col("fold") < 0)
            return left.select(
                "row.*", *self._named(self._columns(frame, F.col("features"), "ignore"), output)
            )
        shared_tables = frame.sparkSession.sparkContext.broadcast(tables)

        @column_function(VectorUDT())
        def vectors(features: pa.Array, fold: pa.Array) -> pa.Array:
            encoding = shared.value
            rows = encoding.vocabulary.encode([batch_of(features)])
            kept = represent(rows, encoding.coloring)[0]
            of_row = fold.to_numpy(zero_copy_only=False).astype(np.int32)
            return _vectors(encoding.encode_kept(kept, shared_tables.value, of_row))

        return folds.select("row.*", *self._named(vectors("features", "fold"), output))

    def _broadcast(self, frame: DataFrame) -> Any:
        """The encoding without what only explanations need."""
        context = frame.sparkSession.sparkContext
        if self._shared is None or self._shared[0] is not context:
            encoding = self.encoding
            light: dict[str, Any] = {
                "vocabulary": without_names(encoding.vocabulary),
                "coloring": replace(encoding.coloring, forbidden=np.empty(0, np.int32)),
            }
            if isinstance(encoding, SubmodularEncoding):
                light["codebook"] = replace(encoding.codebook, rates=np.empty(0))
            self._shared = context, context.broadcast(replace(encoding, **light))
        return self._shared[1]

    def _check(self, frame: DataFrame, features: str, output: str) -> None:
        kind = check_features(frame, features)
        vocabulary = self.encoding.vocabulary
        if is_integer(kind) != vocabulary.integers:
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
        """Whether dense columns stand beside codes, which are integers."""
        return isinstance(self.encoding, FrequencyEncoding) and bool(self.encoding.vocabulary.dense_names)

    def _columns(self, frame: DataFrame, features: Column, handle_unknown: str) -> Column:
        shared = self._broadcast(frame)

        def encoded(features: pa.Array) -> Encoded:
            encoding = shared.value
            rows: Rows = encoding.vocabulary.encode([batch_of(features)])
            if rows.unseen and handle_unknown == "error":
                raise InputError(
                    f"{rows.unseen:,} features of {rows.n_rows:,} rows were not seen in training; expected "
                    "known ones, or handleUnknown='ignore'"
                )
            columns: Encoded = encoding.encode(rows)
            return columns

        @column_function(VectorUDT())
        def vectors(features: pa.Array) -> pa.Array:
            return _vectors(encoded(features))

        @column_function("struct<codes: array<int>, dense: array<double>>")
        def codes(features: pa.Array) -> pa.Array:
            return _codes(encoded(features))

        made: Column = (codes if isinstance(self.encoding, FrequencyEncoding) else vectors)(features)
        return made

    def _named(self, column: Column, output: str) -> list[Column]:
        if not isinstance(self.encoding, FrequencyEncoding):
            size = self.encoding.n_sparse_columns + len(self.encoding.vocabulary.dense_names)
            return [column.alias(output, metadata={"ml_attr": {"num_attrs": size}})]
        named = [column.getField("codes").alias(output)]
        if self._has_dense:
            named.append(column.getField("dense").alias(f"{output}_dense"))
        return named


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


def _codes(encoded: Encoded) -> pa.Array:
    """Rows as one integer a color, 0 where it is absent, and the values of dense features."""
    n_rows, n_colors, n_dense = len(encoded.indptr) - 1, encoded.n_sparse_columns, encoded.dense.shape[1]
    codes = np.zeros((n_rows, n_colors), np.int32)
    assert encoded.values is not None
    codes[np.repeat(np.arange(n_rows), np.diff(encoded.indptr)), encoded.columns] = encoded.values
    dense = encoded.dense.astype(np.float64)
    every = np.arange(n_rows + 1)
    lists = lists_of(every * n_colors, codes.ravel()), lists_of(every * n_dense, dense.ravel())
    return pa.StructArray.from_arrays(lists, ["codes", "dense"])
