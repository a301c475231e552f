"""Where the rows of an experiment come from: the paper's sets in the cache, files, or a synthetic shape."""

from __future__ import annotations

import hashlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from chromatic.data.batch import Batch, LeftOut
from chromatic.data.cached import StoredBatches, parse, store
from chromatic.data.limit import MemoryLimit
from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.stored import learn_stored
from chromatic.data.tables import CRITEO
from chromatic.data.vocabulary import Vocabulary, learn
from chromatic.errors import InputError
from chromatic.lab.datasets.fetch import cached
from chromatic.lab.datasets.registry import data_set_of
from chromatic.lab.datasets.synthetic import check_rows, make, shape_of
from chromatic.learn.splits import AnySplit, Split, StoredSplit

Batches = list[Batch] | StoredBatches
SHAPE_ROWS = 20_000
TEST_SHARE = 4  # a shape has one test row for so many training rows


class Data:
    """Training and test rows as they came; call `split`, or `coded` once, for what an experiment needs."""

    def __init__(self, source: Source, about: str, train: Batches, test: Batches, how: Running) -> None:
        self.name = source.name
        self.paper = source.paper  # the data set of the paper that figures are held against
        self.is_synthetic = source.is_synthetic
        self.about = about
        self.has_fields = how.reader.format == "criteo"
        self.threads, self.device, self.memory = how.reader.threads, how.device, how.memory
        self.n_rows = _n_rows(train)
        self.fingerprint = _fingerprint((train, test), self.n_rows)
        self._batches = train, test
        # The threshold is the paper's.
        self._limits: dict[str, Any] = {"dense_threshold": 0.1, "keep_fields": self.has_fields}

    @cached_property
    def split(self) -> AnySplit[Any]:
        """The rows with their labels, to train and to measure on; on disk with a limit of memory."""
        train, test = self._batches
        if isinstance(train, list) and isinstance(test, list):
            return Split.of(train, test, self._limits, self.threads)
        assert isinstance(train, StoredBatches) and isinstance(test, StoredBatches)
        assert self.memory is not None
        return StoredSplit.of(train, test, self._limits, self.threads, self.memory)

    def coded(self) -> tuple[Dataset, Rows]:
        """Return the coded rows, with labels or without, in memory; this can be called once."""
        train, test = self._batches
        if isinstance(train, list):
            vocabulary, rows = learn(train, **self._limits, keep_names=False, threads=self.threads)
        else:
            rows, vocabulary = self._loaded(train)
        return Dataset(rows, vocabulary), vocabulary.encode(_in_memory(test), self.threads)

    def _loaded(self, train: StoredBatches) -> tuple[Rows, Vocabulary]:
        """Code rows on disk, and load them where they and their transpose fit."""
        assert self.memory is not None
        data = learn_stored(train, self.memory, **self._limits, keep_names=False, threads=self.threads)
        rows = data.rows
        needed = 2 * (4 * rows.n_entries + 8 * rows.n_rows) + 4 * rows.n_dense * rows.n_rows
        self.memory.check(needed, "a study of all rows and the pairs in them")
        return rows.load(), data.vocabulary


def _in_memory(batches: Batches) -> list[Batch]:
    return batches if isinstance(batches, list) else list(batches)


@dataclass(frozen=True)
class Running:
    """How an experiment runs: what reads its rows, where networks are trained, the limit of memory."""

    reader: Reader
    device: str = "cpu"
    memory: MemoryLimit | None = None


@dataclass(frozen=True)
class Source:
    """A data set that can be read."""

    name: str
    paper: str | None
    kind: str  # in words
    read: Callable[[Running], tuple[Batches, Batches]]
    paths: list[str]  # none where rows are made
    format: str | None = None
    rows: int | None = None  # at most so many, the last of training and the first of test
    is_synthetic: bool = False

    def load(self, how: Running) -> Data:
        """Read the rows, and describe them in `about`."""
        if self.format is not None:
            # The paper's numbers are dense, and its hashed columns are the categories.
            categorical = CRITEO[14:] if self.format == "criteo" else how.reader.categorical
            reader = replace(how.reader, format=self.format, categorical=categorical)
            how = replace(how, reader=reader)
        train, test = self.read(how)
        left_out = _left_out(train) + _left_out(test)
        counts = [_n_rows(part) for part in (train, test)]
        kept = counts if self.rows is None else [min(self.rows, count) for count in counts]
        told = [
            f"{some:,} {what}" if some == count else f"the {end} {some:,} of {count:,} {what}"
            for some, count, what, end in zip(
                kept, counts, ("rows to train on", "to test on"), ("last", "first"), strict=True
            )
        ]
        train = _taken(train, counts[0] - kept[0], counts[0], how=how, name="train")
        test = _taken(test, 0, kept[1], how=how, name="test")
        told += [
            f"{count:,} {what}"
            for count, what in (
                (left_out.skipped_lines, "bad lines skipped"),
                (left_out.ignored_numbers, "query ids or bases ignored"),
                (left_out.ignored_weights, "importance weights ignored"),
                (left_out.missing_numbers, "empty numeric cells read as 0"),
            )
            if count
        ]
        about = f"{self.kind}: {', '.join(told)}"
        return Data(self, about, train, test, how)


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
    def read(how: Running) -> tuple[Batches, Batches]:
        return _read(train, how), _read(test, how)

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

    def read(how: Running) -> tuple[Batches, Batches]:
        reader = how.reader
        with tempfile.TemporaryDirectory(dir=None if how.memory is None else how.memory.scratch) as folder:
            train, test = (os.path.join(folder, f"{part}.svm") for part in ("train", "test"))
            make(shape, train, count, threads=reader.threads)
            make(shape, test, max(1, count // TEST_SHARE), count, threads=reader.threads)
            if how.memory is None:
                return reader.batches(train), reader.batches(test)
            return (
                store(reader.stream([train]), how.memory.scratch / "made train"),
                store(reader.stream([test]), how.memory.scratch / "made test"),
            )

    kind = f"{name}, synthetic rows in its shape, where the paper's set has {full:,}"
    return Source(
        name=f"{name} (synthetic)",
        paper=name,
        kind=kind,
        read=read,
        paths=[],
        format="svmlight",
        is_synthetic=True,
    )


def _of_cache(name: str, rows: int | None) -> Source | None:
    data_set = data_set_of(name)
    paths = cached(data_set)
    if paths is None:
        return None

    def read(how: Running) -> tuple[Batches, Batches]:
        return _read(paths.train, how), _read(paths.test, how)

    return Source(
        name=name,
        paper=name,
        kind=f"{name}, the paper's set",
        read=read,
        paths=[paths.train, paths.test],
        format=data_set.format,
        rows=rows,
    )


def _read(path: str, how: Running) -> Batches:
    if how.memory is None:
        return how.reader.batches(path)
    return parse(how.reader, [path], how.memory.cache)


def _left_out(batches: Batches) -> LeftOut:
    return LeftOut.of(batches) if isinstance(batches, list) else batches.left_out


def _n_rows(batches: Batches) -> int:
    return sum(batch.n_rows for batch in batches) if isinstance(batches, list) else batches.n_rows


def _taken(batches: Batches, start: int, stop: int, how: Running, name: str) -> Batches:
    """Return the rows from start to stop; on disk where the others are."""
    if (start, stop) == (0, _n_rows(batches)):
        return batches
    rows = _rows(batches, start, stop)
    return list(rows) if how.memory is None else store(rows, how.memory.scratch / name)


def _rows(batches: Iterable[Batch], start: int, stop: int) -> Iterator[Batch]:
    """Yield the rows from start to stop."""
    at = 0
    for batch in batches:
        here = np.arange(at, at + batch.n_rows)
        at += batch.n_rows
        inside = (here >= start) & (here < stop)
        if inside.all():
            yield batch
        elif inside.any():
            yield batch.take(inside)


def _fingerprint(parts: Iterable[Batches], n_rows: int) -> str:
    """Return a hash of the rows: the same for the same data."""
    digest = hashlib.blake2b(str(n_rows).encode(), digest_size=8)

    def add(array: Any) -> None:
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)

    for batch in itertools.chain(*parts):
        tokens = batch.tokens
        for array in (np.diff(batch.indptr), batch.labels, batch.value_at, batch.values, batch.numeric):
            add(array)
        add(batch.ids if tokens is None else tokens.hashes[batch.ids])
    return digest.hexdigest()
