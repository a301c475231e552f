"""From a frame to the frame of its coded rows, each with its fold."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.counting import is_narrow
from chromatic.data.hashing import mix_integers
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.fitting.folds import folds_of_hashes, hashes_of_sums, row_sums
from chromatic.parameters import Settings
from chromatic.spark.columns import batch_of, dense_alone, quoted
from chromatic.spark.frames import Batches, lists_of, rows_of_lists, with_columns
from chromatic.spark.told import Groups

log = logging.getLogger("chromatic")

# Columns for the time of a fit or a transform, beside those of the user.
SUM, NUMBER, ORDER, GROUP = (f"_chromatic_{name}" for name in ("sum", "number", "order", "group"))
FOLD, DRAW = "_chromatic_fold", "_chromatic_draw"
_DENSE = T.StructField("dense", T.ArrayType(T.DoubleType()))


@dataclass(frozen=True)
class Numbering:
    """How rows get their folds: numbered among identical ones by an order, hashed with a seed."""

    settings: Settings
    order: str | None  # a column; None: the order in which the frame has its rows
    groups: Groups | None = None  # of rows, each in one fold; None: rows have none

    def by(self) -> Column:
        """What orders identical rows; to be asked of a frame as it came."""
        return F.monotonically_increasing_id() if self.order is None else F.col(quoted(self.order))

    def columns(self) -> list[Column]:
        """The columns that folds follow from, `order` and `group`, to be asked of a frame as it came."""
        group = [] if self.groups is None else [F.col(quoted(self.groups.name)).alias(GROUP)]
        return [self.by().alias(ORDER), *group]

    def folds(self, sums: pa.Array, numbers: pa.Array, *group: pa.Array) -> npt.NDArray[np.int32]:
        """The fold of rows from their sum and their number among those with that sum, or from their group.

        For `split`, 0 where a row estimates, and -1 where it is left to train on.
        """
        if self.groups is not None and self.settings.leakage != "none":
            return self.groups.folds_of(*group)
        return folds_of_hashes(self.hashes(sums, numbers), self.settings)

    def hashes(self, sums: pa.Array, numbers: pa.Array) -> npt.NDArray[np.uint64]:
        """A hash of each row, which folds and samples follow from."""
        return hashes_of_sums(_unsigned(sums), _unsigned(numbers).astype(np.uint32), self.settings.seed)

    def with_folds(self, frame: DataFrame) -> DataFrame:
        """The frame with the columns `fold` and `draw` in the place of those that rows are numbered by.

        A draw is a number of 32 bits, the same for a row however the frame is partitioned.
        """
        numbered = frame.withColumn(NUMBER, number_among(SUM, ORDER)).drop(ORDER)
        given = [SUM, NUMBER, *([] if self.groups is None else [GROUP])]

        def folds_and_draws(*given: pa.Array) -> list[pa.Array]:
            draws = self.hashes(*given[:2]) & np.uint64(0xFFFFFFFF)
            return [pa.array(self.folds(*given)), pa.array(draws.view(np.int64))]

        made = [T.StructField(FOLD, T.IntegerType()), T.StructField(DRAW, T.LongType())]
        return with_columns(numbered, given, made, folds_and_draws).drop(*given)


def number_among(column: str, order: str) -> Column:
    """The number of a row among those with the same value in a column, by their order."""
    window = Window.partitionBy(column).orderBy(order)
    return (F.row_number().over(window) - 1).cast("long")


def broadcast_bytes(vocabulary: Vocabulary) -> int:
    """The memory that a vocabulary needs in each Python worker: its keys, and a table that finds them."""
    n = len(vocabulary) + len(vocabulary.dense_keys)
    of_keys = vocabulary.keys.itemsize * n
    largest = int(max(vocabulary.keys.max(initial=0), vocabulary.dense_keys.max(initial=0)))
    if vocabulary.integers and is_narrow(largest, 8 * n):  # the integers are places in the table
        return of_keys + 4 * (largest + 1)
    return of_keys + 16 * (1 << max(10, (2 * n).bit_length()))


def code(
    frame: DataFrame,
    features: str,
    vocabulary: Vocabulary,
    *,
    beside: list[Column],
    numbering: Numbering | None,
    dense: bool,
    most_broadcast: int,
) -> DataFrame:
    """The frame of coded rows: codes, what is to stand beside them, and fold where rows are numbered.

    With `dense`, the values of dense columns come too. A vocabulary that is too large for the workers is
    joined instead of broadcast.
    """
    numbers = [] if numbering is None else numbering.columns()
    frame = frame.select(F.col(quoted(features)).alias("features"), *beside, *numbers)
    dense = dense and bool(vocabulary.dense_names)
    size = broadcast_bytes(vocabulary)
    joined = size > most_broadcast
    log.info(
        "spark: the vocabulary needs %s MB in a worker and is %s",
        f"{size >> 20:,}",
        "joined" if joined else "broadcast",
    )
    numbered = numbering is not None
    if joined:
        frame = _with_dense(frame, vocabulary) if dense else frame
        coded = _coded_by_join(frame, vocabulary, summed=numbered)
    else:
        coded = _coded_by_broadcast(frame, vocabulary, dense=dense, summed=numbered)
    return coded if numbering is None else numbering.with_folds(coded)


def _with_dense(frame: DataFrame, vocabulary: Vocabulary) -> DataFrame:
    """The frame with the values of dense columns, by the few features that make them."""
    few = dense_alone(vocabulary)

    def dense_of(features: pa.Array) -> list[pa.Array]:
        return [_lists_of_dense(few.encode([batch_of(features, few.schema)]))]

    return with_columns(frame, ["features"], [_DENSE], dense_of)


def _lists_of_dense(rows: Rows) -> pa.ListArray:
    n_rows, n_dense = rows.dense.shape
    return lists_of(np.arange(n_rows + 1) * n_dense, rows.dense.astype(np.float64).ravel())


def _coded_by_broadcast(
    frame: DataFrame, vocabulary: Vocabulary, *, dense: bool, summed: bool
) -> DataFrame:
    light = replace(vocabulary, names=None, counts=vocabulary.counts[:0])
    shared = frame.sparkSession.sparkContext.broadcast(light)
    others = [name for name in frame.columns if name != "features"]
    fields = [T.StructField("codes", T.ArrayType(T.IntegerType()))]
    fields += [T.StructField(SUM, T.LongType())] if summed else []
    fields += [_DENSE] if dense else []
    schema = T.StructType(fields + [field for field in frame.schema.fields if field.name in others])

    def code_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
        known: Vocabulary = shared.value
        hashes = known.hashes if summed else None
        for batch in batches:
            rows = known.encode([batch_of(batch.column("features"), known.schema)])
            arrays = [lists_of(rows.indptr, rows.codes.view(np.int32))]
            arrays += [] if hashes is None else [pa.array(row_sums(rows, hashes).view(np.int64))]
            arrays += [_lists_of_dense(rows)] if dense else []
            arrays += [batch.column(name) for name in others]
            yield pa.RecordBatch.from_arrays(arrays, schema.names)

    return frame.mapInArrow(code_rows, schema)


def _coded_by_join(frame: DataFrame, vocabulary: Vocabulary, *, summed: bool) -> DataFrame:
    """Rows taken apart into features, joined with the vocabulary, and put together again."""
    session = frame.sparkSession
    integers, table = vocabulary.integers, vocabulary.schema

    def keys_of(features: pa.Array) -> list[pa.Array]:
        batch = batch_of(features, table).with_tokens()
        assert batch.tokens is not None
        keys = batch.tokens.integers if integers else batch.tokens.hashes
        assert keys is not None
        return [lists_of(batch.indptr, keys[batch.ids].astype(np.uint64).view(np.int64))]

    def sums_of(keys: pa.Array) -> list[pa.Array]:
        lists = rows_of_lists(keys, 0, 0)
        entries = _unsigned(keys.flatten())
        hashes = mix_integers(entries.astype(np.uint32)) if integers else entries
        numbered = replace(lists, codes=np.arange(len(hashes), dtype=np.uint32))
        return [pa.array(row_sums(numbered, hashes).view(np.int64))]

    known = session.createDataFrame(
        pa.table(
            {
                "key": vocabulary.keys.astype(np.uint64).view(np.int64),
                "code": np.arange(len(vocabulary), dtype=np.int32),
            }
        )
    )
    keys_field = T.StructField("keys", T.ArrayType(T.LongType()))
    rows = with_columns(frame, ["features"], [keys_field], keys_of)
    rows = rows.withColumn("row", F.monotonically_increasing_id())
    others = [name for name in frame.columns if name != "features"]
    entries = rows.select("row", *others, F.explode_outer("keys").alias("key")).join(known, "key", "left")
    entry = F.when(F.col("code").isNotNull(), F.struct("code", "key"))  # collect_list leaves nulls out
    gathered = entries.groupBy("row").agg(
        F.array_sort(F.collect_list(entry)).alias("entries"),
        *(F.any_value(name).alias(name) for name in others),
    )
    codes, keys = (F.col("entries").getField(name) for name in ("code", "key"))
    coded = gathered.select(codes.alias("codes"), keys.alias("keys"), *others)
    if summed:
        coded = with_columns(coded, ["keys"], [T.StructField(SUM, T.LongType())], sums_of)
    return coded.drop("keys")


def _unsigned(numbers: pa.Array) -> npt.NDArray[np.uint64]:
    return np.array(numbers.to_numpy(zero_copy_only=False), np.int64).view(np.uint64)
