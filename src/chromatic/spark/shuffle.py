"""Tables merged by key over all workers: packed, so that Spark moves few large rows and not many small."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from chromatic.spark.frames import Batches, packed, unpacked

SHARDS = 64  # at least; as many as Spark is told to shuffle into, if these are more


def merged(
    frame: DataFrame,
    count: Callable[[Batches], Iterator[pa.Table]],
    merge: Callable[[pa.Table], pa.Table],
) -> Iterator[pa.Table]:
    """Yield tables that workers count from a frame, merged so that each key is in one of them.

    A table has a column `key` of int64. Keys are split into shards, and `merge` gets all tables of a shard
    as one. The driver gets what it returns shard by shard.
    """
    setting = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
    n_shards = max(SHARDS, int(setting or 0))

    def apart(batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in count(batches):
            yield _by_shard(table, n_shards)

    def together(shard: pa.Table) -> pa.Table:
        tables = [unpacked(one) for one in shard.column("batch")]
        return pa.table({"batch": pa.array([packed(merge(pa.concat_tables(tables)))], pa.binary())})

    shards = frame.mapInArrow(apart, "shard int, batch binary").groupBy("shard")
    found = shards.applyInArrow(together, "batch binary").persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found.count()  # by all workers at once; an iterator asks for one partition after the other
        for row in found.toLocalIterator(prefetchPartitions=True):
            yield unpacked(pa.scalar(bytes(row["batch"]), pa.binary()))
    finally:
        found.unpersist()


def runs(keys: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the order that sorts keys, and where each distinct one begins in it.

    >>> [array.tolist() for array in runs(np.array([7, 3, 7]))]
    [[1, 0, 2], [0, 1]]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    return order, np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if len(keys) else order


def add_up(table: pa.Table) -> pa.Table:
    """Return the sums of all columns by key."""
    order, starts = runs(table.column("key").to_numpy())
    sums = {"key": table.column("key").to_numpy()[order][starts]}
    for name in table.column_names:
        if name != "key":
            sums[name] = np.add.reduceat(table.column(name).to_numpy()[order], starts)
    return pa.table(sums)


def _by_shard(table: pa.Table, n_shards: int) -> pa.RecordBatch:
    """Return a table in shards by the low bits of the keys, mixed: those of codes are not random."""
    keys = table.column("key").to_numpy().view(np.uint64)
    shard = ((keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) % np.uint64(n_shards)
    order = np.argsort(shard.astype(np.uint16 if n_shards < 1 << 16 else np.uint32), kind="stable")
    table = table.take(pa.array(order))
    ends = np.cumsum(np.bincount(shard.astype(np.int64), minlength=n_shards))
    some = np.flatnonzero(np.diff(ends, prepend=0))
    spans = [(int(ends[one - 1]) if one else 0, int(ends[one])) for one in some]
    batches = [packed(table.slice(start, stop - start)) for start, stop in spans]
    arrays = [pa.array(some.astype(np.int32)), pa.array(batches, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, ["shard", "batch"])
