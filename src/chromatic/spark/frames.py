"""Frames on their way between Spark and arrays: chunks of rows for kernels, and tables for the driver."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from chromatic.coloring import Size
from chromatic.data.rows import Rows
from chromatic.errors import InputError

ENTRIES = 1 << 21  # that a worker gathers before it counts them
ROWS_OUT = 1 << 16  # of a batch that a worker gives back
ROWS_OF_SHARD = 1 << 18  # of a table that the driver spreads
JOBS = 64  # in which the driver fetches a frame, one after the other

Batches = Iterable[pa.RecordBatch]


def with_columns(
    frame: DataFrame, given: list[str], made: list[T.StructField], function: Callable[..., list[Any]]
) -> DataFrame:
    """The frame with columns that a function makes, batch by batch, from the Arrow arrays of others."""
    places = [frame.columns.index(name) for name in given]
    names = [*frame.columns, *(field.name for field in made)]

    def add(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            arrays = function(*(batch.column(place) for place in places))
            yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], names)

    return frame.mapInArrow(add, T.StructType([*frame.schema.fields, *made]))


def chunks(batches: Batches, size: Callable[[pa.RecordBatch], int]) -> Iterator[list[pa.RecordBatch]]:
    """Arrow batches in groups of about ENTRIES entries, as `size` counts them."""
    group: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        group.append(batch)
        held += size(batch)
        if held >= ENTRIES:
            yield group
            group, held = [], 0
    if group:
        yield group


def coded_chunks(batches: Batches, n_features: int, vocabulary: int) -> Iterator[tuple[Rows, pa.Table]]:
    """Groups of rows of a coded frame, with the table of their other columns."""
    for group in chunks(batches, lambda batch: len(batch.column("codes").flatten())):
        table = pa.Table.from_batches(group)
        yield rows_of_table(table, n_features, vocabulary), table


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


def rows_of_lists(lists: Any, n_features: int, vocabulary: int) -> Rows:
    """Rows from a column of lists of codes."""
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    codes = lists.flatten().to_numpy(zero_copy_only=False).astype(np.uint32)
    return _rows(lengths, codes, n_features, vocabulary)


def _rows(
    lengths: npt.NDArray[Any], codes: npt.NDArray[np.uint32], n_features: int, vocabulary: int
) -> Rows:
    return Rows(
        indptr=np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        codes=codes,
        labels=None,
        dense=np.empty((len(lengths), 0), np.float32),
        n_features=n_features,
        vocabulary=vocabulary,
    )


def table_of(struct: pa.StructArray | pa.ChunkedArray) -> pa.Table:
    """A table from its columns in one, as Spark has it."""
    if isinstance(struct, pa.ChunkedArray):
        struct = struct.combine_chunks()
    return pa.Table.from_arrays(struct.flatten(), [field.name for field in struct.type])


def lists_of(indptr: npt.NDArray[np.int64], items: npt.NDArray[Any]) -> pa.ListArray:
    """A column of lists, as Spark writes it."""
    return pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), pa.array(items))


def given_back(columns: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Columns as batches that are not too large for the JVM."""
    yield from pa.table(columns).to_batches(max_chunksize=ROWS_OUT)


def fetch(frame: DataFrame) -> pa.Table:
    """A frame as one table on the driver, partition by partition.

    The JVM of the driver holds one partition at a time, and no limit on the size of results is met.
    """
    schema = to_arrow_schema(frame.schema)
    return pa.concat_tables([schema.empty_table(), *_fetched(frame)])


def fetch_rows(coded: DataFrame, size: Size, vocabulary: int) -> Rows:
    """The codes of a frame of this size, in arrays that have it from the start."""
    lengths, codes = np.empty(size.n_rows, np.int64), np.empty(size.n_entries, np.uint32)
    row = at = 0
    for table in _fetched(coded.select("codes")):
        lists = table.column("codes").combine_chunks()
        items = lists.flatten().to_numpy(zero_copy_only=False)
        lengths[row : row + len(lists)] = lists.value_lengths().to_numpy(zero_copy_only=False)
        codes[at : at + len(items)] = items.view(np.uint32)
        row, at = row + len(lists), at + len(items)
    return _rows(lengths, codes, size.n_features, vocabulary)


def _fetched(frame: DataFrame) -> Iterator[pa.Table]:
    batches = frame.coalesce(JOBS).mapInArrow(_packed, "batch binary")
    for row in batches.toLocalIterator(prefetchPartitions=True):
        yield unpacked(pa.scalar(bytes(row["batch"]), pa.binary()))


def spread(session: SparkSession, table: pa.Table, schema: str) -> DataFrame:
    """A table of the driver as a frame in shards, of a partition each; Spark's own are of 10,000 rows."""
    shards = [
        pa.table({"batch": pa.array([packed(batch)], pa.binary())})
        for batch in table.combine_chunks().to_batches(max_chunksize=ROWS_OF_SHARD)
    ]
    if not shards:
        return session.createDataFrame([], schema)
    return session.createDataFrame(pa.concat_tables(shards)).mapInArrow(_unpacked, schema)


def _unpacked(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for one in batch.column(0):
            yield from unpacked(one).to_batches(max_chunksize=ROWS_OUT)


def _packed(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pa.array([packed(batch)], pa.binary())], ["batch"])


def packed(table: pa.Table | pa.RecordBatch) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write(table)
    return bytes(sink.getvalue().to_pybytes())


def unpacked(value: pa.Scalar) -> pa.Table:
    """A table from its bytes."""
    return pa.ipc.open_stream(value.as_buffer()).read_all()


@contextlib.contextmanager
def errors_of_workers() -> Iterator[None]:
    """An error for users that was raised in a worker is raised here, without the traces of Spark."""
    try:
        yield
    except PythonException as error:
        raised = re.search(r"chromatic\.errors\.InputError: (.+)", str(error))
        if raised is None:
            raise
        raise InputError(raised[1]) from error
