"""What each coloring costs and brings: colors, seconds, collisions, and what it promises."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from chromatic.coloring.certificate import certify
from chromatic.coloring.collisions import collisions
from chromatic.coloring.greedy import MOST_COLORS, Coloring, color
from chromatic.coloring.uniform import FilteredGraph
from chromatic.data.rows import Rows
from chromatic.data.transpose import Columns

RANDOM = (1, 2, 4, 8)  # times the colors of a balanced coloring
UNIFORM = (2, 4, 8, 16, 32, 64)  # times the colors above |W| + 2Δ_f that the paper asks for


def prices(
    rows: Rows, k: int, columns: Columns, *, test: Rows | None = None, seed: int = 0, threads: int = 1
) -> list[dict[str, Any]]:
    """First-fit, balanced, random with more and more colors, and uniform over the pairs seen k times.

    `expected` is the certificate of a random coloring and the bound of a uniform one.
    """
    found: list[dict[str, Any]] = []

    def add(k: int, draw: Callable[[], tuple[Coloring, Any]]) -> Coloring:
        start = time.perf_counter()
        coloring, how = draw()
        seconds = time.perf_counter() - start
        expected = None
        if coloring.fit == "random":
            expected = certify(rows, columns, coloring, threads=threads).expected
        elif coloring.fit == "uniform":
            expected = how.expected_collisions
        mean = None if test is None else collisions(test, coloring, threads).mean
        found.append(
            {
                "coloring": coloring.fit,
                "min_edge_count": k,
                "colors": coloring.n_colors,
                "seconds": seconds,
                "collisions": mean,
                "expected": expected,
            }
        )
        return coloring

    add(1, lambda: (color(rows, "first-fit", columns=columns), None))
    balanced = add(1, lambda: (color(rows, columns=columns), None))
    for times in RANDOM:
        palette = min(MOST_COLORS, max(1, times * balanced.n_colors))
        add(1, lambda m=palette: (color(rows, "random", m, seed=seed, columns=columns), None))  # type: ignore[misc]
    graph = FilteredGraph(rows, k, columns, threads)
    add(k, lambda: graph.color("proper", seed=seed))
    above = found[-1]["colors"] - graph.fewest_colors + 1
    for times in UNIFORM:
        palette = min(MOST_COLORS, graph.fewest_colors - 1 + above * times)
        add(k, lambda m=palette: graph.color(m, seed=seed))  # type: ignore[misc]
    return found
