"""What is in memory already to batches: matrices, lists of tokens, sets and dicts, frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from chromatic.data.batch import Batch, distinct_per_row
from chromatic.data.interning import intern
from chromatic.data.names import Names
from chromatic.errors import InputError

if TYPE_CHECKING:
    from chromatic.data.reader import Reader

MOST_COLUMNS = 1 << 32  # of a matrix: their numbers are 32-bit features


def batches_of(data: Any, reader: Reader | None = None) -> Iterator[Batch]:
    """Batches of any data in memory that is not a path; the reader says how tables are read.

    >>> [batch] = batches_of([["red", "round"], {"red"}, {"sweet": 0.5}])
    >>> batch.tokens.names.tolist(), batch.indptr.tolist(), batch.values.tolist()
    ([b'red', b'round', b'sweet'], [0, 2, 3, 4], [0.5])
    """
    if hasattr(data, "tocsr"):
        yield batch_of_matrix(data)
    elif hasattr(data, "to_list") and not hasattr(data, "columns"):  # a series of lists
        yield _of_lists(data.to_list())
    elif isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype == object:
        yield _of_lists(data.tolist())
    elif is_table(data):
        yield from _of_frame(table_of_array(data), reader)
    elif isinstance(data, np.ndarray):
        from scipy.sparse import csr_array

        if data.ndim != 2 or data.dtype.kind not in "biuf":
            raise InputError(
                f"an array of {data.ndim} dimensions and type {data.dtype}; expected 2 and numbers"
            )
        yield batch_of_matrix(csr_array(data))
    elif isinstance(data, (list, tuple)):
        yield _of_lists(data)
    else:
        yield from _of_frame(data, reader)


def is_table(data: Any) -> bool:
    """Whether an array of two dimensions has text, so that its columns are those of a table."""
    if not isinstance(data, np.ndarray) or data.ndim != 2:
        return False
    return data.dtype.kind in "US" or (
        data.dtype == object and any(isinstance(cell, (str, bytes)) for cell in data.flat)
    )


def table_of_array(array: np.ndarray[Any, Any]) -> Any:
    """An array of two dimensions as an Arrow table, with the columns x0, x1 and so on."""
    import pyarrow as pa

    def cells(column: Any) -> Any:
        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # of several types
            empty = [cell is None or cell != cell for cell in column]
            texts = [None if none else str(cell) for cell, none in zip(column, empty, strict=True)]
            return pa.array(texts, pa.string())

    return pa.table({f"x{i}": cells(array[:, i]) for i in range(array.shape[1])})


def batch_of_matrix(matrix: Any) -> Batch:
    """A sparse matrix's column j is the integer feature j; in scipy's manner, repeated entries add up."""
    if hasattr(matrix, "indptr"):
        _check_compressed(matrix)
    matrix = matrix.tocsr()
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"a matrix of type {matrix.dtype}; expected real numbers")
    if matrix.shape[1] > MOST_COLUMNS:
        raise InputError(f"a matrix of {matrix.shape[1]:,} columns; expected at most {MOST_COLUMNS}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise InputError("the matrix has NaN or infinite values; expected finite numbers")
    present = matrix.data != 0
    kept_before = np.concatenate(([0], np.cumsum(present)))
    ids = matrix.indices[present].astype(np.uint32)
    values = matrix.data[present].astype(np.float64)
    return Batch.of(kept_before[matrix.indptr], ids, None, values)


def _check_compressed(matrix: Any) -> None:
    """Refuse a matrix whose arrays point out of themselves; scipy's own check lets some pass."""
    indptr, indices = matrix.indptr, matrix.indices
    ascend = indptr[0] == 0 and bool((indptr[1:] >= indptr[:-1]).all()) and indptr[-1] <= len(indices)
    try:
        if not ascend:
            raise ValueError("indptr does not ascend from 0 to the number of indices")
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(
            f"a {matrix.format} matrix that is damaged ({error}); expected a whole one"
        ) from error


def _of_lists(rows: list[Any] | tuple[Any, ...]) -> Batch:
    for i, row in enumerate(rows):
        if not isinstance(row, (list, tuple, Set, Mapping)) and not _is_vector(row):
            raise InputError(
                f"row {i:,} is {_shown(row)}; expected a list or set of features, or a dict of "
                "features and values"
            )
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    tokens = list(chain.from_iterable(rows))
    values = np.ones(len(tokens))
    if any(isinstance(row, Mapping) for row in rows):
        given = chain.from_iterable(
            row.values() if isinstance(row, Mapping) else [1] * len(row) for row in rows
        )
        for i, value in enumerate(given):
            tokens[i], values[i] = _with_value(tokens[i], value)
    if not np.isfinite(values).all():
        raise InputError("a feature has the value NaN or infinity; expected finite numbers")
    present = values != 0.0
    if not present.all():
        tokens = [token for token, there in zip(tokens, present, strict=True) if there]
        indptr = np.concatenate(([0], np.cumsum(present)))[indptr]
        values = values[present]
    kinds = set(map(type, tokens))
    if kinds and all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        ids, distinct = _integers(tokens), None
    elif all(issubclass(kind, (str, bytes)) for kind in kinds):
        try:
            packed = Names.pack(t if isinstance(t, bytes) else t.encode() for t in tokens)
        except UnicodeEncodeError as error:
            raise InputError(f"a feature is not valid text ({error}); expected text or bytes") from error
        ids, distinct = intern(packed.data, packed.offsets[:-1], packed.offsets[1:])
    else:
        raise InputError(
            f"features of types {', '.join(sorted(kind.__name__ for kind in kinds))}; expected all "
            "strings or all integers"
        )
    return distinct_per_row(Batch.of(indptr, ids, distinct, values))


def _is_vector(row: Any) -> bool:
    return isinstance(row, np.ndarray) and row.ndim == 1


def _with_value(token: Any, value: Any) -> tuple[Any, float]:
    """A dict's item: a number is the feature's value, a string makes the feature `key=string`."""
    if isinstance(value, str):
        return f"{token}={value}", 1.0
    try:
        return token, float(value)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the feature {token!r} has the value {_shown(value)}; expected a number or a string"
        ) from error


def _integers(tokens: list[Any]) -> Any:
    low, high = min(tokens), max(tokens)
    if low < 0 or high >= 1 << 32:
        raise InputError(f"integer features from {low} to {high}; expected 0 to 4294967295, or strings")
    return np.fromiter(tokens, np.uint32, len(tokens))


def _of_frame(data: Any, reader: Reader | None) -> Iterator[Batch]:
    from chromatic.data.look import Look
    from chromatic.data.reader import Reader
    from chromatic.data.tables import pieces

    table, reader = table_of(data), reader or Reader()
    schema = reader.schema
    if schema is None:
        look = Look()
        reader.look_over(table, look)
        schema = reader.schema_of(look)
    for piece in pieces([table]):
        yield reader.batch_of(piece, schema)


def frame_of(data: Any) -> Any:
    """A frame of any library, in the words of narwhals."""
    import narwhals as nw

    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("two columns of the table have one name; expected different names") from error
    except TypeError as error:
        raise InputError(
            f"data of type {type(data).__name__}; expected a path, a scipy matrix, a list of tokens, "
            "sets or dicts, or a pandas, polars or pyarrow table"
        ) from error


def table_of(data: Any) -> Any:
    """A frame of any library as an Arrow table."""
    import pyarrow as pa

    frame = frame_of(data)
    try:
        return frame.to_arrow().select(frame.columns)  # without pandas' index
    except (pa.ArrowInvalid, TypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"the table has a column of mixed or unknown values ({error}); expected numbers, text, or "
            "lists of text or of integers".replace("\n", " ")
        ) from error


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:37] + "..."
