"""What columns tell of the label, against how many there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic.encoding.fitting import SubmodularEncoding
from chromatic.encoding.quantize import Groups, cost_of, gains
from chromatic.encoding.submodular import bins_of, grouped

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


def information(encoding: SubmodularEncoding) -> Information:
    """The best that any number of columns can tell, and what the model's do."""
    book, vocabulary, n_colors = encoding.codebook, encoding.vocabulary, encoding.coloring.n_colors
    n_rows = vocabulary.n_rows
    mass = np.bincount(encoding.coloring.colors, vocabulary.counts, n_colors).astype(np.int64)
    groups, rates = grouped(
        np.concatenate((encoding.coloring.colors, np.arange(n_colors))),
        np.concatenate((book.rates, book.null_rates)),
        np.concatenate((vocabulary.counts, np.maximum(n_rows - mass, 0))),
        n_colors,
    )
    ignorance = cost_of(groups, np.arange(n_colors + 1), groups.starts[1:])
    free = n_colors if encoding.null == "drop" else 0  # a bin of each color makes no column
    told = np.cumsum(gains(groups, free + max(MOST_COLUMNS, book.n_columns)))
    first = n_colors - free  # columns that cost nothing to cut
    curve = [(first, 0.0), *((first + 1 + i, float(nats) / n_rows) for i, nats in enumerate(told))]
    own = cost_of(groups, book.bin_starts, _ends(encoding, groups, rates))
    every = cost_of(groups, groups.starts, np.arange(1, groups.starts[-1] + 1))
    return Information(curve, book.n_columns, (ignorance - own) / n_rows, (ignorance - every) / n_rows)


def _ends(
    encoding: SubmodularEncoding, groups: Groups, rates: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Where the bins of the model end among the groups."""
    book = encoding.codebook
    colors = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    bins = bins_of(colors, rates, book.bin_starts, book.cuts)
    return np.cumsum(np.bincount(bins, minlength=len(book.cuts)))
