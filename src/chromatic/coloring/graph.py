"""The engine for graphs: greedy colors of pairs seen in k rows or more.

Only a graph knows how often a pair was seen, so it is built first, from rows in memory or from a stream of
rows in a file. With k = 1 the colors are those of `bitsets`, which needs no graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.coloring.coloring import Coloring
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.request import Request
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed, transpose
from chromatic.graph.order import check_without_rows, ordered, ordered_graph
from chromatic.graph.stream import thin_stored
from chromatic.graph.thinned import Graph, thin


def bytes_needed(n_features: int, n_edges: int) -> int:
    """Return the bytes to make a graph from a list of so many edges, and to color along it."""
    return 100 * n_features + 48 * n_edges


def color(
    rows: Rows | StoredRows, request: Request, transposed: Transposed | None = None, threads: int = 1
) -> Coloring:
    """Color the features of rows so that pairs seen in `min_edge_count` rows or more differ.

    Where no color is free, the one is taken whose features share the fewest rows with the feature, counted
    pair by pair.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> [color(rows, Request(min_edge_count=k)).n_colors for k in (2, 3)]
    [2, 1]
    """
    k = request.k
    about: dict[str, Any] = {"largest_nnz": rows.largest_nnz, "vocabulary": rows.vocabulary}
    if isinstance(rows, StoredRows):
        check_without_rows(request.order)
        streamed = thin_stored(rows, k)
        needed = bytes_needed(rows.n_features, len(streamed.edges[0]))
        rows.memory.check(needed, "coloring the graph")
        return color_graph(streamed.graph, rows.counts, request, **about)
    transposed = transposed or transpose(rows, threads)
    graph = thin(rows, k, transposed=transposed, threads=threads)
    features = ordered(rows, request.order, k, transposed=transposed, threads=threads)
    return color_graph(graph, transposed.counts, request, **about, features=features)


def color_graph(
    graph: Graph,
    counts: npt.NDArray[np.int64],
    request: Request,
    *,
    largest_nnz: int,
    vocabulary: int,
    features: npt.NDArray[np.int64] | None = None,
) -> Coloring:
    """Color the vertices of a graph; `counts` are their rows, the masses, and the largest row is a bound.

    `features` are in the order of the request; without them, the graph says what that is.
    """
    in_order = ordered_graph(graph, request.order) if features is None else features
    lower_bound = largest_nnz if graph.k == 1 else min(1, graph.n_features)

    def engine(request: Request) -> Coloring:
        greedy = Greedy(in_order, request)
        greedy.run_along(graph, counts)
        return greedy.coloring(lower_bound, vocabulary)

    return request.met_by(engine)
