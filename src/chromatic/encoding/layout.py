"""`Layout`: how columns stand, whatever features become. It does not grow with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic.data.rows import Rows
from chromatic.encoding.encoded import Encoded, Summing, Tables, encode, encode_sums, side_by_side


@dataclass(frozen=True)
class Layout:
    """How columns stand: an encoding without its features."""

    sums: bool  # whether features that share a color all count
    n_colors: int
    n_own: int  # columns that are not linear
    n_linear: int
    absent: npt.NDArray[np.int32] | None  # the column of each absent color; None: no column
    parts: tuple[Layout, ...] = ()  # those of several classes, in the place of what stands above

    def encode(
        self,
        rows: Rows,
        colors: npt.NDArray[np.int32],
        tables: Tables,
        fold: npt.NDArray[np.int32] | None = None,
    ) -> Encoded:
        """Return the columns of resolved rows, from the colors of their features and what these become."""
        if self.parts:
            each = zip(self.parts, tables.of_classes, strict=True)
            return side_by_side([part.encode(rows, colors, own, fold) for part, own in each])
        if self.sums:
            summing = Summing(colors, self.n_colors, self.n_own, self.n_linear)
            return encode_sums(rows, tables, fold, summing=summing, absent=self.absent)
        absent = None if self.absent is None else (colors, self.absent)
        return encode(rows, tables, fold, n_columns=self.n_own + self.n_linear, absent=absent)
