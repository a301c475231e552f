"""G^(k) of rows that cannot be held: a rolling set of Bloom filters, in two passes over a stream.

The first pass rolls every pair of every row into the first of k filters that has it not: a pair found
in filters 1 to i goes to filter i + 1. A Bloom filter never forgets, and sometimes believes to know a
stranger, so a pair in filter k was seen k times, or rarely fewer: edges are only ever added by error.
The second pass counts the pairs that filter k knows. Those counts are exact, so that what was added by
error is found, told, and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, mix, mix_words
from chromatic.data.hashing import HashIndex
from chromatic.data.rows import Rows
from chromatic.errors import InputError
from chromatic.graph.thinned import Graph

U64 = np.uint64
BLOCK = 512  # bits of one cache line: all bits of a pair lie in one
ROOM = 1 << 20  # pairs of a piece


@dataclass(frozen=True)
class Streamed:
    """The thinned graph of a stream, and what the filters added to it by error."""

    graph: Graph  # exact
    survivors: int  # distinct pairs that the last filter knew
    added: int  # of them, those seen fewer than k times: left out again
    rarer: int  # how many distinct pairs were seen fewer than k times, as far as the first filter knows
    false_positive: float  # the share that was asked for
    filter_bytes: int

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
) -> Streamed:
    """The graph of pairs seen in k rows or more, from rows that come in batches, twice.

    `batches` gives the rows anew for each pass, all coded by one vocabulary. `pairs` is the number of
    pairs in all rows, at most: of those no more than pairs / i distinct ones are seen i times, which
    sizes the filters. With more, nothing is lost, but the error grows.

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
    # A pair's bits share a cache line, which fills less evenly than a whole filter: a fifth more room.
    bits = [1.2 * pairs / i * -math.log(false_positive) / math.log(2) ** 2 for i in range(1, k + 1)]
    blocks = np.array([max(1, math.ceil(b / BLOCK)) for b in bits], np.int64)
    starts = np.concatenate(([0], np.cumsum(blocks)))
    filters = np.zeros(starts[-1] * (BLOCK // 64), np.uint64)
    distinct = np.zeros(k, np.int64)
    for rows in batches():
        _roll((rows.indptr, rows.codes), (filters, starts), probes, distinct)
    index, keys, counts = HashIndex(), [np.zeros(0, np.uint64)], np.zeros(0, np.int64)
    for rows in batches():
        for survivors in _survivors(rows, filters[starts[-2] * (BLOCK // 64) :], k, probes):
            ids, first = index.add(mix_words(survivors))
            keys.append(survivors[first])
            counts = np.concatenate((counts, np.zeros(len(first), np.int64)))
            counts += np.bincount(ids, minlength=len(index))
    pair = np.concatenate(keys)
    real = counts >= k
    later, earlier = ((pair[real] >> U64(s)).astype(np.uint32) for s in (32, 0))
    exact = np.minimum(counts[real], 2**32 - 1).astype(np.uint32)
    graph = Graph.of_edges(k, n_features, later, earlier, exact)
    added = int((~real).sum())
    return Streamed(
        graph=graph,
        survivors=len(real),
        added=added,
        rarer=max(added, int(distinct[0]) - graph.n_edges),
        false_positive=false_positive,
        filter_bytes=filters.nbytes,
    )


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
def _next(h):  # type: ignore[no-untyped-def]
    """The hash of the same pair for the next filter."""
    return mix(h + U64(0x9E3779B97F4A7C15))


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
                h = mix((U64(codes[i]) << U64(32)) | U64(codes[j]))
                for f in range(k):
                    base = 8 * starts[f] + _block(h, starts[f + 1] - starts[f])
                    if not _knows(filters, base, h, probes):
                        _learn(filters, base, h, probes)
                        distinct[f] += 1
                        break
                    h = _next(h)


@kernel
def _keep(rows, last, k, probes, out):  # type: ignore[no-untyped-def]
    """Write the pairs that filter k, the last, knows, the later feature in the high half."""
    indptr, codes = rows
    n = np.int64(0)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(indptr[row], i):
                pair = (U64(codes[i]) << U64(32)) | U64(codes[j])
                h = mix(pair)
                for _ in range(k - 1):
                    h = _next(h)
                if _knows(last, _block(h, len(last) // 8), h, probes):
                    out[n] = pair
                    n += 1
    return n
