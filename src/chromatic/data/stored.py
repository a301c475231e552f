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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._files import replacing, scratch_folder
from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, LeftOut, Tokens
from chromatic.data.blocks import Arrays, Blocks
from chromatic.data.counting import Extent, count
from chromatic.data.limit import MemoryLimit
from chromatic.data.names import Names
from chromatic.data.reader import Reader
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary, check_limits, of_counts
from chromatic.errors import InputError
from chromatic.parameters import DEFAULTS

log = logging.getLogger("chromatic")

VERSION = 1  # of the file of batches
HEAD = 1 << 16  # bytes of a file that must be the same


@dataclass(frozen=True)
class StoredBatches:
    """Batches in a file, in their order."""

    blocks: Blocks
    numeric_names: tuple[bytes, ...]
    field_names: tuple[bytes, ...]

    def __iter__(self) -> Iterator[Batch]:
        for i in range(len(self.blocks)):
            try:
                arrays, facts = self.blocks.read(i), self.blocks.index[i]
            except InputError:  # the next run is to parse anew
                Path(self.blocks.path).with_name("index.json").unlink(missing_ok=True)
                raise
            yield replace(
                _batch_of(arrays),
                numeric_names=self.numeric_names,
                field_names=self.field_names,
                skipped_lines=facts["skipped"],
                ignored=facts["ignored"],
                missing=facts["missing"],
            )

    @property
    def left_out(self) -> LeftOut:
        return LeftOut(*(self.blocks.total(fact) for fact in ("skipped", "ignored", "missing")))

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
    def elided_values(self) -> int:
        return self.blocks.total("elided")

    def pieces(self) -> Iterator[tuple[int, Rows]]:
        """The rows a block at a time, each with the number of its first row."""
        start = 0
        for i in range(len(self.blocks)):
            arrays = self.blocks.read(i)
            stop = start + len(arrays["lengths"])
            labels = None if self.labels is None else self.labels[start:stop]
            indptr = _indptr(arrays["lengths"])
            yield (
                start,
                Rows(
                    indptr=indptr,
                    codes=arrays["codes"],
                    labels=labels,
                    dense=arrays["dense"],
                    n_features=self.n_features,
                    vocabulary=self.vocabulary,
                ),
            )
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
            indptr=_indptr(lengths),
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
    keep_names: bool = True,
    keep_fields: bool = False,
) -> StoredDataset:
    """Read and code files as `Reader.read` does, from disk to disk."""
    check_limits(dense_threshold, min_count)
    batches = parse(reader, paths, memory.cache)
    vocabulary = _learn(
        batches,
        dense_threshold=dense_threshold,
        min_count=min_count,
        keep_names=keep_names,
        keep_fields=keep_fields or reader.format == "criteo",
        threads=reader.threads,
    )
    rows = _code(batches, vocabulary, memory, reader.threads)
    return StoredDataset(rows, vocabulary, batches.left_out)


def parse(reader: Reader, paths: list[str], folder: Path) -> StoredBatches:
    """The batches of files, from the folder where they are there already, else parsed into it.

    Standard input is never found again.
    """
    reading = [reader.format, reader.features, reader.label, reader.on_bad_line]
    asked = [VERSION, [os.path.abspath(path) for path in paths], reading]
    place = folder / hashlib.blake2b(json.dumps(asked).encode(), digest_size=12).hexdigest()
    files = [_facts_of(path) for path in paths] if "-" not in paths else None
    cached = _reuse(place, files) if files is not None else None
    if cached is not None:
        log.info("the rows of %s are taken from the cache, %s", ", ".join(paths), place)
        return cached
    with scratch_folder(folder) as scratch:
        stored = _write(reader.stream(paths), scratch / "batches")
        facts = {
            "files": files,
            "size": os.path.getsize(scratch / "batches"),
            "numeric_names": [name.hex() for name in stored.numeric_names],
            "field_names": [name.hex() for name in stored.field_names],
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
        names = (tuple(map(bytes.fromhex, facts[key])) for key in ("numeric_names", "field_names"))
        return StoredBatches(Blocks(place / "batches", facts["blocks"]), *names)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(batches: Iterator[Batch], path: Path) -> StoredBatches:
    blocks = Blocks(path)
    numeric_names: tuple[bytes, ...] = ()
    field_names: tuple[bytes, ...] = ()
    for batch in batches:
        numeric_names, field_names = batch.numeric_names, batch.field_names
        blocks.append(
            _arrays_of(batch),
            rows=batch.n_rows,
            entries=len(batch.ids),
            names=int(batch.has_names),
            largest=int(batch.ids.max(initial=0)),
            skipped=batch.skipped_lines,
            ignored=batch.ignored,
            missing=batch.missing,
        )
    return StoredBatches(blocks, numeric_names, field_names)


def _learn(batches: StoredBatches, *, keep_fields: bool, **options: Any) -> Vocabulary:
    """The vocabulary of batches, as `learn` finds it."""
    blocks = batches.blocks
    integers = not blocks.total("names")
    extent = Extent(integers, blocks.largest("largest"), blocks.total("entries"))
    counted = count(batches, extent=extent)
    vocabulary, _, _ = of_counts(
        counted,
        integers=integers,
        n_rows=batches.n_rows,
        keep_fields=keep_fields,
        numeric_names=batches.numeric_names,
        **options,
    )
    return replace(vocabulary, field_names=batches.field_names if keep_fields else ())


def _code(batches: StoredBatches, vocabulary: Vocabulary, memory: MemoryLimit, threads: int) -> StoredRows:
    """The rows of batches by a vocabulary."""
    coded, start = Blocks(memory.scratch / "rows"), 0
    labels = np.empty(batches.n_rows)
    labelled = False
    for rows in ordered_map(lambda batch: vocabulary.encode([batch]), batches, threads):
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


def _indptr(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def _arrays_of(batch: Batch) -> Arrays:
    arrays: Arrays = {
        "lengths": np.diff(batch.indptr).astype(np.uint32),
        "ids": batch.ids,
        "value_at": batch.value_at,
        "values": batch.values,
    }
    if batch.labels is not None:
        arrays["labels"] = _narrow(batch.labels)
    if batch.numeric is not None:
        arrays["numeric"] = batch.numeric
    if batch.tokens is not None:
        tokens = batch.tokens
        arrays["hashes"] = tokens.hashes
        if tokens.names is not None:
            arrays["name_offsets"], arrays["name_bytes"] = tokens.names.offsets, tokens.names.data
        if tokens.integers is not None:
            arrays["integers"] = tokens.integers
        if tokens.fields is not None:
            arrays["fields"] = tokens.fields
    return arrays


def _batch_of(arrays: Arrays) -> Batch:
    tokens, labels = None, arrays.get("labels")
    if "hashes" in arrays:
        names = None
        if "name_offsets" in arrays:
            names = Names(arrays["name_offsets"], arrays["name_bytes"])
        tokens = Tokens(arrays["hashes"], names, arrays.get("integers"), arrays.get("fields"))
    return Batch(
        indptr=_indptr(arrays["lengths"]),
        ids=arrays["ids"],
        labels=None if labels is None else labels.astype(np.float64),
        value_at=arrays["value_at"],
        values=arrays["values"],
        tokens=tokens,
        numeric=arrays.get("numeric"),
    )


def _narrow(labels: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """A byte a label where that gives back the very same numbers."""
    with np.errstate(invalid="ignore"):
        narrow = labels.astype(np.int8)
    same = narrow.astype(np.float64).view(np.int64) == labels.view(np.int64)
    return narrow if same.all() else labels
