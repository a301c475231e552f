"""`Graph`: the pairs seen in k rows or more, held in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.graph.pairs import MOST
from chromatic.graph.walk import checked, edges


@dataclass(frozen=True)
class Graph:
    """G^(k) as CSR: the neighbors of v are neighbors[indptr[v]:indptr[v + 1]], ascending."""

    k: int
    indptr: npt.NDArray[np.int64]
    neighbors: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint16]  # rows that have both ends; 65,535 means that many or more

    @property
    def n_features(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        return len(self.neighbors) // 2

    @property
    def degrees(self) -> npt.NDArray[np.int64]:
        return np.diff(self.indptr)

    @property
    def max_degree(self) -> int:
        return int(self.degrees.max(initial=0))

    @classmethod
    def of_edges(
        cls,
        k: int,
        n_features: int,
        later: npt.NDArray[np.uint32],
        earlier: npt.NDArray[np.uint32],
        counts: npt.NDArray[np.uint32],
    ) -> Graph:
        """Return the graph of a list of edges, each of which comes once."""
        order = np.argsort(later, kind="stable")
        before, after = (np.bincount(ends, minlength=n_features) for ends in (later, earlier))
        builder = _Builder(k, before, after)
        builder.add(later[order], earlier[order], counts[order])
        return builder.done()


def thin(
    rows: Rows,
    k: int = 1,
    *,
    transposed: Transposed | None = None,
    without: npt.NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> Graph:
    """Return the graph of pairs seen in k rows or more; it takes 12 bytes an edge.

    `without` marks features whose edges are left out.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> graph = thin(rows, 2)
    >>> graph.n_edges, graph.neighbors.tolist(), graph.counts.tolist()
    (1, [1, 0], [2, 2])
    """
    transposed = checked(rows, transposed, threads)
    options: dict[str, Any] = {"transposed": transposed, "without": without, "threads": threads}
    before, after = (np.zeros(rows.n_features, np.int64) for _ in range(2))
    for later, earlier, _ in edges(rows, k, **options):
        _count_ends(later, earlier, before, after)
    builder = _Builder(k, before, after)
    for later, earlier, counts in edges(rows, k, **options):
        builder.add(later, earlier, counts)
    return builder.done()


class _Builder:
    """Places edges that come by ascending later end, so that all neighbors ascend in the end."""

    def __init__(self, k: int, before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]) -> None:
        """`before` and `after`: of each feature, its neighbors that are earlier and later."""
        self.k = k
        self.indptr = np.concatenate(([0], np.cumsum(before + after)))
        self.middle = self.indptr[:-1] + before
        self.places = self.middle.copy()
        self.neighbors = np.empty(self.indptr[-1], np.uint32)
        self.counts = np.empty(self.indptr[-1], np.uint16)

    def add(
        self,
        later: npt.NDArray[np.uint32],
        earlier: npt.NDArray[np.uint32],
        counts: npt.NDArray[np.uint32],
    ) -> None:
        saturated = np.minimum(counts, MOST).astype(np.uint16)
        _place_later((later, earlier, saturated), self.places, (self.neighbors, self.counts))

    def done(self) -> Graph:
        self.places[:] = self.indptr[:-1]
        _place_earlier(self.indptr, self.middle, self.places, self.neighbors, self.counts)
        return Graph(self.k, self.indptr, self.neighbors, self.counts)


@kernel
def _count_ends(later, earlier, before, after):  # type: ignore[no-untyped-def]
    for i in range(len(later)):
        before[later[i]] += 1
        after[earlier[i]] += 1


@kernel
def _place_later(edges, places, out):  # type: ignore[no-untyped-def]
    """Into the lists of the earlier ends go the later ones."""
    later, earlier, counts = edges
    neighbors, counts_of_neighbors = out
    for i in range(len(later)):
        at = places[earlier[i]]
        neighbors[at] = later[i]
        counts_of_neighbors[at] = counts[i]
        places[earlier[i]] = at + 1


@kernel
def _place_earlier(indptr, middle, places, neighbors, counts):  # type: ignore[no-untyped-def]
    """Into the lists of the later ends go the earlier ones, which ascend as the loop does."""
    for u in range(len(indptr) - 1):
        for i in range(middle[u], indptr[u + 1]):
            v = neighbors[i]
            at = places[v]
            neighbors[at] = np.uint32(u)
            counts[at] = counts[i]
            places[v] = at + 1
