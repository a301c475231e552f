"""Arrow tables to batches: what each column of a table brings to the features and numbers of its rows.

List columns are sets of features; map columns are features with values. Of the scalar columns a `Schema`
says what they are: categories become features `column=value` that remember their column, numbers are
dense. Where there are several list or map columns, their features are `column=feature` too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chromatic.data.batch import NO_FIELD, Batch, distinct_per_row
from chromatic.data.beside import Beside, groups_of, labels_of, weights_of
from chromatic.data.interning import intern
from chromatic.data.look import days_of, kind_of
from chromatic.data.names import Names
from chromatic.data.schema import DATE, WHOLE, Column, Schema
from chromatic.errors import InputError

WHOLE_TEXT = r"^\s*(-?)\+?0*(\d+)(\.0*)?\s*$"  # a whole number however it is written


def batch_of_table(table: pa.Table, beside: Beside | None = None, schema: Schema | None = None) -> Batch:
    """One batch of all rows of a table; scalar columns that the schema does not have play no part.

    >>> from chromatic.data.schema import NUMBER
    >>> table = pa.table({"label": [1, 0], "tags": [["a", "b"], ["b"]], "price": [0.5, 2.0]})
    >>> batch = batch_of_table(table, Beside("label"), Schema((Column("price", NUMBER),)))
    >>> batch.tokens.names.tolist(), batch.ids.tolist(), batch.numeric.ravel().tolist()
    ([b'a', b'b'], [0, 1, 1], [0.5, 2.0])
    """
    schema, beside = Schema() if schema is None else schema, beside or Beside()
    _check_columns(table, schema)
    sets = [
        (field.name, _whole_column(table, field.name))
        for field in table.schema
        if field.name not in beside and kind_of(field.type) == "lists"
    ]
    columns = [_of_set(name, column, prefix=len(sets) > 1) for name, column in sets]
    for i, column in enumerate(schema.categories):
        columns.append(_of_category(column, _whole_column(table, column.name), i))
    ranged = [column for column in schema.categories if column.edges]
    for i, column in enumerate(ranged, len(schema.categories)):
        columns.append(_of_ranges(column, _whole_column(table, column.name), i))
    numeric, missing = [], 0
    for column in schema.numbers:
        values, empty = _numbers(column, _whole_column(table, column.name))
        numeric += [values, empty.astype(np.float64)] if column.missing else [values]
        missing += 0 if column.missing else int(empty.sum())
    return replace(
        _row_major(columns, table.num_rows),
        **_told_of_rows(table, beside, schema),
        numeric=np.column_stack(numeric) if numeric else None,
        numeric_names=schema.numeric_names,
        field_names=schema.field_names,
        missing=missing,
        schema=schema,
    )


def _told_of_rows(table: pa.Table, beside: Beside, schema: Schema) -> dict[str, Any]:
    """Return what the columns beside features tell, by the names that a batch has for it."""
    told: dict[str, Any] = {}
    label, weight, group = beside
    if label is not None:
        told["labels"] = labels_of(label, _whole_column(table, label), schema.classes)
    if weight is not None:
        told["weights"] = weights_of(weight, _whole_column(table, weight))
    if group is not None:
        told["groups"] = hashes_of_groups(group, _whole_column(table, group))
    return told


def hashes_of_groups(name: str, cells: pa.Array) -> npt.NDArray[np.uint64]:
    """Return a hash of the group of each row; whole numbers are their digits, whatever type they have."""
    texts = _texts(Column(name, WHOLE), _decoded(cells))
    return groups_of(name, _bytes(name, texts, b""))


def _decoded(cells: pa.Array) -> pa.Array:
    return cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells


def _check_columns(table: pa.Table, schema: Schema) -> None:
    here = set(table.column_names)
    lacking = [column.name for column in schema.columns if column.name not in here]
    if lacking:
        raise InputError(
            f"there is no column {lacking[0]!r}, which the rows before have; the columns are "
            f"{', '.join(table.column_names)}"
        )


def _whole_column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # what an empty table combines to
        column = pa.array([], column.type)
    return column


class _Features:
    """The features that one column brings: tokens with the row, value and field of each."""

    def __init__(self, tokens: pa.Array, rows: Any, values: Any = None, field: int = NO_FIELD) -> None:
        self.tokens, self.rows, self.values, self.field = tokens, rows, values, field


def _numbers(column: Column, cells: pa.Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """A column of numbers, the mean in place of empty cells and NaN; and where these are."""
    kind = kind_of(cells.type)
    cells = _decoded(cells)
    try:
        if kind == "text":
            texts = cells.cast(pa.large_string())
            cells, kind = pc.if_else(pc.equal(texts, ""), None, texts), None
            if column.kind == DATE:
                cells, kind = cells.cast(pa.timestamp("us")), DATE
        if kind is not None and (kind == DATE) != (column.kind == DATE):
            raise pa.ArrowInvalid("of another kind")
        numbers = days_of(cells) if kind == DATE else cells.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        expected = "dates" if column.kind == DATE else "numbers"
        raise InputError(
            f"the column {column.name!r} is of type {cells.type}, and not all of it can be read as "
            f"{expected}; expected {expected}, as in the rows before, or `categorical` for all of them"
        ) from error
    values = np.array(numbers.fill_null(np.nan).to_numpy(zero_copy_only=False))
    if np.isinf(values).any():
        raise InputError(f"the column {column.name!r} has an infinite value; expected finite numbers")
    empty = np.isnan(values)
    values[empty] = column.mean
    return values, empty


def _of_set(name: str, column: pa.Array, prefix: bool) -> _Features:
    """A column of lists of tokens, of maps, or of lists of pairs of token and value."""
    if pa.types.is_map(column.type):
        pair = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
        column = column.cast(pa.list_(pair))
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(column)), lengths)
    tokens, values = column.flatten(), None  # not `.values`, which ignores slices and nulls
    if pa.types.is_struct(tokens.type) and tokens.type.num_fields == 2:
        tokens, numbers = tokens.flatten()
        values, empty = _numbers(Column(name, "number"), numbers)
        values[empty] = 0.0
    tokens = _decoded(tokens)
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
    return _Features(tokens, rows, values)


def _of_category(column: Column, cells: pa.Array, field: int) -> _Features:
    """The features `column=value`; an empty cell, an empty text and NaN are absence."""
    prefix = b"%s=" % column.name.encode()
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode() if kind_of(cells.type) == "number" else cells
    if pa.types.is_dictionary(cells.type):
        texts = _texts(column, cells.dictionary)
        tokens = _bytes(column.name, texts, prefix).take(cells.indices)
    else:
        tokens = _bytes(column.name, _texts(column, cells), prefix)
    filled = pc.greater(pc.binary_length(tokens), len(prefix)).fill_null(False)
    rows = np.flatnonzero(filled.to_numpy(zero_copy_only=False))
    return _Features(tokens.filter(filled), rows, field=field)


def _of_ranges(column: Column, cells: pa.Array, field: int) -> _Features:
    """The features `column<=edge`: in which range of numbers a value is; the last has all above, too."""
    if kind_of(cells.type) == "text":
        texts = _texts(column, _decoded(cells))
        texts = texts.cast(pa.large_string())
        cells = pc.if_else(pc.match_substring_regex(texts, r"^-?\d{1,18}$"), texts, None)
    else:
        cells = _decoded(cells)
    values = cells.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(~np.isnan(values))
    ranges = np.searchsorted(np.array(column.edges[:-1]), values[rows])
    name = column.name.encode()
    names = [b"%s<=%d" % (name, int(edge)) for edge in column.edges]
    tokens = pa.array(names, pa.large_binary()).take(pa.array(ranges))
    return _Features(tokens, rows, field=field)


def _texts(column: Column, cells: pa.Array) -> pa.Array:
    """Values as text; a whole number is its digits, whatever type it came as."""
    kind, types = kind_of(cells.type), pa.types
    if kind == "boolean":
        return cells.cast(pa.int8()).cast(pa.large_string())
    if kind == "date":
        return _dates(cells)
    if types.is_decimal(cells.type) and cells.type.scale > 0:
        cells = cells.cast(pa.float64())
    if types.is_floating(cells.type):
        values = cells.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        whole = (np.floor(values) == values) & (np.abs(values) < 2.0**63)
        digits = pa.array(np.where(whole, values, 0.0).astype(np.int64)).cast(pa.large_string())
        others = pa.array(values, mask=np.isnan(values)).cast(pa.large_string())
        return pc.if_else(pa.array(whole), digits, others)
    if column.kind == WHOLE and kind == "text" and not _is_bytes(cells.type):
        texts = cells.cast(pa.large_string())
        return pc.replace_substring_regex(texts, WHOLE_TEXT, r"\1\2")
    return cells


def _dates(cells: pa.Array) -> pa.Array:
    """Dates as `2020-01-31`, with the time of the day, UTC, where it is not midnight."""
    types = pa.types
    if not (types.is_date(cells.type) or types.is_timestamp(cells.type)):
        return cells
    moments = cells.cast(pa.timestamp("us"), safe=False)  # a zone's moments are UTC's
    texts = pc.strftime(moments, "%Y-%m-%dT%H:%M:%S")
    return pc.replace_substring_regex(texts, r"(T00:00:00)?(\.0+)?$", "").cast(pa.large_string())


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


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


def _row_major(columns: list[_Features], n_rows: int) -> Batch:
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
