"""The front door: any data to coded rows and their vocabulary."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from chromatic._threads import ordered_map, thread_count
from chromatic.data.batch import Batch, LeftOut, check_numeric_columns, have_labels
from chromatic.data.limit import Limit
from chromatic.data.rows import Rows
from chromatic.data.source import CHUNK, Progress, chunks_of_lines, format_of, most_bytes, opened
from chromatic.data.text import TEXT_FORMATS, TextReader
from chromatic.data.vocabulary import Vocabulary, check_limits, learn
from chromatic.errors import InputError, in_file
from chromatic.parameters import DEFAULTS

log = logging.getLogger("chromatic")

TABLE_FORMATS = ("parquet", "arrow", "csv", "tsv", "criteo")
NO_LABEL = ""  # as `label`: a table has none, whatever its columns are called
HELD = {"npz": 4, "arrow": 4}  # formats that are read as a whole, and the memory for a byte of a file
FORMATS = (*TEXT_FORMATS, *TABLE_FORMATS, "npz")


@dataclass(frozen=True)
class Dataset:
    """Coded rows, the vocabulary that codes them, and what reading left out."""

    rows: Rows
    vocabulary: Vocabulary
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class Reader:
    """How data is read.

    >>> data = Reader().read([["a", "b"], ["a"], ["c"]], dense_threshold=0.5)
    >>> data.vocabulary.dense_names, len(data.vocabulary), data.rows.dense.ravel().tolist()
    ((b'a',), 2, [1.0, 1.0, 0.0])
    """

    format: str | None = None  # one of FORMATS; None: by suffix and content
    features: str = "auto"  # of text: "auto" | "integer" | "string"
    label: str | None = None  # of tables: the label's column; None: "label" where there is one
    label_needed: bool = True  # whether a table must have the label's column
    on_bad_line: str = "raise"  # of text: "raise" | "skip"
    n_jobs: int | None = None
    chunk_size: int = CHUNK
    progress: Progress | None = None
    memory: Limit | None = None  # within which a stream is read

    def __post_init__(self) -> None:
        _one_of("format", self.format, (None, *FORMATS))
        _one_of("features", self.features, ("auto", "integer", "string"))
        _one_of("on_bad_line", self.on_bad_line, ("raise", "skip"))

    def read(
        self,
        data: Any,
        *,
        vocabulary: Vocabulary | None = None,
        dense_threshold: float = DEFAULTS.dense_threshold,
        min_count: int = DEFAULTS.min_count,
        values: str = "elide",
        keep_names: bool = True,
        keep_fields: bool = False,
    ) -> Dataset:
        """Read and code data: a path, several paths, or anything that `batches` takes.

        With a vocabulary, the data is coded by it, and the other parameters play no part.
        """
        _one_of("values", values, ("elide", "distinct"))
        check_limits(dense_threshold, min_count)
        batches = self.batches(data)
        left_out = LeftOut.of(batches)
        if vocabulary is not None:
            return Dataset(vocabulary.encode(batches, self.threads), vocabulary, left_out)
        vocabulary, rows = learn(
            batches,
            dense_threshold=dense_threshold,
            min_count=min_count,
            distinct_values=values == "distinct",
            keep_names=keep_names,
            keep_fields=keep_fields or self.keeps_fields,
            threads=self.threads,
        )
        return Dataset(rows, vocabulary, left_out)

    @property
    def keeps_fields(self) -> bool:
        """Whether the format has fields that are kept, whatever the coloring."""
        return self.format == "criteo"

    @property
    def threads(self) -> int:
        return thread_count(self.n_jobs)

    def batches(self, data: Any) -> list[Batch]:
        """The rows of data as they came. Several paths are one data set, in order."""
        paths = paths_of(data)
        if paths is None:
            from chromatic.data.objects import batches_of

            return list(batches_of(data, self.label))
        return list(self.stream(paths))

    def stream(self, paths: list[str]) -> Iterator[Batch]:
        """The rows of files as they come; several are one data set, in order."""
        text_readers: dict[str, TextReader] = {}
        first: Batch | None = None
        for path in paths:
            n_rows = skipped = 0
            for batch in self._read_file(path, text_readers):
                first = first or batch
                try:
                    have_labels([first, batch])
                    check_numeric_columns(batch.numeric_names, first.numeric_names)
                except InputError as error:
                    raise in_file(path, None, str(error)) from error
                n_rows += batch.n_rows
                skipped += batch.skipped_lines
                yield batch
            if not n_rows:
                problem = "has no good line" if skipped else "is empty"
                raise in_file(path, None, f"{problem}; expected at least one row")
            log.info("%s: %s rows", path, f"{n_rows:,}")

    def _read_file(self, path: str, text_readers: dict[str, TextReader]) -> Iterator[Batch]:
        with opened(path, self.progress) as file:
            format = self.format or format_of(path, file.peek(1 << 16)[: 1 << 16])
            if self.memory is not None and format in HELD and path != "-":
                held = HELD[format] * os.path.getsize(path)
                self.memory.check(held, f"{path}: {format}, which is held as a whole,")
            if format == "npz":
                from chromatic.data.npz import read_npz

                yield read_npz(path, file)
            elif format in TABLE_FORMATS:
                yield from self._read_tables(path, file, format)
            else:
                reader = text_readers.setdefault(
                    format, TextReader(format, self.features, self.on_bad_line)
                )
                most = 4 * self.chunk_size
                if self.memory is not None:
                    most = min(most, most_bytes(self.memory, self.threads))
                chunks = chunks_of_lines(
                    path,
                    file,
                    min(self.chunk_size, most),
                    lambda: reader.features == "string",
                    most=most,
                    memory=self.memory,
                )
                yield from reader.batches(chunks, self.threads)

    def _read_tables(self, path: str, file: Any, format: str) -> Iterator[Batch]:
        from chromatic.data.tables import batch_of_table, label_of, pieces, read_tables

        skipped: list[str] | None = [] if self.on_bad_line == "skip" else None

        def read(table: Any) -> Batch:
            try:
                return batch_of_table(table, label_of(table, self.label, self.label_needed))
            except InputError as error:
                raise in_file(path, None, str(error)) from error

        tables = pieces(read_tables(path, file, format, skipped))
        batch = None
        for following in ordered_map(read, tables, self.threads):
            if batch is not None:
                yield batch
            batch = following
        if batch is not None:  # at the end it is known how many lines were skipped
            yield replace(batch, skipped_lines=len(skipped or ()))


def paths_of(data: Any) -> list[str] | None:
    """The paths that data is, one or several; None where it is the data itself."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    several = isinstance(data, (list, tuple)) and len(data) > 0
    if several and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [os.fspath(item) for item in data]
    return None


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed if choice is not None)
        raise InputError(f"{name} is {value!r}; expected one of {listed}")
