"""The engine for rows in memory: greedy colors from a bitset for each row, without a graph."""

from __future__ import annotations

import numpy as np

from chromatic.coloring.coloring import Coloring
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.request import Request, Size
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed


def bytes_needed(size: Size, request: Request) -> int:
    """Return the bytes of the rows, their transpose and the bitsets: two a row while they widen.

    Degrees are counted by tables of the features.
    """
    of_row = 24 + 16 * request.words(size.largest_nnz) + 8 * size.n_dense
    of_feature = 100 if request.order == "count" else 200
    return 8 * size.n_entries + of_row * size.n_rows + of_feature * size.n_features


def color(rows: Rows, request: Request, transposed: Transposed, threads: int = 1) -> Coloring:
    """Color the features of rows so that features of one row differ."""
    features = np.arange(rows.n_features)
    if request.order != "count":
        from chromatic.graph.order import ordered

        features = ordered(rows, request.order, transposed=transposed, threads=threads)

    def engine(request: Request) -> Coloring:
        greedy = Greedy(features, request)
        greedy.make_bitsets(rows.n_rows)
        greedy.run(transposed, greedy.features)
        return greedy.coloring(rows.largest_nnz, rows.vocabulary)

    return request.met_by(engine)
