"""Pairs of features that share a row, counted: degrees, histogram, new edges, with and without hubs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.graph.walk import Hubs, Integers, Tables, Walk, check_k, checked

MOST = 65_535  # counts from here on are not told apart in histograms and thinned graphs


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
        check_k(k, self.max_k)
        out = np.zeros(self.n_features, np.uint32)
        has = np.diff(self.starts) >= k
        out[has] = self.degrees[self.starts[:-1][has] + (k - 1)]
        return out

    def good_turing(self, k: int) -> int:
        """N^(k): edges of the rows that no k other rows have, summed over the rows."""
        check_k(k, MOST - 1)
        j = np.arange(min(k + 1, len(self.histogram)))
        return int((j * self.histogram[: len(j)]).sum())

    def new_edges(self, k: int) -> float | None:
        """Pairs of a test row, on average, that fewer than k training rows have."""
        seen = self.new_edges_seen(k)
        return None if seen is None else seen + self.unseen_pairs / max(1, self.test_rows)

    def new_edges_seen(self, k: int) -> float | None:
        """The same, of pairs whose two features are known."""
        check_k(k, self.max_k)
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
    transposed: Transposed | None = None,
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
    check_k(max_k, MOST - 1)
    transposed = checked(rows, transposed, threads)
    walk = Walk(rows, transposed, test, threads)
    lengths = np.minimum(transposed.counts, max_k)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    size = int(min(transposed.counts.max(initial=0), MOST)) + 1

    def tables() -> Tables:
        return Tables.zeros((size, max_k + 1), degrees=int(starts[-1]))

    counted = walk.run(tables, starts, Hubs.none(rows.n_features), max_k)
    histogram, degrees = counted.histogram, counted.degrees
    _sum_from_behind(starts, degrees)
    single, histogram[0] = int(histogram[0]), 0
    if single:
        histogram[1] += single
    return Pairs(
        n_rows=rows.n_rows,
        n_features=rows.n_features,
        largest_nnz=rows.largest_nnz,
        max_k=max_k,
        histogram=histogram,
        single=single,
        starts=starts,
        degrees=degrees,
        test_rows=0 if test is None else test.n_rows,
        test_histogram=counted.tested,
        unseen_pairs=0 if test is None else int(_unseen_pairs(test).sum()),
    )


def count_filtered(
    rows: Rows,
    held_out: dict[int, Integers],
    *,
    transposed: Transposed | None = None,
    test: Rows | None = None,
    threads: int = 1,
) -> Filtered:
    """Count pairs again, without those that touch the features held out for each k.

    Held-out features are few. An edge between two others is added to one table for all k, an edge of
    one of them to the table of that feature, and only edges between two of them are looked at k by k.
    """
    transposed = checked(rows, transposed, threads)
    walk = Walk(rows, transposed, test, threads)
    hubs = _hubs(held_out, rows.n_features)
    width = int(hubs.ks.max(initial=0)) + 1

    def tables() -> Tables:
        lengths = width + 1, width + 1  # counts above every k meet in the last place
        return Tables.zeros(lengths, hubs=len(hubs.left_out), ks=len(hubs.ks))

    counted = walk.run(tables, np.zeros(0, np.int64), hubs, width)
    j = np.arange(width + 1)
    by_k = []
    for i, k in enumerate(hubs.ks):
        kept = ~hubs.left_out[:, i]
        train = counted.histogram + counted.by_hub[kept].sum(axis=0)
        tested = counted.tested + counted.tested_by_hub[kept].sum(axis=0)
        several, single, in_test = counted.between_hubs[i]
        several += (j * train)[: k + 1].sum()
        by_k.append((several + single + train[0], several, in_test + tested[:k].sum()))
    good_turing, good_turing_seen, test_seen = np.array(by_k, np.int64).reshape(-1, 3).T
    return Filtered(
        good_turing=good_turing,
        good_turing_seen=good_turing_seen,
        test_seen=test_seen,
        test_unseen=_unseen_pairs_outside(test, rows.n_features, [held_out[int(k)] for k in hubs.ks]),
    )


def _hubs(held_out: dict[int, Integers], n_features: int) -> Hubs:
    """Return the features that are held out for any k."""
    ks = np.array(sorted(held_out), np.int64)
    features = np.unique(np.concatenate([np.zeros(0, np.int64), *held_out.values()]))
    place = np.zeros(n_features, np.int32)
    place[features] = np.arange(1, len(features) + 1)
    left_out = np.zeros((len(features), len(ks)), np.bool_)
    for i, k in enumerate(ks):
        left_out[np.searchsorted(features, held_out[int(k)]), i] = True
    return Hubs(place, ks, left_out)


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


@kernel
def _sum_from_behind(starts, degrees):  # type: ignore[no-untyped-def]
    """From edges seen k times to edges seen k times or more."""
    for v in range(len(starts) - 1):
        for i in range(starts[v + 1] - 2, starts[v] - 1, -1):
            degrees[i] += degrees[i + 1]
