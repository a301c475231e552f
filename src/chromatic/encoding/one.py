"""One row at a time, in microseconds: what a server needs.

A table of 16-byte slots holds a feature's hash beside its code and its group. A group is a column, or
the left-out bin of a color, so that a small array of groups tells both color and column.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, specialized
from chromatic.data.hashing import NOTHING, SEPARATOR, HashMap, mix_integers, secret_hashes
from chromatic.data.schema import WHOLE
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import NO_COLUMN
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.row import Numbers, as_dict, features_and_values, is_plain_integer, is_plain_number

U64 = np.uint64
UNUSED = -1  # the column of what makes none
MOST_FEATURES = 512  # of a row; colors are sought one by one
ROWS = (list, tuple, set, frozenset)

Found = tuple[npt.NDArray[np.uint64], Numbers]  # the code and group of each feature; numbers

_JOIN = chr(SEPARATOR).join


class RowEncoder:
    """Encodes single rows as an encoding does many, where they are as most are.

    `columns` are those of the table that the encoding was learned from, where it was one: a dict is then a
    row of that table, and else a dict of features and values.
    """

    def __init__(
        self, encoding: Encoding, columns: tuple[str, ...] | None = None, *, of_table: bool = False
    ) -> None:
        vocabulary = encoding.vocabulary
        self._values = _values(encoding)
        self._n_columns = encoding.n_sparse_columns + len(vocabulary.dense_names)
        self._n_features = len(vocabulary)
        self._first_dense = self._n_columns - len(vocabulary.dense_keys)
        self._by_name = not vocabulary.integers
        self._map: HashMap | None = None
        self._sums = _sums(encoding) if encoding.sums else None
        self._numeric = {name.decode(): UNUSED for name in vocabulary.unused_numeric}
        for i, name in enumerate(vocabulary.numeric_names):
            self._numeric[name.decode()] = encoding.n_sparse_columns + i
        self._of_table = of_table
        categories = [] if vocabulary.schema is None else vocabulary.schema.categories
        self._edges = {column.name: column.edges for column in categories if column.kind == WHOLE}
        self._prefixes = None if columns is None else {name: f"{name}=" for name in columns}
        odd = vocabulary.bins is not None or encoding.absent is not None
        if not odd and (encoding.sums or not encoding.of_classes()):
            hashes, secret = _hashes(vocabulary)
            groups = np.zeros(len(hashes), np.int64)
            if self._sums is None:
                groups, self._colors, self._places = _groups(encoding)
            codes = np.delete(np.arange(len(hashes)), slice(encoding.n_kept, len(vocabulary)))
            contents = (codes << 32 | groups[codes]).astype(np.uint64)
            self._map = HashMap(hashes[codes], contents, secret=secret)

    def encode(self, row: Any, *, only_known: bool = False) -> npt.NDArray[Any] | None:
        """The columns that are 1, ascending; where columns have values or sums, all of the row's values.

        None for a row that has to be read as many rows are: one of odd tokens or of very many, and, with
        `only_known`, one of tokens that are not known.
        """
        found = self.find(row)
        if found is None or (only_known and (found[0] == NOTHING).any()):
            return None
        return self.columns_of(*found)

    @property
    def gives_columns(self) -> bool:
        """Whether rows become the columns that are 1, and not all of their values."""
        return self._sums is None and self._values is None

    def find(self, row: Any) -> Found | None:
        """The code and group of each feature of a row, NOTHING where it is not known, and its numbers."""
        read: tuple[Any, Numbers] | None
        if isinstance(row, ROWS):
            read = None if self._numeric else (row, ())
        else:
            row = row if type(row) is dict else as_dict(row)
            read = None if row is None else self._of_dict(row)
        if read is None or len(read[0]) > MOST_FEATURES:
            return None
        contents = self._find(read[0])
        return None if contents is None else (contents, read[1])

    def columns_of(self, contents: npt.NDArray[np.uint64], numbers: Numbers) -> npt.NDArray[Any] | None:
        """What `encode` gives, for features that were found; None where it does not give it."""
        if numbers and not self._of_table:
            numbers = self._dense_numbers(contents, numbers)
        if self._sums is not None:
            sums = np.zeros(self._n_columns)
            _row_summer()(contents, np.empty(len(contents), np.int64), self._sums, sums)
            return _with_numbers(sums, numbers)
        if self._values is None and numbers:  # a list of columns does not say them
            return None
        kept = np.empty((2, len(contents)), np.int32)
        n = _row_resolver()(contents, self._colors, self._places, kept)
        columns: npt.NDArray[np.int32] = kept[0, :n]
        if self._values is None:
            return columns
        values = np.zeros(self._n_columns, self._values.dtype)
        values[columns] = self._values[kept[1, :n]]
        return _with_numbers(values, numbers)

    def _of_dict(self, row: dict[Any, Any]) -> tuple[list[Any], Numbers] | None:
        """The tokens of a dict, and its numbers: by columns, or of features and values by tokens."""
        return self._of_row_of_table(row) if self._of_table else features_and_values(row)

    def _of_row_of_table(self, row: dict[Any, Any]) -> tuple[list[Any], Numbers] | None:
        tokens: list[str] = []
        numbers: list[tuple[int, float]] = []
        n_numeric = 0
        for name, value in row.items():
            column = self._numeric.get(name)
            if column is not None:
                if not is_plain_number(value):
                    return None
                n_numeric += 1
                if column != UNUSED:
                    numbers.append((column, value))
            elif self._prefixes is not None and name not in self._prefixes:
                return None
            elif (type(value) is str and name not in self._edges) or is_plain_integer(value):
                if value != "":
                    prefix = f"{name}=" if self._prefixes is None else self._prefixes[name]
                    tokens.append(f"{prefix}{value}")
                edges = self._edges.get(name)
                if edges:
                    tokens.append(f"{name}<={edges[bisect_left(edges, value, 0, len(edges) - 1)]:.0f}")
            elif value is not None:
                return None
        return (tokens, numbers) if n_numeric == len(self._numeric) else None

    def _dense_numbers(self, contents: npt.NDArray[np.uint64], numbers: Numbers) -> Numbers:
        """The columns of the dense features with values; of the others only the presence counts."""
        codes = [(int(contents[at]) >> 32, value) for at, value in numbers if contents[at] != NOTHING]
        first = self._first_dense - self._n_features
        return [(first + code, value) for code, value in codes if code >= self._n_features]

    def _find(self, tokens: Any) -> npt.NDArray[np.uint64] | None:
        """The code and group of each feature; None where one is odd."""
        if self._map is None:
            return None
        if not tokens:
            return np.empty(0, np.uint64)
        try:
            if self._by_name:
                return self._map.find_joined(_JOIN(tokens).encode(), len(tokens))
            if not {int}.issuperset(map(type, tokens)):
                return None
            return self._map.find_integers(np.fromiter(tokens, np.int64, len(tokens)))
        except (TypeError, UnicodeEncodeError, OverflowError):  # bytes, what is no text, or no 64 bits
            return None


def _with_numbers(row: npt.NDArray[Any], numbers: Numbers) -> npt.NDArray[Any]:
    for column, value in numbers:
        row[column] = value
    return row


def _hashes(vocabulary: Vocabulary) -> tuple[npt.NDArray[np.uint64], bool]:
    """Return what features are found by, dense ones last, and whether these are secret hashes.

    Where names were kept, no other name is taken for a known one.
    """
    if vocabulary.names is not None:
        both = vocabulary.names, vocabulary.names_of_dense
        spans = [(names.data, names.offsets[:-1], names.offsets[1:]) for names in both]
        return np.concatenate([secret_hashes(*of_names) for of_names in spans]), True
    keys = np.concatenate((vocabulary.keys, vocabulary.dense_keys))
    return (mix_integers(keys) if vocabulary.integers else keys), False


def _values(encoding: Encoding) -> npt.NDArray[Any] | None:
    """Return what a column holds where a feature is, by code, dense ones last; None: always 1."""
    values = encoding.tables.values
    if values is None:
        return None
    kind = np.float64 if encoding.vocabulary.dense_names else values.dtype  # as `Encoded.to_array` has it
    of_dense = np.ones(len(encoding.vocabulary.dense_keys))
    return np.concatenate((values[:, 0], of_dense)).astype(kind)


def _sums(encoding: Encoding) -> npt.NDArray[np.float64]:
    """Return what each feature adds to which columns, dense ones last: column, value, column, weight.

    Where there are several classes, so much for each of them.
    """
    n_dense = len(encoding.vocabulary.dense_keys)
    each = [(one.part, one.first) for one in encoding.of_classes()] or [(encoding, 0)]
    of_features = np.concatenate([_added(*one) for one in each], axis=1)
    of_dense = np.full((n_dense, of_features.shape[1]), -1.0)
    first = encoding.n_sparse_columns + len(encoding.vocabulary.numeric_names)
    of_dense[:, 0] = first + np.arange(n_dense)
    of_dense[:, 1] = 1.0
    return np.concatenate((of_features, of_dense))


def _added(encoding: Encoding, first: int) -> npt.NDArray[np.float64]:
    """Return what each sparse feature adds to which columns, counted from `first`."""
    tables = encoding.tables
    of_features = np.full((len(encoding.vocabulary), 4), -1.0)
    of_features[:, 0] = np.where(tables.of_features >= 0, first + tables.of_features, -1)
    of_features[:, 1] = 1.0 if tables.values is None else tables.values[:, 0]
    if encoding.linear is not None:
        groups = encoding.linear.columns_of(encoding.coloring.colors)
        of_features[:, 2] = first + encoding.n_own_columns + groups
        of_features[:, 3] = encoding.linear.weights
    return of_features


def _groups(
    encoding: Encoding,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the group of each feature, and the color and the column of each group.

    The groups are the columns, then for each color the features without a column, then the dense columns.
    """
    n_colors, n_sparse = encoding.coloring.n_colors, encoding.n_sparse_columns
    column = encoding.tables.of_features
    of_feature = np.where(column >= 0, column, n_sparse + encoding.coloring.colors)
    dense = np.arange(len(encoding.vocabulary.dense_keys))  # a group, and a color, of its own each
    colors = encoding.column_colors, np.arange(n_colors), n_colors + dense
    first = n_sparse + len(encoding.vocabulary.numeric_names)
    columns = np.arange(n_sparse), np.full(n_colors, NO_COLUMN), first + dense
    return (
        np.concatenate((of_feature, n_sparse + n_colors + dense)),
        np.concatenate(colors).astype(np.int32),
        np.concatenate(columns).astype(np.int32),
    )


@cache
def _row_summer() -> Callable[..., None]:
    codes, numbers = np.empty(1, np.int64), np.empty((1, 1))
    return specialized(_sum_row, np.empty(1, np.uint64), codes, numbers, numbers[0])


@cache
def _row_resolver() -> Callable[..., int]:
    groups = np.empty((1, 1), np.int32)
    return specialized(_resolve, np.empty(1, np.uint64), groups[0], groups[0], groups)


@kernel
def _sum_row(contents, codes, adds, sums):  # type: ignore[no-untyped-def]
    """Add what the features of a row add to its columns, each once, in the order of `encode_sums`."""
    n = np.int64(0)
    for i in range(len(contents)):
        if contents[i] == NOTHING:
            continue
        code = np.int64(contents[i] >> U64(32))
        j = n
        while j > 0 and codes[j - 1] >= code:
            j -= 1
        if j < n and codes[j] == code:
            continue
        for k in range(n, j, -1):
            codes[k] = codes[k - 1]
        codes[j] = code
        n += 1
    for i in range(n):
        for part in range(0, adds.shape[1], 2):
            column = np.int64(adds[codes[i], part])
            if column >= 0:
                sums[column] += adds[codes[i], part + 1]


@kernel
def _resolve(contents, colors, places, kept):  # type: ignore[no-untyped-def]
    """Columns, ascending, and codes of the features that are kept: of a color, the rarest."""
    n = np.int64(0)
    for i in range(len(contents)):
        if contents[i] == NOTHING:
            continue
        code = np.int32(contents[i] >> U64(32))
        group = np.int32(contents[i] & U64(0xFFFFFFFF))
        at = np.int64(0)
        while at < n and colors[kept[0, at]] != colors[group]:
            at += 1
        if at == n:
            n += 1
        elif code <= kept[1, at]:
            continue
        kept[0, at], kept[1, at] = group, code
    n_columns = np.int64(0)
    for i in range(n):
        column, code = places[kept[0, i]], kept[1, i]
        if column < 0:
            continue
        j = n_columns
        while j > 0 and kept[0, j - 1] > column:
            kept[0, j], kept[1, j] = kept[0, j - 1], kept[1, j - 1]
            j -= 1
        kept[0, j], kept[1, j] = column, code
        n_columns += 1
    return n_columns
