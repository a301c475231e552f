"""From a frame to its vocabulary: features counted on the workers, and given their codes on the driver."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from chromatic.data.batch import NO_FIELD, Batch
from chromatic.data.counting import Counted, count, one_hash
from chromatic.data.names import Names
from chromatic.data.schema import Schema
from chromatic.data.vocabulary import Vocabulary, limits_of, of_counts
from chromatic.errors import InputError
from chromatic.parameters import Settings
from chromatic.spark.columns import batch_of, is_integer, quoted
from chromatic.spark.frames import ENTRIES, Batches
from chromatic.spark.shuffle import merged, runs

log = logging.getLogger("chromatic")

N_FEATURES = b"n_features"  # of a shard, among the metadata of its table
_COUNTS = {"key": pa.int64(), "count": pa.int64()}
_OF_NAMES = {"name": pa.large_binary(), "field": pa.int32()}


def learn_vocabulary(
    frame: DataFrame, features: str, n_rows: int, settings: Settings, schema: Schema | None = None
) -> Vocabulary:
    """Count the features on the workers, and give those that are kept their codes on the driver.

    The schema says what the columns of a table are.
    """
    kind = frame.schema[features].dataType
    integers, limits, known = is_integer(kind, schema), limits_of(settings), schema or Schema()
    least, many = settings.min_count, settings.dense_threshold * n_rows
    keep_names = settings.names or limits["name_fields"]

    def count_features(batches: Batches) -> Iterator[pa.Table]:
        held: list[Batch] = []
        for batch in batches:
            held.append(batch_of(batch.column(0), schema))
            if sum(len(one.ids) for one in held) >= ENTRIES:
                yield _counted(held)
                held = []
        if held:
            yield _counted(held)

    def kept(table: pa.Table) -> pa.Table:
        return _kept(table, least, many, keep_names=keep_names)

    n_features = 0
    tables = [pa.schema(_COUNTS if integers else _COUNTS | _OF_NAMES).empty_table()]
    for table in merged(frame.select(quoted(features)), count_features, kept):
        n_features += int((table.schema.metadata or {})[N_FEATURES])
        tables.append(table)
    table = pa.concat_tables(tables, promote_options="permissive")
    if not n_features and not known.numbers:
        raise InputError(f"the column {features!r} has no feature in {n_rows:,} rows; expected some")
    log.info("spark: %s features, of which %s were fetched", f"{n_features:,}", f"{len(table):,}")
    dropped = n_features - len(table)
    counted = _counted_of(table, integers)
    if not isinstance(kind, T.StructType):
        counted = replace(counted, fields=None)
    vocabulary, _, _ = of_counts(
        counted,
        integers=integers,
        n_rows=n_rows,
        numeric_names=known.numeric_names,
        **limits,
    )
    return replace(
        vocabulary,
        dropped_features=vocabulary.dropped_features + dropped,
        field_names=vocabulary.field_names or (known.field_names if limits["keep_fields"] else ()),
        schema=schema,
    )


def _counted(batches: list[Batch]) -> pa.Table:
    """What some batches count: key, count and, of a string, its name and the column of a table."""
    if all(batch.tokens is None for batch in batches):  # integers, of which a chunk has few of all
        keys, counts = np.unique(np.concatenate([batch.ids for batch in batches]), return_counts=True)
        return pa.table({"key": keys.astype(np.int64), "count": counts})
    counted = count(batches, 1)
    some = np.flatnonzero(counted.counts)
    keys = counted.keys[some].astype(np.uint64).view(np.int64)
    columns: dict[str, Any] = {"key": keys, "count": counted.counts[some]}
    if counted.all_names is not None:
        columns["name"] = counted.names(some).to_arrow().cast(pa.large_binary())
        fields = np.full(len(some), NO_FIELD, np.int32) if counted.fields is None else counted.fields[some]
        columns["field"] = fields
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
        columns["field"] = np.minimum.reduceat(table.column("field").to_numpy()[order], starts)[chosen]
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
    names = fields = None
    if not integers:
        fields = table.column("field").to_numpy().astype(np.int32)[order]
        names = Names.of_arrow(table.column("name").combine_chunks().cast(pa.large_binary()))
    kept = keys[order].view(np.uint64)
    return Counted(kept.astype(np.uint32) if integers else kept, counts, names, order, fields)
