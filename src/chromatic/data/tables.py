"""Tables to batches: Arrow, Parquet and CSV files, and frames of any library.

List columns are sets of features; map columns are features with values. Scalar columns of text
become features `column=value` that remember their column, and numeric columns are dense. Where there
are several list or map columns, their features are `column=feature` too.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chromatic._files import is_stream
from chromatic.data.batch import NO_FIELD, Batch, distinct_per_row, intern
from chromatic.data.names import Names
from chromatic.data.source import errors_of, read_whole
from chromatic.errors import MEMORY_RAN_OUT, InputError, in_file

ROWS_PER_BATCH = 1 << 16
CRITEO = ["label"] + [f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)]


def read_tables(
    path: str, file: io.BufferedReader, format: str, skipped: list[str] | None = None
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
                    yield _whole(pa.Table.from_batches([batch]))
            elif format == "arrow":
                yield _whole(_read_arrow(path, file))
            else:
                yield from map(_whole, _read_csv(file, format, skipped))
    except MemoryError as error:  # also where a small file says that it is large
        raise in_file(path, None, f"{MEMORY_RAN_OUT}, or check that the file is whole") from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise in_file(path, None, f"is not well-formed {format} ({error})".replace("\n", " ")) from error


def _whole(table: pa.Table) -> pa.Table:
    """A table whose offsets, texts and names are what they should be: files may say anything."""
    table.validate(full=True)
    for name in table.column_names:
        name.encode()
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


def _read_csv(file: io.BufferedReader, format: str, skipped: list[str] | None) -> Iterator[pa.Table]:
    from pyarrow import csv

    def on_bad_line(line: Any) -> str:
        assert skipped is not None
        skipped.append(line.text)
        return "skip"

    criteo = format == "criteo"
    read = csv.ReadOptions(column_names=CRITEO if criteo else None, block_size=8 << 20)
    delimiter = "," if format == "csv" else "\t"
    handler = None if skipped is None else on_bad_line
    parse = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=handler)
    convert = csv.ConvertOptions()
    if criteo:
        types = {name: pa.float64() if name[0] in "lI" else pa.string() for name in CRITEO}
        convert = csv.ConvertOptions(column_types=types, null_values=[""])
    with csv.open_csv(file, read, parse, convert) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def pieces(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Tables cut into pieces of at most ROWS_PER_BATCH rows."""
    for table in tables:
        for start in range(0, table.num_rows, ROWS_PER_BATCH):
            yield table.slice(start, ROWS_PER_BATCH)


def label_of(table: pa.Table, label: str | None, needed: bool = True) -> str | None:
    """The column of the label: the one asked for, else `label` where there is one; "" asks for none.

    Where it is not `needed`, a table may lack the one asked for.
    """
    if label == "":
        return None
    if label is None:
        return "label" if "label" in table.column_names else None
    if label not in table.column_names:
        if not needed:
            return None
        columns = ", ".join(table.column_names)
        raise InputError(f"there is no column {label!r} for the label; the columns are {columns}")
    return label


def batch_of_table(table: pa.Table, label: str | None) -> Batch:
    """One batch of all rows of a table.

    >>> table = pa.table({"label": [1, 0], "tags": [["a", "b"], ["b"]], "price": [0.5, 2.0]})
    >>> batch = batch_of_table(table, "label")
    >>> batch.tokens.names.tolist(), batch.ids.tolist(), batch.numeric.ravel().tolist()
    ([b'a', b'b'], [0, 1, 1], [0.5, 2.0])
    """
    labels, numeric, numeric_names, missing = None, [], [], 0
    sets, scalars = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # what an empty table combines to
            column = pa.array([], column.type)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if name == label:
            labels = _labels(name, column)
        elif _is_set(kind):
            sets.append((name, column))
        elif _is_numeric(column.type):
            values, empty = _numbers(column)
            numeric.append(values)
            numeric_names.append(name.encode())
            missing += empty
        else:
            scalars.append((name, column))
    n_rows = table.num_rows
    columns = [_of_set(name, column, prefix=len(sets) > 1) for name, column in sets]
    columns += [_of_scalar(name, column, i) for i, (name, column) in enumerate(scalars)]
    return replace(
        _row_major(columns, n_rows),
        labels=labels,
        numeric=np.column_stack(numeric) if numeric else None,
        numeric_names=tuple(numeric_names),
        field_names=tuple(name.encode() for name, _ in scalars),
        missing=missing,
    )


class _Column:
    """The features that one column brings: tokens with the row, value and field of each."""

    def __init__(self, tokens: pa.Array, rows: Any, values: Any = None, field: int = NO_FIELD) -> None:
        self.tokens, self.rows, self.values, self.field = tokens, rows, values, field


def _is_set(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_map(kind)
    )


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def _numbers(column: pa.Array) -> tuple[npt.NDArray[np.float64], int]:
    """A numeric column; an empty cell and a NaN are 0, as absence is everywhere, and are counted."""
    values = np.array(column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
    empty = np.isnan(values)
    values[empty] = 0.0
    if np.isinf(values).any():
        raise InputError("a numeric column has an infinite value; expected finite numbers")
    return values, int(empty.sum())


def _labels(name: str, column: pa.Array) -> npt.NDArray[np.float64]:
    try:
        labels = column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"the label column {name!r} is of type {column.type}; expected numbers: write its values as 0 "
            "and 1, or name another column as the label"
        ) from error
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(f"the label column {name!r} has no finite number in row {row + 1:,}; expected one")
    return np.array(labels, np.float64)


def _of_set(name: str, column: pa.Array, prefix: bool) -> _Column:
    """A column of lists of tokens, of maps, or of lists of pairs of token and value."""
    if pa.types.is_map(column.type):
        pair = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        column = column.cast(pa.list_(pair))
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(column)), lengths)
    tokens, values = column.flatten(), None  # not `.values`, which ignores slices and nulls
    if pa.types.is_struct(tokens.type) and tokens.type.num_fields == 2:
        tokens, numbers = tokens.flatten()
        values, _ = _numbers(numbers)
    if pa.types.is_dictionary(tokens.type):
        tokens = tokens.dictionary_decode()
    if pa.types.is_floating(tokens.type) or pa.types.is_boolean(tokens.type):
        raise InputError(
            f"the column {name!r} has lists of {tokens.type}; expected lists of text or integers"
        )
    present = tokens.is_valid().to_numpy(zero_copy_only=False)
    if values is not None:
        present &= values != 0.0
    if not present.all():
        tokens, rows = tokens.filter(pa.array(present)), rows[present]
        values = values[present] if values is not None else None
    if not pa.types.is_integer(tokens.type) or prefix:
        tokens = _bytes(name, tokens, b"%s=" % name.encode() if prefix else b"")
    return _Column(tokens, rows, values)


def _of_scalar(name: str, column: pa.Array, field: int) -> _Column:
    """Text, categories and dates; an empty cell and an empty text are absence."""
    prefix = b"%s=" % name.encode()
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    tokens = _bytes(name, column.drop_null(), prefix)
    filled = pc.greater(pc.binary_length(tokens), len(prefix)).to_numpy(zero_copy_only=False)
    return _Column(tokens.filter(pa.array(filled)), rows[filled], field=field)


def _bytes(name: str, tokens: pa.Array, prefix: bytes) -> pa.Array:
    """Tokens of any type as bytes, with a prefix."""
    if pa.types.is_dictionary(tokens.type):
        return _bytes(name, tokens.dictionary, prefix).take(tokens.indices)
    try:
        if not pa.types.is_large_binary(tokens.type):
            if not pa.types.is_binary(tokens.type):
                tokens = tokens.cast(pa.large_string())
            tokens = tokens.cast(pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"the column {name!r} has values of type {tokens.type}; expected numbers, text, or lists of "
            "text or of integers"
        ) from error
    if prefix:
        scalar = pa.scalar(prefix, pa.large_binary())
        tokens = pc.binary_join_element_wise(scalar, tokens, pa.scalar(b"", pa.large_binary()))
    return tokens


def _row_major(columns: list[_Column], n_rows: int) -> Batch:
    """Join the columns' features row by row, a row's in the order of the columns."""
    rows = np.concatenate([np.empty(0, np.int64), *(column.rows for column in columns)])
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows)))).astype(np.int64)
    values = np.concatenate(
        [np.empty(0)] + [np.ones(len(c.rows)) if c.values is None else c.values for c in columns]
    )
    arrays = [column.tokens for column in columns]
    tokens = None
    if not arrays:
        ids = np.empty(0, np.uint32)
    elif len(arrays) == 1 and pa.types.is_integer(arrays[0].type):
        ids = _integers(arrays[0])
    else:
        names = Names.of_arrow(pa.concat_arrays([_bytes("", array, b"") for array in arrays]))
        of_column = np.array([column.field for column in columns], np.int32)
        fields = np.repeat(of_column, [len(array) for array in arrays])
        ids, tokens = intern(names.data, names.offsets[:-1], names.offsets[1:], fields)
    return distinct_per_row(Batch.of(indptr, ids[order], tokens, values[order]))


def _integers(tokens: pa.Array) -> npt.NDArray[np.uint32]:
    low, high = pc.min_max(tokens).values() if len(tokens) else (pa.scalar(0), pa.scalar(0))
    if low.as_py() < 0 or high.as_py() >= 1 << 32:
        raise InputError(
            f"integer features from {low.as_py()} to {high.as_py()}; expected 0 to 4294967295, or text"
        )
    return np.array(tokens.cast(pa.uint32()).to_numpy(zero_copy_only=False))
