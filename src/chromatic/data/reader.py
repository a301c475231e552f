"""The front door: any data to coded rows and their vocabulary."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from chromatic._files import is_stream
from chromatic._threads import ordered_map, thread_count
from chromatic.data.batch import Batch, LeftOut, check_numeric_columns, have_labels
from chromatic.data.interning import Gathering
from chromatic.data.limit import Limit
from chromatic.data.rows import Rows
from chromatic.data.schema import AUTO, Schema
from chromatic.data.source import CHUNK, Progress, chunks_of_lines, format_of, most_bytes, opened
from chromatic.data.text import TEXT_FORMATS, TextReader
from chromatic.data.vocabulary import Vocabulary, check_limits, learn
from chromatic.errors import InputError, InputWarning, in_file
from chromatic.parameters import DEFAULTS

if TYPE_CHECKING:
    from chromatic.data.beside import Beside
    from chromatic.data.look import Look
    from chromatic.data.tables import Csv

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
    label_unread: bool = False  # whether labels come apart: that column is then neither label nor feature
    weight: str | None = None  # of tables: the column of the weights of rows
    group: str | None = None  # of tables: the column of the groups of rows
    categorical: Any = AUTO  # of tables: the columns that are categories (`data.look`)
    delimiter: str | None = None  # of CSV: None: a comma, or a tab for tsv
    header: bool | None = None  # of CSV: whether the first line has names; None: a row there is refused
    schema: Schema | None = None  # of tables: what columns are; None: to be found out, from all rows
    numbers: tuple[bytes, ...] | None = None  # and where a model knows no more: those that are numbers
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
        name_fields: bool = False,
    ) -> Dataset:
        """Read and code data: a path, several paths, or anything that `batches` takes.

        With a vocabulary, the data is coded by it, and the other parameters play no part.
        """
        _one_of("values", values, ("elide", "distinct"))
        check_limits(dense_threshold, min_count)
        reader = self if vocabulary is None else self.by(vocabulary)
        batches = reader.batches(data, gathered=vocabulary is None and values == "elide")
        left_out = LeftOut.of(batches)
        if vocabulary is not None:
            return Dataset(vocabulary.encode(batches, self.threads), vocabulary, left_out)
        vocabulary, rows = learn(
            batches,
            dense_threshold=dense_threshold,
            min_count=min_count,
            distinct_values=values == "distinct",
            keep_names=keep_names,
            keep_fields=keep_fields,
            name_fields=name_fields,
            threads=self.threads,
        )
        return Dataset(rows, vocabulary, left_out)

    @property
    def threads(self) -> int:
        return thread_count(self.n_jobs)

    def batches(self, data: Any, *, gathered: bool = False) -> list[Batch]:
        """The rows of data as they came. Several paths are one data set, in order.

        With `gathered`, batches of text share their tokens, which counting is fastest with.
        """
        paths = paths_of(data)
        if paths is None:
            from chromatic.data.objects import batches_of

            batches = list(batches_of(data, self))
            if batches and batches[0].schema is None:
                self._refuse_columns("the data is no table")
            return batches
        if not gathered:
            return list(self.stream(paths))
        gathering = Gathering()
        return gathering.gathered(list(self.stream(paths, gathering)))

    def by(self, vocabulary: Vocabulary) -> Reader:
        """Return what reads other rows for a vocabulary; one of an older file knows its numbers only."""
        reader = replace(self, weight=None, group=None)  # which only training rows need
        if vocabulary.schema is not None:
            return replace(reader, schema=vocabulary.schema)
        return replace(reader, numbers=vocabulary.numeric_names + vocabulary.unused_numeric)

    def like(self, batches: list[Batch]) -> Reader:
        """Return what reads other rows of the same columns."""
        return replace(self, schema=batches[0].schema if batches else None)

    def stream(self, paths: list[str], gathering: Gathering | None = None) -> Iterator[Batch]:
        """The rows of files as they come; several are one data set, in order."""
        reader = self._knowing(paths)
        text_readers: dict[str, TextReader] = {}
        first: Batch | None = None
        for path in paths:
            n_rows = skipped = 0
            for batch in reader._read_file(path, text_readers, gathering):
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

    @property
    def _csv(self) -> Csv:
        from chromatic.data.tables import Csv

        texts = [name for name in (self.weight, self.group) if name is not None]
        return Csv(self.delimiter, self.header).with_text(*texts)

    def _format(self, path: str, file: Any) -> str:
        if self.format is None and self.delimiter is not None:
            return "csv"
        return self.format or format_of(path, file.peek(1 << 16)[: 1 << 16])

    def _knowing(self, paths: list[str]) -> Reader:
        """Return the reader with the schema of files, which a look over all of them tells.

        A pipe is read once: one that is alone is held in memory, and tells its schema then.
        """
        if self.schema is not None or (len(paths) == 1 and is_stream(paths[0])):
            return self
        look: Look | None = None
        for path in paths:
            if is_stream(path) and self.format not in TABLE_FORMATS:
                continue
            if is_stream(path):
                raise in_file(
                    path,
                    None,
                    "is a pipe beside other files, and what its columns are is told by all rows; expected "
                    "one pipe alone, or files",
                )
            with opened(path) as file:
                format = self._format(path, file)
            if format in TABLE_FORMATS:
                from chromatic.data.look import Look

                look = look or Look()
                self._look_over(path, format, look)
        if look is None:
            return self
        with _in(paths[0]):
            return replace(self, schema=self.schema_of(look))

    def _look_over(self, path: str, format: str, look: Look) -> None:
        """Look over the tables of a file; a column of CSV that has text somewhere is of text."""
        from chromatic.data.tables import MixedColumn, read_tables

        csv = self._csv
        while True:
            here = look.copy()
            names: list[str] = []
            try:
                with opened(path) as file:
                    skipped: list[str] | None = [] if self.on_bad_line == "skip" else None
                    for table in read_tables(path, file, format, skipped, csv):
                        names = table.column_names
                        with _in(path):
                            self.look_over(table, here)
            except MixedColumn as error:
                if not names or names[error.column] in dict(csv.types):
                    raise
                csv = csv.with_text(names[error.column])
                continue
            look.take(here)
            return

    def _held(self, path: str, tables: Iterator[Any]) -> tuple[Iterator[Any], Schema]:
        """Look over the tables of a pipe; they are held in memory where their types do not tell enough."""
        from chromatic.data.look import Look

        first = next(tables, None)
        if first is None:
            return iter(()), Schema()
        look, held = Look(), [first]
        with _in(path):
            self.look_over(first, look)
            if self.numbers is None and not look.is_settled(self.categorical):
                if self.memory is not None:
                    what, others = "columns of numbers", " --categorical with all of them,"
                    if look.classes:
                        what, others = "labels that are texts", ""
                    raise InputError(
                        f"is a pipe, and what its {what} are is told by all rows; expected a file,{others} "
                        "or no --memory"
                    )
                for table in tables:
                    self.look_over(table, look)
                    held.append(table)
            return chain(held, tables), self.schema_of(look)

    def _read_file(
        self, path: str, text_readers: dict[str, TextReader], gathering: Gathering | None
    ) -> Iterator[Batch]:
        with opened(path, self.progress) as file:
            format = self._format(path, file)
            if self.memory is not None and format in HELD and path != "-":
                held = HELD[format] * os.path.getsize(path)
                self.memory.check(held, f"{path}: {format}, which is held as a whole,")
            if format not in TABLE_FORMATS:
                with _in(path):
                    self._refuse_columns(f"{format} has no columns with names")
            if format == "npz":
                from chromatic.data.npz import read_npz

                yield read_npz(path, file)
            elif format in TABLE_FORMATS:
                yield from self._read_tables(path, file, format)
            else:
                reader = text_readers.setdefault(
                    format, TextReader(format, self.features, self.on_bad_line, gathering)
                )
                most = 4 * self.chunk_size
                if self.memory is not None:
                    most = min(most, most_bytes(self.memory, self.threads))
                chunks = chunks_of_lines(
                    path,
                    file,
                    min(self.chunk_size, most),
                    lambda: gathering is None and reader.features == "string",
                    most=most,
                    memory=self.memory,
                )
                yield from reader.batches(chunks, self.threads)

    def schema_of(self, look: Look) -> Schema:
        """What a look over all rows tells of their columns, said once."""
        if self.numbers is not None:
            if look.classes:
                raise InputError(
                    f"the label column {look.label!r} has texts, such as {look.classes[0]!r}, and the "
                    "model does not know these; expected numbers, or --label '' to do without labels"
                )
            return look.with_numbers(self.numbers)
        schema = look.schema(self.categorical)
        schema.tell()
        if self.label_unread and look.label is not None:
            warnings.warn(
                f"labels are given, and the column {look.label!r} is left out, as it has labels too; where "
                "it has features, say label='' or call it otherwise",
                InputWarning,
                stacklevel=2,
            )
        return schema

    def batch_of(self, table: Any, schema: Schema) -> Batch:
        """The rows of an Arrow table."""
        from chromatic.data.cells import batch_of_table

        beside = self._beside(table.column_names)
        if self.label_unread and beside.label is not None:
            table, beside = table.drop_columns([beside.label]), beside._replace(label=None)
        return batch_of_table(table, beside, schema)

    def look_over(self, table: Any, look: Look) -> None:
        """Look over a table."""
        look.add(table, self._beside(table.column_names), label_read=not self.label_unread)

    def _beside(self, names: list[str]) -> Beside:
        """The columns of a table that are no features."""
        from chromatic.data.beside import Beside
        from chromatic.data.tables import label_of

        label = label_of(names, self.label, self.label_needed and not self.label_unread)
        return Beside(label, self.weight, self.group).checked(names)

    def _refuse_columns(self, why: str) -> None:
        """Refuse columns of weights and groups where there are none."""
        for what, name in (("weight", self.weight), ("group", self.group)):
            if name is not None:
                raise InputError(
                    f"the column of the {what} is {name!r}, and {why}; expected a table, or {what}s apart"
                )

    def _read_tables(self, path: str, file: Any, format: str) -> Iterator[Batch]:
        from chromatic.data.tables import pieces, read_tables

        skipped: list[str] | None = [] if self.on_bad_line == "skip" else None
        schema = self.schema
        csv = self._csv if schema is None else self._csv.of(schema)
        if schema is not None and schema.classes:
            csv = csv.with_text("label" if self.label is None else self.label)
        tables = read_tables(path, file, format, skipped, csv)
        if schema is None:  # a pipe, which is read once
            tables, schema = self._held(path, tables)

        def read(table: Any) -> Batch:
            try:
                return self.batch_of(table, schema)
            except InputError as error:
                raise in_file(path, None, str(error)) from error

        tables = pieces(tables)
        batch = None
        for following in ordered_map(read, tables, self.threads):
            if batch is not None:
                yield batch
            batch = following
        if batch is not None:  # at the end it is known how many lines were skipped
            yield replace(batch, skipped_lines=len(skipped or ()))


@contextlib.contextmanager
def _in(path: str) -> Iterator[None]:
    """Name the file in what is wrong with its columns."""
    try:
        yield
    except InputError as error:
        raise in_file(path, None, str(error)) from error


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
