"""Pairs of features that share a row, counted one feature at a time and never all held.

The graph has an edge for each pair, and its count is the number of rows with both. Gustavson's way to
multiply sparse matrices gives the counts: for feature v, walk through v's rows and count each earlier
feature u < v that stands there. Earlier features are the more frequent ones, so the counters that are
touched most stay in the cache. When v is done its edges are known exactly; what is asked for is added
up, and the counters are used again for the next v.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, prefetch
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows
from chromatic.data.transpose import Columns, transpose
from chromatic.errors import InputError

PIECE = 1 << 21  # pairs counted at a time
MOST = 65_535  # counts from here on are not told apart in histograms and thinned graphs

Integers = npt.NDArray[np.int64]
Edges = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]


@dataclass(frozen=True)
class Pairs:
    """What one pass over the pairs of some rows counts."""

    n_rows: int
    n_features: int
    largest_nnz: int
    max_k: int
    histogram: Integers  # f(j): edges seen in j rows; the last of 65,535 counts all from there
    single: int  # edges of a feature that has one row only
    starts: Integers  # degree[starts[v] + k - 1] is that of v in the graph of edges seen k times
    degrees: npt.NDArray[np.uint32]
    test_rows: int
    test_histogram: Integers  # pairs of known features in test rows, seen j times in training; see max_k
    unseen_pairs: int  # pairs in test rows with a feature that training has not

    @property
    def n_edges(self) -> int:
        return int(self.histogram.sum())

    def edges(self, k: int) -> int:
        """Edges seen in k rows or more."""
        return int(self.histogram[k:].sum())

    def degree(self, k: int) -> npt.NDArray[np.uint32]:
        """The degree of every feature in the graph of edges seen in k rows or more."""
        _check_k(k, self.max_k)
        out = np.zeros(self.n_features, np.uint32)
        has = np.diff(self.starts) >= k
        out[has] = self.degrees[self.starts[:-1][has] + (k - 1)]
        return out

    def good_turing(self, k: int) -> int:
        """N^(k): edges of the rows that no k other rows have, summed over the rows."""
        _check_k(k, MOST - 1)
        j = np.arange(min(k + 1, len(self.histogram)))
        return int((j * self.histogram[: len(j)]).sum())

    def new_edges(self, k: int) -> float | None:
        """Pairs of a test row, on average, that fewer than k training rows have."""
        seen = self.new_edges_seen(k)
        return None if seen is None else seen + self.unseen_pairs / max(1, self.test_rows)

    def new_edges_seen(self, k: int) -> float | None:
        """The same, of pairs whose two features are known."""
        _check_k(k, self.max_k)
        return float(self.test_histogram[:k].sum() / self.test_rows) if self.test_rows else None


@dataclass(frozen=True)
class Filtered:
    """Pairs whose ends both lie outside the held-out features, which differ from one k to the next."""

    good_turing: Integers  # N_f, for each k
    good_turing_seen: Integers  # the same without edges of a feature that has one row only
    test_seen: Integers  # pairs of known features in test rows that fewer than k training rows have
    test_unseen: Integers  # pairs in test rows with a feature that training has not


def count(
    rows: Rows,
    max_k: int = 1,
    *,
    columns: Columns | None = None,
    test: Rows | None = None,
    threads: int = 1,
) -> Pairs:
    """Count the pairs of rows: degrees in the graphs of every k up to max_k, and the histogram.

    The memory is proportional to the features (times threads), and with max_k to the entries of the
    rows at most. `test` are other rows coded by the same vocabulary: their pairs are looked up.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> pairs = count(rows, 2)
    >>> pairs.n_edges, pairs.histogram.tolist(), pairs.degree(1).tolist(), pairs.degree(2).tolist()
    (2, [0, 1, 1, 0], [2, 1, 1], [1, 1, 0])
    """
    _check_k(max_k, MOST - 1)
    columns = checked_columns(rows, columns, threads)
    work = _Work(rows, columns, test, threads)
    lengths = np.minimum(columns.counts, max_k)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    size = int(min(columns.counts.max(initial=0), MOST)) + 1
    nowhere = np.zeros(rows.n_features, np.int32)

    def tables() -> tuple[Any, ...]:
        return (
            np.zeros(size, np.int64),
            np.zeros(max_k + 1, np.int64),
            np.zeros(starts[-1], np.uint32),
            np.zeros((0, 1), np.int64),
            np.zeros((0, 1), np.int64),
            np.zeros((0, 3), np.int64),
        )

    no_ks = np.zeros(0, np.int64), np.zeros((0, 0), np.bool_)
    histogram, test_histogram, degrees, *_ = work.run(tables, starts, (nowhere, *no_ks), max_k)
    _sum_from_behind(starts, degrees)
    single, histogram[0] = int(histogram[0]), 0
    if single:
        histogram[1] += single
    unseen = 0 if test is None else int(_unseen_pairs(test).sum())
    return Pairs(
        rows.n_rows,
        rows.n_features,
        rows.largest_nnz,
        max_k,
        histogram,
        single,
        starts,
        degrees,
        0 if test is None else test.n_rows,
        test_histogram,
        unseen,
    )


def count_filtered(
    rows: Rows,
    held_out: dict[int, Integers],
    *,
    columns: Columns | None = None,
    test: Rows | None = None,
    threads: int = 1,
) -> Filtered:
    """Count pairs again, without those that touch the features held out for each k.

    Held-out features are few. An edge between two others is added to one table for all k, an edge of
    one of them to the table of that feature, and only edges between two of them are looked at k by k.
    """
    columns = checked_columns(rows, columns, threads)
    work = _Work(rows, columns, test, threads)
    ks = np.array(sorted(held_out), np.int64)
    some = np.unique(np.concatenate([np.zeros(0, np.int64), *held_out.values()]))
    place = np.zeros(rows.n_features, np.int32)
    place[some] = np.arange(1, len(some) + 1)
    out = np.zeros((len(some), len(ks)), np.bool_)
    for i, k in enumerate(ks):
        out[np.searchsorted(some, held_out[int(k)]), i] = True
    width = int(ks.max(initial=0)) + 1

    def tables() -> tuple[Any, ...]:
        return (
            np.zeros(width + 1, np.int64),  # counts above every k meet in the last place
            np.zeros(width + 1, np.int64),
            np.zeros(0, np.uint32),
            np.zeros((len(some), width + 1), np.int64),
            np.zeros((len(some), width + 1), np.int64),
            np.zeros((len(ks), 3), np.int64),
        )

    no_starts = np.zeros(0, np.int64)
    common, tested, _, by_hub, tested_by_hub, both = work.run(tables, no_starts, (place, ks, out), width)
    j = np.arange(width + 1)
    found = []
    for i, k in enumerate(ks):
        train, looked_up = (
            whole + hubs[~out[:, i]].sum(axis=0)
            for whole, hubs in ((common, by_hub), (tested, tested_by_hub))
        )
        of_several = int((j * train)[: k + 1].sum() + both[i, 0])
        found.append((of_several + train[0] + both[i, 1], of_several, looked_up[:k].sum() + both[i, 2]))
    whole, several, seen = np.array(found, np.int64).reshape(-1, 3).T
    unseen = _unseen_pairs_outside(test, rows.n_features, [held_out[int(k)] for k in ks])
    return Filtered(whole, several, seen, unseen)


def edges(
    rows: Rows,
    k: int = 1,
    *,
    columns: Columns | None = None,
    without: npt.NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> Iterator[Edges]:
    """The edges seen in k rows or more, in blocks of (later, earlier, count), by the later feature.

    `without` marks features whose edges are left out.
    """
    _check_k(k, 2**32 - 1)
    columns = checked_columns(rows, columns, threads)
    work = _Work(rows, columns, None, threads)
    skip = np.zeros(rows.n_features, np.bool_) if without is None else without

    def emit(span: tuple[int, int]) -> Edges:
        v = np.arange(*span)
        room = int(np.minimum(work.pairs[span[0] : span[1]], v).sum())
        later, earlier, counts = (np.empty(room, np.uint32) for _ in range(3))
        met, touched = scratch = work.scratch.get()
        n = _emit(work.train, span[0], span[1], k, skip, met, touched, (later, earlier, counts))
        work.scratch.put(scratch)
        return later[:n].copy(), earlier[:n].copy(), counts[:n].copy()

    yield from ordered_map(emit, work.spans, threads)


def checked_columns(rows: Rows, columns: Columns | None, threads: int) -> Columns:
    """The transposed rows; refuses rows whose features are not in descending count."""
    columns = columns or transpose(rows, threads)
    if (np.diff(columns.counts) > 0).any():
        raise InputError(
            "the features of the rows are not in descending count; expected the rows that their "
            "vocabulary was learnt from"
        )
    return columns


def _check_k(k: int, most: int) -> None:
    if not 1 <= k <= most:
        raise InputError(f"k is {k}; expected 1 to {most:,}")


def _unseen_pairs(test: Rows) -> Integers:
    unseen = _unseen_by_row(test)
    return unseen * np.diff(test.indptr) + unseen * (unseen - 1) // 2


def _unseen_by_row(rows: Rows) -> Integers:
    if rows.unseen_by_row is None:
        return np.zeros(rows.n_rows, np.int64)
    return rows.unseen_by_row.astype(np.int64)


def _unseen_pairs_outside(test: Rows | None, n_features: int, held_out: list[Integers]) -> Integers:
    """For each set of held-out features, the pairs of test rows of an unseen and another feature."""
    if test is None:
        return np.zeros(len(held_out), np.int64)
    whole = int(_unseen_pairs(test).sum())
    unseen = np.repeat(_unseen_by_row(test), np.diff(test.indptr))
    beside = np.bincount(test.codes, weights=unseen, minlength=n_features).astype(np.int64)
    return np.array([whole - beside[features].sum() for features in held_out], np.int64)


class _Work:
    """Rows to count pairs of, cut into pieces of the features, and counters for each thread."""

    def __init__(self, rows: Rows, columns: Columns, test: Rows | None, threads: int) -> None:
        self.train = rows.indptr, rows.codes, columns.indptr, columns.rows
        if test is None:
            empty = np.zeros(1, np.int64), np.zeros(0, np.uint32)
            self.test = *empty, np.zeros(rows.n_features + 1, np.int64), np.zeros(0, np.uint32)
        else:
            if test.vocabulary != rows.vocabulary:
                raise InputError(
                    "the test rows are coded by another vocabulary; expected rows read with the "
                    "vocabulary of the training rows"
                )
            test_columns = transpose(test, threads)
            self.test = test.indptr, test.codes, test_columns.indptr, test_columns.rows
        self.threads = threads
        self.pairs = np.zeros(rows.n_features, np.int64)
        _count_earlier(rows.indptr, rows.codes, self.pairs)
        done = np.cumsum(self.pairs + columns.counts)
        ends = np.searchsorted(done, np.arange(PIECE, int(done[-1]) if len(done) else 0, PIECE))
        cuts = np.unique(np.concatenate(([0], ends, [rows.n_features])))
        self.spans = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        self.scratch: SimpleQueue[Any] = SimpleQueue()
        for _ in range(threads):
            self.scratch.put(tuple(np.zeros(rows.n_features, np.uint32) for _ in range(2)))

    def run(self, tables: Any, starts: Integers, held_out: Any, max_k: int) -> list[npt.NDArray[Any]]:
        """Count every piece into tables of its thread, and add the tables up."""
        free: SimpleQueue[Any] = SimpleQueue()
        made: list[tuple[npt.NDArray[Any], ...]] = []
        for _ in range(min(self.threads, max(1, len(self.spans)))):
            made.append(tables())
            free.put(made[-1])

        def count_span(span: tuple[int, int]) -> None:
            mine, scratch = free.get(), self.scratch.get()
            _count(self.train, self.test, (span[0], span[1], max_k), starts, held_out, scratch, mine)
            free.put(mine)
            self.scratch.put(scratch)

        for _ in ordered_map(count_span, self.spans, self.threads):
            pass
        for other in made[1:]:
            for whole, part in zip(made[0], other, strict=True):
                whole += part
        return list(made[0])


@kernel
def _count_earlier(indptr, codes, pairs):  # type: ignore[no-untyped-def]
    """For each feature, how many earlier ones stand in its rows."""
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            pairs[codes[i]] += i - indptr[row]


@kernel
def _sum_from_behind(starts, degrees):  # type: ignore[no-untyped-def]
    """From edges seen k times to edges seen k times or more."""
    for v in range(len(starts) - 1):
        for i in range(starts[v + 1] - 2, starts[v] - 1, -1):
            degrees[i] += degrees[i + 1]


@inlined
def _fetch_ahead(indptr, codes, col_rows, i):  # type: ignore[no-untyped-def]
    """Ask the cache for rows that the loop will want: where one begins, then what it has."""
    if i + 16 < len(col_rows):
        prefetch(indptr, np.int64(col_rows[i + 16]))
        prefetch(codes, indptr[np.int64(col_rows[i + 8])])


@inlined
def _meet(train, v, met, touched):  # type: ignore[no-untyped-def]
    """Count the earlier features in v's rows; touched[:n] are those that were met."""
    indptr, codes, col_indptr, col_rows = train
    n = np.int64(0)
    for i in range(col_indptr[v], col_indptr[v + 1]):
        _fetch_ahead(indptr, codes, col_rows, i)
        row = np.int64(col_rows[i])
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
def _count(train, test, span, starts, held_out, scratch, tables):  # type: ignore[no-untyped-def]
    """Add the edges of the features in a span to the tables.

    Edges of a feature that has one row go to place 0 of the histograms, whose count is 1 too.
    """
    test_indptr, test_codes, test_col_indptr, test_col_rows = test
    first, stop, max_k = span
    place, ks, out = held_out
    met, touched = scratch
    histogram, test_histogram, degrees, by_hub, tested_by_hub, both = tables
    most = len(histogram) - 1
    for v in range(first, stop):
        n = _meet(train, v, met, touched)
        of_v = np.int64(place[v])
        for i in range(test_col_indptr[v], test_col_indptr[v + 1]):
            row = np.int64(test_col_rows[i])
            for j in range(test_indptr[row], test_indptr[row + 1]):
                u = test_codes[j]
                if u >= v:
                    break
                seen = min(np.int64(met[u]), np.int64(max_k))
                of_u = np.int64(place[u])
                if of_u == 0 and of_v == 0:
                    test_histogram[seen] += 1
                elif of_u == 0 or of_v == 0:
                    tested_by_hub[of_u + of_v - 1, seen] += 1
                else:
                    for a in range(len(ks)):
                        if seen < ks[a] and not out[of_u - 1, a] and not out[of_v - 1, a]:
                            both[a, 2] += 1
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
                    if seen <= ks[a] and not out[of_u - 1, a] and not out[of_v - 1, a]:
                        both[a, 1 if has_one_row else 0] += seen


@kernel
def _emit(train, first, stop, least, without, met, touched, block):  # type: ignore[no-untyped-def]
    """Write the edges of the features in a span; how many there are."""
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
