"""The engine for graphs: greedy colors of pairs seen in k rows or more.

Only a graph knows how often a pair was seen, so it is built first. With k = 1 the colors are those of
`bitsets`, which needs no graph.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chromatic.coloring.coloring import Coloring
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.request import Request, Size
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.graph.order import ordered
from chromatic.graph.thinned import Graph, thin
from chromatic.graph.walk import BYTES_OF_PIECE


def bytes_needed(size: Size, request: Request, n_edges: int) -> int:
    """Return the bytes of the rows, their transpose, and a graph of so many edges, built on one thread."""
    of_rows = 8 * size.n_entries + 8 * size.n_rows
    return of_rows + 100 * size.n_features + 12 * n_edges + BYTES_OF_PIECE


def color(rows: Rows, request: Request, transposed: Transposed, threads: int = 1) -> Coloring:
    """Color the features of rows so that pairs seen in `min_edge_count` rows or more differ.

    Where no color is free, the one is taken whose features share the fewest rows with the feature, counted
    pair by pair.

    >>> from chromatic.coloring import transpose
    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> [color(rows, Request(min_edge_count=k), transpose(rows)).n_colors for k in (2, 3)]
    [2, 1]
    """
    k = request.min_edge_count
    graph = thin(rows, k, transposed=transposed, threads=threads)
    return color_graph(
        graph,
        transposed.counts,
        request,
        lower_bound=rows.largest_nnz if k == 1 else min(1, rows.n_features),
        vocabulary=rows.vocabulary,
        features=ordered(rows, request.order, k, transposed=transposed, threads=threads),
    )


def color_graph(
    graph: Graph,
    counts: npt.NDArray[np.int64],
    request: Request,
    *,
    lower_bound: int,
    vocabulary: int,
    features: npt.NDArray[np.int64] | None = None,
) -> Coloring:
    """Color the vertices of a graph in the order of `features`; `counts` are their rows, the masses."""
    features = np.arange(graph.n_features) if features is None else features

    def engine(request: Request) -> Coloring:
        greedy = Greedy(features, request)
        greedy.run_along(graph, counts)
        return greedy.coloring(lower_bound, vocabulary)

    return request.met_by(engine)
