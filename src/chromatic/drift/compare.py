"""`drift`: the rows that a model was fitted on against new rows, which come as a stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.data.batch import Batch
from chromatic.data.rows import Rows
from chromatic.data.unseen import Unseen
from chromatic.data.vocabulary import Vocabulary
from chromatic.drift.columns import Counts, LabelCounts
from chromatic.drift.findings import Column, Drift, Seen, Window, columns_of, labels_of
from chromatic.drift.measures import Floats, Integers, adjusted
from chromatic.encoding.protocol import ClassPart, Encoding
from chromatic.errors import InputError
from chromatic.fitting.labels import as_in_training as labels_as
from chromatic.model import Model

FIRST_WINDOW = 100  # rows; it doubles until there are MOST_WINDOWS at most
MOST_WINDOWS = 20
BLOCK = 10_000  # rows that are counted at once


class Block(NamedTuple):
    """Rows that follow each other, within one window."""

    first: int
    rows: int
    unseen: float  # the share of each row's features that training did not have, summed
    with_unseen: int


def check_window(window: int | None) -> None:
    """Refuse a window that has no rows."""
    if window is not None and window < 1:
        raise InputError(f"the window is {window}; expected 1 row or more")


def drift(
    model: Model,
    batches: Iterable[Batch],
    labels: npt.NDArray[Any] | None = None,
    *,
    window: int | None = None,
    threads: int = 1,
) -> Drift:
    """Compare new rows with those that a model was fitted on.

    Labels come with the rows or apart; without any, rates and predictions are not compared.
    """
    check_window(window)
    vocabulary = model.encoding.vocabulary
    watch = Watch(model, labels, window)
    unseen, n_numeric = Unseen(), len(vocabulary.numeric_names)
    for rows in ordered_map(lambda batch: vocabulary.encode([batch]), batches, threads):
        unseen += Unseen.of(rows, n_numeric)
        watch.add(rows)
    unseen.warn()
    return watch.found()


class Watch:
    """Rows counted block by block; where blocks end depends on the numbers of rows only."""

    def __init__(self, model: Model, labels: npt.NDArray[Any] | None, window: int | None) -> None:
        self.model, self.apart, self.labels = model, labels is not None, labels
        self.window, self.doubles = window or FIRST_WINDOW, window is None
        encoding = model.encoding
        self.parts = encoding.of_classes() or [ClassPart("", encoding, 0)]
        self.sides = [side for one in self.parts for side in _sides_of(one.part)]
        self.of_labels: list[LabelCounts] = []
        self.times = np.zeros(len(encoding.vocabulary), np.int64)
        self.blocks: list[Block] = []
        self.n_rows, self.held = 0, list[Rows]()

    def add(self, rows: Rows) -> None:
        """Count some rows."""
        self.times += np.bincount(rows.codes, minlength=len(self.times))
        start = 0
        while start < rows.n_rows:
            here = sum(held.n_rows for held in self.held)
            stop = min(start + self._room() - here, rows.n_rows)
            self.held.append(rows.span(start, stop))
            if here + stop - start == self._room():
                self._count(joined(self.held))
            start = stop

    def _room(self) -> int:
        """Return how many rows the block at hand has when it is full."""
        return min(BLOCK, self.window - self.n_rows % self.window)

    def _count(self, rows: Rows) -> None:
        """Count a block."""
        self.held.clear()
        labels = self._labels_of(rows)
        known = np.diff(rows.indptr)
        unseen = np.zeros(rows.n_rows) if rows.unseen_by_row is None else rows.unseen_by_row
        shares = unseen / np.maximum(known + unseen, 1)
        self.blocks.append(Block(self.n_rows, rows.n_rows, float(shares.sum()), int((unseen > 0).sum())))
        for side in self.sides:
            side.add(rows)
        if labels is not None:
            several = len(self.parts) > 1
            for number, of_part in enumerate(self._of_labels()):
                of_part.add(rows, (labels == number).astype(np.float64) if several else labels)
        self.n_rows += rows.n_rows
        if self.doubles and self.n_rows >= MOST_WINDOWS * self.window:
            self.window *= 2

    def _of_labels(self) -> list[LabelCounts]:
        if not self.of_labels:
            binary = is_binary(self.model)
            self.of_labels = [LabelCounts(one.part, binary=binary) for one in self.parts]
        return self.of_labels

    def _labels_of(self, rows: Rows) -> Floats | None:
        """Return the labels of a block as numbers; None where there are none, or the model uses none."""
        if self.parts[0].part.prior is None:
            return None
        if not self.apart:
            schema = self.model.encoding.vocabulary.schema
            coded = schema is not None and bool(schema.classes)
            return None if rows.labels is None else as_in_training(rows.labels, self.model, coded=coded)
        assert self.labels is not None
        here = self.labels[self.n_rows : self.n_rows + rows.n_rows]
        if len(here) < rows.n_rows:
            raise InputError(
                f"there are more rows than the {len(self.labels):,} labels; expected one a row"
            )
        return as_in_training(here, self.model, coded=False)

    def found(self) -> Drift:
        """Return what has moved, when all rows were counted."""
        if self.held:
            self._count(joined(self.held))
        if not self.n_rows:
            raise InputError("there are no rows; expected at least one")
        if self.labels is not None and len(self.labels) > self.n_rows:
            raise InputError(f"{self.n_rows:,} rows and {len(self.labels):,} labels; expected one a row")
        vocabulary = self.model.encoding.vocabulary
        windows = np.array([block.first for block in self.blocks]) // self.window
        return Drift(
            training_rows=vocabulary.n_rows,
            rows=self.n_rows,
            window=self.window,
            unseen=sum(block.unseen for block in self.blocks) / self.n_rows,
            rows_with_unseen=sum(block.with_unseen for block in self.blocks) / self.n_rows,
            expected_unseen=expected_unseen(vocabulary, self.model.parameters.get("min_count", 1)),
            windows=self._windows(windows),
            labels=labels_of(self.parts, self.of_labels, windows, [block.rows for block in self.blocks]),
            columns=self._columns(),
        )

    def _windows(self, numbers: Integers) -> list[Window]:
        by_window = [
            np.bincount(numbers, [getattr(block, name) for block in self.blocks])
            for name in ("rows", "unseen", "with_unseen")
        ]
        return [
            Window(at * self.window, int(rows), float(unseen / rows), float(some / rows))
            for at, (rows, unseen, some) in enumerate(zip(*by_window, strict=True))
        ]

    def _columns(self) -> list[Column]:
        vocabulary = self.model.encoding.vocabulary
        expected = adjusted(vocabulary.counts)
        n = sum(side.n_columns for side in self.sides)
        stability = [side.stability(expected, self.n_rows, n) for side in self.sides]
        seen = Seen(self.model, expected / vocabulary.n_rows, self.times / self.n_rows)
        return columns_of(seen, self.sides, stability, self.of_labels, self.n_rows)


def _sides_of(part: Encoding) -> list[Counts]:
    """Return what counts the own columns of an encoding and, where it has some, the linear ones."""
    return [Counts(part, own=True), *([] if part.linear is None else [Counts(part, own=False)])]


def joined(pieces: list[Rows]) -> Rows:
    """Return rows of one vocabulary, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    lengths = np.concatenate([np.diff(piece.indptr) for piece in pieces])
    some = [
        np.zeros(piece.n_rows, np.uint32) if piece.unseen_by_row is None else piece.unseen_by_row
        for piece in pieces
    ]
    labels = [piece.labels for piece in pieces if piece.labels is not None]
    return replace(
        pieces[0],
        indptr=np.concatenate(([0], np.cumsum(lengths))),
        codes=np.concatenate([piece.codes for piece in pieces]),
        labels=np.concatenate(labels) if labels else None,
        dense=np.concatenate([piece.dense for piece in pieces]),
        unseen_by_row=np.concatenate(some),
    )


def is_binary(model: Model) -> bool:
    """Whether the labels were of kinds, not numbers; an older file does not list the kinds."""
    if model.classes is not None:
        return True
    return model.encoding.prior is not None and model.encoding.of_numbers != model.encoding.name


def as_in_training(labels: npt.NDArray[Any], model: Model, *, coded: bool) -> Floats:
    """Return labels as numbers: of kinds the place among those of training, from 0."""
    if model.classes is None and is_binary(model) and not coded:  # an older file does not list the kinds
        return np.asarray(labels > 0, np.float64)
    return labels_as(labels, model.classes, coded=coded)


def expected_unseen(vocabulary: Vocabulary, min_count: int) -> float | None:
    """Return the share of unseen features in rows like those of training; None where it is not known.

    An occurrence that were left out would be unseen where its feature has `min_count` others no more.
    """
    if min_count > 2 or not len(vocabulary):
        return None
    dropped = vocabulary.dropped_features  # each in one row, if any
    lost = dropped + min_count * int((vocabulary.counts == min_count).sum())
    return lost / (int(vocabulary.counts.sum()) + dropped)
