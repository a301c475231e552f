"""Data larger than memory: parsed once into a file of batches, coded into a file of rows.

The batches are kept in the cache folder and serve the next run over the same files; the coded rows
are there for one run. Memory holds the vocabulary, the labels, and one block of either file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._files import is_stream, replacing, scratch_folder
from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, LeftOut
from chromatic.data.blocks import Blocks
from chromatic.data.counting import Extent, count
from chromatic.data.limit import Limit, MemoryLimit
from chromatic.data.needed import bytes_of_blocks, checked_extent
from chromatic.data.packing import arrays_of, batch_of, indptr_of
from chromatic.data.reader import Reader
from chromatic.data.rows import Rows
from chromatic.data.schema import Schema
from chromatic.data.values import ValueBins, learn_bins
from chromatic.data.vocabulary import Vocabulary, check_limits, of_counts
from chromatic.errors import InputError
from chromatic.parameters import DEFAULTS

log = logging.getLogger("chromatic")

VERSION = 2  # of the file of batches
HEAD = 1 << 16  # bytes of a file that must be the same


@dataclass(frozen=True)
class StoredBatches:
    """Batches in a file, in their order."""

    blocks: Blocks
    schema: Schema | None = None

    @property
    def numeric_names(self) -> tuple[bytes, ...]:
        return () if self.schema is None else self.schema.numeric_names

    @property
    def field_names(self) -> tuple[bytes, ...]:
        return () if self.schema is None else self.schema.field_names

    def __iter__(self) -> Iterator[Batch]:
        for i in range(len(self.blocks)):
            try:
                arrays, facts = self.blocks.read(i), self.blocks.index[i]
            except InputError:  # the next run is to parse anew
                Path(self.blocks.path).with_name("index.json").unlink(missing_ok=True)
                raise
            yield replace(
                batch_of(arrays),
                numeric_names=self.numeric_names,
                field_names=self.field_names,
                skipped_lines=facts["skipped"],
                ignored=facts["ignored"],
                missing=facts["missing"],
                schema=self.schema,
            )

    @property
    def left_out(self) -> LeftOut:
        return LeftOut(*(self.blocks.total(fact) for fact in ("skipped", "ignored", "missing")))

    @property
    def have_values(self) -> bool:
        """Whether any feature has a value other than 1."""
        return any(block["arrays"]["value_at"][1] != [0] for block in self.blocks.index)

    @property
    def n_rows(self) -> int:
        return self.blocks.total("rows")


@dataclass(frozen=True)
class StoredRows:
    """Coded rows in a file: the other form of `Rows`, where memory does not hold them."""

    blocks: Blocks
    labels: npt.NDArray[np.float64] | None
    counts: npt.NDArray[np.int64]  # how many rows each feature has
    n_dense: int
    vocabulary: int  # the fingerprint of the vocabulary that codes the rows
    memory: MemoryLimit
    ranks: npt.NDArray[np.uint32] | None = None  # of features in another order, to be their codes

    def in_order(self, features: npt.NDArray[np.int64]) -> StoredRows:
        """The rows with features coded by their place in this order; each pass codes them anew."""
        ranks = np.empty(self.n_features, np.uint32)
        ranks[features] = np.arange(self.n_features, dtype=np.uint32)
        return replace(self, counts=self.counts[features], ranks=ranks)

    @property
    def n_features(self) -> int:
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        return self.blocks.total("rows")

    @property
    def n_entries(self) -> int:
        return self.blocks.total("entries")

    @property
    def largest_nnz(self) -> int:
        return self.blocks.largest("largest")

    @property
    def average_nnz(self) -> float:
        """Sparse features per row."""
        return self.n_entries / self.n_rows if self.n_rows else 0.0

    @property
    def pairs_per_row(self) -> float:
        """Pairs of sparse features that share a row, a row."""
        pairs = sum(piece.pairs_per_row * piece.n_rows for _, piece in self.pieces())
        return pairs / self.n_rows if self.n_rows else 0.0

    @property
    def elided_values(self) -> int:
        return self.blocks.total("elided")

    def pieces(self) -> Iterator[tuple[int, Rows]]:
        """The rows a block at a time, each with the number of its first row."""
        start = 0
        for i in range(len(self.blocks)):
            arrays = self.blocks.read(i)
            stop = start + len(arrays["lengths"])
            rows = Rows(
                indptr=indptr_of(arrays["lengths"]),
                codes=arrays["codes"],
                labels=None if self.labels is None else self.labels[start:stop],
                dense=arrays["dense"],
                n_features=self.n_features,
                vocabulary=self.vocabulary,
                elided_values=self.blocks.index[i]["elided"],
            )
            yield start, rows if self.ranks is None else rows.recoded(self.ranks)
            start = stop

    def load(self) -> Rows:
        """All of them in memory."""
        lengths = np.empty(self.n_rows, np.uint32)
        codes = np.empty(self.n_entries, np.uint32)
        wide = any(block["arrays"]["dense"][0] == "<f8" for block in self.blocks.index)
        dense = np.empty((self.n_rows, self.n_dense), np.float64 if wide else np.float32)
        at = 0
        for start, piece in self.pieces():
            here = slice(start, start + piece.n_rows)
            lengths[here], dense[here] = np.diff(piece.indptr), piece.dense
            codes[at : at + len(piece.codes)] = piece.codes
            at += len(piece.codes)
        return Rows(
            indptr=indptr_of(lengths),
            codes=codes,
            labels=self.labels,
            dense=dense,
            n_features=self.n_features,
            vocabulary=self.vocabulary,
            elided_values=self.elided_values,
        )


@dataclass(frozen=True)
class StoredDataset:
    """Coded rows in a file, the vocabulary that codes them, and what reading left out."""

    rows: StoredRows
    vocabulary: Vocabulary
    left_out: LeftOut


def read_stored(
    reader: Reader,
    paths: list[str],
    memory: MemoryLimit,
    *,
    dense_threshold: float = DEFAULTS.dense_threshold,
    min_count: int = DEFAULTS.min_count,
    distinct_values: bool = False,
    keep_names: bool = True,
    keep_fields: bool = False,
    name_fields: bool = False,
    later: Callable[[int], int] = lambda n_features: 0,
) -> StoredDataset:
    """Read and code files as `Reader.read` does, from disk to disk.

    `later` tells what the steps after this one need for so many features, beside the vocabulary.
    """
    check_limits(dense_threshold, min_count)
    return learn_stored(
        parse(replace(reader, memory=memory), paths, memory.cache),
        memory,
        later=later,
        dense_threshold=dense_threshold,
        min_count=min_count,
        distinct_values=distinct_values,
        keep_names=keep_names,
        keep_fields=keep_fields,
        name_fields=name_fields,
        threads=reader.threads,
    )


def learn_stored(
    batches: StoredBatches,
    memory: MemoryLimit,
    *,
    dense_threshold: float = DEFAULTS.dense_threshold,
    min_count: int = DEFAULTS.min_count,
    distinct_values: bool = False,
    later: Callable[[int], int] = lambda n_features: 0,
    threads: int = 1,
    **options: Any,
) -> StoredDataset:
    """The vocabulary of stored batches and the rows that it codes, as `learn` finds them."""
    extent, bins = checked_extent(batches, memory, threads, later), None
    if distinct_values and batches.have_values:
        bins = learn_bins(batches, dense_threshold, memory=memory)
        extent = replace(extent, integers=False)  # a value and its feature have a name
    options |= {"dense_threshold": dense_threshold, "min_count": min_count, "threads": threads}
    vocabulary = _learn(batches, bins, extent=extent, **options)
    rows = code(batches, vocabulary, memory, threads)
    without_tables = replace(vocabulary)  # that coding made, and that will be made anew if need be
    return StoredDataset(rows, without_tables, batches.left_out)


def parse(reader: Reader, paths: list[str], folder: Path) -> StoredBatches:
    """The batches of files, from the folder where they are there already, else parsed into it.

    Standard input and other pipes are read once, and never found again.
    """
    reading = [reader.format, reader.features, reader.label, reader.label_unread, reader.on_bad_line]
    reading += [reader.categorical, reader.delimiter, reader.header]
    known = None if reader.schema is None else reader.schema.facts()
    asked = [VERSION, [os.path.abspath(path) for path in paths], reading, known]
    place = folder / hashlib.blake2b(json.dumps(asked).encode(), digest_size=12).hexdigest()
    files = None if any(map(is_stream, paths)) else [_facts_of(path) for path in paths]
    cached = _reuse(place, files) if files is not None else None
    if cached is not None and (reader.memory is None or _fits(cached, reader.memory, reader.threads)):
        log.info("the rows of %s are taken from the cache, %s", ", ".join(paths), place)
        if cached.schema is not None:
            cached.schema.tell()
        return cached
    with scratch_folder(folder) as scratch:
        stored = store(reader.stream(paths), scratch / "batches")
        facts = {
            "files": files,
            "size": os.path.getsize(scratch / "batches"),
            "schema": None if stored.schema is None else stored.schema.facts(),
            "blocks": stored.blocks.index,
        }
        if files is not None:
            with replacing(scratch / "index.json") as file:
                file.write(json.dumps(facts).encode())
            made = scratch / "made"
            made.mkdir()
            for name in ("batches", "index.json"):
                os.rename(scratch / name, made / name)
            shutil.rmtree(place, ignore_errors=True)
            os.rename(made, place)
    return stored


def _facts_of(path: str) -> list[Any]:
    """What tells that a file is the same: its size, its time and its head."""
    try:
        with open(path, "rb") as file:
            facts = os.fstat(file.fileno())
            return [facts.st_size, facts.st_mtime_ns, hashlib.blake2b(file.read(HEAD)).hexdigest()]
    except OSError:
        return []  # reading it will say what is wrong


def _reuse(place: Path, files: list[Any]) -> StoredBatches | None:
    try:
        facts = json.loads((place / "index.json").read_bytes())
        if facts["files"] != files or facts["size"] != os.path.getsize(place / "batches"):
            return None
        schema = None if facts["schema"] is None else Schema.of_facts(facts["schema"])
        return StoredBatches(Blocks(place / "batches", facts["blocks"]), schema)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(batches: Iterable[Batch], path: Path) -> StoredBatches:
    """Write batches to a file, one by one."""
    blocks = Blocks(path)
    schema: Schema | None = None
    for batch in batches:
        schema = batch.schema
        blocks.append(
            arrays_of(batch),
            rows=batch.n_rows,
            entries=len(batch.ids),
            names=int(batch.has_names),
            largest=int(batch.ids.max(initial=0)),
            skipped=batch.skipped_lines,
            ignored=batch.ignored,
            missing=batch.missing,
        )
    return StoredBatches(blocks, schema)


def _fits(batches: StoredBatches, memory: Limit, threads: int) -> bool:
    """Whether blocks that were made with more memory can be read with this."""
    return bytes_of_blocks(batches, threads) <= max(0, memory.left() // 2)


@dataclass(frozen=True)
class _Binned:
    """Batches whose values are features, as often as one goes over them."""

    batches: StoredBatches
    bins: ValueBins

    def __iter__(self) -> Iterator[Batch]:
        return map(self.bins.apply, self.batches)


def _learn(
    batches: StoredBatches,
    bins: ValueBins | None,
    *,
    extent: Extent,
    keep_fields: bool = False,
    **options: Any,
) -> Vocabulary:
    """The vocabulary of batches; with bins, values are features of their own."""
    vocabulary, _, _ = of_counts(
        count(batches if bins is None else _Binned(batches, bins), extent=extent),
        integers=extent.integers,
        n_rows=batches.n_rows,
        keep_fields=keep_fields,
        numeric_names=batches.numeric_names,
        **options,
    )
    field_names = batches.field_names if keep_fields else ()
    field_names = vocabulary.field_names or field_names
    return replace(vocabulary, bins=bins, field_names=field_names, schema=batches.schema)


def code(
    batches: StoredBatches, vocabulary: Vocabulary, memory: MemoryLimit, threads: int, name: str = "rows"
) -> StoredRows:
    """The rows of batches by a vocabulary, in a file of that name in the scratch folder."""
    pieces = ordered_map(lambda batch: vocabulary.encode([batch]), batches, threads)
    return store_rows(pieces, batches.n_rows, vocabulary, memory, memory.scratch / name)


def store_rows(
    pieces: Iterable[Rows], n_rows: int, vocabulary: Vocabulary, memory: MemoryLimit, path: str | Path
) -> StoredRows:
    """Write rows that a vocabulary codes to a file, some at a time."""
    coded, labels, start, labelled = Blocks(path), np.empty(n_rows), 0, False
    for rows in pieces:
        lengths = np.diff(rows.indptr).astype(np.uint32)
        coded.append(
            {"lengths": lengths, "codes": rows.codes, "dense": rows.dense},
            rows=rows.n_rows,
            entries=len(rows.codes),
            largest=rows.largest_nnz,
            elided=rows.elided_values,
        )
        if rows.labels is not None:
            labelled = True
            labels[start : start + rows.n_rows] = rows.labels
        start += rows.n_rows
    return StoredRows(
        blocks=coded,
        labels=labels if labelled else None,
        counts=vocabulary.counts,
        n_dense=len(vocabulary.dense_names),
        vocabulary=vocabulary.fingerprint,
        memory=memory,
    )
