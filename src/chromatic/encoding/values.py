"""What encodings share that give each feature a number: a color is a column, and holds its feature's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from chromatic.coloring import Coloring
from chromatic.data.checked import Arrays, CheckedArrays, finite
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Tables
from chromatic.encoding.protocol import Encoding, Floats
from chromatic.parameters import Settings

SUMMED = 16  # colors, where features of a row may share one


@dataclass(frozen=True)
class ValueEncoding(Encoding):
    """The value of each feature, learned from labels; an absent color is 0."""

    values: Floats
    mean: float  # of the labels

    @classmethod
    def palette(cls, settings: Settings, room: int) -> int:
        return max(1, min(room, SUMMED) if settings.collisions == "sum" else room)

    @classmethod
    def costs_columns(cls, settings: Settings) -> bool:
        return True

    @property
    def n_own_columns(self) -> int:
        return self.coloring.n_colors

    @property
    def tables(self) -> Tables:
        return Tables(self.coloring.colors[:, None], self.values[:, None])

    @property
    def prior(self) -> float:
        return self.mean

    def facts(self) -> dict[str, Any]:
        return {"prior": self.mean}

    def arrays(self) -> Arrays:
        return {"values": self.values}

    @classmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        finite(facts["prior"], "the prior")
        values = arrays.summable("values", len(vocabulary))
        return cls(vocabulary, coloring, values, float(facts["prior"]))
