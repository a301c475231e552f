"""What a coloring loses: features of a row that meet in one color, of which the rarest is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic._threads import ordered_map
from chromatic.coloring.coloring import Coloring
from chromatic.data.rows import ROWS_PER_PIECE, Rows


@dataclass(frozen=True)
class Collisions:
    """CC = |T| - |c(T)| of rows T: how many features are dropped, in all, by row and by color."""

    mean: float
    std: float
    share_of_rows: float  # of rows with any
    worst_colors: list[tuple[int, int]]  # (color, features dropped), the most first
    dropped: int


def collisions(rows: Rows, coloring: Coloring, threads: int = 1) -> Collisions:
    """How many features of rows collide.

    >>> from chromatic.data import Reader
    >>> from chromatic.coloring import color
    >>> train = Reader().read([["a", "b"], ["c"]], dense_threshold=2)
    >>> test = Reader().read([["a", "b", "c"], []], vocabulary=train.vocabulary)
    >>> collisions(test.rows, color(train.rows)).mean
    0.5
    """
    return represent(rows, coloring, threads)[1]


def represent(rows: Rows, coloring: Coloring, threads: int = 1) -> tuple[Rows, Collisions]:
    """The chromatic representation: at most one feature of each color in a row, the rarest wins."""
    coloring.check(rows)
    kept = np.ones(len(rows.codes), np.bool_)
    dropped = np.zeros(rows.n_rows, np.int64)

    def mark(start: int) -> npt.NDArray[np.int64]:
        indptr = rows.indptr[start : start + ROWS_PER_PIECE + 1]
        by_color = np.zeros(coloring.n_colors, np.int64)
        last_row = np.full(coloring.n_colors, -1, np.int64)
        out = kept, dropped[start : start + ROWS_PER_PIECE], by_color
        _mark_kept((indptr, rows.codes), coloring.colors, last_row, out)
        return by_color

    by_color = np.zeros(coloring.n_colors, np.int64)
    for piece in ordered_map(mark, range(0, rows.n_rows, ROWS_PER_PIECE), threads):
        by_color += piece
    worst = np.argsort(-by_color, kind="stable")[:10]
    lost = Collisions(
        mean=float(dropped.mean()) if rows.n_rows else 0.0,
        std=float(dropped.std()) if rows.n_rows else 0.0,
        share_of_rows=float((dropped > 0).mean()) if rows.n_rows else 0.0,
        worst_colors=[(int(c), int(by_color[c])) for c in worst if by_color[c]],
        dropped=int(dropped.sum()),
    )
    if not lost.dropped:
        return rows, lost
    indptr = rows.indptr.copy()
    indptr[1:] -= np.cumsum(dropped)
    return replace(rows, indptr=indptr, codes=rows.codes[kept]), lost


@kernel
def _mark_kept(rows, colors, last_row, out):  # type: ignore[no-untyped-def]
    """Codes ascend with rarity: from the end of a row, the first of each color is kept."""
    indptr, codes = rows
    kept, dropped, by_color = out
    for row in range(len(indptr) - 1):
        for i in range(indptr[row + 1] - 1, indptr[row] - 1, -1):
            color = colors[codes[i]]
            if last_row[color] == row:
                kept[i] = False
                dropped[row] += 1
                by_color[color] += 1
            last_row[color] = row
