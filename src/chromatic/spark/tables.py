"""Several columns of a frame as those of a table: categories, numbers, dates and lists of features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.beside import Beside
from chromatic.data.look import Look
from chromatic.data.schema import Schema
from chromatic.errors import InputError
from chromatic.spark.columns import TABLE, is_set, quoted, type_of
from chromatic.spark.frames import Batches, table_of

SCALARS = (T.StringType, T.BinaryType, T.NumericType, T.BooleanType, T.DateType, T.TimestampType)
_NO_COLUMNS = Beside()


def with_table(frame: DataFrame, columns: list[str]) -> DataFrame:
    """Return the frame with its input columns in one more column; refuse types that say nothing."""
    for column in columns:
        kind = type_of(frame, column)
        if not isinstance(kind, (*SCALARS, T.TimestampNTZType)) and not is_set(kind):
            raise InputError(
                f"the input column {column!r} is of type {kind.simpleString()}; expected text, numbers, "
                "dates, booleans, or arrays and maps of features"
            )
    return frame.withColumn(TABLE, F.struct(*(F.col(quoted(column)) for column in columns)))


def look(frame: DataFrame, categorical: Any) -> Schema:
    """Look over all rows on the workers, and tell which columns are categories and which are numbers."""

    def looked(batches: Batches) -> Iterator[pa.RecordBatch]:
        seen = Look()
        for batch in batches:
            seen.add(table_of(batch.column(0)), _NO_COLUMNS)
        yield pa.RecordBatch.from_arrays([pa.array([seen.columns_as_json()])], ["look"])

    whole = Look()
    for row in frame.select(TABLE).mapInArrow(looked, "look string").toLocalIterator():
        whole.merge(row["look"])
    schema = whole.schema(categorical)
    schema.tell()
    return schema
