"""Several classes: for each of them an encoding of that class against the others.

The parts share vocabulary, coloring and folds. Their columns stand side by side: of the first class its
own and its linear ones, then those of the next. What a feature becomes is a table for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring
from chromatic.data.checked import Arrays, CheckedArrays, must
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Tables
from chromatic.encoding.layout import Layout
from chromatic.encoding.linear import Linear
from chromatic.encoding.naming import Called
from chromatic.encoding.protocol import ClassPart, ColumnFacts, Encoding, Integers, Task, Words
from chromatic.parameters import Settings
from chromatic.registry import ENCODINGS, encoding_class


@dataclass(frozen=True)
class ClassesEncoding(Encoding):
    """An encoding for each class against the others, over the same colors."""

    name = "classes"
    words = Words(columns="Columns for each class against the others.", measure="rate", first="tells most")

    parts: tuple[Encoding, ...]
    labels: tuple[str, ...]  # what the classes are called

    @classmethod
    def of(cls, parts: Sequence[Encoding], labels: Sequence[str]) -> Self:
        """Put encodings of the same vocabulary and coloring together, one for each class."""
        first = parts[0]
        return cls(first.vocabulary, first.coloring, tuple(parts), tuple(labels), sums=first.sums)

    @classmethod
    def palette(cls, settings: Settings, room: int) -> NoReturn:
        raise NotImplementedError("the encoding of each class chooses")

    @classmethod
    def learn(cls, task: Task, statistic: Any) -> NoReturn:
        raise NotImplementedError("each class is learned, then they are put together")

    def of_classes(self) -> list[ClassPart]:
        widths = [part.n_sparse_columns for part in self.parts]
        firsts = np.concatenate(([0], np.cumsum(widths)))[:-1].tolist()
        return [ClassPart(*one) for one in zip(self.labels, self.parts, firsts, strict=True)]

    @property
    def measure_key(self) -> str:  # type: ignore[override]
        return self.parts[0].measure_key

    @property
    def n_own_columns(self) -> int:
        return sum(part.n_sparse_columns for part in self.parts)

    @property
    def tables(self) -> Tables:
        return tables_of_classes([part.with_weights(part.tables) for part in self.parts])

    @property
    def absent(self) -> npt.NDArray[np.int32] | None:
        each = [(one.first, one.part.absent) for one in self.of_classes()]
        some = [np.int32(first) + absent for first, absent in each if absent is not None]
        return np.concatenate(some) if some else None

    @property
    def column_colors(self) -> Integers:
        """The color of each column, -1 where it is a linear one."""
        widths = [(part.column_colors, part.n_sparse_columns - part.n_own_columns) for part in self.parts]
        return np.concatenate([np.append(own, np.full(n_linear, -1)) for own, n_linear in widths])

    @property
    def n_bin_columns(self) -> int:
        return 0  # those of each class are followed by its linear ones

    @property
    def layout(self) -> Layout:
        return replace(super().layout, parts=tuple(part.layout for part in self.parts))

    def own_names(self, called: Called) -> list[str]:
        each = zip(self.labels, self.parts, strict=True)
        return [f"{label}/{name}" for label, part in each for name in part.column_names(called)]

    def column_facts(self) -> ColumnFacts:
        raise NotImplementedError("each class has facts of its own columns")

    # --- files and workers

    def facts(self) -> dict[str, Any]:
        linear = [None if part.linear is None else part.linear.facts() for part in self.parts]
        facts = [
            {**part.facts(), "linear": weights} for part, weights in zip(self.parts, linear, strict=True)
        ]
        return {"of": self.parts[0].name, "labels": list(self.labels), "parts": facts}

    def arrays(self) -> Arrays:
        arrays: Arrays = {}
        for number, part in enumerate(self.parts):
            own = part.arrays() | ({} if part.linear is None else part.linear.arrays())
            arrays |= {f"{number}.{name}": array for name, array in own.items()}
        return arrays

    @classmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        kind, labels, told = str(facts["of"]), facts["labels"], facts["parts"]
        must(kind in ENCODINGS, f"classes of the kind {kind!r} are unknown")
        part_class = encoding_class(kind)
        must(part_class.statistic is not None, f"the {kind} encoding has no classes")
        named = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
        must(named and 2 < len(labels) == len(told), "there is not one part for each class")
        must(len(set(labels)) == len(labels), "two classes have one name")
        sizes = len(vocabulary), len(vocabulary.dense_names)
        parts = []
        for number, of_part in enumerate(told):
            own = arrays.part(f"{number}.")
            part = part_class.of_file(vocabulary, coloring, of_part, own)
            linear = of_part["linear"]
            must(facts["sums"] or linear is None, "linear columns are without sums")
            linear = None if linear is None else Linear.of_file(linear, own, *sizes)
            parts.append(replace(part, sums=facts["sums"], linear=linear))
        return cls.of(parts, labels)

    def without_explanations(self) -> Self:
        light = super().without_explanations()
        parts = [
            replace(part.without_explanations(), vocabulary=light.vocabulary, coloring=light.coloring)
            for part in self.parts
        ]
        return replace(light, parts=tuple(parts))


def together(encodings: Sequence[Encoding], labels: Sequence[str]) -> Encoding:
    """Return the encoding of all classes, or the one that there is."""
    return encodings[0] if len(encodings) == 1 else ClassesEncoding.of(encodings, labels)


def tables_of_classes(tables: Sequence[Tables]) -> Tables:
    """Return what features become in the columns of each class, as one."""
    return Tables(np.empty((0, 1), np.int32), values=tables[0].values, of_classes=tuple(tables))
