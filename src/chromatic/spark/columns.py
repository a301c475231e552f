"""The columns that a frame brings: what they may be, what is wrong with them, and Arrow's view of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.batch import Batch
from chromatic.data.cells import batch_of_table
from chromatic.errors import InputError
from chromatic.fitting.labels import LabelFacts

KINDS = (
    "array<string>, array<long>, array<struct<name, value>>, map<string, double> or a vector of pyspark.ml"
)
LARGEST = (1 << 32) - 1
INFINITE = float("inf"), float("-inf")


@dataclass(frozen=True)
class Checked:
    """What one look over a frame told."""

    n_rows: int
    labels: LabelFacts | None = None

    def label(self, column: str, kind: str) -> Column:
        """Return the labels; of two kinds as 0 and 1, the larger as 1."""
        assert self.labels is not None
        if kind == "binary":
            return (F.col(quoted(column)) == F.lit(self.labels.high)).cast("double")
        return F.col(quoted(column)).cast("double")


def quoted(column: str) -> str:
    """A column's name as Spark takes it, dots and all."""
    return "`" + column.replace("`", "``") + "`"


def check_at_rest(frame: DataFrame, what: str) -> None:
    """Refuse a stream."""
    if frame.isStreaming:
        raise InputError(
            f"the frame is a stream, and {what} from a frame at rest; expected one, such as the batches of "
            "foreachBatch"
        )


def check_features(frame: DataFrame, column: str) -> T.DataType:
    """The type of the features' column, which must be one of KINDS."""
    kind = _type(frame, column)
    element: T.DataType | None = None
    value: T.DataType = T.DoubleType()
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        if isinstance(element, T.StructType) and len(element.fields) == 2:
            element, value = (field.dataType for field in element.fields)
    elif isinstance(kind, T.MapType):
        element, value = kind.keyType, kind.valueType
    known = isinstance(element, (T.StringType, T.BinaryType, T.IntegralType))
    if not (known and isinstance(value, T.NumericType)) and not isinstance(kind, VectorUDT):
        raise InputError(
            f"the column {column!r} of {frame.count():,} rows is of type {kind.simpleString()}; expected "
            f"{KINDS}"
        )
    return kind


def check(frame: DataFrame, features: str, label: str | None) -> Checked:
    """Look over the features and, where there is to be one, the label, in one job."""
    kind = check_features(frame, features)
    if label is not None and not isinstance(_type(frame, label), (T.NumericType, T.BooleanType)):
        raise InputError(
            f"the label column {label!r} of {frame.count():,} rows is of type "
            f"{_type(frame, label).simpleString()}; expected numbers"
        )
    wrong = _wrong_features(kind, F.col(quoted(features)))
    asked = [F.count(F.lit(1)).alias("rows")]
    asked += [F.count_if(condition).alias(f"wrong{i}") for i, (condition, _) in enumerate(wrong)]
    if label is not None:
        number = F.col(quoted(label)).cast("double")
        finite = ~(F.isnan(number) | number.isin(*INFINITE))
        asked += [
            F.count_if(number.isNull()).alias("null"),
            F.count_if(~finite).alias("infinite"),
            F.min(number).alias("low"),
            F.max(number).alias("high"),
        ]
    told: Any = frame.agg(*asked).first()
    for i, (_, what) in enumerate(wrong):
        if told[f"wrong{i}"]:
            raise InputError(
                f"the column {features!r} {what} in {told[f'wrong{i}']:,} of {told['rows']:,} rows; "
                "filter or mend those rows"
            )
    if not told["rows"]:
        raise InputError(f"the frame of column {features!r} has 0 rows; expected at least one")
    return Checked(told["rows"], None if label is None else _label_facts(frame, label, told))


def _label_facts(frame: DataFrame, label: str, told: Any) -> LabelFacts:
    number = F.col(quoted(label)).cast("double")
    low, high = told["low"], told["high"]
    known = low is not None and not told["null"] and not told["infinite"]
    two_kinds = known and frame.filter(~number.isin(low, high)).isEmpty()
    return LabelFacts(
        where=f"the label column {label!r}",
        n_rows=told["rows"],
        low=low if known else 0.0,
        high=high if known else 0.0,
        two_kinds=two_kinds,
        null=told["null"],
        infinite=told["infinite"],
        fractions=known and not two_kinds and not frame.filter(number != F.floor(number)).isEmpty(),
    )


def is_integer(kind: T.DataType) -> bool:
    """Whether the features are integers."""
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        kind = element.fields[0].dataType if isinstance(element, T.StructType) else element
    elif isinstance(kind, T.MapType):
        kind = kind.keyType
    return isinstance(kind, (T.IntegralType, VectorUDT))


def batch_of(features: pa.Array | pa.ChunkedArray) -> Batch:
    """The rows of a column of features as Arrow has it."""
    if isinstance(features, pa.ChunkedArray):
        features = features.combine_chunks()
    if features.null_count:
        raise InputError(
            f"a column of features is null in {features.null_count:,} of the {len(features):,} rows of a "
            "batch; filter those rows"
        )
    if pa.types.is_struct(features.type):
        return _batch_of_vectors(features)
    return batch_of_table(pa.table([features], ["features"]))


def _type(frame: DataFrame, column: str) -> T.DataType:
    if column not in frame.columns:
        raise InputError(
            f"there is no column {column!r} in the frame; its columns are {', '.join(frame.columns)}"
        )
    return frame.schema[column].dataType


def _wrong_features(kind: T.DataType, features: Column) -> list[tuple[Column, str]]:
    """What to count rows of, and what is wrong with them."""
    wrong = [(features.isNull(), "is null")]
    element, value = features, None
    if isinstance(kind, T.MapType):
        element, value = F.map_keys(features), F.map_values(features)
    elif isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StructType):
        element, value = (features.getField(field.name) for field in kind.elementType.fields)
    if is_integer(kind) and not isinstance(kind, VectorUDT):
        beyond = (F.array_min(element) < 0) | (F.array_max(element) > LARGEST)
        wrong.append((beyond, f"has integers that are not in 0 to {LARGEST}"))
    if value is not None:
        wrong.append((F.exists(value, lambda x: x.cast("double").isin(*INFINITE)), "has infinite values"))
    return wrong


def _batch_of_vectors(vectors: pa.StructArray) -> Batch:
    """Vectors of pyspark.ml: column j is the integer feature j; zeros are absent."""
    kinds, _, indices, values = vectors.flatten()
    lengths = values.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    numbers = values.flatten().to_numpy(zero_copy_only=False)
    finite = np.isfinite(numbers)
    if not finite.all():
        wrong = len(np.unique(np.repeat(np.arange(len(lengths)), lengths)[~finite]))
        raise InputError(
            f"a column of vectors has NaN or infinite values in {wrong:,} of {len(lengths):,} rows of a "
            "batch; expected finite numbers"
        )
    is_dense = np.repeat(kinds.to_numpy(zero_copy_only=False) == 1, lengths)
    ids = (np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)).astype(np.uint32)
    ids[~is_dense] = indices.flatten().to_numpy(zero_copy_only=False)
    present = numbers != 0.0
    before = np.concatenate(([0], np.cumsum(present)))
    return Batch.of(before[indptr], ids[present], None, numbers[present])
