"""The labels of training rows: 0 and 1 for two kinds, or numbers; what is wrong with them is said here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LabelFacts:
    """What one look over the labels of all rows tells."""

    where: str  # "y", or which column they are
    n_rows: int
    low: float
    high: float
    two_kinds: bool
    null: int = 0  # rows without a label
    infinite: int = 0  # rows whose label is NaN or infinite

    def check(self, encoding: type[Encoding]) -> None:
        """Refuse labels that the encoding cannot learn from."""
        rows = f"{self.n_rows:,} rows"
        for number, what in ((self.null, "null"), (self.infinite, "NaN or infinite")):
            if number:
                raise InputError(
                    f"{self.where} is {what} in {number:,} of {rows}; filter those, or give them labels"
                )
        if self.low == self.high:
            raise InputError(
                f"{self.where} is {self.low:g} in all {rows}, there is only one class; expected two kinds "
                "of labels"
            )
        if not self.two_kinds and not encoding.numeric_labels:
            raise InputError(
                f"{self.where} has labels of more than two kinds in {rows}; expected two, or the target "
                "encoding"
            )


def facts_of(labels: Floats, where: str) -> LabelFacts:
    """Look over labels in memory."""
    infinite = int((~np.isfinite(labels)).sum())
    low, high = (float(labels.min()), float(labels.max())) if len(labels) else (0.0, 0.0)
    two_kinds = bool(((labels == low) | (labels == high)).all())
    return LabelFacts(where, len(labels), low, high, two_kinds, infinite=infinite)


def as_numbers(y: npt.NDArray[Any]) -> Floats:
    """Return labels of two kinds as 0 and 1, the larger as 1, and numbers of more kinds as they are.

    >>> as_numbers(np.array(["no", "yes", "no"])).tolist(), as_numbers(np.array([1.0, 2, 3])).tolist()
    ([0.0, 1.0, 0.0], [1.0, 2.0, 3.0])
    """
    types = {type(label) for label in y.tolist()} if y.dtype == object else {y.dtype.type}
    if len(types) > 1:
        listed = ", ".join(sorted(kind.__name__ for kind in types))
        raise InputError(f"y has values of the types {listed}; expected labels of one type")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        return np.asarray(y, np.float64)  # `LabelFacts.check` says how many rows that are
    kinds = kinds_of(y)
    if len(kinds) == 2:
        return np.asarray(y == kinds[1], np.float64)
    if y.dtype.kind not in "biuf" and len(kinds) != 1:
        raise InputError(
            f"y has {len(kinds)} kinds of labels; expected two, or numbers for the target encoding"
        )
    return np.zeros(len(y)) if y.dtype.kind not in "biuf" else np.asarray(y, np.float64)


def kinds_of(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct labels, ascending; where they are two at most, without sorting them all."""
    if len(labels) and labels.dtype.kind in "biuf":
        ends = np.unique([labels.min(), labels.max()])
        if ((labels == ends[0]) | (labels == ends[-1])).all():
            return ends
    return np.unique(labels)
