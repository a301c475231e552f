"""What each coloring costs and brings: colors, seconds, collisions, and what it promises."""

from __future__ import annotations

import time
from typing import Any

from chromatic.coloring.certificate import certify
from chromatic.coloring.choose import color
from chromatic.coloring.collisions import collisions
from chromatic.coloring.coloring import Coloring
from chromatic.coloring.request import MOST_COLORS, Request
from chromatic.coloring.uniform import GraphOfRows
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.parameters import ORDERED

RANDOM = (1, 2, 4, 8)  # times the colors of a balanced coloring
UNIFORM = (2, 4, 8, 16, 32, 64)  # times the colors above |W| + 2Δ_f that the paper asks for


def prices(
    rows: Rows,
    k: int,
    transposed: Transposed,
    *,
    test: Rows | None = None,
    seed: int = 0,
    threads: int = 1,
) -> list[dict[str, Any]]:
    """First-fit, balanced, random with more and more colors, and uniform over the pairs seen k times.

    First-fit takes the features by degree, as the paper's program does. `expected` is the certificate of a
    random coloring and the bound of a uniform one.
    """
    graph = GraphOfRows(rows, k, transposed, threads)
    prices: list[dict[str, Any]] = []

    def add(request: Request) -> Coloring:
        start = time.perf_counter()
        expected = None
        if request.strategy == "uniform":
            coloring, how = graph.color(request)
            expected = how.expected_collisions
        else:
            coloring = color(rows, request, transposed=transposed, threads=threads)
        seconds = time.perf_counter() - start
        if request.strategy == "random":
            expected = certify(rows, transposed, coloring, threads=threads).expected
        prices.append(
            {
                "coloring": coloring.strategy,
                "order": request.order if coloring.strategy in ORDERED else None,
                "min_edge_count": request.k,
                "colors": coloring.n_colors,
                "seconds": seconds,
                "collisions": None if test is None else collisions(test, coloring, threads).mean,
                "expected": expected,
            }
        )
        return coloring

    add(Request("first-fit", order="degree"))
    balanced = add(Request())
    for times in RANDOM:
        palette = min(MOST_COLORS, max(1, times * balanced.n_colors))
        add(Request("random", palette, seed=seed))
    proper = add(Request("uniform", seed=seed, min_edge_count=k))
    above = proper.n_colors - graph.fewest_colors + 1
    for times in UNIFORM:
        palette = min(MOST_COLORS, graph.fewest_colors - 1 + above * times)
        add(Request("uniform", palette, seed=seed, min_edge_count=k))
    return prices
