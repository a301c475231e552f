"""What a coloring is asked for, and how large the rows are that it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import NO_FIELD
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.errors import InputError
from chromatic.parameters import check_order

if TYPE_CHECKING:
    from chromatic.coloring.coloring import Coloring

STRATEGIES = ("balanced", "first-fit", "random", "uniform")
MOST_COLORS = 1 << 20


@dataclass(frozen=True)
class Request:
    """How features are to be colored.

    `strategy`: "first-fit" takes the lowest free color, "balanced" the open one with the least mass (sum of
    counts), opening another only when none is free, "random" a uniform free one of the palette. Where no
    color is free, these take the one with the fewest conflicting rows, then the least mass. "uniform" draws
    uniformly among all proper colorings of the features outside a few that have colors of their own.

    >>> Request("random", 64).palette
    64
    """

    strategy: str = "balanced"
    palette: int | str = "proper"  # the most colors, or "proper": as many as no collision needs
    seed: int = 0
    fields: npt.NDArray[np.int32] | None = None  # features of a field have its color
    min_edge_count: int | str = 1  # pairs seen in fewer rows may share a color; "auto": see `Settings`
    order: str = "count"  # in which features are colored: one of chromatic.graph.order.ORDERS
    at_most: int | None = None  # where "proper" needs more colors, this is the palette

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise InputError(f"the strategy is {self.strategy!r}; expected one of {', '.join(STRATEGIES)}")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"the seed is {self.seed}; expected 0 to 2**63 - 1")
        self._check_palette()
        k = self.min_edge_count
        if k != "auto" and not (isinstance(k, Integral) and k >= 1):
            raise InputError(f"min_edge_count is {k!r}; expected 1 or more, or 'auto'")
        check_order(self.order, self.strategy if self.fields is None else "fields")
        if self.fields is not None and self.min_edge_count != 1:
            raise InputError("min_edge_count is of no use where coloring is 'fields'; expected 1")
        if self.strategy == "uniform" and (self.fields is not None or self.at_most is not None):
            raise InputError(
                "a uniform coloring has no place for fields and at_most; expected neither, or another "
                "strategy"
            )

    def _check_palette(self) -> None:
        if isinstance(self.palette, str):
            if self.palette != "proper":
                raise InputError(f"max_colors is {self.palette!r}; expected a number, or 'proper'")
            if self.strategy == "random":
                raise InputError("max_colors is 'proper'; a random coloring needs a number of colors")
        elif not isinstance(self.palette, Integral) or not 1 <= self.palette <= MOST_COLORS:
            raise InputError(f"max_colors is {self.palette}; expected 1 to {MOST_COLORS}, or 'proper'")
        if self.at_most is not None and (self.palette != "proper" or self.at_most < 1):
            raise InputError(
                f"at_most is {self.at_most} and max_colors {self.palette!r}; expected 1 or more, "
                "and 'proper'"
            )

    @property
    def k(self) -> int:
        """`min_edge_count` as a number, which `color` puts in the place of "auto"."""
        assert not isinstance(self.min_edge_count, str), "min_edge_count is not chosen yet"
        return self.min_edge_count

    @property
    def n_fields(self) -> int:
        """The colors that fields take."""
        return 0 if self.fields is None else int(self.fields.max(initial=NO_FIELD)) + 1

    def words(self, largest_nnz: int) -> int:
        """Return the words of a bitset of colors; for "proper" as many as are rarely exceeded."""
        if isinstance(self.palette, str):
            return min(MOST_COLORS // 64, largest_nnz // 32 + 2)
        return (self.palette - self.n_fields + 63) // 64

    def met_by(self, engine: Callable[[Request], Coloring]) -> Coloring:
        """Color by an engine; again with the palette `at_most` where "proper" needs more colors."""
        coloring = engine(self)
        if self.at_most is None or coloring.n_colors <= self.at_most:
            return coloring
        return engine(replace(self, palette=self.at_most, at_most=None))


BALANCED = Request()


def palette_with(fields: npt.NDArray[np.int32], palette: int | str, most: int) -> tuple[bool, int | str]:
    """Return whether fields can be colors, and the palette then: it grows with them up to `most` colors.

    >>> [palette_with(np.array([0, 1, 2, -1]), palette, most) for palette, most in ((2, 9), (2, 3), (8, 9))]
    [(True, 5), (False, 2), (True, 8)]
    """
    n_fields, others = int(fields.max(initial=NO_FIELD)) + 1, bool((fields == NO_FIELD).any())
    if not n_fields or n_fields + others > most:
        return False, palette
    if isinstance(palette, str):
        return True, palette
    return True, palette if palette > n_fields else min(most, n_fields + palette * others)


class Size(NamedTuple):
    """How large rows are: all that an engine must know to say what memory it needs."""

    n_rows: int
    n_features: int
    n_entries: int
    largest_nnz: int
    n_dense: int = 0

    @classmethod
    def of(cls, rows: Rows | StoredRows) -> Size:
        """Return the size of rows, in memory or in a file."""
        if isinstance(rows, Rows):
            n_entries, n_dense = len(rows.codes), rows.dense.shape[1]
        else:
            n_entries, n_dense = rows.n_entries, rows.n_dense
        return cls(rows.n_rows, rows.n_features, n_entries, rows.largest_nnz, n_dense)
