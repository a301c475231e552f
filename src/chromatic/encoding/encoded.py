"""Rows as columns: what every encoding gives, and how it is made from a table of slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, prefetch
from chromatic.data.batch import Batch
from chromatic.data.rows import Rows

NO_COLUMN = np.int32(-1)
ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True)
class Encoded:
    """CSR of the columns that come from sparse features, and the dense columns after them."""

    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[Any] | None  # None: all are 1
    n_sparse_columns: int
    dense: npt.NDArray[Any]  # rows × dense columns

    @property
    def n_columns(self) -> int:
        return self.n_sparse_columns + int(self.dense.shape[1])

    def take(self, rows: npt.NDArray[np.int64]) -> Encoded:
        """Some of the rows."""
        if len(rows) == len(self.indptr) - 1:
            return self
        lengths = np.diff(self.indptr)
        chosen = np.zeros(len(lengths), np.bool_)
        chosen[rows] = True
        entries = np.repeat(chosen, lengths)
        return replace(
            self,
            indptr=np.concatenate(([0], np.cumsum(lengths[rows]))),
            columns=self.columns[entries],
            values=None if self.values is None else self.values[entries],
            dense=self.dense[rows],
        )

    def with_dense_folded(self) -> Encoded:
        """The same columns, the dense ones as entries after each row's others where they are not 0."""
        n_dense = self.dense.shape[1]
        if not n_dense:
            return self
        indptr = self.indptr + np.concatenate(([0], np.cumsum(np.count_nonzero(self.dense, axis=1))))
        columns = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1])
        old = np.empty(0) if self.values is None else self.values.astype(np.float64)
        _fold(self.indptr, self.columns, old, self.dense, self.n_sparse_columns, indptr, columns, values)
        nothing = np.empty((len(self.dense), 0))
        return Encoded(indptr, columns, values, self.n_columns, nothing)

    def span(self, start: int, stop: int) -> Encoded:
        """The rows from start to stop."""
        indptr = self.indptr[start : stop + 1]
        entries = slice(indptr[0], indptr[-1])
        values = None if self.values is None else self.values[entries]
        return replace(
            self,
            indptr=indptr - indptr[0],
            columns=self.columns[entries],
            values=values,
            dense=self.dense[start:stop],
        )

    def to_batches(
        self, labels: npt.NDArray[np.float64] | None, first: int = 0, *, fold: bool = False
    ) -> Iterator[Batch]:
        """Batches for writers, the columns numbered from `first`; the dense ones are numeric columns.

        With `fold`, dense columns are entries like the others.
        """
        for start in range(0, len(self.indptr) - 1, ROWS_PER_BATCH):
            piece = self.span(start, min(start + ROWS_PER_BATCH, len(self.indptr) - 1))
            if fold:
                piece = piece.with_dense_folded()
            dense = range(first + piece.n_sparse_columns, first + piece.n_columns)
            names = tuple(b"%d" % column for column in dense)
            ids = (piece.columns + first).astype(np.uint32)
            values = np.ones(len(ids)) if piece.values is None else piece.values.astype(np.float64)
            yield replace(
                Batch.of(piece.indptr, ids, None, values),
                labels=None if labels is None else labels[start : start + ROWS_PER_BATCH],
                numeric=piece.dense.astype(np.float64) if names else None,
                numeric_names=names,
            )

    def to_csr(self) -> Any:
        """One scipy matrix of all columns."""
        from scipy.sparse import csr_array

        folded = self.with_dense_folded()
        values = np.ones(len(folded.columns)) if folded.values is None else folded.values
        shape = len(folded.indptr) - 1, folded.n_columns
        # Many learners take 32-bit indices only, and scipy makes all of them as wide as the widest.
        indptr = folded.indptr.astype(np.int32 if folded.indptr[-1] < 1 << 31 else np.int64)
        return csr_array((values, folded.columns, indptr), shape=shape)


def encode(
    rows: Rows,
    columns: npt.NDArray[np.int32],
    fold: npt.NDArray[np.int32] | None = None,
    values: npt.NDArray[Any] | None = None,
    *,
    n_columns: int,
    null: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None = None,
) -> Encoded:
    """Replace the features of rows without collisions by columns, ascending within a row.

    `columns` (and `values`) say what each feature becomes in each fold. With `null`, (colors of the
    features, columns of absent colors), every color that a row has no feature of makes a column too.
    """
    fold = np.zeros(rows.n_rows, np.int32) if fold is None else fold
    per_row = 0 if null is None else len(null[1])
    indptr = np.zeros(rows.n_rows + 1, np.int64)
    out = np.empty(len(rows.codes) if null is None else per_row * rows.n_rows, np.int32)
    found = np.empty(len(out) if values is not None else 0, np.float64 if values is None else values.dtype)
    table = np.empty((len(columns), 0)) if values is None else values
    if null is None:
        _encode(rows.indptr, rows.codes, fold, columns, table, indptr, out, found)
    else:
        present = np.empty(per_row, np.int32)
        _encode_all_colors(rows.indptr, rows.codes, fold, columns, null[0], null[1], present, indptr, out)
    used = indptr[-1]
    return Encoded(indptr, out[:used], found[:used] if values is not None else None, n_columns, rows.dense)


@kernel
def _fold(indptr, columns, values, dense, first, out_indptr, out_columns, out_values):  # type: ignore[no-untyped-def]
    """Copy rows, each followed by the dense columns that are not 0; no values means that all are 1."""
    for row in range(len(indptr) - 1):
        at = out_indptr[row]
        for i in range(indptr[row], indptr[row + 1]):
            out_columns[at] = columns[i]
            out_values[at] = values[i] if len(values) else 1.0
            at += 1
        for d in range(dense.shape[1]):
            if dense[row, d] != 0.0:
                out_columns[at] = first + d
                out_values[at] = dense[row, d]
                at += 1


@kernel
def _encode(indptr, codes, fold, columns, values, out_indptr, out, out_values):  # type: ignore[no-untyped-def]
    at = np.int64(0)
    for row in range(len(indptr) - 1):
        start = at
        if row + 2 < len(indptr):  # lookups are at random in a large table: ask for the next row's
            first = np.int64(fold[row + 1]) * columns.shape[1]
            for i in range(indptr[row + 1], indptr[row + 2]):
                prefetch(columns, first + np.int64(codes[i]))
        for i in range(indptr[row], indptr[row + 1]):
            column = columns[fold[row], codes[i]]
            if column == NO_COLUMN:
                continue
            j = at
            while j > start and out[j - 1] > column:
                out[j] = out[j - 1]
                if len(out_values):
                    out_values[j] = out_values[j - 1]
                j -= 1
            out[j] = column
            if len(out_values):
                out_values[j] = values[fold[row], codes[i]]
            at += 1
        out_indptr[row + 1] = at


@kernel
def _encode_all_colors(indptr, codes, fold, columns, colors, null_columns, present, out_indptr, out):  # type: ignore[no-untyped-def]
    """One column of every color; as they ascend with the colors, they are in order."""
    n_colors = len(null_columns)
    for row in range(len(indptr) - 1):
        for k in range(n_colors):
            present[k] = null_columns[k]
        for i in range(indptr[row], indptr[row + 1]):
            present[colors[codes[i]]] = columns[fold[row], codes[i]]
        for k in range(n_colors):
            out[row * n_colors + k] = present[k]
        out_indptr[row + 1] = (row + 1) * n_colors
