"""Walk through the pairs of features that share a row, one feature at a time, and never hold them all.

The graph has an edge for each pair, and its count is the number of rows with both. Gustavson's way to
multiply sparse matrices gives the counts: for feature v, walk through v's rows and count each earlier
feature u < v that stands there. Earlier features are the more frequent ones, so the counters that are
touched most stay in the cache. When v is done its edges are known exactly; what is asked for is added
up, and the counters are used again for the next v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._numba import fetch_ahead, inlined, kernel
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed, transpose
from chromatic.errors import InputError

PIECE = 1 << 21  # pairs counted at a time

Integers = npt.NDArray[np.int64]
Edges = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]


class Tables(NamedTuple):
    """What is counted over all pairs. Counts beyond the last place are counted there."""

    histogram: Integers  # edges outside the hubs by count; place 0: of a feature that has one row only
    tested: Integers  # pairs of test rows by their count in training
    degrees: npt.NDArray[np.uint32]  # by feature and count; empty where they are not asked for
    by_hub: Integers  # hubs × counts: edges of one hub
    tested_by_hub: Integers
    between_hubs: Integers  # ks × 3: edges between two hubs, those of one row, and pairs of test rows

    @classmethod
    def zeros(cls, counts: tuple[int, int], *, degrees: int = 0, hubs: int = 0, ks: int = 0) -> Tables:
        """Make tables of zeros; `counts`: the lengths of the two histograms."""
        return cls(
            histogram=np.zeros(counts[0], np.int64),
            tested=np.zeros(counts[1], np.int64),
            degrees=np.zeros(degrees, np.uint32),
            by_hub=np.zeros((hubs, counts[0]), np.int64),
            tested_by_hub=np.zeros((hubs, counts[1]), np.int64),
            between_hubs=np.zeros((ks, 3), np.int64),
        )


class Hubs(NamedTuple):
    """Features that are left out of the graphs of some k."""

    place: npt.NDArray[np.int32]  # of a feature among the hubs, from 1; 0: no hub
    ks: Integers
    left_out: npt.NDArray[np.bool_]  # hubs × ks

    @classmethod
    def none(cls, n_features: int) -> Hubs:
        """Leave nothing out."""
        return cls(np.zeros(n_features, np.int32), np.zeros(0, np.int64), np.zeros((0, 0), np.bool_))


def edges(
    rows: Rows,
    k: int = 1,
    *,
    transposed: Transposed | None = None,
    without: npt.NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> Iterator[Edges]:
    """Yield the edges seen in k rows or more, in blocks of (later, earlier, count), by the later feature.

    `without` marks features whose edges are left out.
    """
    check_k(k, 2**32 - 1)
    transposed = checked(rows, transposed, threads)
    walk = Walk(rows, transposed, None, threads)
    skip = np.zeros(rows.n_features, np.bool_) if without is None else without

    def emit(span: tuple[int, int]) -> Edges:
        v = np.arange(*span)
        room = int(np.minimum(walk.pairs[span[0] : span[1]], v).sum())
        later, earlier, counts = (np.empty(room, np.uint32) for _ in range(3))
        scratch = walk.scratch.get()
        n = _emit(walk.train, (*span, k), skip, scratch, (later, earlier, counts))
        walk.scratch.put(scratch)
        return later[:n].copy(), earlier[:n].copy(), counts[:n].copy()

    yield from ordered_map(emit, walk.spans, threads)


def checked(rows: Rows, transposed: Transposed | None, threads: int) -> Transposed:
    """Return the transposed rows; refuse rows whose features are not in descending count."""
    transposed = transposed or transpose(rows, threads)
    if (np.diff(transposed.counts) > 0).any():
        raise InputError(
            "the features of the rows are not in descending count; expected the rows that their "
            "vocabulary was learnt from"
        )
    return transposed


def check_k(k: int, most: int) -> None:
    """Refuse a k that cannot be counted."""
    if not 1 <= k <= most:
        raise InputError(f"k is {k}; expected 1 to {most:,}")


class Walk:
    """Rows to count pairs of, cut into pieces of the features, and counters for each thread."""

    def __init__(self, rows: Rows, transposed: Transposed, test: Rows | None, threads: int) -> None:
        self.train = rows.indptr, rows.codes, transposed.indptr, transposed.rows
        if test is None:
            empty = np.zeros(1, np.int64), np.zeros(0, np.uint32)
            self.test = *empty, np.zeros(rows.n_features + 1, np.int64), np.zeros(0, np.uint32)
        else:
            if test.vocabulary != rows.vocabulary:
                raise InputError(
                    "the test rows are coded by another vocabulary; expected rows read with the "
                    "vocabulary of the training rows"
                )
            transposed_test = transpose(test, threads)
            self.test = test.indptr, test.codes, transposed_test.indptr, transposed_test.rows
        self.threads = threads
        self.pairs = np.zeros(rows.n_features, np.int64)
        count_earlier(rows.indptr, rows.codes, self.pairs)
        done = np.cumsum(self.pairs + transposed.counts)
        ends = np.searchsorted(done, np.arange(PIECE, int(done[-1]) if len(done) else 0, PIECE))
        cuts = np.unique(np.concatenate(([0], ends, [rows.n_features])))
        self.spans = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        self.scratch: SimpleQueue[Any] = SimpleQueue()
        for _ in range(threads):
            self.scratch.put(tuple(np.zeros(rows.n_features, np.uint32) for _ in range(2)))

    def run(self, tables: Callable[[], Tables], starts: Integers, hubs: Hubs, max_k: int) -> Tables:
        """Count every piece into tables of its thread, and add the tables up."""
        free: SimpleQueue[Tables] = SimpleQueue()
        made: list[Tables] = []
        for _ in range(min(self.threads, max(1, len(self.spans)))):
            made.append(tables())
            free.put(made[-1])

        def count_span(span: tuple[int, int]) -> None:
            mine, scratch = free.get(), self.scratch.get()
            _count((self.train, self.test), (*span, max_k), (starts, hubs), scratch, mine)
            free.put(mine)
            self.scratch.put(scratch)

        for _ in ordered_map(count_span, self.spans, self.threads):
            pass
        return Tables(*(sum(parts[1:], parts[0]) for parts in zip(*made, strict=True)))


@kernel
def count_earlier(indptr, codes, pairs):  # type: ignore[no-untyped-def]
    """For each feature, how many earlier ones stand in its rows."""
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            pairs[codes[i]] += i - indptr[row]


@inlined
def _meet(train, v, met, touched):  # type: ignore[no-untyped-def]
    """Count the earlier features in v's rows; touched[:n] are those that were met."""
    indptr, codes, starts, of_feature = train
    n = np.int64(0)
    for i in range(starts[v], starts[v + 1]):
        fetch_ahead(indptr, codes, of_feature, i)
        row = np.int64(of_feature[i])
        for j in range(indptr[row], indptr[row + 1]):
            u = codes[j]
            if u >= v:
                break
            if met[u] == 0:
                touched[n] = u
                n += 1
            met[u] += np.uint32(1)
    return n


@kernel
def _count(rows, span, known, scratch, tables):  # type: ignore[no-untyped-def]
    """Add the edges of the features in a span to the tables.

    Edges of a feature that has one row go to place 0 of the histograms, whose count is 1 too.
    """
    train, test = rows
    test_indptr, test_codes, test_starts, test_of_feature = test
    first, stop, max_k = span
    starts, hubs = known
    place, ks, left_out = hubs
    met, touched = scratch
    histogram, tested, degrees, by_hub, tested_by_hub, between_hubs = tables
    most = len(histogram) - 1
    for v in range(first, stop):
        n = _meet(train, v, met, touched)
        of_v = np.int64(place[v])
        for i in range(test_starts[v], test_starts[v + 1]):
            row = np.int64(test_of_feature[i])
            for j in range(test_indptr[row], test_indptr[row + 1]):
                u = test_codes[j]
                if u >= v:
                    break
                seen = min(np.int64(met[u]), np.int64(max_k))
                of_u = np.int64(place[u])
                if of_u == 0 and of_v == 0:
                    tested[seen] += 1
                elif of_u == 0 or of_v == 0:
                    tested_by_hub[of_u + of_v - 1, seen] += 1
                else:
                    for a in range(len(ks)):
                        if seen < ks[a] and not left_out[of_u - 1, a] and not left_out[of_v - 1, a]:
                            between_hubs[a, 2] += 1
        has_one_row = train[2][v + 1] - train[2][v] == 1
        for t in range(n):
            u = touched[t]
            seen = np.int64(met[u])
            met[u] = np.uint32(0)
            if len(degrees) > 0:
                k = min(seen, np.int64(max_k)) - 1
                degrees[starts[u] + k] += np.uint32(1)
                degrees[starts[v] + k] += np.uint32(1)
            of_u = np.int64(place[u])
            at = np.int64(0) if has_one_row else min(seen, np.int64(most))
            if of_u == 0 and of_v == 0:
                histogram[at] += 1
            elif of_u == 0 or of_v == 0:
                by_hub[of_u + of_v - 1, at] += 1
            else:
                for a in range(len(ks)):
                    if seen <= ks[a] and not left_out[of_u - 1, a] and not left_out[of_v - 1, a]:
                        between_hubs[a, 1 if has_one_row else 0] += seen


@kernel
def _emit(train, span, without, scratch, block):  # type: ignore[no-untyped-def]
    """Write the edges of the features in a span; how many there are."""
    first, stop, least = span
    met, touched = scratch
    later, earlier, counts = block
    at = np.int64(0)
    for v in range(first, stop):
        if without[v]:
            continue
        n = _meet(train, v, met, touched)
        for t in range(n):
            u = touched[t]
            if np.int64(met[u]) >= least and not without[u]:
                later[at] = np.uint32(v)
                earlier[at] = u
                counts[at] = met[u]
                at += 1
            met[u] = np.uint32(0)
    return at
