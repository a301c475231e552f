"""G^(k) of rows that cannot be held: a rolling set of Bloom filters, in two passes over a stream.

The first pass rolls every pair of every row into the first of k filters that has it not: a pair found
in filters 1 to i goes to filter i + 1. A Bloom filter never forgets, and sometimes believes to know a
stranger, so a pair in filter k was seen k times, or rarely fewer: edges are only ever added by error.
The second pass counts the pairs that filter k knows. Those counts are exact, so that what was added by
error is found, told, and left out.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, mix, mix_words
from chromatic.data.hashing import HashIndex
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed
from chromatic.errors import InputError
from chromatic.graph.thinned import Graph
from chromatic.graph.walk import Edges, edges

log = logging.getLogger("chromatic")

U64 = np.uint64
BLOCK = 512  # bits of one cache line: all bits of a pair lie in one
ROOM = 1 << 20  # pairs of a piece
RATES = (0.01, 0.1, 0.3)  # false positives of filters, the first that memory has room for
SPARE = 48 << 20  # bytes for a block of the file, and the pairs of a piece
BYTES_OF_PAIR = 160  # that is counted: in a table that grows, and in the lists it ends in


@dataclass(frozen=True)
class Streamed:
    """The thinned graph of a stream, exact, and what the filters added to it by error."""

    k: int
    n_features: int
    edges: Edges  # (later, earlier, count), ascending
    survivors: int  # distinct pairs that the last filter knew
    added: int  # of them, those seen fewer than k times: left out again
    rarer: int  # how many distinct pairs were seen fewer than k times, as far as the first filter knows
    false_positive: float  # the share that was asked for
    filter_bytes: int

    @cached_property
    def graph(self) -> Graph:
        """The graph as CSR, whose counts end at 65,535."""
        return Graph.of_edges(self.k, self.n_features, *self.edges)

    @property
    def error(self) -> float:
        """The share of the pairs seen fewer than k times that survived."""
        return self.added / self.rarer if self.rarer else 0.0


def thin_stream(
    batches: Callable[[], Iterable[Rows]],
    k: int,
    pairs: int,
    *,
    n_features: int,
    false_positive: float = 0.01,
    check: Callable[[int], None] = lambda survivors: None,
) -> Streamed:
    """The graph of pairs seen in k rows or more, from rows that come in batches, twice.

    `batches` gives the rows anew for each pass, all coded by one vocabulary. `pairs` is the number of
    pairs in all rows, at most: of those no more than pairs / i distinct ones are seen i times, which
    sizes the filters. With more, nothing is lost, but the error grows. `check` is told, before the second
    pass, how many distinct pairs it will count, and may refuse.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> streamed = thin_stream(lambda: [rows], 2, pairs=3, n_features=3)
    >>> streamed.graph.n_edges, streamed.graph.counts.tolist()
    (1, [2, 2])
    """
    if k < 1:
        raise InputError(f"k is {k}; expected 1 or more")
    if not 0 < false_positive < 1:
        raise InputError(f"the false positive rate is {false_positive}; expected more than 0, less than 1")
    if pairs < 0:
        raise InputError(f"the number of pairs is {pairs}; expected 0 or more")
    probes = max(1, min(16, round(-math.log2(false_positive))))
    starts = np.concatenate(([0], np.cumsum(_blocks(k, pairs, false_positive))))
    filters = np.zeros(starts[-1] * (BLOCK // 64), np.uint64)
    filter_bytes, distinct = filters.nbytes, np.zeros(k, np.int64)
    for rows in batches():
        _roll((rows.indptr, rows.codes), (filters, starts), probes, distinct)
    filters = filters[starts[-2] * (BLOCK // 64) :].copy()  # the last alone is asked again
    check(int(distinct[-1]) + math.ceil(_believes(filters, probes) * int(distinct[0])))
    pairs_counted = _counted(batches(), filters, k, probes)
    real = pairs_counted[1] >= k
    pair, counts = (part[real] for part in pairs_counted)
    order = np.argsort(pair)
    added = int((~real).sum())
    return Streamed(
        k=k,
        n_features=n_features,
        edges=(
            (pair[order] >> U64(32)).astype(np.uint32),
            pair[order].astype(np.uint32),
            np.minimum(counts[order], 2**32 - 1).astype(np.uint32),
        ),
        survivors=len(real),
        added=added,
        rarer=max(added, int(distinct[0]) - len(pair)),
        false_positive=false_positive,
        filter_bytes=filter_bytes,
    )


def _believes(words: npt.NDArray[np.uint64], probes: int) -> float:
    """The share of strangers that a filter believes to know, as full as it is."""
    ones = np.bitwise_count(words).reshape(-1, BLOCK // 64).sum(axis=1)
    return float(((ones / BLOCK) ** probes).mean())


def _counted(
    batches: Iterable[Rows], last: npt.NDArray[np.uint64], k: int, probes: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The distinct pairs that the last filter knows, and how many rows have each."""
    index, keys, counts = HashIndex(), [np.zeros(0, np.uint64)], np.zeros(0, np.int64)
    for rows in batches:
        for survivors in _survivors(rows, last, k, probes):
            ids, first = index.add(mix_words(survivors))
            keys.append(survivors[first])
            counts = np.concatenate((counts, np.zeros(len(first), np.int64)))
            counts += np.bincount(ids, minlength=len(index))
    return np.concatenate(keys), counts


def thin_stored(rows: StoredRows, k: int) -> Streamed:
    """The graph of pairs seen in k rows or more, of rows in a file, within their limit of memory."""
    # A pair is seen at most as often as its rarer end.
    n_frequent = int(np.flatnonzero(rows.counts >= k).max(initial=-1)) + 1

    def batches() -> Iterable[Rows]:
        for _, piece in rows.pieces():
            yield piece.truncated(n_frequent)

    pairs, memory = sum(map(_n_pairs, batches())), rows.memory
    room = memory.left() - SPARE
    sizes = {rate: 8 * (BLOCK // 64) * sum(_blocks(k, pairs, rate)) for rate in RATES}
    rate = next((rate for rate in RATES if 2 * sizes[rate] <= room), RATES[-1])
    memory.check(sizes[rate] + SPARE, "filtering pairs of features")
    streamed = thin_stream(
        batches,
        k,
        pairs,
        n_features=rows.n_features,
        false_positive=rate,
        check=lambda n: memory.check(n * BYTES_OF_PAIR + SPARE, f"counting {n:,} pairs of features"),
    )
    log.info(
        "pairs: %s seen in %d rows or more, and %s rarer ones that %s MB of filters let pass",
        *(f"{len(streamed.edges[0]):,}", k, f"{streamed.added:,}", f"{sizes[rate] >> 20:,}"),
    )
    return streamed


def edges_of(
    rows: Rows | StoredRows, k: int = 1, *, transposed: Transposed | None = None, threads: int = 1
) -> Iterator[Edges]:
    """Yield the edges seen in k rows or more, in blocks, wherever the rows are."""
    if isinstance(rows, StoredRows):
        yield thin_stored(rows, k).edges
    else:
        yield from edges(rows, k, transposed=transposed, threads=threads)


def _blocks(k: int, pairs: int, false_positive: float) -> list[int]:
    """The blocks of each filter: no more than pairs / i distinct pairs are seen i times.

    A pair's bits share a cache line, which fills less evenly than a whole filter: a fifth more room.
    """
    bits = [1.2 * pairs / i * -math.log(false_positive) / math.log(2) ** 2 for i in range(1, k + 1)]
    return [max(1, math.ceil(b / BLOCK)) for b in bits]


def _n_pairs(rows: Rows) -> int:
    lengths = np.diff(rows.indptr)
    return int((lengths * (lengths - 1) // 2).sum())


def _survivors(
    rows: Rows, last: npt.NDArray[np.uint64], k: int, probes: int
) -> Iterable[npt.NDArray[np.uint64]]:
    """The pairs of the rows that the last filter knows, as often as they come, in pieces."""
    lengths = np.diff(rows.indptr)
    done = np.cumsum(lengths * (lengths - 1) // 2)
    ends = np.searchsorted(done, np.arange(ROOM, int(done[-1]) if len(done) else 0, ROOM))
    cuts = np.unique(np.concatenate(([0], ends, [rows.n_rows])))
    for first, stop in pairwise(cuts):
        before = done[first - 1] if first else 0
        out = np.empty(done[stop - 1] - before, np.uint64)
        piece = rows.indptr[first : stop + 1], rows.codes
        yield out[: _keep(piece, last, k, probes, out)]


@inlined
def _hash(pair, f):  # type: ignore[no-untyped-def]
    """The hash of a pair for the filter f."""
    return mix(pair + U64(0x9E3779B97F4A7C15) * (U64(f) + U64(1)))


@inlined
def _block(h, n_blocks):  # type: ignore[no-untyped-def]
    """Where the block of a hash begins, in words."""
    return np.int64(8) * np.int64(((h >> U64(32)) * U64(n_blocks)) >> U64(32))


@kernel
def _knows(words, base, h, probes):  # type: ignore[no-untyped-def]
    """Whether all bits of a hash are set in its block; odd steps visit distinct bits."""
    step = (h >> U64(9)) | U64(1)
    for _ in range(probes):
        bit = h & U64(511)
        if (words[base + np.int64(bit >> U64(6))] >> (bit & U64(63))) & U64(1) == U64(0):
            return False
        h = h + step
    return True


@kernel
def _learn(words, base, h, probes):  # type: ignore[no-untyped-def]
    step = (h >> U64(9)) | U64(1)
    for _ in range(probes):
        bit = h & U64(511)
        words[base + np.int64(bit >> U64(6))] |= U64(1) << (bit & U64(63))
        h = h + step


@kernel
def _roll(rows, bloom, probes, distinct):  # type: ignore[no-untyped-def]
    """Put every pair into the first filter that does not know it; count what each learns."""
    indptr, codes = rows
    filters, starts = bloom
    k = len(starts) - 1
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(indptr[row], i):
                pair = (U64(codes[i]) << U64(32)) | U64(codes[j])
                for f in range(k):
                    h = _hash(pair, f)
                    base = 8 * starts[f] + _block(h, starts[f + 1] - starts[f])
                    if not _knows(filters, base, h, probes):
                        _learn(filters, base, h, probes)
                        distinct[f] += 1
                        break


@kernel
def _keep(rows, last, k, probes, out):  # type: ignore[no-untyped-def]
    """Write the pairs that filter k, the last, knows, the later feature in the high half."""
    indptr, codes = rows
    n = np.int64(0)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(indptr[row], i):
                pair = (U64(codes[i]) << U64(32)) | U64(codes[j])
                h = _hash(pair, k - 1)
                if _knows(last, _block(h, len(last) // 8), h, probes):
                    out[n] = pair
                    n += 1
    return n
