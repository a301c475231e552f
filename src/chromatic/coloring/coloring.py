"""`Coloring`: a color for each feature, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic.coloring.request import Request
from chromatic.data.rows import Rows
from chromatic.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Coloring:
    """A color for each sparse feature of a vocabulary."""

    colors: npt.NDArray[np.int32]
    n_colors: int
    strategy: str  # one of STRATEGIES, or "fields"
    palette: int | None  # the most colors that were allowed
    seed: int
    forced: int  # features that found no free color
    conflicts: int  # rows in which a forced feature met its color
    lower_bound: int  # no proper coloring has fewer colors: the largest row
    vocabulary: int  # the fingerprint of the vocabulary
    forbidden: npt.NDArray[np.int32]  # how many colors each feature found taken
    sampled_rows: int | None = None  # the rows of the sample that was colored; None: all of them were

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many features have each color."""
        return np.bincount(self.colors, minlength=self.n_colors)

    def check(self, rows: Rows) -> None:
        """Refuse rows that another vocabulary codes."""
        if rows.vocabulary != self.vocabulary:
            raise InputError(
                "the rows are coded by another vocabulary than the coloring's; expected rows read with "
                "the vocabulary of the data that was colored"
            )


def coloring_of(
    request: Request,
    colors: npt.NDArray[np.int32],
    n_colors: int,
    *,
    lower_bound: int,
    vocabulary: int,
    forced: int = 0,
    conflicts: int = 0,
    forbidden: npt.NDArray[np.int32] | None = None,
) -> Coloring:
    """Return the coloring that meets a request."""
    return Coloring(
        colors=colors,
        n_colors=n_colors if len(colors) else 0,
        strategy=request.strategy if request.fields is None else "fields",
        palette=None if isinstance(request.palette, str) else int(request.palette),
        seed=request.seed,
        forced=forced,
        conflicts=conflicts,
        lower_bound=lower_bound,
        vocabulary=vocabulary,
        forbidden=np.zeros(len(colors), np.int32) if forbidden is None else forbidden,
    )
