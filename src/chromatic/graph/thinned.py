"""The graph of pairs seen in k rows or more, held in memory, and its way to other libraries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._extras import optional
from chromatic._files import replacing
from chromatic._numba import kernel
from chromatic.data.rows import Rows
from chromatic.data.transpose import Columns
from chromatic.data.vocabulary import Vocabulary
from chromatic.graph.pairs import MOST, checked_columns, edges


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
        """The graph of a list of edges, each of which comes once."""
        order = np.argsort(later, kind="stable")
        before, after = (np.bincount(ends, minlength=n_features) for ends in (later, earlier))
        builder = _Builder(k, before, after)
        builder.add(later[order], earlier[order], counts[order])
        return builder.done()


def thin(
    rows: Rows,
    k: int = 1,
    *,
    columns: Columns | None = None,
    without: npt.NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> Graph:
    """The graph of pairs seen in k rows or more: 12 bytes an edge, and nothing else that grows with them.

    `without` marks features whose edges are left out.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> graph = thin(rows, 2)
    >>> graph.n_edges, graph.neighbors.tolist(), graph.counts.tolist()
    (1, [1, 0], [2, 2])
    """
    columns = checked_columns(rows, columns, threads)
    options: dict[str, Any] = {"columns": columns, "without": without, "threads": threads}
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
        _place_later(later, earlier, saturated, self.places, self.neighbors, self.counts)

    def done(self) -> Graph:
        self.places[:] = self.indptr[:-1]
        _place_earlier(self.indptr, self.middle, self.places, self.neighbors, self.counts)
        return Graph(self.k, self.indptr, self.neighbors, self.counts)


def to_scipy(rows: Rows, k: int = 1, *, columns: Columns | None = None, threads: int = 1) -> Any:
    """The weighted graph as a symmetric scipy CSR array; its counts are exact.

    >>> from chromatic.data import Reader
    >>> to_scipy(Reader().read([["a", "b"], ["a", "b"]], dense_threshold=2).rows).toarray().tolist()
    [[0, 2], [2, 0]]
    """
    from scipy.sparse import csr_array

    later, earlier, counts = _all_edges(rows, k, columns, threads)
    ends = np.concatenate((later, earlier)), np.concatenate((earlier, later))
    shape = (rows.n_features, rows.n_features)
    return csr_array((np.concatenate((counts, counts)).astype(np.int64), ends), shape=shape)


def to_networkx(rows: Rows, k: int = 1, *, columns: Columns | None = None, threads: int = 1) -> Any:
    """The weighted graph for networkx: nodes are codes, `weight` is the exact count."""
    networkx = optional("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from(range(rows.n_features))
    triples = (array.tolist() for array in _all_edges(rows, k, columns, threads))
    graph.add_weighted_edges_from(zip(*triples, strict=True))
    return graph


def to_igraph(rows: Rows, k: int = 1, *, columns: Columns | None = None, threads: int = 1) -> Any:
    """The weighted graph for igraph: vertices are codes, `weight` is the exact count."""
    igraph = optional("igraph")
    later, earlier, counts = _all_edges(rows, k, columns, threads)
    graph = igraph.Graph(rows.n_features, np.stack((later, earlier), axis=1).tolist())
    graph.es["weight"] = counts.tolist()
    return graph


def dump(
    rows: Rows,
    path: str | os.PathLike[str],
    k: int = 1,
    *,
    vocabulary: Vocabulary | None = None,
    columns: Columns | None = None,
    threads: int = 1,
) -> int:
    """Write a line `feature feature count` for each edge, by tabs; how many edges there are.

    With a vocabulary features are written by name, else by code.
    """
    n_edges = 0
    with replacing(path) as file:
        for block in edges(rows, k, columns=columns, threads=threads):
            later, earlier, counts = (array.tolist() for array in block)
            name: Any = b"%d".__mod__ if vocabulary is None else vocabulary.name
            lines = (
                b"%b\t%b\t%d\n" % (name(u), name(v), count)
                for v, u, count in zip(later, earlier, counts, strict=True)
            )
            file.write(b"".join(lines))
            n_edges += len(later)
    return n_edges


def _all_edges(
    rows: Rows, k: int, columns: Columns | None, threads: int
) -> tuple[npt.NDArray[np.uint32], ...]:
    blocks = list(edges(rows, k, columns=columns, threads=threads))
    nothing = np.zeros(0, np.uint32)
    return tuple(np.concatenate([nothing, *(block[i] for block in blocks)]) for i in range(3))


@kernel
def _count_ends(later, earlier, before, after):  # type: ignore[no-untyped-def]
    for i in range(len(later)):
        before[later[i]] += 1
        after[earlier[i]] += 1


@kernel
def _place_later(later, earlier, counts, places, neighbors, counts_out):  # type: ignore[no-untyped-def]
    """Into the lists of the earlier ends go the later ones."""
    for i in range(len(later)):
        at = places[earlier[i]]
        neighbors[at] = later[i]
        counts_out[at] = counts[i]
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
