"""Which dense columns a budget has room for, and what becomes of the others: the one place of this rule.

Where dense columns leave no room for a sparse one, those that only say whether a feature is there become
sparse features. Of the others, which are numbers, as many stay as there is room for: those that tell most
of the label. What is left is unused: it is read, and makes no column.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import NO_FIELD
from chromatic.data.names import Names
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows, store_rows
from chromatic.data.vocabulary import Vocabulary

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEVELS = 1 << 20  # of numbers where they are correlated: sums of integers are exact in any order


@dataclass(frozen=True)
class DenseFacts:
    """What rows tell of each dense column."""

    counts: Integers  # rows in which it is not 0
    others: Integers  # rows in which it is neither 0 nor 1

    @classmethod
    def of(cls, rows: Rows | StoredRows, n_dense: int) -> DenseFacts:
        """Look over the rows."""
        counts, others = np.zeros((2, n_dense), np.int64)
        for piece in _pieces(rows):
            counts += np.count_nonzero(piece.dense, axis=0)
            others += np.count_nonzero((piece.dense != 0) & (piece.dense != 1), axis=0)
        return cls(counts, others)


@dataclass(frozen=True)
class Chosen:
    """What becomes of dense columns, by their numbers, and the vocabulary that this gives."""

    vocabulary: Vocabulary
    kept: Integers
    binned: Integers  # now sparse features
    ranks: npt.NDArray[np.uint32] | None  # codes of these and of the sparse features; None: in this order

    def recode(self, rows: Rows | StoredRows) -> Rows | StoredRows:
        """Return rows of the vocabulary before, coded by this one; stored rows go to another file."""
        if isinstance(rows, Rows):
            pieces = [self._recode(piece) for _, piece in rows.pieces()] or [self._recode(rows)]
            lengths = np.concatenate([np.diff(piece.indptr) for piece in pieces])
            return replace(
                pieces[0],
                indptr=np.concatenate(([0], np.cumsum(lengths))),
                codes=np.concatenate([piece.codes for piece in pieces]),
                labels=rows.labels,
                dense=np.concatenate([piece.dense for piece in pieces]),
                unseen_by_row=rows.unseen_by_row,
            )
        file, path = tempfile.mkstemp(prefix="rows-", dir=rows.memory.scratch)
        os.close(file)  # only its name is needed
        pieces_of_file = (self._recode(piece) for _, piece in rows.pieces())
        return store_rows(pieces_of_file, rows.n_rows, self.vocabulary, rows.memory, path)

    def _recode(self, rows: Rows) -> Rows:
        present = np.take(rows.dense, self.binned, axis=1) != 0
        more = np.concatenate(([0], np.cumsum(np.count_nonzero(present, axis=1))))
        indptr = rows.indptr + more
        of_row, binned = np.nonzero(present)
        places = rows.indptr[of_row] + np.arange(len(of_row))  # before the codes that the row had
        codes = np.empty(indptr[-1], np.uint32)
        had = np.ones(len(codes), np.bool_)
        had[places] = False
        codes[places], codes[had] = binned, rows.codes + np.uint32(len(self.binned))
        dense: Any = np.take(rows.dense, self.kept, axis=1)
        recoded = replace(
            rows,
            indptr=indptr,
            codes=codes,
            dense=dense,
            n_features=len(self.vocabulary),
            vocabulary=self.vocabulary.fingerprint,
        )
        return recoded if self.ranks is None else recoded.recoded(self.ranks)


def has_room(vocabulary: Vocabulary, budget: int) -> bool:
    """Whether a budget has room for all dense columns and, if there are sparse features, a sparse one."""
    return len(vocabulary.dense_names) + (len(vocabulary) > 0) <= budget


def chosen_for(
    vocabulary: Vocabulary, rows: Rows | StoredRows, labels: list[Floats], *, budget: int, min_count: int
) -> Chosen | None:
    """Return what becomes of the dense columns of rows; None: they pass through, all of them.

    Of several `labels`, those of each class against the others, the one that a column tells most of counts.
    """
    if has_room(vocabulary, budget):
        return None
    facts = DenseFacts.of(rows, len(vocabulary.dense_names))

    def telling(some: Integers) -> Floats:
        return np.asarray(np.max([correlations(rows, one, some) for one in labels], axis=0))

    return choose(vocabulary, facts, telling, budget=budget, min_count=min_count)


def choose(
    vocabulary: Vocabulary,
    facts: DenseFacts,
    telling: Callable[[Integers], Floats],
    *,
    budget: int,
    min_count: int,
) -> Chosen:
    """Choose among dense columns; `telling` says how much some of them tell of the label, by their places.

    The numeric columns of a table are numbers, whatever their values are.
    """
    is_number = facts.others > 0
    is_number[: len(vocabulary.numeric_names)] = True
    binned = np.flatnonzero(~is_number & (facts.counts >= min_count))
    numbers = np.flatnonzero(is_number)
    most = budget - (len(vocabulary) + len(binned) > 0)
    kept = numbers
    if len(numbers) > most:
        kept = np.sort(numbers[np.argsort(-telling(numbers), kind="stable")[:most]])
    counts = np.concatenate((facts.counts[binned], vocabulary.counts))
    order = np.argsort(-counts, kind="stable")  # only the fields of tables are not in it already
    ranks = None
    if (np.diff(order) < 0).any():
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.arange(len(order), dtype=np.uint32)
    keys, names = _taken(vocabulary, binned)
    dense_keys, dense_names = _taken(vocabulary, kept)
    unused_keys, unused_names = _taken(vocabulary, np.setdiff1d(numbers, kept))
    return Chosen(
        replace(
            vocabulary,
            keys=np.concatenate((keys, vocabulary.keys))[order],
            counts=counts[order],
            names=_joined(names, vocabulary.names, order),
            fields=_with_fields(len(binned), vocabulary.fields, order),
            dense_keys=dense_keys,
            dense_names=dense_names,
            unused_keys=unused_keys,
            unused_names=unused_names,
            dropped_features=vocabulary.dropped_features + int((~is_number).sum()) - len(binned),
        ),
        kept,
        binned,
        ranks,
    )


def correlations(rows: Rows | StoredRows, labels: Floats, columns: Integers) -> Floats:
    """Return the absolute correlations of dense columns with the label, the same for any pieces.

    >>> dense = np.array([[1.0, 5, 2], [2, 5, 0], [3, 5, 1]])
    >>> rows = Rows(np.zeros(4, np.int64), np.empty(0, np.uint32), None, dense, n_features=0, vocabulary=0)
    >>> correlations(rows, np.array([0.0, 1, 2]), np.arange(3)).tolist()
    [1.0, 0.0, 0.5]
    """
    spans = Spans.of(rows, columns).with_labels(labels)
    return Agreement.of(rows, labels, columns, spans).correlations()


class Spans(NamedTuple):
    """The least and the largest value of each of some dense columns, and of the labels."""

    low: Floats
    high: Floats
    of_labels: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, rows: Rows | StoredRows, columns: Integers) -> Spans:
        """Look over the rows."""
        spans = cls(np.full(len(columns), np.inf), np.full(len(columns), -np.inf))
        for piece in _pieces(rows):
            values = np.take(piece.dense, columns, axis=1)
            spans = spans.merged(cls(values.min(axis=0), values.max(axis=0)))
        return spans

    def merged(self, other: Spans) -> Spans:
        """Return those of all rows of both."""
        return Spans(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def with_labels(self, labels: Floats) -> Spans:
        """Return the same with the least and the largest label."""
        return self._replace(of_labels=(labels.min(), labels.max()))


@dataclass(frozen=True)
class Agreement:
    """Sums over rows that tell how dense columns and labels go together: whole numbers, of any size."""

    n_rows: int
    of_columns: npt.NDArray[Any]  # of each column, its sum, that of its squares, and of its products
    of_labels: npt.NDArray[Any]  # the sum of the labels, and that of their squares

    @classmethod
    def of(cls, rows: Rows | StoredRows, labels: Floats, columns: Integers, spans: Spans) -> Agreement:
        """Go over the rows, whose values are within spans."""
        y = _levels(labels, *spans.of_labels)
        sums, of_y, start = np.zeros((3, len(columns)), object), np.zeros(2, object), 0
        for piece in _pieces(rows):
            values: Any = np.take(piece.dense, columns, axis=1)
            x, of_rows = _levels(values, spans.low, spans.high), y[start:][: piece.n_rows]
            sums += np.stack((x.sum(axis=0), (x * x).sum(axis=0), of_rows @ x)).astype(object)
            of_y += np.array([int(of_rows.sum()), int(of_rows @ of_rows)], object)
            start += piece.n_rows
        return cls(start, sums, of_y)

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.n_rows + other.n_rows,
            self.of_columns + other.of_columns,
            self.of_labels + other.of_labels,
        )

    def correlations(self) -> Floats:
        """Return the absolute correlation of each column with the label."""
        n, (y, yy) = self.n_rows, self.of_labels
        variance = float(n * yy - y**2)
        return np.array(
            [
                abs(float(n * xy - x * y)) / max(np.sqrt(float(n * xx - x * x) * variance), 1.0)
                for x, xx, xy in self.of_columns.T
            ]
        )


def _pieces(rows: Rows | StoredRows) -> Iterator[Rows]:
    """Yield rows some at a time, also where a block of a file has many."""
    for _, block in rows.pieces():
        for _, piece in block.pieces():
            yield piece


def _levels(values: npt.NDArray[np.floating], low: npt.ArrayLike, high: npt.ArrayLike) -> Integers:
    """Return numbers between two as whole numbers up to LEVELS; halves do not overflow."""
    half_low, span = np.asarray(low) / 2, np.asarray(high) / 2 - np.asarray(low) / 2
    share = (values.astype(np.float64) / 2 - half_low) / np.where(span > 0, span, 1.0)
    return np.rint(share * LEVELS).astype(np.int64)


def _taken(vocabulary: Vocabulary, columns: Integers) -> tuple[npt.NDArray[Any], tuple[bytes, ...]]:
    """Return the keys of some dense columns, where they are features, and the names of all of them."""
    features = columns - len(vocabulary.numeric_names)
    names = tuple(vocabulary.dense_names[column] for column in columns)
    return vocabulary.dense_keys[features[features >= 0]], names


def _joined(first: tuple[bytes, ...], names: Names | None, order: Integers) -> Names | None:
    return None if names is None else Names.concatenate([Names.pack(first), names]).take(order)


def _with_fields(
    n_first: int, fields: npt.NDArray[np.int32] | None, order: Integers
) -> npt.NDArray[np.int32] | None:
    if fields is None:
        return None
    return np.concatenate((np.full(n_first, NO_FIELD, np.int32), fields))[order]
