"""Greedy coloring of the graph of pairs seen in k rows or more.

Only a graph knows how often a pair was seen, so here it is built first. With k = 1 the colors are those of
`color`, which needs no graph.
"""

from __future__ import annotations

import numpy as np

from chromatic._numba import inlined, kernel
from chromatic.coloring.greedy import MOST_COLORS, Coloring, check_options
from chromatic.data.rows import Rows
from chromatic.data.transpose import Columns, transpose
from chromatic.errors import InputError
from chromatic.graph.order import ordered
from chromatic.graph.thinned import Graph, thin

U64 = np.uint64
_FIRST, _LEAST, _RANDOM = 0, 1, 2


def color_thinned(
    rows: Rows,
    min_edge_count: int,
    fit: str = "balanced",
    max_colors: int | str = "proper",
    *,
    seed: int = 0,
    order: str = "count",
    columns: Columns | None = None,
    graph: Graph | None = None,
    threads: int = 1,
) -> Coloring:
    """Color features so that pairs seen in `min_edge_count` rows or more differ; rarer pairs may collide.

    Fits, palette and order are those of `color`. Where no color is free, the one is taken whose
    features share the fewest rows with the feature, counted pair by pair over the thinned graph.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> color_thinned(rows, 2).n_colors, color_thinned(rows, 3).n_colors
    (2, 1)
    """
    check_options(fit, max_colors, seed)
    if min_edge_count < 1:
        raise InputError(f"min_edge_count is {min_edge_count}; expected 1 or more")
    columns = columns or transpose(rows, threads)
    graph = graph or thin(rows, min_edge_count, columns=columns, threads=threads)
    features = ordered(rows, order, min_edge_count, columns=columns, threads=threads)
    most = graph.max_degree + 1  # a greedy coloring never needs more
    palette = min(most, MOST_COLORS) if isinstance(max_colors, str) else int(max_colors)
    colors = np.full(rows.n_features, -1, np.int32)
    forbidden = np.zeros(rows.n_features, np.int32)
    state = np.zeros(3, np.int64)
    if fit == "random":
        state[0] = palette
    _color_graph(
        (graph.indptr, graph.neighbors, graph.counts),
        columns.counts,
        features,
        ({"first-fit": _FIRST, "balanced": _LEAST, "random": _RANDOM}[fit], palette, seed),
        (np.full(palette, -1, np.int64), np.zeros(palette, np.int64), np.zeros(palette, np.int64)),
        state,
        (colors, forbidden),
    )
    return Coloring(
        colors,
        int(state[0]) if len(features) else 0,
        fit,
        None if isinstance(max_colors, str) else int(max_colors),
        seed,
        int(state[1]),
        int(state[2]),
        rows.largest_nnz if min_edge_count == 1 else min(1, rows.n_features),
        rows.vocabulary,
        forbidden,
    )


@kernel
def _color_graph(graph, mass_of, features, options, scratch, state, out):  # type: ignore[no-untyped-def]
    """Color features in order; state: colors in use, features forced, rows of their conflicts."""
    indptr, neighbors, counts = graph
    fit, palette, seed = options
    taken, mass, conflicts = scratch
    colors, forbidden = out
    for i in range(len(features)):
        v = features[i]
        n_taken = 0
        for e in range(indptr[v], indptr[v + 1]):
            c = colors[neighbors[e]]
            if c >= 0 and taken[c] != v:
                taken[c] = v
                n_taken += 1
        if fit == _RANDOM:
            forbidden[v] = n_taken
        choice = np.int64(-1)
        if n_taken < state[0]:
            if fit == _LEAST:
                for c in range(state[0]):
                    if taken[c] != v and (choice < 0 or mass[c] < mass[choice]):
                        choice = np.int64(c)
            else:
                left = np.int64(0)
                if fit == _RANDOM:
                    left = _draw(seed, v, state[0] - n_taken)
                choice = np.int64(0)
                while taken[choice] == v or left > 0:
                    left -= taken[choice] != v
                    choice += 1
        elif state[0] < palette:
            choice = state[0]
            state[0] += 1
        else:
            for c in range(palette):
                conflicts[c] = 0
            for e in range(indptr[v], indptr[v + 1]):
                if colors[neighbors[e]] >= 0:
                    conflicts[colors[neighbors[e]]] += np.int64(counts[e])
            choice = np.int64(0)
            for c in range(1, palette):
                if conflicts[c] < conflicts[choice] or (
                    conflicts[c] == conflicts[choice] and mass[c] < mass[choice]
                ):
                    choice = np.int64(c)
            state[1] += 1
            state[2] += conflicts[choice]
        colors[v] = choice
        mass[choice] += mass_of[v]


@inlined
def _draw(seed, v, n):  # type: ignore[no-untyped-def]
    """A number below n: the same hash of seed and feature as where no graph is built."""
    z = (U64(seed) ^ (U64(v) * U64(0xD1342543DE82EF95))) + U64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    z = z ^ (z >> U64(31))
    return np.int64(((z >> U64(32)) * U64(n)) >> U64(32))
