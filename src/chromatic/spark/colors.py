"""Colors of a coded frame: by all its rows, by a sample of them that fits the driver, or by its graph."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Coloring, Request, Size, bitsets, color, color_sample
from chromatic.coloring.choose import bytes_to_choose
from chromatic.coloring.graph import color_graph
from chromatic.coloring.greedy import Greedy
from chromatic.data.batch import NO_FIELD
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError
from chromatic.spark.edges import fetch_graph
from chromatic.spark.frames import fetch_rows

log = logging.getLogger("chromatic")

BYS = ("sample", "graph")
BUCKET_BITS = 16  # of a row's hash: a sample is the rows of so many buckets


@dataclass(frozen=True)
class Coded:
    """A frame of coded rows, and what is known of it."""

    frame: DataFrame
    vocabulary: Vocabulary
    size: Size
    rows: Callable[[], Rows]  # fetches all of them


def color_frame(
    coded: Coded, request: Request, *, by: str | None = None, most_bytes: int, threads: int = 1
) -> Coloring:
    """Color by all rows where these fit the driver, else by a sample of them or by the graph of pairs.

    `by` says which, one of BYS; None is the graph where pairs are counted, and else a sample.
    """
    size, vocabulary = coded.size, coded.vocabulary
    if request.fields is not None and (request.fields != NO_FIELD).all():
        log.info("spark: every feature has a column of the table, which is its color")
        return Greedy(np.arange(len(vocabulary)), request).coloring(
            size.largest_nnz, vocabulary.fingerprint
        )
    needed = bytes_needed(size, request)
    fits = needed <= most_bytes and size.n_rows < 1 << 32
    if by is None:
        by = "sample" if request.min_edge_count in (1, "auto") else "graph"

    def tell(what: str) -> None:
        sizes = f"{size.n_rows:,}", f"{size.n_entries:,}", f"{needed >> 20:,}", what
        log.info("spark: %s rows of %s codes need %s MB on the driver: colored by %s", *sizes)

    if fits:
        tell("the rows")
        return color(coded.rows(), request, threads=threads)
    if by == "sample":
        n_buckets, kept = _most_that_fit(coded.frame, size, request, most_bytes)
        tell(f"a sample of {kept.n_rows:,} rows, {100 * kept.n_rows / size.n_rows:.3g} %")
        sample = coded.frame.filter(_forbids() & (_bucket(request.seed) < n_buckets))
        rows = fetch_rows(sample, kept, vocabulary.fingerprint)
        return color_sample(rows, vocabulary.counts, request, threads=threads)
    tell(f"the graph of pairs seen in {request.min_edge_count} rows or more")
    check_for_graph(request, needed)
    graph = fetch_graph(coded.frame, vocabulary, request.k, most_bytes)
    log.info("spark: the graph has %s edges", f"{graph.n_edges:,}")
    counts, fingerprint = vocabulary.counts, vocabulary.fingerprint
    return color_graph(graph, counts, request, largest_nnz=size.largest_nnz, vocabulary=fingerprint)


def bytes_needed(size: Size, request: Request) -> int:
    """Return the bytes to color by rows on the driver."""
    needed = bitsets.bytes_needed(size, request)
    return max(needed, bytes_to_choose(size)) if request.min_edge_count == "auto" else needed


def check_for_graph(request: Request, needed: int) -> None:
    """Refuse what the graph alone cannot be colored by, where the rows do not fit the driver."""
    what = None
    if request.strategy == "uniform" or request.fields is not None:
        what, instead = f"a {request.strategy} coloring", "another coloring"
    elif request.min_edge_count == "auto":
        what, instead = "minEdgeCount 'auto'", "a number"
    elif request.order not in ("count", "degree"):
        what, instead = f"the order {request.order!r}", "'count' or 'degree'"
    if what is not None:
        raise InputError(
            f"{what} needs the rows on the driver, {needed >> 20:,} MB; expected {instead}, "
            "colorBy='sample', or more driverMemoryInMB"
        )


def _forbids() -> Column:
    """Whether a row says of any two features that they must differ."""
    return F.size("codes") > 1


def _bucket(seed: int) -> Column:
    """The bucket of a row: a hash of its codes and of the seed, whatever the partition."""
    return F.shiftrightunsigned(F.xxhash64("codes", F.lit(seed).cast("long")), 64 - BUCKET_BITS)


def _most_that_fit(coded: DataFrame, size: Size, request: Request, most_bytes: int) -> tuple[int, Size]:
    """Return how many buckets of rows can be colored on the driver, and the size of these."""
    length = F.size("codes")
    asked = F.count(length).alias("rows"), F.sum(length.cast("long")).alias("entries")
    told = coded.filter(_forbids()).groupBy(_bucket(request.seed).alias("bucket")).agg(*asked).collect()
    rows, entries = np.zeros((2, 1 << BUCKET_BITS), np.int64)
    for one in told:
        rows[one["bucket"]], entries[one["bucket"]] = one["rows"], one["entries"]
    rows, entries = np.cumsum(rows), np.cumsum(entries)
    low, high = 0, len(rows)

    def sized(n_buckets: int) -> Size:
        n_rows, n_entries = (int(sums[n_buckets - 1]) if n_buckets else 0 for sums in (rows, entries))
        return size._replace(n_rows=n_rows, n_entries=n_entries)

    def fits(n_buckets: int) -> bool:
        """Tell whether a sample fits; the features that it lacks only take their colors."""
        one = sized(n_buckets)
        of_sample = one._replace(n_features=min(one.n_features, one.n_entries))
        return bytes_needed(of_sample, request) + 20 * one.n_features <= most_bytes and one.n_rows < 1 << 32

    while low < high:  # the most buckets that fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    kept = sized(low)
    if not kept.n_rows and rows[-1]:
        raise InputError(
            f"no sample of {size.n_rows:,} rows and their {size.n_features:,} features can be colored in "
            f"{most_bytes >> 20:,} MB on the driver; expected more driverMemoryInMB"
        )
    return low, kept
