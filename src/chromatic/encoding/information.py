"""What columns tell of the label, against how many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring
from chromatic.encoding.codebook import Codebook, bins_of, grouped
from chromatic.encoding.quantize import Groups, cost_of, gains

MOST_COLUMNS = 2048  # of the curve


@dataclass(frozen=True)
class Information:
    """Mutual information with the label in nats a row, summed over colors.

    It is recomputed from the rates and counts of the model. These counts are of all rows that have a
    feature, also of those where it lost to another of its color.
    """

    curve: list[tuple[int, float]]  # (columns, the most that so many can tell)
    columns: int
    chosen: float  # what the model's columns tell
    whole: float  # what the colors tell uncompressed


def information(
    book: Codebook, coloring: Coloring, counts: npt.NDArray[np.int64], n_rows: int, *, null: str
) -> Information:
    """Return the most that any number of columns can tell, and what those of a codebook do.

    `counts` tells in how many of the rows each feature is.
    """
    n_colors = coloring.n_colors
    groups, rates = grouped(
        np.concatenate((coloring.colors, np.arange(n_colors))),
        np.concatenate((book.rates, book.null_rates)),
        np.concatenate((counts, book.null_shares * n_rows)),
        n_colors,
        numbers=(book.prior, book.spread),
    )
    ignorance = cost_of(groups, np.arange(n_colors + 1), groups.starts[1:])
    free = n_colors if null == "drop" else 0  # a bin of each color makes no column
    told = np.cumsum(gains(groups, free + max(MOST_COLUMNS, book.n_columns)))
    first = n_colors - free  # columns that cost nothing to cut
    curve = [(first, 0.0), *((first + 1 + i, float(nats) / n_rows) for i, nats in enumerate(told))]
    own = cost_of(groups, book.bin_starts, _ends(book, groups, rates))
    every = cost_of(groups, groups.starts, np.arange(1, groups.starts[-1] + 1))
    return Information(curve, book.n_columns, (ignorance - own) / n_rows, (ignorance - every) / n_rows)


def _ends(book: Codebook, groups: Groups, rates: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return where the bins of a codebook end among the groups."""
    colors = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    bins = bins_of(colors, rates, book.bin_starts, book.cuts)
    return np.cumsum(np.bincount(bins, minlength=len(book.cuts)))
