"""The one fit: the only place where its steps stand in order."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.coloring import BALANCED, MOST_COLORS, Request, palette_with
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.classes import tables_of_classes, together
from chromatic.encoding.encoded import Encoded, Tables, joined
from chromatic.encoding.linear import MOST, Linear, number_of_columns
from chromatic.encoding.protocol import Encoding, Task, warn_of_unused, warn_without_columns
from chromatic.encoding.statistics import LabelCounts, LabelMoments, Statistic
from chromatic.errors import InputError
from chromatic.fitting.kept import Kept, KeptPart, Living, Spread, as_learned_from, as_moments
from chromatic.fitting.labels import class_names, classes_of, plain_classes
from chromatic.fitting.later import MoreSource
from chromatic.fitting.source import Source
from chromatic.fitting.sources import LocalSource
from chromatic.fitting.weights import Weights
from chromatic.parameters import Settings
from chromatic.registry import encoding_class

log = logging.getLogger("chromatic")

Piece = tuple[int, Rows]  # training rows, and the number of the first

MOST_FIELDS = 64  # of a table that are colors, where nobody asked for a number of them


@dataclass(frozen=True)
class Part:
    """An encoding, and what it was learned from: the labels, or one of several classes."""

    encoding: Encoding
    task: Task
    statistic: Statistic | None
    weights: Weights | None

    @property
    def kept(self) -> KeptPart:
        """What is kept of the rows."""
        assert self.statistic is not None
        sums, task = as_moments(self.statistic), self.task
        rows, of_labels = (float(one.sum()) for one in sums.whole[:2])
        mean, variance = task.mean, task.variance
        if task.binary:  # from sums that are exact, wherever the rows are
            mean = of_labels / rows
            variance = mean * (1.0 - mean)
        residual = variance if task.residual == task.variance else task.residual
        spread = Spread(rows, mean, variance, residual)
        return KeptPart(sums, spread, None if self.weights is None else self.weights.certainty)

    def tables(self) -> Tables:
        """Return what features become in training rows."""
        if self.statistic is None or self.task.settings.leakage != "crossfit":
            return self.encoding.with_weights(self.encoding.tables)
        weights = None if self.weights is None else self.weights.by_fold
        return self.encoding.with_weights(self.encoding.by_fold(self.task, self.statistic), weights)


@dataclass(frozen=True)
class Learned:
    """What a fit found: one part or, of several classes, one for each."""

    parts: list[Part]
    classes: npt.NDArray[Any] | None  # what labels stand for; None: they are numbers, or were not used

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding of all parts."""
        labels = [] if self.classes is None else class_names(self.classes)
        return together([part.encoding for part in self.parts], labels)

    def kept(self, vocabulary: Vocabulary, weight_unit: float) -> Kept | None:
        """Return what the model keeps of its rows, where that is asked for."""
        if self.parts[0].task.settings.keep is None:
            return None
        return Kept.of([part.kept for part in self.parts], vocabulary, weight_unit)

    def tables(self) -> Tables:
        """Return what features become in training rows."""
        tables = [part.tables() for part in self.parts]
        return tables[0] if len(tables) == 1 else tables_of_classes(tables)


def learn(source: Source, settings: Settings) -> Learned:
    """Learn an encoding from the rows of a source: count, color, accumulate, learn."""
    kind: type[Encoding] = encoding_class(settings.encoding)
    uses_labels = kind.statistic is not None
    binary, classes = True, None
    if uses_labels:
        labels = _label_kind(source, kind, settings)
        binary, classes = labels != "numbers", source.settle_labels(labels)
        kind = kind if binary else encoding_class(kind.of_numbers or "")
    check_linear(kind, settings)
    check_keep(kind, settings)
    if uses_labels:
        check_weighted(source, kind, settings)
    vocabulary, each = source.count(settings), classes_of(classes)
    if uses_labels:
        vocabulary = source.choose_dense(settings)
        warn_of_unused(settings.budget, len(vocabulary.unused_names), len(vocabulary.dense_names))
    with source.coded(settings):
        coloring = source.color(coloring_request(kind, vocabulary, settings, len(each)))
        log.info("colors: %d, and %s features found none free", coloring.n_colors, f"{coloring.forced:,}")
        task = Task(vocabulary, coloring, settings, n_classes=len(each))
        if uses_labels:
            n_linear = _number_of_linear(kind, settings, task.room, coloring.n_colors, len(each))
            task = replace(task, binary=binary, n_linear=n_linear)
        _check_affordable(kind, task)
        parts = [_summed(source, kind, task, of_class) for of_class in each]
    learned = Learned(_learned(kind, parts), classes)
    encoding = learned.encoding
    log.info("columns: %d, beside the dense ones", encoding.n_sparse_columns)
    warn_without_columns(settings.budget, vocabulary, encoding.n_sparse_columns)
    return learned


class Summed(NamedTuple):
    """What an encoding is learned from."""

    task: Task
    statistic: Statistic | None
    weights: Weights | None


def _summed(source: Source, kind: type[Encoding], task: Task, of_class: int | None) -> Summed:
    """Go over the rows for the labels, or for one of several classes against the others."""
    if kind.statistic is None:
        return Summed(task, None, None)
    statistic = source.accumulate(kind, task.coloring, task.settings, of_class)
    weights = source.weigh(task.settings, of_class, binary=task.binary) if task.n_linear else None
    mean, variance = source.label_moments(statistic, of_class)
    if variance <= 0:
        raise InputError("the rows that estimate have labels of one kind; expected more rows, or crossfit")
    # What a linear model leaves of labels that are numbers; without one, nothing is known to be explained.
    left = variance if weights is None or not weights.held_out_loss else weights.held_out_loss
    residual = min(max(left, 1e-6 * variance), variance)
    return Summed(replace(task, mean=mean, variance=variance, residual=residual), statistic, weights)


def _learned(kind: type[Encoding], summed: list[Summed]) -> list[Part]:
    """Learn the encoding of each part, all within one budget."""
    tasks, statistics, _ = zip(*summed, strict=True)
    encodings = kind.learn_each(tasks, statistics)
    sums = kind.sums_collisions(summed[0].task.settings)
    return [_part(replace(one, sums=sums), told) for one, told in zip(encodings, summed, strict=True)]


def _part(encoding: Encoding, summed: Summed) -> Part:
    """Return an encoding with the linear columns that were found beside it."""
    task, statistic, weights = summed
    linear = None if weights is None else Linear.of(task.n_linear, weights)
    return Part(replace(encoding, linear=linear), task, statistic, weights)


def fit(source: LocalSource, settings: Settings) -> Fitted:
    """Fit an encoding to rows on this machine, each of which can then be encoded by the rates of others.

    >>> from chromatic.data import Reader
    >>> data = Reader().read([[f"f{i % 9}"] for i in range(90)], dense_threshold=0.5)
    >>> fit(LocalSource(data, np.arange(90) % 3 // 2), Settings(budget=4)).training.to_csr().shape
    (90, 2)
    """
    learned = learn(source, settings)
    kept = learned.kept(learned.encoding.vocabulary, source.weight_unit)
    return Fitted(learned.encoding, source, settings, learned.tables(), learned.classes, kept=kept)


def update(source: MoreSource, settings: Settings, classes: tuple[Any, ...] | None) -> Living:
    """Add the rows of a source to those of a model, whose columns keep their numbers and meanings."""
    settings = replace(settings, leakage="none")  # the columns of the rows themselves are not asked for
    source.settle_as(classes)
    parts, kind = source.parts, type(source.parts[0])
    check_weighted(source, kind, settings)
    vocabulary = source.count(settings)
    n_linear = 0 if parts[0].linear is None else parts[0].linear.n_columns
    task = Task(
        vocabulary,
        source.color(BALANCED),
        settings,
        binary=classes is not None,
        n_linear=n_linear,
        n_classes=len(parts),
    )
    updated, kinds = [], None if classes is None else np.array(classes)
    each = classes_of(kinds)
    for part, of_class in zip(parts, each, strict=True):
        summed = _summed(source, kind, task, of_class)
        assert isinstance(summed.statistic, LabelMoments)
        learned = part.updated(summed.task, as_learned_from(summed.statistic, kind))
        updated.append(_part(learned, summed))
    kept = replace(source.kept, parts=tuple(part.kept for part in updated))
    return Living(Learned(updated, kinds).encoding, kept)


@dataclass(frozen=True)
class Fitted:
    """An encoding, and the training rows that it can encode by the rates of other rows."""

    encoding: Encoding
    source: LocalSource
    settings: Settings
    tables: Tables  # what features become in training rows
    classes: npt.NDArray[Any] | None  # what labels stand for; None: they are numbers, or were not used
    kept: Kept | None = None  # what the model keeps of its rows

    @property
    def class_labels(self) -> tuple[Any, ...] | None:
        """The classes as plain values, which a file can keep."""
        return plain_classes(self.classes)

    @property
    def trains(self) -> npt.NDArray[np.bool_] | None:
        """Which rows to train on; None: all of them."""
        return None if self.source.folds is None else self.source.folds.trains

    @property
    def training_rows(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows to train on."""
        trains = self.trains
        return np.arange(self.source.rows.n_rows) if trains is None else np.flatnonzero(trains)

    def rows(self) -> Iterator[Piece]:
        """Yield the training rows as they are encoded, some at a time, each piece with its first row."""
        if self.source.folds is None:
            return self.source.rows.pieces()
        return self.source.resolved(self.encoding)

    def encode(self, piece: Piece) -> Encoded:
        """Return the columns of some training rows."""
        (start, rows), folds = piece, self.source.folds
        if folds is None:  # no labels were used, so that nothing was resolved yet
            rows = self.encoding.resolve(rows)
            return self.encoding.encode_resolved(rows, self.tables)
        by_fold = self.settings.leakage == "crossfit"
        fold = folds.of_rows[start : start + rows.n_rows] if by_fold else None
        return self.encoding.encode_resolved(rows, self.tables, fold)

    def encode_to_train_on(self, piece: Piece) -> tuple[Encoded, npt.NDArray[np.float64] | None]:
        """Return the columns and the labels of those rows of a piece that are to train on."""
        columns, labels, trains = self.encode(piece), self.source.rows.labels, self.trains
        here = slice(piece[0], piece[0] + columns.n_rows)
        labels = None if labels is None else labels[here]
        if trains is None:
            return columns, labels
        chosen = np.flatnonzero(trains[here])
        return columns.take(chosen), None if labels is None else labels[chosen]

    def pieces(self) -> Iterator[Encoded]:
        """Yield the columns of all training rows, some rows at a time."""
        return ordered_map(self.encode, self.rows(), self.source.threads)

    def to_train_on(self) -> Iterator[tuple[Encoded, npt.NDArray[np.float64] | None]]:
        """Yield the columns of the rows to train on, and their labels, some rows at a time."""
        return ordered_map(self.encode_to_train_on, self.rows(), self.source.threads)

    @cached_property
    def training(self) -> Encoded:
        """The columns of all training rows."""
        return joined(list(self.pieces()))


def _number_of_linear(
    kind: type[Encoding], settings: Settings, room: int, n_colors: int, n_classes: int
) -> int:
    """Return how many linear columns each class has.

    Where nobody asked for a number it is one of each of several classes: a learner gives every column a
    weight for each class, and the sum over all colors tells most.
    """
    own, most = int(kind.costs_columns(settings)), MOST if n_classes == 1 else 1
    return number_of_columns(settings, room // n_classes, n_colors, own=own, most=most)


def coloring_request(
    kind: type[Encoding], vocabulary: Vocabulary, settings: Settings, n_classes: int = 1
) -> Request:
    """Return what is asked of the coloring: the palette that is named, or one that suits the budget."""
    room, at_most = settings.budget - len(vocabulary.dense_names), None
    palette: int | str
    if settings.max_colors == "paper":
        palette, at_most = "proper", max(1, min(settings.budget // 2, room))
    elif settings.max_colors is not None:
        palette = settings.max_colors
    elif settings.coloring == "uniform":  # it knows best how many colors it needs
        palette = "proper"
    else:
        of_class = room // n_classes
        palette = kind.palette(
            settings, of_class - _number_of_linear(kind, settings, room, of_class, n_classes)
        )
    by_field = settings.coloring == "fields"
    if by_field and vocabulary.fields is None:
        raise InputError(
            "coloring is 'fields' and the data has none; expected a table, or features such as city=Rome"
        )
    if settings.coloring == "auto" and settings.keeps_fields and vocabulary.fields is not None:
        most = MOST_COLORS if isinstance(palette, str) else palette
        if settings.max_colors is None:  # more colors than usual, where it is fields that they are for
            most = max(most, MOST_FIELDS)
        if kind.costs_columns(settings):
            most = min(most, room - number_of_columns(settings, room, room, own=1))
        by_field, palette = palette_with(vocabulary.fields, palette, most if at_most is None else at_most)
    return Request(
        strategy="balanced" if by_field or settings.coloring == "auto" else settings.coloring,
        palette=palette,
        at_most=at_most,
        seed=settings.seed,
        fields=vocabulary.fields if by_field else None,
        min_edge_count=settings.min_edge_count,
        order=settings.order,
    )


def _label_kind(source: Source, kind: type[Encoding], settings: Settings) -> str:
    """Return what the labels are; refuse those that the encoding cannot learn from."""
    facts = source.label_facts()
    if facts is None:
        raise InputError(
            f"the {settings.encoding} encoding requires y to be passed, but the target y is None and the "
            "data has no labels; give y, or name their column"
        )
    return facts.kind(kind, settings)


def check_linear(kind: type[Encoding], settings: Settings) -> None:
    """Refuse linear columns where there are none to be had."""
    if settings.linear and kind.statistic is None:
        raise InputError(
            f"linear is {settings.linear} and the {settings.encoding} encoding has no linear columns; "
            "expected 0"
        )


def check_weighted(source: Source, kind: type[Encoding], settings: Settings) -> None:
    """Refuse weights of rows where the encoding takes none."""
    if source.has_weights and kind.weighted is None:
        raise InputError(
            f"rows have weights and the {settings.encoding} encoding takes none; expected none"
        )


def check_keep(kind: type[Encoding], settings: Settings) -> None:
    """Refuse to keep statistics where there are none."""
    if settings.keep is not None and kind.statistic not in (LabelCounts, LabelMoments):
        raise InputError(
            f"keep is {settings.keep!r} and the {settings.encoding} encoding has no sums over labels that "
            "could be kept; expected keep=None"
        )


def _check_affordable(kind: type[Encoding], task: Task) -> None:
    """Where each color costs a column, refuse more colors than the budget has columns for."""
    room, n_colors = task.room, task.coloring.n_colors
    if kind.costs_columns(task.settings) and n_colors * task.n_classes > room:
        times = f" for each of {task.n_classes} classes" if task.n_classes > 1 else ""
        raise InputError(
            f"the budget leaves {room} columns and the coloring has {n_colors:,} colors, one "
            f"column each at least{times}; expected a larger budget, or fewer colors (max_colors, or a "
            "larger min_edge_count)"
        )
