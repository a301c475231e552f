"""Labels counted by feature, over the transposed rows: what a row says is a byte, and stays in the cache.

Counted row by row, each feature of a row is another place of a table of features × folds, which no cache
holds. Here a feature's counts are in one place, and the threads have features of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chromatic._numba import AHEAD, kernel, prefetch
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.encoding.statistics import Given, LabelCounts

LEFT_OUT = np.uint8(255)  # rows that are not counted
MOST_FOLDS = 127
SHARES = 8  # of the features, for each thread

Said = npt.NDArray[np.uint8]  # by each row: twice its fold, and 1 more where the label is 1; or LEFT_OUT


def count_by_feature(
    counts: LabelCounts, rows: Rows, transposed: Transposed, given: Given, threads: int = 1
) -> None:
    """Add rows to counts, as `LabelCounts.add` does."""
    labels, fold, colors = given
    said = np.where(fold < 0, LEFT_OUT, 2 * fold + (labels == 1)).astype(np.uint8)
    counted = said[said != LEFT_OUT].astype(np.int64)
    n_folds = len(counts.whole)
    by_fold = np.bincount(counted, minlength=2 * n_folds).reshape(n_folds, 2)
    counts.whole[:] += by_fold.sum(axis=1) + (by_fold[:, 1] << 32)
    bounds = np.searchsorted(transposed.indptr, np.linspace(0, transposed.indptr[-1], SHARES * threads + 1))
    bounds[0], bounds[-1] = 0, rows.n_features

    def count(share: int) -> None:
        of_share = int(bounds[share]), int(bounds[share + 1])
        _count_features(
            (transposed.indptr, transposed.rows), of_share, said, (counts.several, counts.alone)
        )

    def count_colors(piece: tuple[int, Rows]) -> npt.NDArray[np.int64]:
        start, some = piece
        of_colors = np.zeros(counts.of_colors.shape, np.int64)
        last_row = np.full(len(of_colors), -1)
        here = said[start : start + some.n_rows]
        _count_colors((some.indptr, some.codes), here, (colors, last_row), of_colors)
        return of_colors

    for _ in ordered_map(count, range(len(bounds) - 1), threads):
        pass
    for of_colors in ordered_map(count_colors, rows.pieces(), threads):
        counts.of_colors[:] += of_colors


@kernel
def _count_features(transposed, features, said, out):  # type: ignore[no-untyped-def]
    """Count the rows of a range of features, by fold and label."""
    indptr, rows = transposed
    first, stop = features
    several, alone = out
    for v in range(first, stop):
        for i in range(indptr[v], indptr[v + 1]):
            if i + AHEAD < len(rows):
                prefetch(said, np.int64(rows[i + AHEAD]))
            what = said[rows[i]]
            if what == LEFT_OUT:
                continue
            positive = np.int64(what & 1)
            if v < len(several):
                several[v, what >> 1] += 1 + (positive << 32)
            else:
                alone[v - len(several)] = 1 + 2 * positive


@kernel
def _count_colors(csr, said, coloring, out):  # type: ignore[no-untyped-def]
    """Count the rows that have a feature of each color, by fold and label."""
    indptr, codes = csr
    colors, last_row = coloring
    for row in range(len(indptr) - 1):
        if said[row] == LEFT_OUT:
            continue
        fold, one = np.int64(said[row] >> 1), 1 + (np.int64(said[row] & 1) << 32)
        for i in range(indptr[row], indptr[row + 1]):
            if i + AHEAD < len(codes):
                prefetch(colors, np.int64(codes[i + AHEAD]))
            color = colors[codes[i]]
            if last_row[color] != row:
                last_row[color] = row
                out[color, fold] += one
