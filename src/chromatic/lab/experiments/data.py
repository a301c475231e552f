"""Where the rows of an experiment come from: the paper's sets in the cache, files, or a synthetic shape."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chromatic.data.batch import Batch, LeftOut
from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import learn
from chromatic.errors import InputError
from chromatic.lab.datasets.fetch import cached
from chromatic.lab.datasets.registry import data_set_of
from chromatic.lab.datasets.synthetic import check_rows, make, shape_of
from chromatic.learn.encoders import Split

SHAPE_ROWS = 20_000
TEST_SHARE = 4  # a shape has one test row for so many training rows


class Data:
    """Training and test rows as they came; call `split`, or `coded` once, for what an experiment needs."""

    def __init__(
        self, source: Source, about: str, train: list[Batch], test: list[Batch], reader: Reader
    ) -> None:
        self.name = source.name
        self.paper = source.paper  # the data set of the paper that figures are held against
        self.about = about
        self.has_fields = reader.format == "criteo"
        self.threads = reader.threads
        self.n_rows = sum(batch.n_rows for batch in train)
        self.fingerprint = _fingerprint([*train, *test], self.n_rows)
        self._batches = train, test
        self._limits = {"dense_threshold": 0.1, "keep_fields": self.has_fields}  # the paper's

    @cached_property
    def split(self) -> Split:
        """The rows with their labels, to train and to measure on."""
        return Split.of(*self._batches, self._limits, self.threads)

    def coded(self) -> tuple[Dataset, Rows]:
        """Return the coded rows, with labels or without; this can be called once."""
        train, test = self._batches
        vocabulary, rows = learn(train, **self._limits, keep_names=False, threads=self.threads)  # type: ignore[arg-type]
        return Dataset(rows, vocabulary), vocabulary.encode(test, self.threads)


@dataclass(frozen=True)
class Source:
    """A data set that can be read."""

    name: str
    paper: str | None
    kind: str  # in words
    read: Callable[[Reader], tuple[list[Batch], list[Batch]]]
    paths: list[str]  # none where rows are made
    format: str | None = None
    rows: int | None = None  # at most so many, the last of training and the first of test

    def load(self, reader: Reader) -> Data:
        """Read the rows, and describe them in `about`."""
        if self.format is not None:
            reader = replace(reader, format=self.format)
        train, test = self.read(reader)
        left_out = LeftOut.of([*train, *test])
        counts = [sum(batch.n_rows for batch in part) for part in (train, test)]
        kept = counts if self.rows is None else [min(self.rows, count) for count in counts]
        told = [
            f"{some:,} {what}" if some == count else f"the {end} {some:,} of {count:,} {what}"
            for some, count, what, end in zip(
                kept, counts, ("rows to train on", "to test on"), ("last", "first"), strict=True
            )
        ]
        train = _rows(train, counts[0] - kept[0], counts[0])
        test = _rows(test, 0, kept[1])
        told += [
            f"{count:,} {what}"
            for count, what in (
                (left_out.skipped_lines, "bad lines skipped"),
                (left_out.ignored_numbers, "query ids, importance weights or bases ignored"),
                (left_out.missing_numbers, "empty numeric cells read as 0"),
            )
            if count
        ]
        about = f"{self.kind}: {', '.join(told)}"
        return Data(self, about, train, test, reader)


def sources(
    usual: Sequence[str],
    *,
    files: tuple[str, str] | None = None,
    shapes: Sequence[str] = (),
    names: Sequence[str] = (),
    rows: int | None = None,
) -> list[Source]:
    """Return two files, or shapes, or the named sets of the paper, or all `usual` that are in the cache."""
    if sum(map(bool, (files, shapes, names))) > 1:
        raise InputError("--train and --test, --shape and --data exclude each other; expected one of them")
    if rows is not None and rows < 1:
        raise InputError(f"the rows are {rows}; expected 1 or more")
    if files is not None:
        return [_of_files(*files, rows)]
    if shapes:
        return [_of_shape(shape, rows) for shape in dict.fromkeys(shapes)]
    cached_sets = {name: _of_cache(name, rows) for name in dict.fromkeys(names or usual)}
    there = [source for source in cached_sets.values() if source is not None]
    missing = [name for name, source in cached_sets.items() if source is None]
    if missing and (names or not there):
        raise InputError(
            f"{', '.join(missing)}: not in the cache; get it with chromatic datasets get {missing[0]}, or "
            "give --train and --test, or --shape"
        )
    return there


def _of_files(train: str, test: str, rows: int | None) -> Source:
    def read(reader: Reader) -> tuple[list[Batch], list[Batch]]:
        return reader.batches(train), reader.batches(test)

    name = os.path.basename(train).split(".")[0]
    if name in ("train", "training", "tr"):  # then the folder has the name
        name = os.path.basename(os.path.dirname(os.path.abspath(train))) or name
    kind = f"{name}, {os.path.basename(train)} and {os.path.basename(test)}"
    return Source(name=name, paper=None, kind=kind, read=read, paths=[train, test], rows=rows)


def _of_shape(name: str, rows: int | None) -> Source:
    shape = shape_of(name)
    count = SHAPE_ROWS if rows is None else rows
    check_rows(count)
    full = shape.paper.rows

    def read(reader: Reader) -> tuple[list[Batch], list[Batch]]:
        with tempfile.TemporaryDirectory() as folder:
            train, test = (os.path.join(folder, f"{part}.svm") for part in ("train", "test"))
            make(shape, train, count, threads=reader.threads)
            make(shape, test, max(1, count // TEST_SHARE), count, threads=reader.threads)
            return reader.batches(train), reader.batches(test)

    kind = f"{name}, synthetic rows in its shape, where the paper's set has {full:,}"
    return Source(name=f"{name} (synthetic)", paper=name, kind=kind, read=read, paths=[], format="svmlight")


def _of_cache(name: str, rows: int | None) -> Source | None:
    data_set = data_set_of(name)
    paths = cached(data_set)
    if paths is None:
        return None

    def read(reader: Reader) -> tuple[list[Batch], list[Batch]]:
        return reader.batches(paths.train), reader.batches(paths.test)

    return Source(
        name=name,
        paper=name,
        kind=f"{name}, the paper's set",
        read=read,
        paths=[paths.train, paths.test],
        format=data_set.format,
        rows=rows,
    )


def _rows(batches: list[Batch], start: int, stop: int) -> list[Batch]:
    """Return the rows from start to stop."""
    kept, at = [], 0
    for batch in batches:
        here = np.arange(at, at + batch.n_rows)
        at += batch.n_rows
        inside = (here >= start) & (here < stop)
        if inside.all():
            kept.append(batch)
        elif inside.any():
            kept.append(batch.take(inside))
    return kept


def _fingerprint(batches: list[Batch], n_rows: int) -> str:
    """Return a hash of the rows: the same for the same data."""
    digest = hashlib.blake2b(str(n_rows).encode(), digest_size=8)

    def add(array: Any) -> None:
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)

    for batch in batches:
        tokens = batch.tokens
        for array in (np.diff(batch.indptr), batch.labels, batch.value_at, batch.values, batch.numeric):
            add(array)
        add(batch.ids if tokens is None else tokens.hashes[batch.ids])
    return digest.hexdigest()
