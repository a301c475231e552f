"""Parquet, Arrow and CSV files to Arrow tables, and which of their columns has the labels."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from chromatic._files import is_stream
from chromatic.data.schema import CATEGORY, NUMBER, Schema
from chromatic.data.source import errors_of, read_whole
from chromatic.errors import MEMORY_RAN_OUT, InputError, in_file

ROWS_PER_BATCH = 1 << 16
BLOCK = 8 << 20  # bytes of CSV that are read at once
CRITEO = ["label"] + [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]
DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " "}  # that one can hardly type


class MixedColumn(InputError):
    """A column of CSV has text after a block of numbers; `column` is its place."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Csv:
    """How CSV is read."""

    delimiter: str | None = None  # None: a comma, or a tab for tsv
    header: bool | None = None  # None: there is one, and a first line that looks like a row is refused
    types: tuple[tuple[str, pa.DataType], ...] = ()  # of columns that are known

    def of(self, schema: Schema) -> Csv:
        """Return how other rows of these columns are read."""
        known = {NUMBER: pa.float64(), CATEGORY: pa.string()}
        types = [(one.name, known[one.kind]) for one in schema.columns if one.kind in known]
        return Csv(self.delimiter, self.header, (*self.types, *types))

    def with_text(self, *names: str) -> Csv:
        """Return the same with columns that are text."""
        return Csv(self.delimiter, self.header, (*self.types, *((name, pa.string()) for name in names)))

    def between(self, format: str) -> str:
        """Return the delimiter of a format; refuse one that is none."""
        if self.delimiter is None:
            return "," if format == "csv" else "\t"
        delimiter = DELIMITERS.get(self.delimiter, self.delimiter)
        if len(delimiter.encode()) != 1 or delimiter in '\n\r"':
            raise InputError(
                f"the delimiter is {self.delimiter!r}; expected one character, such as ; or |, or tab"
            )
        return delimiter


def read_tables(
    path: str,
    file: io.BufferedReader,
    format: str,
    skipped: list[str] | None = None,
    csv: Csv | None = None,
) -> Iterator[pa.Table]:
    """The tables of a file: row groups of Parquet, batches of Arrow, blocks of CSV.

    Bad lines of CSV are added to `skipped`, where it is given, and are an error where it is not.
    """
    try:
        with errors_of(path):
            if format == "parquet":
                import pyarrow.parquet as pq

                parquet = pq.ParquetFile(_seekable(path, file))
                for batch in parquet.iter_batches(ROWS_PER_BATCH):
                    yield _whole(path, pa.Table.from_batches([batch]))
            elif format == "arrow":
                yield _whole(path, _read_arrow(path, file))
            else:
                for table in _read_csv(path, file, format, skipped, csv or Csv()):
                    yield _whole(path, table)
    except MemoryError as error:  # also where a small file says that it is large
        raise in_file(path, None, f"{MEMORY_RAN_OUT}, or check that the file is whole") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        problem = in_file(path, None, f"is not well-formed {format} ({error})".replace("\n", " "))
        mixed = re.match(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error", str(error))
        raise problem if mixed is None else MixedColumn(str(problem), int(mixed[1])) from error


def _whole(path: str, table: pa.Table) -> pa.Table:
    """A table whose offsets, texts and names are what they should be: files may say anything."""
    table.validate(full=True)
    names = set()
    for name in table.column_names:
        name.encode()
        if name in names:
            raise in_file(path, None, f"two columns are called {name!r}; expected different names")
        names.add(name)
    return table


def _seekable(path: str, file: io.BufferedReader) -> Any:
    """Arrow seeks in its files: take the file itself, unless it is a pipe or compressed."""
    raw_magic = file.peek(6)[:6]
    if not is_stream(path):
        with open(path, "rb") as raw:
            if raw.read(6) == raw_magic:
                return pa.OSFile(path)
    return pa.BufferReader(read_whole(path, file).getbuffer())


def _read_arrow(path: str, file: io.BufferedReader) -> pa.Table:
    if file.peek(6)[:6] == b"ARROW1":
        return pa.ipc.open_file(_seekable(path, file)).read_all()
    return pa.ipc.open_stream(file).read_all()


def _read_csv(
    path: str, file: io.BufferedReader, format: str, skipped: list[str] | None, how: Csv
) -> Iterator[pa.Table]:
    from pyarrow import csv

    def on_bad_line(line: Any) -> str:
        assert skipped is not None
        skipped.append(line.text)
        return "skip"

    criteo, delimiter = format == "criteo", how.between(format)
    handler = None if skipped is None else on_bad_line
    parse = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=handler)
    convert = csv.ConvertOptions(column_types=dict(how.types))
    names = CRITEO if criteo else _names(path, file, delimiter, how.header)
    if criteo:
        types = {name: pa.float64() if name[0] in "lI" else pa.string() for name in CRITEO}
        convert = csv.ConvertOptions(column_types=types, null_values=[""])
    read = csv.ReadOptions(column_names=names, block_size=BLOCK)
    with csv.open_csv(file, read, parse, convert) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _names(path: str, file: io.BufferedReader, delimiter: str, header: bool | None) -> list[str] | None:
    """Return the names of columns where there is no header; refuse a header that is none."""
    line = file.peek(1 << 16)[: 1 << 16].removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r")
    cells = [cell.strip().strip('"') for cell in line.decode("utf-8", "replace").split(delimiter)]
    if header is False:
        return [f"x{i}" for i in range(len(cells))]
    numbers = [cell for cell in cells if _is_number(cell)]
    if (
        header is None and numbers and cells != [str(i) for i in range(len(cells))]
    ):  # as pandas numbers them
        raise in_file(
            path,
            None,
            f"the first line has the number {numbers[0][:40]} where the name of a column should be; "
            "expected names, or --no-header where the first line is a row, or --header where it is not",
        )
    other = next((one for one in ",;\t|" if one != delimiter and line.count(one.encode()) > 0), None)
    if len(cells) == 1 and other is not None:
        told = "tab" if other == "\t" else other
        raise in_file(
            path,
            None,
            f"the first line is one column, {cells[0][:40]!r}; expected columns between {delimiter!r}, or "
            f"another delimiter, as --delimiter {told!r}",
        )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.lower().strip("+-") not in ("nan", "inf", "infinity")


def pieces(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables cut into pieces of at most ROWS_PER_BATCH rows."""
    for table in tables:
        for start in range(0, table.num_rows, ROWS_PER_BATCH):
            yield table.slice(start, ROWS_PER_BATCH)


def label_of(names: list[str], label: str | None, needed: bool = True) -> str | None:
    """The column of the label: the one asked for, else `label` where there is one; "" asks for none.

    Where it is not `needed`, a table may lack the one asked for.
    """
    if label == "":
        return None
    if label is None:
        return "label" if "label" in names else None
    if label not in names:
        if not needed:
            return None
        raise InputError(f"there is no column {label!r} for the label; the columns are {', '.join(names)}")
    return label
