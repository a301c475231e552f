"""`color`: the engine that suits a request, and where the rows are."""

from __future__ import annotations

import logging

from chromatic.coloring import bitsets, stored
from chromatic.coloring.coloring import Coloring
from chromatic.coloring.request import BALANCED, Request, Size, check_for_disk
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed, transpose
from chromatic.errors import InputError

log = logging.getLogger("chromatic")


def color(
    rows: Rows | StoredRows,
    request: Request = BALANCED,
    *,
    transposed: Transposed | None = None,
    threads: int = 1,
) -> Coloring:
    """Color the features of rows, by default the most frequent first.

    Rows in a file are loaded where memory allows it; the colors are the same.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["d"]], dense_threshold=2).rows
    >>> coloring = color(rows)
    >>> coloring.n_colors, coloring.lower_bound, coloring.forced
    (2, 2, 0)
    """
    if isinstance(rows, StoredRows):
        if not _fits_memory(rows, request):
            return stored.color(rows, request)
        rows = rows.load()
    transposed = transposed or transpose(rows, threads)
    if request.strategy == "uniform":
        from chromatic.coloring.uniform import color_uniform

        return color_uniform(rows, request, transposed=transposed, threads=threads)[0]
    if request.min_edge_count > 1:
        from chromatic.coloring import graph

        return graph.color(rows, request, transposed, threads)
    return bitsets.color(rows, request, transposed, threads)


def _fits_memory(rows: StoredRows, request: Request) -> bool:
    """Tell whether stored rows can be colored in memory; refuse what cannot be colored from disk."""
    check_for_disk(request.strategy, request.min_edge_count)
    if request.order != "count":
        raise InputError(
            f"the order is {request.order!r} and needs all rows in memory, and a graph; expected the order "
            "'count', or no --memory"
        )
    needed, left = bitsets.bytes_needed(Size.of(rows), request), rows.memory.left()
    log.info("memory: %s MB to color in memory, %s MB are left", f"{needed >> 20:,}", f"{left >> 20:,}")
    return needed <= left
