"""Features that training did not know: refused where one says so, and told where they are nearly all."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from chromatic.data.rows import Rows
from chromatic.errors import InputError, InputWarning

NEARLY_ALL = 0.9  # of the features of some rows
ENOUGH = 10  # unseen features, before that is remarkable

REMEDY = "check that they are written as in training (770 and 770.0 are two names)"


@dataclass(frozen=True)
class Unseen:
    """How many features of some rows are not known, and how many are."""

    unseen: int = 0
    seen: int = 0
    n_rows: int = 0

    @classmethod
    def of(cls, rows: Rows, n_numeric: int) -> Unseen:
        """Count them; the first `n_numeric` dense columns are numbers, and no features."""
        dense = int(np.count_nonzero(rows.dense[:, n_numeric:])) if rows.unseen else 0
        return cls(rows.unseen, len(rows.codes) + dense, rows.n_rows)

    def __add__(self, other: Unseen) -> Unseen:
        return Unseen(self.unseen + other.unseen, self.seen + other.seen, self.n_rows + other.n_rows)

    def warn(self) -> None:
        """Say the share of unseen features where it is nearly all."""
        every = self.unseen + self.seen
        if self.unseen >= ENOUGH and self.unseen >= NEARLY_ALL * every:
            warnings.warn(
                f"{self.unseen / every:.1%} of the {every:,} features of {self.n_rows:,} rows were not "
                f"seen in training and play no part; {REMEDY}",
                InputWarning,
                stacklevel=2,
            )

    def refuse_all(self) -> None:
        """Refuse rows none of whose features is known."""
        if self.unseen and not self.seen:
            raise InputError(
                f"none of the {self.unseen:,} features of {self.n_rows:,} rows was seen in training; "
                f"expected rows like those: {REMEDY}"
            )


def check_known(rows: Rows, handle_unknown: str) -> None:
    """Refuse rows with features that the vocabulary does not know, where these are not to be ignored."""
    if rows.unseen and handle_unknown == "error":
        raise InputError(
            f"{rows.unseen:,} features of {rows.n_rows:,} rows were not seen in training; expected known "
            "ones, or handle_unknown='ignore'"
        )
