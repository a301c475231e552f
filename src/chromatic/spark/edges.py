"""Pairs of features seen in k rows or more: combined on the workers, grouped by Spark, fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError
from chromatic.graph.thinned import Graph
from chromatic.graph.walk import edges
from chromatic.spark.frames import Batches, coded_chunks
from chromatic.spark.shuffle import add_up, merged

BYTES_PER_EDGE = 60  # fetched (16), taken apart and sorted (32), and twice in the graph (12)

_NOTHING = pa.schema({"key": pa.int64(), "count": pa.int64()})


def fetch_graph(coded: DataFrame, vocabulary: Vocabulary, k: int, most_bytes: int) -> Graph:
    """The graph of pairs seen in k rows or more, from a frame of coded rows."""
    n_features, fingerprint = len(vocabulary), vocabulary.fingerprint
    # A pair is seen at most as often as its rarer end, and codes are in descending count.
    n_frequent = int(np.searchsorted(-vocabulary.counts, -k, side="right"))

    def count_edges(batches: Batches) -> Iterator[pa.Table]:
        for rows, _ in coded_chunks(batches, n_features, fingerprint):
            for later, earlier, counts in edges_of(rows, n_frequent):
                edge = (later.astype(np.int64) << 32) | earlier.astype(np.int64)
                yield pa.table({"key": edge, "count": counts.astype(np.int64)})

    def frequent(table: pa.Table) -> pa.Table:
        summed = add_up(table)
        return summed.filter(pa.array(summed.column("count").to_numpy() >= k))

    n_edges, tables = 0, [_NOTHING.empty_table()]
    for found in merged(coded.select("codes"), count_edges, frequent):
        n_edges += len(found)
        if n_edges * BYTES_PER_EDGE <= most_bytes:
            tables.append(found)
    if n_edges * BYTES_PER_EDGE > most_bytes:
        raise InputError(
            f"{n_edges:,} pairs of features are seen in {k} rows or more and need "
            f"{n_edges * BYTES_PER_EDGE >> 20:,} MB on the driver, of {most_bytes >> 20:,}; expected a "
            "larger minEdgeCount, or more driverMemoryInMB"
        )
    table = pa.concat_tables(tables)
    edge, counts = table.column("key").to_numpy(), table.column("count").to_numpy()
    order = np.argsort(edge)
    edge, counts = edge[order], np.minimum(counts[order], 1 << 31).astype(np.uint32)
    later, earlier = (edge >> 32).astype(np.uint32), (edge & 0xFFFFFFFF).astype(np.uint32)
    return Graph.of_edges(k, n_features, later, earlier, counts)


def edges_of(
    rows: Rows, n_frequent: int
) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]]:
    """The pairs of the first n_frequent features in some rows: (later, earlier, count), in blocks.

    Pairs are counted for features in descending count, so they are numbered anew within these rows.
    """
    kept = rows.codes < n_frequent
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))[kept]
    codes, number, counts = np.unique(rows.codes[kept], return_inverse=True, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    rank = np.empty(len(codes), np.uint32)
    rank[by_count] = np.arange(len(codes), dtype=np.uint32)
    ranks = rank[number]
    order = np.lexsort((ranks, row))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=rows.n_rows)))).astype(np.int64)
    renumbered = replace(rows, indptr=indptr, codes=ranks[order], n_features=len(codes), vocabulary=0)
    codes = codes[by_count]
    for one, other, seen in edges(renumbered):
        yield np.maximum(codes[one], codes[other]), np.minimum(codes[one], codes[other]), seen
