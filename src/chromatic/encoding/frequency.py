"""One integer a color: the most frequent features keep their identity, for embeddings and for trees."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring
from chromatic.data.checked import Arrays, CheckedArrays, must
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import NO_COLUMN, Tables
from chromatic.encoding.protocol import ColumnFacts, Encoding, Integers, Task, Words
from chromatic.parameters import Settings

MOST_COLORS = 1024  # of a palette that nobody asked for


@dataclass(frozen=True)
class FrequencyEncoding(Encoding):
    """The level of each feature within its color, from 1; 0 is what is absent, truncated or unseen."""

    name = "frequency"
    gives_levels = True
    measure_key = "level"
    words = Words(
        columns="A column is a color. A row has in it the level of its feature of that color, 0 where "
        "there is none. The most frequent features have a level.",
        measure="levels",
        first="most rows",
    )

    levels: npt.NDArray[np.int32]
    n_levels: int  # features that have one, the most frequent of all

    @classmethod
    def palette(cls, settings: Settings, room: int) -> int:
        return MOST_COLORS

    @classmethod
    def learn(cls, task: Task, statistic: None) -> FrequencyEncoding:
        """Keep as many features as the budget says; a color numbers its own from 1, frequent first."""
        return learn_levels(task, min(task.settings.budget, len(task.vocabulary)))

    @property
    def n_own_columns(self) -> int:
        return self.coloring.n_colors

    @property
    def tables(self) -> Tables:
        columns = np.where(self.levels > 0, self.coloring.colors, NO_COLUMN)
        return Tables(columns[:, None], self.levels[:, None])

    @property
    def n_kept(self) -> int:
        return self.n_levels

    @property
    def field_dims(self) -> Integers:
        kept = self.coloring.colors[: self.n_levels]
        return np.bincount(kept, minlength=self.coloring.n_colors) + 1

    def column_details(self) -> list[str]:
        return ["level"] * self.n_own_columns

    def column_facts(self) -> ColumnFacts:
        facts = super().column_facts()
        return replace(
            facts, measure=self.field_dims.astype(np.float64), strength=facts.rows.astype(np.float64)
        )

    def facts(self) -> dict[str, Any]:
        return {"n_kept": self.n_levels}

    def arrays(self) -> Arrays:
        return {"codes": self.levels}

    @classmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        n_levels = int(facts["n_kept"])
        must(0 <= n_levels <= len(vocabulary), "n_kept is out of bounds")
        levels = arrays.indices("codes", np.int32, len(vocabulary), 0, n_levels + 1)
        first = np.arange(len(vocabulary)) < n_levels
        must(np.array_equal(levels > 0, first), "codes are not of the first features")
        return cls(vocabulary, coloring, levels, n_levels)


class IdentityEncoding(FrequencyEncoding):
    """The same with every feature kept; once learned, it is a frequency encoding like any other."""

    @classmethod
    def learn(cls, task: Task, statistic: None) -> FrequencyEncoding:  # type: ignore[override]
        return learn_levels(task, len(task.vocabulary))


def learn_levels(task: Task, n_levels: int) -> FrequencyEncoding:
    """Number the most frequent features of each color from 1."""
    colors, n_colors = task.coloring.colors, task.coloring.n_colors
    kept = colors[:n_levels]
    order = np.argsort(kept, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(kept, minlength=n_colors))))
    levels = np.zeros(len(colors), np.int32)
    levels[order] = np.arange(n_levels) - begin[kept[order]] + 1
    return FrequencyEncoding(task.vocabulary, task.coloring, levels, n_levels)
