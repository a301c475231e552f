"""From a frame to its vocabulary, and to the frame of coded rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.batch import Batch
from chromatic.data.counting import Counted, count, is_narrow, one_hash
from chromatic.data.dense import DenseFacts
from chromatic.data.hashing import mix_integers
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary, of_counts
from chromatic.errors import InputError
from chromatic.fitting.folds import folds_of_hashes, hashes_of_sums, row_sums
from chromatic.parameters import Settings
from chromatic.spark.columns import batch_of, is_integer, quoted
from chromatic.spark.frames import (
    ENTRIES,
    Batches,
    fetch,
    given_back,
    lists_of,
    rows_of_lists,
    with_columns,
)
from chromatic.spark.shuffle import merged, runs

log = logging.getLogger("chromatic")

N_FEATURES = b"n_features"  # of a shard, among the metadata of its table
_NOTHING = pa.schema({"key": pa.int64(), "count": pa.int64()})


def learn_vocabulary(frame: DataFrame, features: str, n_rows: int, settings: Settings) -> Vocabulary:
    """Count the features on the workers, and give those that are kept their codes on the driver."""
    integers = is_integer(frame.schema[features].dataType)
    least, many = settings.min_count, settings.dense_threshold * n_rows
    keep_names = settings.names

    def count_features(batches: Batches) -> Iterator[pa.Table]:
        held: list[Batch] = []
        for batch in batches:
            held.append(batch_of(batch.column(0)))
            if sum(len(one.ids) for one in held) >= ENTRIES:
                yield _counted(held)
                held = []
        if held:
            yield _counted(held)

    def kept(table: pa.Table) -> pa.Table:
        return _kept(table, least, many, keep_names=keep_names)

    n_features, tables = 0, []
    for table in merged(frame.select(quoted(features)), count_features, kept):
        n_features += int((table.schema.metadata or {})[N_FEATURES])
        tables.append(table)
    table = pa.concat_tables([_NOTHING.empty_table(), *tables], promote_options="permissive")
    if not n_features:
        raise InputError(f"the column {features!r} has no feature in {n_rows:,} rows; expected some")
    log.info("spark: %s features, of which %s were fetched", f"{n_features:,}", f"{len(table):,}")
    dropped = n_features - len(table)
    vocabulary, _, _ = of_counts(
        _counted_of(table, integers),
        integers=integers,
        n_rows=n_rows,
        dense_threshold=settings.dense_threshold,
        min_count=settings.min_count,
        keep_names=settings.names,
    )
    return replace(vocabulary, dropped_features=vocabulary.dropped_features + dropped)


def dense_facts(frame: DataFrame, features: str, vocabulary: Vocabulary) -> DenseFacts:
    """Look over the dense features of all rows, on the workers."""
    shared = frame.sparkSession.sparkContext.broadcast(replace(vocabulary, names=None))
    n_dense = len(vocabulary.dense_names)

    def look(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            facts = DenseFacts.of(shared.value.encode([batch_of(batch.column(0))]), n_dense)
            columns = {"number": np.arange(n_dense), "counts": facts.counts, "others": facts.others}
            yield from given_back(columns)

    looked = frame.select(quoted(features)).mapInArrow(look, "number long, counts long, others long")
    summed = fetch(looked.groupBy("number").agg(*(F.sum(one).alias(one) for one in ("counts", "others"))))
    order = np.argsort(summed.column("number").to_numpy())
    return DenseFacts(*(summed.column(one).to_numpy()[order] for one in ("counts", "others")))


@dataclass(frozen=True)
class Numbering:
    """How rows get their folds: numbered among identical ones by an order, hashed with a seed."""

    settings: Settings
    order: str | None  # a column; None: the order in which the frame has its rows

    def by(self) -> Column:
        """What orders identical rows; to be asked of a frame as it came."""
        return F.monotonically_increasing_id() if self.order is None else F.col(quoted(self.order))

    def folds(self, sums: pa.Array, numbers: pa.Array) -> npt.NDArray[np.int32]:
        """The fold of rows from their sum and their number among those with that sum.

        For `split`, 0 where a row estimates, and -1 where it is left to train on.
        """
        hashes = hashes_of_sums(_unsigned(sums), _unsigned(numbers).astype(np.uint32), self.settings.seed)
        return folds_of_hashes(hashes, self.settings)


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
    label: Column | None,
    numbering: Numbering | None,
    most_broadcast: int,
) -> DataFrame:
    """The frame of coded rows: codes, label, and fold where rows are numbered.

    A vocabulary that is too large for the workers is joined instead of broadcast.
    """
    given = [F.col(quoted(features)).alias("features")]
    given.append((F.lit(0.0) if label is None else label).alias("label"))
    if numbering is not None:
        given.append(numbering.by().alias("order"))
    frame = frame.select(*given)
    size = broadcast_bytes(vocabulary)
    joined = size > most_broadcast
    log.info(
        "spark: the vocabulary needs %s MB in a worker and is %s",
        f"{size >> 20:,}",
        "joined" if joined else "broadcast",
    )
    summed = numbering is not None
    coded = _coded_by_join(frame, vocabulary) if joined else _coded_by_broadcast(frame, vocabulary, summed)
    if numbering is None:
        return coded.select("codes", "label")
    numbered = coded.withColumn("number", number_among("sum", "order"))
    fold = T.StructField("fold", T.IntegerType())
    return with_columns(
        numbered.select("codes", "label", "sum", "number"),
        ["sum", "number"],
        [fold],
        lambda *given: [pa.array(numbering.folds(*given))],
    ).select("codes", "label", "fold")


def _coded_by_broadcast(frame: DataFrame, vocabulary: Vocabulary, summed: bool) -> DataFrame:
    light = replace(vocabulary, names=None, counts=vocabulary.counts[:0])
    shared = frame.sparkSession.sparkContext.broadcast(light)
    others = [name for name in frame.columns if name != "features"]
    fields = [T.StructField("codes", T.ArrayType(T.IntegerType()))]
    fields += [T.StructField("sum", T.LongType())] if summed else []
    schema = T.StructType(fields + [field for field in frame.schema.fields if field.name in others])

    def code_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
        known: Vocabulary = shared.value
        hashes = known.hashes if summed else None
        for batch in batches:
            rows = known.encode([batch_of(batch.column("features"))])
            arrays = [lists_of(rows.indptr, rows.codes.view(np.int32))]
            arrays += [] if hashes is None else [pa.array(row_sums(rows, hashes).view(np.int64))]
            arrays += [batch.column(name) for name in others]
            yield pa.RecordBatch.from_arrays(arrays, schema.names)

    return frame.mapInArrow(code_rows, schema)


def _coded_by_join(frame: DataFrame, vocabulary: Vocabulary) -> DataFrame:
    """Rows taken apart into features, joined with the vocabulary, and put together again."""
    session = frame.sparkSession
    integers = vocabulary.integers

    def keys_of(features: pa.Array) -> list[pa.Array]:
        batch = batch_of(features).with_tokens()
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
    return with_columns(coded, ["keys"], [T.StructField("sum", T.LongType())], sums_of)


def _unsigned(numbers: pa.Array) -> npt.NDArray[np.uint64]:
    return np.array(numbers.to_numpy(zero_copy_only=False), np.int64).view(np.uint64)


def _counted(batches: list[Batch]) -> pa.Table:
    """What some batches count: key, count and the name of a string."""
    if all(batch.tokens is None for batch in batches):  # integers, of which a chunk has few of all
        keys, counts = np.unique(np.concatenate([batch.ids for batch in batches]), return_counts=True)
        return pa.table({"key": keys.astype(np.int64), "count": counts})
    counted = count(batches, 1)
    some = np.flatnonzero(counted.counts)
    keys = counted.keys[some].astype(np.uint64).view(np.int64)
    columns: dict[str, Any] = {"key": keys, "count": counted.counts[some]}
    if counted.all_names is not None:
        columns["name"] = counted.names(some).to_arrow().cast(pa.large_binary())
    return pa.table(columns)


def _kept(table: pa.Table, least: int, many: float, *, keep_names: bool) -> pa.Table:
    """Add up what workers counted, of the features that are kept; how many there were is told beside.

    A feature in more than `many` rows is dense: it keeps its name, as its column is called by it.
    """
    order, starts = runs(table.column("key").to_numpy())
    counts = np.add.reduceat(table.column("count").to_numpy()[order], starts)
    chosen = np.flatnonzero((counts >= least) | (counts > many))
    first = order[starts]
    columns = {"key": table.column("key").to_numpy()[first[chosen]], "count": counts[chosen]}
    if "name" in table.column_names:
        names = table.column("name").combine_chunks()
        _check_names(names, order, starts)
        found = names.take(pa.array(first[chosen]))
        if not keep_names:
            found = pc.if_else(pa.array(counts[chosen] > many), found, pa.scalar(b"", pa.large_binary()))
        columns["name"] = found
    return pa.table(columns).replace_schema_metadata({N_FEATURES: str(len(starts))})


def _check_names(names: pa.Array, order: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]) -> None:
    """Refuse two names of one key."""
    of_first = np.repeat(order[starts], np.diff(np.append(starts, len(order))))
    other = np.flatnonzero(order != of_first)
    one, two = names.take(pa.array(of_first[other])), names.take(pa.array(order[other]))
    wrong = pc.index(pc.not_equal(one, two), True).as_py()
    if wrong >= 0:
        raise one_hash(*sorted((one[wrong].as_py(), two[wrong].as_py())))


def _counted_of(table: pa.Table, integers: bool) -> Counted:
    """Fetched counts in the order that breaks ties: by value, or by the hash's signed view."""
    keys = table.column("key").to_numpy()
    order = np.argsort(keys)
    counts = table.column("count").to_numpy()[order]
    names = None
    if not integers:
        names = Names.of_arrow(table.column("name").combine_chunks().cast(pa.large_binary()))
    kept = keys[order].view(np.uint64)
    return Counted(kept.astype(np.uint32) if integers else kept, counts, names, order)
