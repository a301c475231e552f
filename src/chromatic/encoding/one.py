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
from chromatic.encoding.fitting import Encoding, SubmodularEncoding
from chromatic.encoding.frequency import FrequencyEncoding
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
        if vocabulary.bins is None and not (
            isinstance(encoding, SubmodularEncoding) and encoding.null == "emit"
        ):
            groups, self._colors, self._places = _groups(encoding)
            keys = np.concatenate((vocabulary.keys, vocabulary.dense_keys))
            hashes = keys if self._by_name else mix_integers(keys)
            codes = np.arange(len(keys))
            if isinstance(encoding, FrequencyEncoding):  # what was truncated is as if unseen
                codes = np.delete(codes, np.flatnonzero(encoding.codes == 0))
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
        found = np.empty((2, len(tokens)), np.int32)
        n = _resolve(contents, self._colors, self._places, found)
        if self._values is None:
            return found[0, :n]
        columns, codes = found[:, :n]
        row = np.zeros(self._n_columns, self._values.dtype)
        row[columns] = self._values[codes]
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
    """What a column holds where a feature is, by code, dense ones after the others; None for 1."""
    if isinstance(encoding, SubmodularEncoding):
        return None
    values = encoding.codes if isinstance(encoding, FrequencyEncoding) else encoding.values
    return np.concatenate((values, np.ones(len(encoding.vocabulary.dense_keys), values.dtype)))


def _groups(
    encoding: Encoding,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The group of each feature, and the color and the column of each group."""
    n_colors, n_sparse = encoding.coloring.n_colors, encoding.n_sparse_columns
    of_feature, colors = encoding.coloring.colors, np.arange(n_colors)
    columns = colors
    if isinstance(encoding, SubmodularEncoding):
        book = encoding.codebook
        of_feature = np.where(encoding.columns >= 0, encoding.columns, n_sparse + of_feature)
        of_bin = np.repeat(colors, np.diff(book.bin_starts))
        of_column = of_bin[np.argsort(book.columns, kind="stable")][-n_sparse:] if n_sparse else of_bin[:0]
        columns = np.concatenate((np.arange(n_sparse), np.full(n_colors, NO_COLUMN)))
        colors = np.concatenate((of_column, colors))
    dense = np.arange(len(encoding.vocabulary.dense_keys))  # a group, and a color, of its own each
    return (
        np.concatenate((of_feature, len(columns) + dense)),
        np.concatenate((colors, n_colors + dense)).astype(np.int32),
        np.concatenate((columns, n_sparse + dense)).astype(np.int32),
    )


@kernel
def _resolve(contents, colors, places, found):  # type: ignore[no-untyped-def]
    """Columns, ascending, and codes of the features that are kept: of a color, the rarest."""
    n = np.int64(0)
    for i in range(len(contents)):
        if contents[i] == NOTHING:
            continue
        code = np.int32(contents[i] >> U64(32))
        group = np.int32(contents[i] & U64(0xFFFFFFFF))
        at = np.int64(0)
        while at < n and colors[found[0, at]] != colors[group]:
            at += 1
        if at == n:
            n += 1
        elif code <= found[1, at]:
            continue
        found[0, at], found[1, at] = group, code
    kept = np.int64(0)
    for i in range(n):
        column, code = places[found[0, i]], found[1, i]
        if column < 0:
            continue
        j = kept
        while j > 0 and found[0, j - 1] > column:
            found[0, j], found[1, j] = found[0, j - 1], found[1, j - 1]
            j -= 1
        found[0, j], found[1, j] = column, code
        kept += 1
    return kept
