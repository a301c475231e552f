"""What an encoding is: the one protocol that fit, files, reports, Spark and the estimator work by.

An encoding says what each feature becomes (`tables`), and everything that encodes rows follows from that.
Beside it, it says how it learns, what a file keeps of it, and what a column means. Nothing outside an
encoding's own module asks which encoding it is.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring, represent
from chromatic.data.checked import Arrays, CheckedArrays
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded, Tables
from chromatic.encoding.information import Information
from chromatic.encoding.layout import Layout
from chromatic.encoding.linear import Linear
from chromatic.encoding.naming import Called, labels, with_details
from chromatic.encoding.statistics import LabelMoments, Statistic
from chromatic.errors import InputWarning
from chromatic.parameters import Settings

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """What an encoding learns from, beside its statistic."""

    vocabulary: Vocabulary
    coloring: Coloring
    settings: Settings
    binary: bool = False  # whether labels are 0 and 1
    mean: float = 0.0  # of the labels of the rows that estimate
    variance: float = 0.0
    residual: float = 0.0  # the variance that the linear model leaves of labels that are numbers
    n_linear: int = 0  # linear columns, of each class
    n_classes: int = 1  # that compete for one budget

    @property
    def room(self) -> int:
        """The columns that the budget leaves beside the dense and the linear ones."""
        return self.settings.budget - len(self.vocabulary.dense_names) - self.n_linear * self.n_classes


def warn_of_unused(budget: int, n_unused: int, n_kept: int) -> None:
    """Warn where there are dense columns that the budget has no room for."""
    if n_unused:
        told = (
            f"{n_unused:,} of {n_unused + n_kept:,} dense columns are left out, as the budget is {budget}; "
            "expected a larger budget to keep them"
        )
        warnings.warn(told, InputWarning, stacklevel=2)


def warn_without_columns(budget: int, vocabulary: Vocabulary, n_sparse_columns: int) -> None:
    """Warn where sparse features make no column, or where there is no feature at all."""
    n_dense = len(vocabulary.dense_names)
    if n_sparse_columns or (n_dense and not len(vocabulary)):
        return
    none_of = f"none of {len(vocabulary):,} sparse features makes a column"
    if not len(vocabulary):
        told = "there are no columns, as no feature is in min_count rows; expected a lower min_count"
    elif budget <= n_dense:
        told = (
            f"{none_of}, as dense columns take the whole budget of {budget}; expected a larger budget, or "
            "a higher dense_threshold"
        )
    else:
        told = f"{none_of}, as none tells more of the label than a column costs; min_gain=0 asks for less"
    warnings.warn(told, InputWarning, stacklevel=2)


@dataclass(frozen=True)
class Words:
    """How people speak of an encoding's columns."""

    columns: str  # what a column is, in a sentence or two
    measure: str  # the number that tells features apart, a rate for example
    first: str  # the order of columns that shows the most telling ones first
    extremes: str = ""  # what is highest or lowest in a column; "": such an order makes no sense


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of an encoding's own columns, by their numbers."""

    colors: Integers
    rows: Integers  # of training that the column tells something of
    measure: Floats  # the mean over these rows
    features: Integers  # how many the column stands for
    absent: Integers  # the rows among them that have no feature of the color
    strength: Floats  # how much the column tells: a report lists the strongest first


def parts_of(encoding: Encoding) -> list[Encoding]:
    """Return the encoding of each of several classes, or the one that there is."""
    return [one.part for one in encoding.of_classes()] or [encoding]


class ClassPart(NamedTuple):
    """The columns of one class against the others."""

    label: str  # what the class is called
    part: Encoding
    first: int  # of its columns


@dataclass(frozen=True)
class Encoding(ABC):
    """A fitted encoding.

    A subclass is a frozen dataclass whose fields are arrays and plain values, so that it can be pickled,
    compared and sent to workers. docs/adding-an-encoding.md adds one, step by step.
    """

    vocabulary: Vocabulary
    coloring: Coloring
    sums: bool = field(default=False, kw_only=True)  # whether features that share a color all count
    linear: Linear | None = field(default=None, kw_only=True)  # columns of weights beside its own

    name: ClassVar[str]  # in model files
    statistic: ClassVar[type[Statistic] | None] = None  # what is summed over rows; None: no labels are used
    weighted: ClassVar[type[LabelMoments] | None] = None  # the same for rows with weights
    of_numbers: ClassVar[str | None] = None  # the encoding that learns from numbers; None: there is none
    gives_levels: ClassVar[bool] = False  # whether columns hold integers for embeddings
    measure_key: ClassVar[str] = "value"  # what `measure` is called in explanations
    words: ClassVar[Words]

    # --- learning

    @classmethod
    @abstractmethod
    def palette(cls, settings: Settings, room: int) -> int:
        """Return how many colors suit the columns that there is room for, where none are asked for."""

    @classmethod
    def costs_columns(cls, settings: Settings) -> bool:
        """Return whether each color costs at least one column of the budget."""
        return False

    @classmethod
    def sums_collisions(cls, settings: Settings) -> bool:
        """Return whether features of a row that share a color all count; levels cannot be summed."""
        return settings.collisions == "sum" and not cls.gives_levels

    @classmethod
    @abstractmethod
    def learn(cls, task: Task, statistic: Any) -> Self:
        """Learn the encoding from the statistic of all rows; None where it has no statistic."""

    @classmethod
    def learn_each(cls, tasks: Sequence[Task], statistics: Sequence[Any]) -> list[Self]:
        """Learn an encoding for each of several classes, against the others, within one budget."""
        return [cls.learn(task, statistic) for task, statistic in zip(tasks, statistics, strict=True)]

    def updated(self, task: Task, statistic: Any) -> Self:
        """Return the encoding after more rows: its columns keep their numbers and what they stand for."""
        return replace(type(self).learn(task, statistic), sums=self.sums, linear=self.linear)

    def by_fold(self, task: Task, statistic: Any) -> Tables:
        """Return what each feature becomes in each fold, by the labels of the other folds."""
        return self.tables

    # --- rows

    @property
    @abstractmethod
    def n_own_columns(self) -> int:
        """The number of columns that the encoding makes of sparse features; linear ones come after them."""

    @property
    def n_sparse_columns(self) -> int:
        """The number of columns that come from sparse features."""
        return self.n_own_columns + (0 if self.linear is None else self.linear.n_columns)

    @property
    @abstractmethod
    def tables(self) -> Tables:
        """What each feature becomes in the encoding's own columns, by the labels of all rows."""

    @property
    def absent(self) -> npt.NDArray[np.int32] | None:
        """The column of each color where a row has none of its features; None: no column."""
        return None

    @property
    def n_kept(self) -> int:
        """How many features play a part; those after them are as if unseen."""
        return len(self.vocabulary)

    def resolve(self, rows: Rows, threads: int = 1) -> Rows:
        """Return the rows with the features that play a part: of a color the rarest, or all of them."""
        self.coloring.check(rows)
        kept = rows.truncated(self.n_kept)
        return kept if self.sums else represent(kept, self.coloring, threads)[0]

    def encode(self, rows: Rows, threads: int = 1) -> Encoded:
        """Return the columns of rows that the vocabulary codes."""
        return self.encode_resolved(self.resolve(rows, threads))

    def encode_resolved(
        self, rows: Rows, tables: Tables | None = None, fold: npt.NDArray[np.int32] | None = None
    ) -> Encoded:
        """Return the columns of resolved rows, by other tables where these are given."""
        tables = self.with_weights(self.tables) if tables is None else tables
        return self.layout.encode(rows, self.coloring.colors, tables, fold)

    @property
    def layout(self) -> Layout:
        """How the columns stand, whatever features become."""
        n_linear = self.n_sparse_columns - self.n_own_columns
        return Layout(self.sums, self.coloring.n_colors, self.n_own_columns, n_linear, self.absent)

    def with_weights(self, tables: Tables, weights: npt.NDArray[np.float32] | None = None) -> Tables:
        """Return tables with the weights of linear columns: those of the folds, or those by all rows."""
        if self.linear is None:
            return tables
        return tables._replace(weights=self.linear.weights[:, None] if weights is None else weights)

    # --- columns

    def of_classes(self) -> list[ClassPart]:
        """Return the parts of an encoding of several classes, in the order of their columns; else none."""
        return []

    @property
    def column_colors(self) -> Integers:
        """The color of each of the encoding's own columns."""
        return np.arange(self.coloring.n_colors)

    @property
    def n_bin_columns(self) -> int:
        """How many columns, the first ones, are of bins and so mostly 0."""
        return self.n_own_columns if self.tables.values is None else 0

    @property
    def field_dims(self) -> Integers | None:
        """How many levels each color has, 0 included; None where columns do not hold levels."""
        return None

    @property
    def plain_names(self) -> list[str]:
        """A name for each own column where the names of features were not kept."""
        return [f"color{color}" for color in range(self.n_own_columns)]

    def column_details(self) -> list[str]:
        """Return what the name of each own column says beside its features: what the column holds."""
        return [self.name] * self.n_own_columns

    def own_names(self, called: Called) -> list[str]:
        """Return a name for each own column; `called` says what people call a feature."""
        found = labels(self.vocabulary, self.tables.of_features, self.n_own_columns, called)
        absent = set() if self.absent is None else set(self.absent.tolist())
        if absent or None in found:
            of_colors = labels(self.vocabulary, self.coloring.colors, self.coloring.n_colors, called)
            for column, color in enumerate(self.column_colors.tolist()):
                own, of_color = found[column], of_colors[color]
                if column in absent and of_color is not None:
                    found[column] = f"none_of_{of_color}" if own is None else f"{own}|none"
                elif own is None:
                    found[column] = of_color
        return with_details(found, self.column_details(), self.plain_names)

    def column_names(self, called: Called) -> list[str]:
        """Return a name for each column that comes from sparse features."""
        if self.linear is None:
            return self.own_names(called)
        n, groups = self.linear.n_columns, self.linear.columns_of(self.coloring.colors)
        plain = [f"linear{group}" for group in range(n)]
        found = labels(self.vocabulary, groups, n, called)
        return self.own_names(called) + with_details(found, ["linear"] * n, plain)

    @property
    def measure(self) -> Floats:
        """The number that tells the features of a color apart."""
        values = self.tables.values
        return np.ones(len(self.vocabulary)) if values is None else values[:, 0].astype(np.float64)

    @property
    def smoothed(self) -> Floats | None:
        """The smoothed rate or mean of each feature, where its measure is another; None: it is not told."""
        return None

    @property
    def observed(self) -> Floats | None:
        """The rate of each feature before smoothing, NaN where unknown; None: nothing is smoothed."""
        return None

    @property
    def label_means(self) -> Floats | None:
        """The smoothed rate or mean label of each feature; None: the model does not tell it."""
        if self.prior is None or (self.smoothed is None and self.tables.values is not None):
            return None
        return self.measure if self.smoothed is None else self.smoothed

    @property
    def smoothing(self) -> float | None:
        """The pseudo-count of the overall rate; None where nothing was smoothed by one."""
        return None

    # --- what a report says

    @property
    def prior(self) -> float | None:
        """The mean of the labels; None where no labels were used."""
        return None

    @property
    def absent_measure(self) -> Floats:
        """The measure of each absent color, where that makes a column."""
        return np.zeros(self.coloring.n_colors)

    @property
    def absent_rows(self) -> Integers:
        """The training rows without any feature of each color, where that makes a column."""
        return np.zeros(self.coloring.n_colors, np.int64)

    def column_facts(self) -> ColumnFacts:
        """Return what is known of each of the encoding's own columns."""
        counts, n, column = self.vocabulary.counts, self.n_own_columns, self.tables.of_features
        some = column >= 0
        weights = counts.astype(np.float64), counts * self.measure, counts * np.abs(self.measure)
        rows, sums, strength = (
            np.bincount(column[some], one[some], n).astype(np.float64) for one in weights
        )
        absent = np.zeros(n, np.int64)
        if self.absent is not None:
            absent[self.absent] = self.absent_rows
            rows += absent
            sums[self.absent] += absent[self.absent] * self.absent_measure
        return ColumnFacts(
            colors=self.column_colors,
            rows=rows.astype(np.int64),
            measure=sums / np.maximum(rows, 1),
            features=np.bincount(column[some], minlength=n),
            absent=absent,
            strength=strength,
        )

    def information(self) -> Information | None:
        """Return what columns tell of the label against their number, where they are chosen by that."""
        return None

    # --- files and workers

    def facts(self) -> dict[str, Any]:
        """Return the plain values that a file keeps."""
        return {}

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return the arrays that a file keeps."""

    @classmethod
    @abstractmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        """Return the encoding that a file keeps; everything that indexes something else is checked."""

    def without_explanations(self) -> Self:
        """Return the encoding without what only people need: names, for example."""
        return replace(
            self,
            vocabulary=replace(self.vocabulary, names=None),
            coloring=replace(self.coloring, forbidden=np.empty(0, np.int32)),
        )
