"""Orders of the features by degree: largest first, smallest last, and the prefix that is held out.

Features are taken out of the graph one by one, the one with the largest (or smallest) degree among those
left next. Matula and Beck keep the features sorted by degree in one array, cut into buckets: a
neighbor that loses an edge swaps places with the first of its bucket, so each edge costs one step.
The neighbors are counted from the rows when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from chromatic._numba import fetch_ahead, inlined, kernel
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed, transpose
from chromatic.errors import InputError
from chromatic.graph.pairs import Pairs, count
from chromatic.graph.thinned import Graph
from chromatic.parameters import Order

ORDERS: tuple[str, ...] = get_args(Order)

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class HeldOut:
    """W: the features with the largest degrees, to be taken out of the graph of edges seen k times."""

    k: int
    features: Integers  # in the order in which they were taken
    max_degree: int  # of the graph that is left, Δ_f
    n_edges: int  # of the graph that is left


@dataclass(frozen=True)
class SmallestLast:
    """An order in which every feature has at most `degeneracy` neighbors before it."""

    order: Integers
    degeneracy: int


def hold_out(
    rows: Rows,
    pairs: Pairs,
    ks: Iterable[int] | None = None,
    *,
    transposed: Transposed | None = None,
    threads: int = 1,
) -> list[HeldOut]:
    """For each k, by default up to pairs.max_k, the smallest largest-first prefix W with |W| >= 2 Δ_f.

    >>> from chromatic.data import Reader
    >>> star = [["hub", f"leaf{i}"] for i in range(9)]
    >>> rows = Reader().read(star, dense_threshold=2).rows
    >>> [(w.features.tolist(), w.max_degree) for w in hold_out(rows, count(rows))]
    [([0], 0)]
    """
    neighbors = _Neighbors(rows, transposed or transpose(rows, threads))

    def one(k: int) -> HeldOut:
        return _hold_out(neighbors, pairs.degree(k), k)

    return list(ordered_map(one, range(1, pairs.max_k + 1) if ks is None else ks, threads))


def largest_first(
    rows: Rows, k: int = 1, *, transposed: Transposed | None = None, threads: int = 1
) -> Integers:
    """The features, each with the largest degree in the graph of those that follow it."""
    transposed = transposed or transpose(rows, threads)
    degrees = count(rows, k, transposed=transposed, threads=threads).degree(k)
    return _take_out(rows, transposed, degrees, k, _LARGEST)[0]


def smallest_last(
    rows: Rows, k: int = 1, *, transposed: Transposed | None = None, threads: int = 1
) -> SmallestLast:
    """The features, each with the smallest degree in the graph of those before it, and the degeneracy.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b", "c"], ["a", "d"], ["d", "e"]], dense_threshold=2).rows
    >>> smallest_last(rows).degeneracy
    2
    """
    transposed = transposed or transpose(rows, threads)
    degrees = count(rows, k, transposed=transposed, threads=threads).degree(k)
    taken, at_removal = _take_out(rows, transposed, degrees, k, _SMALLEST)
    return SmallestLast(taken[::-1].copy(), int(at_removal.max(initial=0)))


def ordered(rows: Rows, order: str, k: int = 1, *, transposed: Transposed, threads: int = 1) -> Integers:
    """The features in the order that `order` names; ties go by count."""
    if order == "count":
        return np.arange(rows.n_features)
    if order == "degree":
        return by_degree(count(rows, k, transposed=transposed, threads=threads).degree(k))
    if order == "largest-first":
        return largest_first(rows, k, transposed=transposed, threads=threads)
    if order == "smallest-last":
        return smallest_last(rows, k, transposed=transposed, threads=threads).order
    raise InputError(f"the order is {order!r}; expected one of {', '.join(ORDERS)}")


def by_degree(degrees: npt.NDArray[np.integer[Any]]) -> Integers:
    """The features by descending degree; ties go by count."""
    return np.argsort(-degrees.astype(np.int64), kind="stable")


def ordered_graph(graph: Graph, order: str) -> Integers:
    """The features of a graph in the order that `order` names, where there are no rows to count again."""
    check_without_rows(order)
    return np.arange(graph.n_features) if order == "count" else by_degree(graph.degrees)


def check_without_rows(order: str) -> None:
    """Refuse an order that only rows in memory tell."""
    if order not in ("count", "degree"):
        raise InputError(
            f"the order is {order!r}, which needs all rows in memory; expected 'count' or 'degree', or "
            "more memory"
        )


def hold_out_of(graph: Graph) -> HeldOut:
    """W of a graph that is held, for its own k."""
    return _hold_out(_Held(graph), graph.degrees.astype(np.uint32), graph.k)


class _Held:
    """The neighbors of features in a graph that is held."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.n_features = graph, graph.n_features

    def of(self, v: int, k: int, scratch: tuple[Codes, ...]) -> tuple[Codes, Codes]:
        """Neighbors of v, all of them seen k times."""
        neighbors = self.graph.neighbors[self.graph.indptr[v] : self.graph.indptr[v + 1]]
        return neighbors, np.full(len(neighbors), k, np.uint32)


class _Neighbors:
    """The neighbors of features, counted from the rows when they are asked for.

    What is held out for one k is mostly held out for the next, and has many rows to walk through: edges
    seen twice or more are remembered, as long as they are fewer than the entries of the rows.
    """

    def __init__(self, rows: Rows, transposed: Transposed) -> None:
        self.data = rows.indptr, rows.codes, transposed.indptr, transposed.rows
        self.n_features = rows.n_features
        self.room = len(rows.codes)
        self.known: dict[int, tuple[Codes, Codes]] = {}

    def of(self, v: int, k: int, scratch: tuple[Codes, ...]) -> tuple[Codes, Codes]:
        """Neighbors seen with v, and in how many rows; with k > 1 perhaps not those seen once."""
        if k > 1 and v in self.known:
            return self.known[v]
        n = _count_neighbors(self.data, v, scratch)
        by_code = np.argsort(scratch[1][:n])  # ties of degrees must not depend on where the rows are
        neighbors, seen = scratch[1][by_code], scratch[2][by_code]
        often = seen > 1
        size = int(often.sum())
        if v not in self.known and size <= self.room:
            self.room -= size
            self.known[v] = neighbors[often], seen[often]
        return neighbors, seen


def _hold_out(neighbors: _Neighbors | _Held, degrees: Codes, k: int) -> HeldOut:
    n_edges = int(degrees.sum(dtype=np.int64)) // 2
    degrees = degrees[: int(degrees.nonzero()[0].max(initial=-1)) + 1].copy()
    buckets = _buckets(degrees)
    removed = np.zeros(len(degrees), np.bool_)
    scratch = tuple(np.zeros(neighbors.n_features, np.uint32) for _ in range(3))
    taken: list[int] = []
    while len(taken) < len(degrees):
        v = int(buckets[1][len(degrees) - 1 - len(taken)])
        if len(taken) >= 2 * int(degrees[v]):
            return HeldOut(k, np.array(taken, np.int64), int(degrees[v]), n_edges)
        taken.append(v)
        removed[v] = True
        n_edges -= int(degrees[v])
        _lower_neighbors(neighbors.of(v, k, scratch), k, removed, degrees, buckets)
    return HeldOut(k, np.array(taken, np.int64), 0, n_edges)


_LARGEST, _SMALLEST = 0, 1


def _take_out(
    rows: Rows, transposed: Transposed, degrees: Codes, k: int, rule: int
) -> tuple[Integers, Codes]:
    """All features as they are taken, and their degrees then."""
    n: int = int((transposed.counts >= k).sum())  # features of fewer rows, the last ones, have no such edge
    rare = np.arange(n, rows.n_features)
    degrees = degrees[:n].copy()
    taken, at_removal = np.empty(n, np.int64), np.empty(n, np.uint32)
    _remove(
        (rows.indptr, rows.codes, transposed.indptr, transposed.rows),
        (rule, k),
        (degrees, _buckets(degrees)),
        (np.zeros(n, np.bool_), np.zeros(n, np.uint32), np.zeros(n, np.uint32)),
        (taken, at_removal),
    )
    parts = (taken, rare) if rule == _LARGEST else (rare[::-1], taken)
    return np.concatenate(parts), at_removal


def _buckets(degrees: Codes) -> tuple[Integers, Codes, Codes]:
    """Where the features of each degree begin, the features by degree, and the place of each."""
    starts = np.zeros(int(degrees.max(initial=0)) + 2, np.int64)
    order, place = np.zeros(len(degrees), np.uint32), np.zeros(len(degrees), np.uint32)
    _sort_by_degree(degrees, starts, order, place)
    return starts, order, place


@kernel
def _sort_by_degree(degrees, starts, order, place):  # type: ignore[no-untyped-def]
    """A counting sort, ascending; of equal degrees the later feature stands first."""
    for v in range(len(degrees)):
        starts[np.int64(degrees[v]) + 1] += 1
    for d in range(1, len(starts)):
        starts[d] += starts[d - 1]
    for v in range(len(degrees) - 1, -1, -1):
        degree = np.int64(degrees[v])
        order[starts[degree]] = np.uint32(v)
        place[v] = np.uint32(starts[degree])
        starts[degree] += 1
    for d in range(len(starts) - 1, 0, -1):
        starts[d] = starts[d - 1]
    starts[0] = 0


@inlined
def _lower(u, degrees, buckets, front):  # type: ignore[no-untyped-def]
    """Take an edge from u: it swaps places with the first of its bucket, which then begins later.

    Where features leave at the front, buckets may begin before it on paper; nothing does in truth.
    """
    starts, order, place = buckets
    d = np.int64(degrees[u])
    at = max(starts[d], np.int64(front))
    here = np.int64(place[u])
    first = order[at]
    order[at] = np.uint32(u)
    order[here] = first
    place[first] = np.uint32(here)
    place[u] = np.uint32(at)
    starts[d] = at + 1
    degrees[u] -= np.uint32(1)


@kernel
def _remove(data, task, by_degree, scratch, out):  # type: ignore[no-untyped-def]
    """Take all features out, by the largest or by the smallest degree."""
    indptr, codes, starts_of, of_feature = data
    rule, k = task
    degrees, buckets = by_degree
    order = buckets[1]
    removed, met, touched = scratch
    taken, at_removal = out
    n = len(degrees)
    for step in range(n):
        front = step + 1 if rule == 1 else 0
        v = np.int64(order[step] if rule == 1 else order[n - 1 - step])
        taken[step] = v
        at_removal[step] = degrees[v]
        removed[v] = True
        if degrees[v] == 0:
            continue
        n_met = 0
        for i in range(starts_of[v], starts_of[v + 1]):
            fetch_ahead(indptr, codes, of_feature, i)
            row = np.int64(of_feature[i])
            for j in range(indptr[row], indptr[row + 1]):
                u = codes[j]
                if u >= n:
                    break
                if not removed[u]:
                    if met[u] == 0:
                        touched[n_met] = u
                        n_met += 1
                    met[u] += np.uint32(1)
        for t in range(n_met):
            u = np.int64(touched[t])
            if np.int64(met[u]) >= k:
                _lower(u, degrees, buckets, front)
            met[u] = np.uint32(0)


@kernel
def _count_neighbors(data, v, scratch):  # type: ignore[no-untyped-def]
    """Count the features that share rows with v: touched[:n] are those, seen[:n] their counts."""
    indptr, codes, starts_of, of_feature = data
    met, touched, seen = scratch
    n = np.int64(0)
    for i in range(starts_of[v], starts_of[v + 1]):
        fetch_ahead(indptr, codes, of_feature, i)
        row = np.int64(of_feature[i])
        for j in range(indptr[row], indptr[row + 1]):
            u = codes[j]
            if u != v:
                if met[u] == 0:
                    touched[n] = u
                    n += 1
                met[u] += np.uint32(1)
    for t in range(n):
        seen[t] = met[touched[t]]
        met[touched[t]] = np.uint32(0)
    return n


@kernel
def _lower_neighbors(counted, k, removed, degrees, buckets):  # type: ignore[no-untyped-def]
    """Take an edge from each neighbor that is left and was seen k times or more."""
    neighbors, seen = counted
    for t in range(len(neighbors)):
        u = np.int64(neighbors[t])
        if np.int64(seen[t]) >= k and not removed[u]:
            _lower(u, degrees, buckets, 0)
