"""One row at a time, in microseconds: what a server needs.

A table of 16-byte slots holds a feature's hash beside its code and its group. A group is a column, or
the left-out bin of a color, so that a small array of groups tells both color and column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.data.batch import check_kind
from chromatic.data.hashing import NOTHING, HashMap, mix_integers
from chromatic.data.objects import batches_of
from chromatic.encoding.encoded import NO_COLUMN
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError

U64 = np.uint64
MOST_FEATURES = 512  # of a row; colors are sought one by one

# A byte that no UTF-8 text has, as `surrogateescape` writes it.
_SEPARATOR = "\udcff"


class RowEncoder:
    """Encodes single rows as an encoding does many."""

    def __init__(self, encoding: Encoding) -> None:
        vocabulary = encoding.vocabulary
        if vocabulary.numeric_names:
            raise InputError(
                "the model has numeric columns, of which a row of features says nothing; expected a model "
                "without, or transform"
            )
        self._encoding = encoding
        self._values = _values(encoding)
        self._by_name = not vocabulary.integers
        self._map: HashMap | None = None
        if vocabulary.bins is None and encoding.absent is None:
            groups, self._colors, self._places = _groups(encoding)
            keys = np.concatenate((vocabulary.keys, vocabulary.dense_keys))
            hashes = keys if self._by_name else mix_integers(keys)
            codes = np.delete(np.arange(len(keys)), slice(encoding.n_kept, len(vocabulary)))
            self._map = HashMap(hashes[codes], (codes << 32 | groups[codes]).astype(np.uint64))

    def encode(self, tokens: Collection[Any]) -> npt.NDArray[Any]:
        """The columns that are 1, ascending; where columns have values, all of the row's values."""
        if isinstance(tokens, (str, bytes, Mapping)):
            raise InputError(
                f"a row of type {type(tokens).__name__}; expected a list or set of features (for values, "
                "transform)"
            )
        contents = self._find(tokens) if len(tokens) <= MOST_FEATURES else None
        if contents is None:
            return self._encode_as_many(tokens)
        kept = np.empty((2, len(tokens)), np.int32)
        n = _resolve(contents, self._colors, self._places, kept)
        columns: npt.NDArray[np.int32] = kept[0, :n]
        if self._values is None:
            return columns
        row = np.zeros(self._n_columns, self._values.dtype)
        row[columns] = self._values[kept[1, :n]]
        return row

    @property
    def _n_columns(self) -> int:
        return self._encoding.n_sparse_columns + len(self._encoding.vocabulary.dense_keys)

    def _find(self, tokens: Collection[Any]) -> npt.NDArray[np.uint64] | None:
        """The code and group of each feature; None where this quick way does not do."""
        if self._map is None:
            return None
        if not self._by_name:
            try:
                values = np.fromiter(tokens, np.uint32, len(tokens))
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"{error}; the model's features are integers from 0") from error
            return self._map.find(mix_integers(values))
        try:
            data = _SEPARATOR.join(tokens).encode("utf-8", "surrogateescape")
        except (TypeError, UnicodeEncodeError):  # bytes, or what is no text
            return None
        return self._map.find_joined(data, len(tokens))

    def _encode_as_many(self, tokens: Collection[Any]) -> npt.NDArray[Any]:
        vocabulary = self._encoding.vocabulary
        batches = list(batches_of([list(tokens)]))
        check_kind(batches, vocabulary.integers)
        rows = vocabulary.encode(batches)
        row = self._encoding.encode(rows).to_csr()
        if self._values is None:
            return np.asarray(row.indices, np.int32)
        return np.asarray(row.toarray()[0], self._values.dtype)


def _values(encoding: Encoding) -> npt.NDArray[Any] | None:
    """Return what a column holds where a feature is, by code, dense ones last; None: always 1."""
    values = encoding.tables.values
    if values is None:
        return None
    return np.concatenate((values[:, 0], np.ones(len(encoding.vocabulary.dense_keys), values.dtype)))


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
    columns = np.arange(n_sparse), np.full(n_colors, NO_COLUMN), n_sparse + dense
    return (
        np.concatenate((of_feature, n_sparse + n_colors + dense)),
        np.concatenate(colors).astype(np.int32),
        np.concatenate(columns).astype(np.int32),
    )


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
