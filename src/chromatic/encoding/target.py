"""One number a color: how the label behaves where the feature is, against where none of its color is.

For a binary label it is the log-odds of the smoothed rate, minus those of null; for a numeric one, and
where nothing is smoothed, the mean minus null's. So an absent color is 0, and the output is sparse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.coloring import Coloring, represent
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded, encode

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TargetEncoding:
    """The value of each feature."""

    vocabulary: Vocabulary
    coloring: Coloring
    values: Floats
    prior: float

    @property
    def n_sparse_columns(self) -> int:
        return self.coloring.n_colors

    def encode(self, rows: Rows, threads: int = 1) -> Encoded:
        """A column for each color with the value of the row's feature in it."""
        kept = represent(rows, self.coloring, threads)[0]
        return self.encode_kept(kept, self.values[:, None])

    def encode_kept(self, kept: Rows, values: Floats, fold: npt.NDArray[np.int32] | None = None) -> Encoded:
        """Rows without collisions, by the values of each fold."""
        columns, n_columns = self.coloring.colors[:, None], self.coloring.n_colors
        return encode(kept, columns, fold, values, n_columns=n_columns)


@dataclass(frozen=True)
class Moments:
    """Rows, sums and sums of squares of the label, of each feature and color (null), in each fold."""

    counts: Floats  # (features + colors) × folds
    sums: Floats
    squares: Floats

    def without(self, fold: int | None) -> tuple[Floats, Floats, Floats]:
        """The moments of all folds, or of all others."""
        total = self.counts.sum(axis=1), self.sums.sum(axis=1), self.squares.sum(axis=1)
        if fold is None:
            return total
        own = self.counts[:, fold], self.sums[:, fold], self.squares[:, fold]
        return total[0] - own[0], total[1] - own[1], total[2] - own[2]


@dataclass(frozen=True)
class LabelMoments:
    """Rows, and the sums of their labels and of the squares."""

    of_features: Floats  # 3 × features × folds
    whole: Floats  # of all rows, 3 × folds

    @classmethod
    def zeros(cls, n_features: int, n_folds: int) -> LabelMoments:
        return cls(np.zeros((3, n_features, n_folds)), np.zeros((3, n_folds)))

    def add(self, kept: Rows, y: Floats, fold: npt.NDArray[np.int32]) -> None:
        """Add rows without collisions; those of a negative fold are left out."""
        _add_moments(kept.indptr, kept.codes, y, fold, self.of_features, self.whole)


def moments_with_null(sums: LabelMoments, coloring: Coloring) -> Moments:
    """What the features of a color leave of all rows is null's."""
    of_features, whole = sums.of_features, sums.whole
    _, n, n_folds = of_features.shape
    arrays = np.empty((3, n + coloring.n_colors, n_folds))
    arrays[:, :n] = of_features
    for moment in range(3):
        for f in range(n_folds):
            of_color = np.bincount(coloring.colors, of_features[moment, :, f], coloring.n_colors)
            arrays[moment, n:, f] = whole[moment, f] - of_color
    return Moments(*arrays)


def values_of(
    moments: tuple[Floats, Floats, Floats],
    null_moments: tuple[Floats, Floats, Floats],
    coloring: Coloring,
    prior: float,
    spread: float,
    smoothing: float | None,
    log_odds: bool,
) -> Floats:
    """The value of each feature against null; `smoothing` None takes the ratio of variances.

    Null's mean comes from all rows, `null_moments`. The ratio is scikit-learn's: the variance within
    the feature's rows over that of all labels, `spread`.
    """
    n = len(coloring.colors)
    (counts, sums, squares), (of_null, null_sums, null_squares) = moments, null_moments
    means = _means(counts[:n], sums[:n], squares[:n], prior, spread, smoothing)
    null = _means(of_null[n:], null_sums[n:], null_squares[n:], prior, spread, smoothing)
    if log_odds:
        means, null = (np.log(m / (1 - m)) for m in (means, null))
    return means - null[coloring.colors]


def _means(
    counts: Floats, sums: Floats, squares: Floats, prior: float, spread: float, smoothing: float | None
) -> Floats:
    some = np.maximum(counts, 1.0)
    if smoothing is None:
        within = np.maximum(squares / some - (sums / some) ** 2, 0.0)
        weight = within / spread if spread > 0 else np.ones_like(within)
    else:
        weight = np.full(len(counts), smoothing)
    below = counts + weight
    return np.where(
        (counts > 0) & (below > 0), (sums + weight * prior) / np.where(below > 0, below, 1.0), prior
    )


@kernel
def _add_moments(indptr, codes, y, fold, arrays, whole):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        f = fold[row]
        if f < 0:
            continue
        moments = 1.0, y[row], y[row] * y[row]
        for m in range(3):
            whole[m, f] += moments[m]
        for i in range(indptr[row], indptr[row + 1]):
            for m in range(3):
                arrays[m, codes[i], f] += moments[m]
