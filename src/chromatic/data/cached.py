"""Batches in a file: those of files, parsed once, are kept in the cache folder for the next run."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from chromatic._files import is_stream, replacing, scratch_folder
from chromatic.data.batch import Batch, LeftOut, over_rows
from chromatic.data.blocks import Blocks
from chromatic.data.limit import Limit
from chromatic.data.needed import bytes_of_blocks
from chromatic.data.packing import arrays_of, batch_of
from chromatic.data.reader import Reader
from chromatic.data.schema import Schema
from chromatic.errors import InputError

log = logging.getLogger("chromatic")

VERSION = 3  # of the file of batches
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

    def of_rows(self, name: str) -> npt.NDArray[Any] | None:
        """What all rows have of `weights` or `groups`; None where none has any."""
        parts = (self.blocks.read(i, only=name).get(name) for i in range(len(self.blocks)))
        return over_rows(
            [(facts["rows"], part) for facts, part in zip(self.blocks.index, parts, strict=True)]
        )

    @property
    def left_out(self) -> LeftOut:
        facts = ("skipped", "ignored", "missing", "weighted")
        return LeftOut(*(self.blocks.total(fact) for fact in facts))

    @property
    def have_values(self) -> bool:
        """Whether any feature has a value other than 1."""
        return any(block["arrays"]["value_at"][1] != [0] for block in self.blocks.index)

    @property
    def n_rows(self) -> int:
        return self.blocks.total("rows")


def parse(reader: Reader, paths: list[str], folder: Path) -> StoredBatches:
    """The batches of files, from the folder where they are there already, else parsed into it.

    Standard input and other pipes are read once, and never found again.
    """
    reading = [reader.format, reader.features, reader.label, reader.label_unread, reader.on_bad_line]
    reading += [reader.categorical, reader.delimiter, reader.header, reader.weight, reader.group]
    known = None if reader.schema is None else [reader.schema.facts(), reader.schema.classes]
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
            "classes": () if stored.schema is None else stored.schema.classes,
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
        schema = None if facts["schema"] is None else Schema.of_facts(facts["schema"], facts["classes"])
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
            weighted=batch.n_weights,
        )
    return StoredBatches(blocks, schema)


def _fits(batches: StoredBatches, memory: Limit, threads: int) -> bool:
    """Whether blocks that were made with more memory can be read with this."""
    return bytes_of_blocks(batches, threads) <= max(0, memory.left() // 2)
