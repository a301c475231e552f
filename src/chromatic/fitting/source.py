"""What a source is: training rows, in memory, on disk or on Spark.

A source counts features, codes rows, colors them and accumulates a statistic over them. `fit` says in
which order, and knows nothing of where the rows are.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring, Request
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.statistics import Statistic
from chromatic.fitting.labels import LabelFacts
from chromatic.fitting.weights import Weights
from chromatic.parameters import Settings


def n_several(vocabulary: Vocabulary, n_folds: int) -> int:
    """Return how many features may be in several of the vocabulary's own rows.

    Those after them are in one: codes descend with counts, but for the fields of tables.
    """
    if n_folds == 1 or vocabulary.fields is not None:
        return len(vocabulary)
    return int(np.searchsorted(-vocabulary.counts, -1))


class Source(ABC):
    """Training rows, wherever they are. The methods are called in the order in which they stand here."""

    has_weights: bool = False  # whether rows have weights

    @abstractmethod
    def label_facts(self) -> LabelFacts | None:
        """Look over the labels; None where there are none."""

    @abstractmethod
    def settle_labels(self, kind: str) -> npt.NDArray[Any] | None:
        """Take the labels as what they are, and return the classes; None where they are numbers."""

    @abstractmethod
    def count(self, settings: Settings) -> Vocabulary:
        """Count the features, and code the rows by the vocabulary that this gives."""

    @abstractmethod
    def choose_dense(self, settings: Settings) -> Vocabulary:
        """Choose among dense columns where they leave no room for others (`data.dense`)."""

    @contextlib.contextmanager
    def coded(self, settings: Settings) -> Iterator[None]:
        """Hold the coded rows for the time of the block, in which they are read several times."""
        yield

    @abstractmethod
    def color(self, request: Request) -> Coloring:
        """Color the features."""

    @abstractmethod
    def accumulate(
        self, kind: type[Encoding], coloring: Coloring, settings: Settings, of_class: int | None = None
    ) -> Statistic:
        """Sum the statistic of an encoding over the rows, resolved as the encoding resolves them.

        Of several classes, the labels are whether a row is of one of them.
        """

    def weigh(self, settings: Settings, of_class: int | None = None, *, binary: bool) -> Weights:
        """Find the weights of features in a linear model over all of them."""
        raise NotImplementedError

    def label_moments(self, statistic: Statistic, of_class: int | None = None) -> tuple[float, float]:
        """Return the mean and the variance of the labels of the rows that estimate."""
        return statistic.label_moments()
