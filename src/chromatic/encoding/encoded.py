"""Rows as columns: what every encoding gives, and how it is made from a table of slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, prefetch, rank_into
from chromatic.data.batch import Batch
from chromatic.data.rows import ROWS_PER_PIECE, Rows

NO_COLUMN = np.int32(-1)


@dataclass(frozen=True)
class Encoded:
    """CSR of the columns that come from sparse features, and the dense columns after them."""

    indptr: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[Any] | None  # None: all are 1
    n_sparse_columns: int
    dense: npt.NDArray[Any]  # rows × dense columns

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

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
        """Batches for writers, of ROWS_PER_PIECE rows."""
        for start in range(0, self.n_rows, ROWS_PER_PIECE):
            stop = min(start + ROWS_PER_PIECE, self.n_rows)
            of_piece = None if labels is None else labels[start:stop]
            yield self.span(start, stop).to_batch(of_piece, first, fold=fold)

    def to_batch(
        self, labels: npt.NDArray[np.float64] | None, first: int = 0, *, fold: bool = False
    ) -> Batch:
        """All rows for a writer, the columns numbered from `first`; the dense ones are numeric columns.

        With `fold`, dense columns are entries like the others.
        """
        rows = self.with_dense_folded() if fold else self
        names = tuple(
            b"%d" % column for column in range(first + rows.n_sparse_columns, first + rows.n_columns)
        )
        ids = (rows.columns + first).astype(np.uint32)
        batch = (
            Batch(rows.indptr, ids)
            if rows.values is None
            else Batch.of(rows.indptr, ids, None, rows.values.astype(np.float64))
        )
        numeric = rows.dense.astype(np.float64) if names else None
        return replace(batch, labels=labels, numeric=numeric, numeric_names=names)

    def to_csr(self) -> Any:
        """One scipy matrix of all columns."""
        from scipy.sparse import csr_array

        folded = self.with_dense_folded()
        values = np.ones(len(folded.columns)) if folded.values is None else folded.values
        shape = len(folded.indptr) - 1, folded.n_columns
        # Many learners take 32-bit indices only, and scipy makes all of them as wide as the widest.
        indptr = folded.indptr.astype(np.int32 if folded.indptr[-1] < 1 << 31 else np.int64)
        return csr_array((values, folded.columns, indptr), shape=shape)


def joined(pieces: list[Encoded]) -> Encoded:
    """Rows with the same columns, one after the other."""
    lengths = np.concatenate([np.diff(piece.indptr) for piece in pieces])
    values = [piece.values for piece in pieces if piece.values is not None]
    return Encoded(
        np.concatenate(([0], np.cumsum(lengths))),
        np.concatenate([piece.columns for piece in pieces]),
        np.concatenate(values) if values else None,
        pieces[0].n_sparse_columns,
        np.concatenate([piece.dense for piece in pieces]),
    )


def encode(
    rows: Rows,
    columns: npt.NDArray[np.int32],
    fold: npt.NDArray[np.int32] | None = None,
    values: npt.NDArray[Any] | None = None,
    *,
    n_columns: int,
    alone: npt.NDArray[np.int32] | None = None,
    null: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None = None,
) -> Encoded:
    """Replace the features of rows without collisions by columns, ascending within a row.

    `columns` (and `values`) say what each feature becomes in each fold, features × folds (or × 1, for
    all folds); the features after these have the columns `alone`, in any fold. With `null`, (colors of
    the features, columns of absent colors), every color that a row has no feature of makes a column too.
    """
    fold = np.zeros(rows.n_rows, np.int32) if fold is None else fold
    per_row = 0 if null is None else len(null[1])
    indptr = np.zeros(rows.n_rows + 1, np.int64)
    out = np.empty(len(rows.codes) if null is None else per_row * rows.n_rows, np.int32)
    found = np.empty(len(out) if values is not None else 0, np.float64 if values is None else values.dtype)
    tables = columns, np.empty(0, np.int32) if alone is None else alone
    if null is None:
        table = np.empty((0, columns.shape[1]), found.dtype) if values is None else values
        spare = np.empty(rows.largest_nnz, np.int32), np.empty(rows.largest_nnz, found.dtype)
        _encode(rows.indptr, rows.codes, fold, tables, table, spare, indptr, out, found)
    else:
        present = np.empty(per_row, np.int32)
        _encode_all_colors(rows.indptr, rows.codes, fold, tables, null[0], null[1], present, indptr, out)
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


@inlined
def _column(tables, code, fold):  # type: ignore[no-untyped-def]
    columns, alone = tables
    if code >= len(columns):
        return alone[code - len(columns)]
    return columns[code, fold if columns.shape[1] > 1 else 0]


@kernel
def _encode(indptr, codes, fold, tables, values, spare, out_indptr, out, out_values):  # type: ignore[no-untyped-def]
    """The columns of a row are distinct, so the place of one is the number of smaller ones."""
    flat, n_folds = tables[0].reshape(-1), tables[0].shape[1]
    found, found_values = spare
    with_values = len(out_values) > 0
    at = np.int64(0)
    for row in range(len(indptr) - 1):
        n = np.int64(0)
        for i in range(indptr[row], indptr[row + 1]):
            if i + 16 < len(codes):
                prefetch(flat, np.int64(codes[i + 16]) * n_folds)
            code = np.int64(codes[i])
            column = _column(tables, code, fold[row])
            if column == NO_COLUMN:
                continue
            found[n] = column
            if with_values:
                found_values[n] = values[code, fold[row]]
            n += 1
        if with_values:
            for i in range(n):
                rank = np.uint32(0)
                for j in range(n):
                    rank += np.uint32(found[j] < found[i])
                out_values[at + np.int64(rank)] = found_values[i]
        rank_into(found, n, out, at)
        at += n
        out_indptr[row + 1] = at


@kernel
def _encode_all_colors(indptr, codes, fold, tables, colors, null_columns, present, out_indptr, out):  # type: ignore[no-untyped-def]
    """One column of every color; as they ascend with the colors, they are in order."""
    n_colors = len(null_columns)
    for row in range(len(indptr) - 1):
        for k in range(n_colors):
            present[k] = null_columns[k]
        for i in range(indptr[row], indptr[row + 1]):
            present[colors[codes[i]]] = _column(tables, np.int64(codes[i]), fold[row])
        for k in range(n_colors):
            out[row * n_colors + k] = present[k]
        out_indptr[row + 1] = (row + 1) * n_colors
