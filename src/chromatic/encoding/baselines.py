"""What people do today, to compare with: keep the frequent features (FT), or hash them (HT)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import Batch
from chromatic.data.hashing import mix_integers
from chromatic.data.names import Names, integers_of_spans
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import NO_COLUMN, Encoded, Tables, encode
from chromatic.encoding.naming import Called
from chromatic.encoding.protocol import warn_of_unused, warn_without_columns

U64 = np.uint64


@dataclass(frozen=True)
class TruncatedEncoding:
    """The most frequent features, a column each; the others are dropped."""

    vocabulary: Vocabulary
    n_sparse_columns: int
    n_dense: int  # the dense columns that are kept, the first

    def encode(self, rows: Rows) -> Encoded:
        """Return the columns of rows that the vocabulary codes; a column's number is its feature's code."""
        columns = np.arange(rows.n_features, dtype=np.int32)
        columns[self.n_sparse_columns :] = NO_COLUMN
        rows = replace(rows, dense=rows.dense[:, : self.n_dense])
        return encode(rows, Tables(columns[:, None]), n_columns=self.n_sparse_columns)

    def column_names(self, called: Called) -> list[str]:
        """Return the names of the features that are kept, dense ones last."""
        sparse = [self.vocabulary.name(code) for code in range(self.n_sparse_columns)]
        return [called(feature) for feature in (*sparse, *self.vocabulary.dense_names[: self.n_dense])]


def truncate(vocabulary: Vocabulary, budget: int) -> TruncatedEncoding:
    """Keep as many features as the budget has columns: dense ones first, then the most frequent."""
    n_dense = min(budget, len(vocabulary.dense_names))
    n_kept = min(budget - n_dense, len(vocabulary))
    if n_dense < len(vocabulary.dense_names):
        warn_of_unused(budget, len(vocabulary.dense_names) - n_dense, n_dense)
    else:
        warn_without_columns(budget, vocabulary, n_kept)
    return TruncatedEncoding(vocabulary, n_kept, n_dense)


@dataclass(frozen=True)
class HashingEncoding:
    """Every feature, frequent or not, added to one of a number of columns with a sign of its own.

    The upper half of a feature's hash tells its column and the lowest bit its sign, so that features
    that meet in a column cancel as often as they add up.
    """

    n_columns: int
    integers: bool  # whether features are integers, and hashed as such

    def encode(self, batches: list[Batch]) -> Encoded:
        """The columns of rows as they came; there is no vocabulary, so no feature is unseen."""
        from scipy.sparse import csr_array, vstack

        nothing = csr_array((0, self.n_columns))
        matrix = vstack([nothing, *(self._encode(batch) for batch in batches)], format="csr")
        dense = np.empty((matrix.shape[0], 0))
        return Encoded(matrix.indptr, matrix.indices, matrix.data, self.n_columns, dense)

    def _encode(self, batch: Batch) -> Any:
        from scipy.sparse import csr_array

        columns, signs = self._places(self._hashes(batch))
        entries = signs * batch.all_values(), columns, batch.indptr.copy()  # scipy works in place
        matrix = csr_array(entries, shape=(batch.n_rows, self.n_columns))
        if batch.numeric is not None and len(batch.numeric_names):
            columns, signs = self._places(Names.pack(batch.numeric_names).hashes())
            indptr = np.arange(batch.n_rows + 1) * len(columns)
            numbers = (batch.numeric * signs).ravel(), np.tile(columns, batch.n_rows), indptr
            matrix = matrix + csr_array(numbers, shape=matrix.shape)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    def _places(
        self, hashes: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        columns = ((hashes >> U64(32)) * U64(self.n_columns)) >> U64(32)
        return columns.astype(np.int32), 1.0 - 2.0 * (hashes & U64(1)).astype(np.float64)

    def _hashes(self, batch: Batch) -> npt.NDArray[np.uint64]:
        """The hash of every feature of every row, of an integer by its value or, among strings, digits."""
        if not self.integers:
            batch = batch.with_names()
        if batch.tokens is None:
            return mix_integers(batch.ids)
        if self.integers and batch.tokens.names is not None:
            names = batch.tokens.names
            values, valid = integers_of_spans(names.data, names.offsets[:-1], names.offsets[1:])
            return np.where(valid, mix_integers(values), batch.tokens.hashes)[batch.ids]
        return batch.tokens.hashes[batch.ids]
