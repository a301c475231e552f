"""Rows to train on and to test on, in memory or on disk, and the columns that encoders make of them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import Batch
from chromatic.data.cached import StoredBatches
from chromatic.data.dense import chosen_for
from chromatic.data.limit import MemoryLimit
from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.schema import Schema
from chromatic.data.stored import StoredDataset, StoredRows, code, learn_stored
from chromatic.data.vocabulary import Vocabulary, learn
from chromatic.encoding.encoded import Encoded, joined
from chromatic.errors import InputError
from chromatic.fitting import Fitted, LocalSource, fit
from chromatic.learn.targets import BINARY, Target, labels_of
from chromatic.parameters import DEFAULTS, Settings
from chromatic.registry import encoding_class

Floats = npt.NDArray[np.float64]
Pieces = Callable[[], Iterable[Encoded]]


@dataclass(frozen=True)
class Streamed:
    """Encoded rows that memory does not hold: each time they are asked for, they are encoded anew."""

    pieces: Pieces
    n_rows: int
    memory: MemoryLimit

    @cached_property
    def n_columns(self) -> int:
        return next(iter(self.pieces())).n_columns

    def to_batches(self, labels: Floats, first: int = 0, *, fold: bool = False) -> Iterator[Batch]:
        """Batches for writers, some rows at a time, as `Encoded.to_batches` gives them."""
        start = 0
        for piece in self.pieces():
            yield from piece.to_batches(labels[start : start + piece.n_rows], first, fold=fold)
            start += piece.n_rows

    def each(self, change: Callable[[Encoded], Encoded]) -> Streamed:
        """The same with other columns."""
        return replace(self, pieces=lambda: map(change, self.pieces()))

    def load(self) -> Encoded:
        """All rows in memory, where they fit: the pieces, and the whole that they are joined to."""
        size = 0
        for piece in self.pieces():
            arrays = (piece.indptr, piece.columns, piece.values, piece.dense)
            size += sum(array.nbytes for array in arrays if array is not None)
        self.memory.check(2 * size, "a learner that holds all columns")
        return joined(list(self.pieces()))


@dataclass(frozen=True)
class Pair:
    """Encoded rows to train on and to test on, with their labels."""

    train: Encoded
    y: Floats
    test: Encoded
    y_test: Floats
    field_dims: npt.NDArray[np.int64] | None = None  # of levels
    target: Target = BINARY

    def each(self, change: Callable[[Encoded], Encoded]) -> Self:
        """The same with other columns, which a function makes of those of any rows."""
        return replace(self, train=change(self.train), test=change(self.test))

    def loaded(self) -> Pair:
        """All of it in memory, as it is."""
        return self


@dataclass(frozen=True)
class StreamedPair:
    """The same where memory does not hold the rows."""

    train: Streamed
    y: Floats
    test: Streamed
    y_test: Floats
    field_dims: npt.NDArray[np.int64] | None = None
    target: Target = BINARY

    def each(self, change: Callable[[Encoded], Encoded]) -> Self:
        """The same with other columns, which a function makes of those of any rows."""
        return replace(self, train=self.train.each(change), test=self.test.each(change))

    def loaded(self) -> Pair:
        """All of it in memory, where it fits."""
        loaded = self.train.load(), self.y, self.test.load(), self.y_test
        return Pair(*loaded, field_dims=self.field_dims, target=self.target)


AnyPair = TypeVar("AnyPair", Pair, StreamedPair)


@dataclass(frozen=True)
class AnySplit(ABC, Generic[AnyPair]):
    """Training and test rows for all encoders; labels are 0 and 1, numbers of classes, or numbers."""

    target: Target
    y: Floats
    y_test: Floats
    limits: dict[str, Any]  # the dense_threshold and min_count of the vocabulary
    threads: int

    train: Dataset | StoredDataset
    test: Rows | StoredRows

    @abstractmethod
    def fitted(self, settings: Settings, threads: int = 1) -> AnyPair:
        """Fit an encoding with any settings, and encode both."""

    @property
    @abstractmethod
    def with_fields(self) -> Self:
        """The split with the columns of tables as fields, which are then never dense."""

    @abstractmethod
    def by_rows(self, encode: Callable[[Rows], Encoded]) -> AnyPair:
        """Encode the coded rows of both."""

    @abstractmethod
    def by_batches(self, encode: Callable[[list[Batch]], Encoded]) -> AnyPair:
        """Encode the rows of both as they came."""

    @abstractmethod
    def loaded_batches(self) -> list[Batch]:
        """The training rows in memory, as they came."""

    def with_room(self, budget: int) -> Self:
        """Return the split with dense columns that leave room in a budget for others."""
        data, min_count = self.train, self.limits.get("min_count", DEFAULTS.min_count)
        labels = self.target.each(self.y)
        chosen = chosen_for(data.vocabulary, data.rows, labels, budget=budget, min_count=min_count)
        if chosen is None:
            return self
        rows: Any = chosen.recode(data.rows)
        train = replace(data, rows=rows, vocabulary=chosen.vocabulary)
        return replace(self, train=train, test=chosen.recode(self.test))

    def _for(self, settings: Settings) -> Self:
        """Return the split as an encoding with these settings takes it."""
        split = self.with_fields if settings.keeps_fields else self
        uses_labels = encoding_class(settings.encoding).statistic is not None
        return split.with_room(settings.budget) if uses_labels else split

    def _fit(self, train: Dataset | StoredDataset, settings: Settings, threads: int) -> Fitted:
        """Fit an encoding to the training rows, whose labels are of a kind that is known."""
        kind: Any = self.target.kind
        return fit(LocalSource(train, self.y, threads=threads), replace(settings, target_type=kind))

    def within(self, validation: str, seed: int = 0) -> Split:
        """The training rows split again: a fifth of them, at random or the last, are the test rows.

        What is chosen on that fifth is chosen as it will be judged: the encoder does not know it.
        """
        held = held_out(len(self.y), validation, seed)
        train, test = parted(self.loaded_batches(), held)
        return Split.of(train, test, self.limits, self.threads, target_type=self.target.kind)

    @property
    def fingerprint(self) -> str:
        """Which data this is."""
        digest = hashlib.blake2b(digest_size=8)
        for rows, y in ((self.train.rows, self.y), (self.test, self.y_test)):
            for _, piece in rows.pieces():
                for array in (piece.indptr, piece.codes, piece.dense):
                    digest.update(np.ascontiguousarray(array).data)
            digest.update(np.ascontiguousarray(y).data)
        digest.update(np.ascontiguousarray(self.train.vocabulary.keys).data)
        return digest.hexdigest()

    @property
    def base_loss(self) -> float:
        """The loss on test rows of a model that knows the labels of the training rows alone."""
        return self.target.base_loss(self.y, self.y_test)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many rows there are to train on, and to test on."""
        return len(self.y), len(self.y_test)

    @property
    def vocabulary(self) -> Vocabulary:
        """The features of the training rows."""
        return self.train.vocabulary


@dataclass(frozen=True)
class Split(AnySplit[Pair]):
    """Both in memory, read once for all encoders."""

    train: Dataset
    test: Rows
    train_batches: list[Batch]  # as they came, for hashing
    test_batches: list[Batch]

    @classmethod
    def read(
        cls,
        train: Any,
        test: Any,
        reader: Reader | None = None,
        *,
        dense_threshold: float = DEFAULTS.dense_threshold,
        min_count: int = DEFAULTS.min_count,
        target_type: str = DEFAULTS.target_type,
    ) -> Split:
        """Read two data sets, the second by the vocabulary of the first."""
        reader = Reader() if reader is None else reader
        limits = {"dense_threshold": dense_threshold, "min_count": min_count}
        batches = reader.batches(train)
        others = reader.like(batches).batches(test)
        return cls.of(batches, others, limits, reader.threads, target_type=target_type)

    @classmethod
    def of(
        cls,
        train: list[Batch],
        test: list[Batch],
        limits: dict[str, Any],
        threads: int,
        *,
        target_type: str = DEFAULTS.target_type,
    ) -> Split:
        """Code two data sets by the vocabulary of the first."""
        # Coding uses the memory of the batches that it is given; hashing needs them as they came.
        copies = ([replace(batch, ids=batch.ids.copy()) for batch in part] for part in (train, test))
        vocabulary, rows = learn(next(copies), **limits, threads=threads)
        coded = vocabulary.encode(next(copies), threads)
        return cls(
            *_labels(rows.labels, coded.labels, target_type),
            limits,
            threads,
            train=Dataset(rows, vocabulary),
            test=coded,
            train_batches=train,
            test_batches=test,
        )

    def loaded_batches(self) -> list[Batch]:
        return self.train_batches

    @cached_property
    def with_fields(self) -> Split:
        if self.limits.get("keep_fields") or not _have_fields(self.train_batches[0].schema):
            return self
        limits = self.limits | {"keep_fields": True}
        both = self.train_batches, self.test_batches
        return Split.of(*both, limits, self.threads, target_type=self.target.kind)

    def fitted(self, settings: Settings, threads: int = 1) -> Pair:
        split = self._for(settings)
        fitted = self._fit(split.train, settings, threads)
        rows, encoding = fitted.training_rows, fitted.encoding
        columns = fitted.training.take(rows), self.y[rows], encoding.encode(split.test, threads)
        return Pair(*columns, self.y_test, field_dims=encoding.field_dims, target=self.target)

    def by_rows(self, encode: Callable[[Rows], Encoded]) -> Pair:
        return self._pair(encode(self.train.rows), encode(self.test))

    def by_batches(self, encode: Callable[[list[Batch]], Encoded]) -> Pair:
        return self._pair(encode(self.train_batches), encode(self.test_batches))

    def _pair(self, train: Encoded, test: Encoded) -> Pair:
        return Pair(train, self.y, test, self.y_test, target=self.target)


@dataclass(frozen=True)
class StoredSplit(AnySplit[StreamedPair]):
    """Both on disk, within a limit of memory; what is encoded is streamed."""

    train: StoredDataset
    test: StoredRows
    train_batches: StoredBatches
    test_batches: StoredBatches
    memory: MemoryLimit

    @classmethod
    def of(
        cls,
        train: StoredBatches,
        test: StoredBatches,
        limits: dict[str, Any],
        threads: int,
        memory: MemoryLimit,
        *,
        target_type: str = DEFAULTS.target_type,
    ) -> StoredSplit:
        """Code two data sets by the vocabulary of the first."""
        data = learn_stored(train, memory, **limits, threads=threads)
        coded = code(test, data.vocabulary, memory, threads, name="test rows")
        return cls(
            *_labels(data.rows.labels, coded.labels, target_type),
            limits,
            threads,
            train=data,
            test=coded,
            train_batches=train,
            test_batches=test,
            memory=memory,
        )

    @cached_property
    def with_fields(self) -> StoredSplit:
        if self.limits.get("keep_fields") or not _have_fields(self.train_batches.schema):
            return self
        limits = self.limits | {"keep_fields": True}
        both, kind = (self.train_batches, self.test_batches), self.target.kind
        return StoredSplit.of(*both, limits, self.threads, self.memory, target_type=kind)

    def loaded_batches(self) -> list[Batch]:
        needed = 24 * self.train_batches.blocks.total("entries")  # the rows, their parts, and these coded
        self.memory.check(needed, "choosing on held-out rows")
        return list(self.train_batches)

    def fitted(self, settings: Settings, threads: int = 1) -> StreamedPair:
        split = self._for(settings)
        fitted = self._fit(split.train, settings, threads)
        y = self.y if fitted.trains is None else self.y[fitted.trains]

        def train() -> Iterator[Encoded]:
            return (columns for columns, _ in fitted.to_train_on())

        pair = self._pair(train, lambda: map(fitted.encoding.encode, _rows_of(split.test)))
        return replace(
            pair,
            train=replace(pair.train, n_rows=len(y)),
            y=y,
            field_dims=fitted.encoding.field_dims,
        )

    def by_rows(self, encode: Callable[[Rows], Encoded]) -> StreamedPair:
        return self._pair(
            lambda: map(encode, _rows_of(self.train.rows)), lambda: map(encode, _rows_of(self.test))
        )

    def by_batches(self, encode: Callable[[list[Batch]], Encoded]) -> StreamedPair:
        return self._pair(
            lambda: (encode([batch]) for batch in self.train_batches),
            lambda: (encode([batch]) for batch in self.test_batches),
        )

    def _pair(self, train: Pieces, test: Pieces) -> StreamedPair:
        sides = (
            Streamed(pieces, len(y), self.memory) for pieces, y in ((train, self.y), (test, self.y_test))
        )
        return StreamedPair(next(sides), self.y, next(sides), self.y_test, target=self.target)


def _have_fields(schema: Schema | None) -> bool:
    return schema is not None and bool(schema.categories)


def held_out(n_rows: int, validation: str, seed: int = 0) -> npt.NDArray[np.bool_]:
    """Which rows are held out of some: a fifth of them, at random or the last.

    >>> held_out(6, "last").tolist()
    [False, False, False, False, False, True]
    """
    last = np.arange(n_rows) >= n_rows - n_rows // 5
    return np.random.default_rng(seed).permutation(last) if validation == "random" else last


def parted(batches: list[Batch], held: npt.NDArray[np.bool_]) -> tuple[list[Batch], list[Batch]]:
    """Return the rows that are not held out, and those that are."""
    ends = np.cumsum([batch.n_rows for batch in batches])
    parts = list(zip(batches, np.split(held, ends[:-1]), strict=True))
    left, out = ([batch.take(mask == side) for batch, mask in parts] for side in (False, True))
    return left, out


def _rows_of(stored: StoredRows) -> Iterator[Rows]:
    return (rows for _, rows in stored.pieces())


def _labels(train: Any, test: Any, target_type: str) -> tuple[Target, Floats, Floats]:
    if train is None or test is None:
        where = "training" if train is None else "test"
        raise InputError(f"the {where} rows have no labels; expected labels in both sets")
    return labels_of(train, test, target_type)
