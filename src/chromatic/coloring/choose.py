"""`color`: the engine that suits a request, and where the rows are."""

from __future__ import annotations

import logging
from dataclasses import replace

from chromatic.coloring import bitsets, stored
from chromatic.coloring.coloring import Coloring
from chromatic.coloring.request import BALANCED, Request, Size
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed, transpose

log = logging.getLogger("chromatic")


def color(
    rows: Rows | StoredRows,
    request: Request = BALANCED,
    *,
    transposed: Transposed | None = None,
    threads: int = 1,
) -> Coloring:
    """Color the features of rows, by default the most frequent first.

    Rows in a file are loaded where memory allows it, and a graph is built from a stream of them; the colors
    are the same.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["d"]], dense_threshold=2).rows
    >>> coloring = color(rows)
    >>> coloring.n_colors, coloring.lower_bound, coloring.forced
    (2, 2, 0)
    """
    if isinstance(rows, Rows):
        transposed = transposed or transpose(rows, threads)
    request = chosen(rows, request, transposed=transposed, threads=threads)
    if request.strategy == "uniform":
        from chromatic.coloring.uniform import color_uniform

        return color_uniform(rows, request, transposed=transposed, threads=threads)[0]
    if request.k > 1:
        from chromatic.coloring import graph

        return graph.color(rows, request, transposed, threads)
    if isinstance(rows, StoredRows):
        if not _fits_memory(rows, request):
            return stored.color(rows, request)
        rows = rows.load()
    return bitsets.color(rows, request, transposed or transpose(rows, threads), threads)


def chosen(
    rows: Rows | StoredRows,
    request: Request,
    *,
    transposed: Transposed | None = None,
    threads: int = 1,
) -> Request:
    """Return the request with a number in the place of "auto": the k that needs the fewest colors."""
    if request.min_edge_count != "auto":
        return request
    from chromatic.graph.study import study

    if isinstance(rows, StoredRows):
        rows.memory.check(bytes_to_choose(Size.of(rows)), "min_edge_count 'auto', unlike a number,")
        rows = rows.load()
    k = study(rows, transposed=transposed, threads=threads).suggested_k
    log.info("min_edge_count: %d, for which the guarantee needs the fewest colors", k)
    return replace(request, min_edge_count=k)


def bytes_to_choose(size: Size) -> int:
    """Return the bytes of the rows, their transpose, degrees for every k, and neighbors of features."""
    return 40 * size.n_entries + (24 + 8 * size.n_dense) * size.n_rows + 250 * size.n_features


def _fits_memory(rows: StoredRows, request: Request) -> bool:
    """Tell whether stored rows can be colored in memory."""
    needed, left = bitsets.bytes_needed(Size.of(rows), request), rows.memory.left()
    log.info("memory: %s MB to color in memory, %s MB are left", f"{needed >> 20:,}", f"{left >> 20:,}")
    return needed <= left
