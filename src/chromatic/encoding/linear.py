"""Linear columns: sums of the weights that features have in one linear model over all of them.

The colors are dealt into as many groups as there are columns. The sum of a row's linear columns is what
the model of all features says of it, but for the dense columns, which stand beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from chromatic.data.checked import Arrays, CheckedArrays, finite, must
from chromatic.data.rows import Rows
from chromatic.parameters import Settings

MOST = 16  # columns, where nobody asked for a number


def number_of_columns(
    settings: Settings, room: int, n_colors: int, *, own: int = 0, most: int = MOST
) -> int:
    """Return how many linear columns a model has: at most one for each color, beside `own` others.

    There are not more than `most` where nobody asked for a number.

    >>> [number_of_columns(Settings(budget=n), n, 100) for n in (1, 8, 256)]
    [1, 2, 16]
    """
    asked = min(most, max(1, room // 4)) if settings.linear is None else settings.linear
    return max(0, min(asked, room - own, n_colors)) if settings.collisions == "sum" else 0


def chances(margins: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the chance of a positive label from log-odds.

    >>> chances(np.array([-1e9, 0.0, 1e9])).round(9).tolist()
    [0.0, 0.5, 1.0]
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(margins, -500, 500))))


@dataclass(frozen=True)
class Linear:
    """The weights of features, and into how many columns they go."""

    n_columns: int
    weights: npt.NDArray[np.float32]  # of sparse features
    of_dense: npt.NDArray[np.float64]  # of dense columns
    intercept: float
    strength: float  # C: the inverse of the penalty on the square of the weights

    @classmethod
    def of(cls, n_columns: int, weights: Any) -> Self:
        """Return the columns for weights that were found in all rows (`fitting.weights.Weights`)."""
        return cls(n_columns, weights.of_features, weights.of_dense, weights.intercept, weights.strength)

    def columns_of(self, colors: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the linear column, from 0, of each of some colors."""
        return colors % np.int32(self.n_columns)

    def margins(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return what the model of all features says of rows: log-odds, or the label that is a number."""
        row_of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        sums = np.bincount(row_of, self.weights[rows.codes], minlength=rows.n_rows)
        of_dense = (rows.dense.astype(np.float64) * self.of_dense).sum(axis=1)
        return np.asarray(sums + of_dense + self.intercept, np.float64)

    def facts(self) -> dict[str, Any]:
        """Return the plain values that a file keeps."""
        return {"n_columns": self.n_columns, "intercept": self.intercept, "strength": self.strength}

    def arrays(self) -> Arrays:
        """Return the arrays that a file keeps."""
        return {"weights": self.weights, "dense_weights": self.of_dense}

    @classmethod
    def of_file(cls, told: dict[str, Any], arrays: CheckedArrays, n_features: int, n_dense: int) -> Self:
        """Return the columns that a file keeps."""
        n_columns = int(told["n_columns"])
        must(1 <= n_columns <= 1 << 20, f"there cannot be {n_columns} linear columns")
        weights = arrays.take("weights", np.float32, n_features)
        of_dense = arrays.take("dense_weights", np.float64, n_dense)
        finite(np.concatenate((weights, of_dense)), "the weights")
        finite([told["intercept"], told["strength"]], "the intercept or the strength")
        return cls(n_columns, weights, of_dense, float(told["intercept"]), float(told["strength"]))
