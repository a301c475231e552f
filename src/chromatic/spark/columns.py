"""The columns that a frame brings: what they may be, what is wrong with them, and Arrow's view of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.batch import Batch
from chromatic.data.cells import batch_of_table
from chromatic.data.schema import Schema
from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError
from chromatic.spark.frames import table_of

KINDS = (
    "array<string>, array<long>, array<struct<name, value>>, map<string, double> or a vector of pyspark.ml"
)
TABLE = "_chromatic_table"  # the columns of a table in one, for the time of a fit or a transform
LARGEST = (1 << 32) - 1
VECTOR = ["type", "size", "indices", "values"]  # what Arrow has of a vector of pyspark.ml
INFINITE = float("inf"), float("-inf")


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
    kind = type_of(frame, column)
    if column != TABLE and not is_set(kind) and not isinstance(kind, VectorUDT):
        raise InputError(
            f"the column {column!r} of {frame.count():,} rows is of type {kind.simpleString()}; expected "
            f"{KINDS}"
        )
    return kind


def is_set(kind: T.DataType) -> bool:
    """Whether a column of this type has features, with or without values, in each of its rows."""
    element: T.DataType | None = None
    value: T.DataType = T.DoubleType()
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        if isinstance(element, T.StructType) and len(element.fields) == 2:
            element, value = (field.dataType for field in element.fields)
    elif isinstance(kind, T.MapType):
        element, value = kind.keyType, kind.valueType
    known = isinstance(element, (T.StringType, T.BinaryType, T.IntegralType))
    return known and isinstance(value, T.NumericType)


def is_integer(kind: T.DataType, schema: Schema | None = None) -> bool:
    """Whether the features are integers; those of a table are unless any of its columns has names."""
    if isinstance(kind, T.StructType):
        sets = [field.dataType for field in kind.fields if is_set(field.dataType)]
        return not (schema and schema.categories) and len(sets) < 2 and all(is_integer(one) for one in sets)
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        kind = element.fields[0].dataType if isinstance(element, T.StructType) else element
    elif isinstance(kind, T.MapType):
        kind = kind.keyType
    return isinstance(kind, (T.IntegralType, VectorUDT))


def batch_of(features: pa.Array | pa.ChunkedArray, schema: Schema | None = None) -> Batch:
    """The rows of a column of features as Arrow has it; the columns of a table are what a schema says."""
    if isinstance(features, pa.ChunkedArray):
        features = features.combine_chunks()
    if features.null_count:
        raise InputError(
            f"a column of features is null in {features.null_count:,} of the {len(features):,} rows of a "
            "batch; filter those rows"
        )
    if pa.types.is_struct(features.type):
        if [field.name for field in features.type] != VECTOR:
            return batch_of_table(table_of(features), schema=schema)
        return _batch_of_vectors(features)
    return batch_of_table(pa.table([features], ["features"]))


def dense_alone(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary without its sparse features, to read the dense columns of rows by."""
    return replace(vocabulary, names=None, keys=vocabulary.keys[:0], counts=vocabulary.counts[:0])


def type_of(frame: DataFrame, column: str) -> T.DataType:
    """Return the type of a column; refuse one that is not there."""
    if column not in frame.columns:
        raise InputError(
            f"there is no column {column!r} in the frame; its columns are {', '.join(frame.columns)}"
        )
    return frame.schema[column].dataType


def wrong_features(kind: T.DataType, features: Column) -> list[tuple[Column, str]]:
    """What to count rows of, and what is wrong with them."""
    if isinstance(kind, T.StructType):
        return []  # empty cells are absence, or missing numbers
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
