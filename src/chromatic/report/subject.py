"""What a report is about: a model, and what test rows show of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.naming import text_of
from chromatic.encoding.protocol import ColumnFacts, Encoding
from chromatic.model import Model
from chromatic.report.observed import LabelsByColumn, Observed, labels_by_column

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_COLLIDED = 25
LONGEST_NAME = 160  # characters


@dataclass(frozen=True)
class Hint:
    """Why a section has nothing to show."""

    template: ClassVar[str] = "hint.html"

    why: str
    command: str = ""  # what to run to see more


@dataclass(frozen=True)
class Subject:
    """What a report is about."""

    name: str  # of the model's file
    model: Model
    observed: Observed | None
    label: str | None = None  # the class, where it is about one of several against the others
    first: int = 0  # of its columns among those of all classes

    @cached_property
    def parts(self) -> list[Subject]:
        """One for each of several classes against the others; else the subject itself."""
        each = self.encoding.of_classes()
        return [
            Subject(
                self.name,
                replace(self.model, encoding=part),
                None if self.observed is None else self.observed.of_class(label),
                label=label,
                first=first,
            )
            for label, part, first in each
        ] or [self]

    @property
    def n_linear(self) -> int:
        """The linear columns, of all classes."""
        return sum(one.encoding.n_sparse_columns - one.encoding.n_own_columns for one in self.parts)

    @property
    def encoding(self) -> Encoding:
        """The encoding of the model."""
        return self.model.encoding

    @cached_property
    def facts(self) -> ColumnFacts:
        """What the model knows of its columns."""
        return self.encoding.column_facts()

    @cached_property
    def order(self) -> Integers:
        """The numbers of the columns, the strongest first."""
        return np.argsort(-self.facts.strength, kind="stable")

    @cached_property
    def in_test(self) -> LabelsByColumn | None:
        """What test rows show of each column of bins."""
        if self.observed is None or self.encoding.tables.values is not None:
            return None
        return labels_by_column(self.encoding, self.observed)

    @property
    def binary(self) -> bool:
        """Whether labels are of two kinds, as far as the model or the test rows tell."""
        encoding, observed = self.encoding, self.observed
        of_kinds = encoding.prior is not None and encoding.of_numbers != encoding.name
        by_model = self.label is not None or of_kinds
        return by_model or (observed is not None and observed.positive_rate is not None)

    def needs_test(self, why: str) -> Hint:
        """Return what stands where only test rows could tell more."""
        return Hint(why, f"chromatic report {self.name} --test test.svm -o report.html")


def most_collided(observed: Observed | None) -> Integers:
    """Return the features that met a rarer one of their color in most test rows."""
    if observed is None:
        return np.empty(0, np.int64)
    order = np.argsort(-observed.collided, kind="stable")[:MOST_COLLIDED]
    return order[observed.collided[order] > 0]


def name_of(vocabulary: Vocabulary, code: int) -> str:
    """Return the name of a feature as text, cut where it is very long."""
    return shortened(vocabulary.name(code))


def shortened(name: bytes) -> str:
    """Return bytes as text, cut where it is very long.

    >>> shortened(b"caf\\xe9"), len(shortened(b"a" * 1000))
    ('caf\\\\xe9', 160)
    """
    text = text_of(name)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
