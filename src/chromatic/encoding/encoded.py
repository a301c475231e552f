"""Rows as columns: what every encoding gives, and how it is made from tables of what features become."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, prefetch, rank_into
from chromatic.data.batch import Batch
from chromatic.data.rows import ROWS_PER_PIECE, Rows

NO_COLUMN = np.int32(-1)


class Tables(NamedTuple):
    """What each feature becomes in each fold: features × folds, or × 1 where all folds agree."""

    columns: npt.NDArray[np.int32]  # or NO_COLUMN
    values: npt.NDArray[Any] | None = None  # None: every column holds 1
    alone: npt.NDArray[np.int32] | None = None  # the columns of the features after these, in any fold

    @property
    def of_features(self) -> npt.NDArray[np.int32]:
        """The column of each feature, where all folds agree."""
        return self.columns[:, 0]

    @property
    def arrays(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[Any]]:
        """What kernels take: no array is missing, an empty one stands in."""
        alone = np.empty(0, np.int32) if self.alone is None else self.alone
        values = np.empty((0, self.columns.shape[1])) if self.values is None else self.values
        return self.columns, alone, values


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
        rows = self.indptr, self.columns, old
        _fold(rows, self.dense, self.n_sparse_columns, (indptr, columns, values))
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
    tables: Tables,
    fold: npt.NDArray[np.int32] | None = None,
    *,
    n_columns: int,
    absent: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]] | None = None,
) -> Encoded:
    """Replace the features of rows without collisions by columns, ascending within a row.

    `absent` are the colors of the features, and the column of each color where a row has none of its
    features; without it, an absent color makes no column.
    """
    fold = np.zeros(rows.n_rows, np.int32) if fold is None else fold
    coded = rows.indptr, rows.codes, fold
    indptr = np.zeros(rows.n_rows + 1, np.int64)
    if absent is not None:
        out = np.empty(len(absent[1]) * rows.n_rows, np.int32)
        _encode_all_colors(coded, tables.arrays, absent, np.empty(len(absent[1]), np.int32), (indptr, out))
        return Encoded(indptr, out, None, n_columns, rows.dense)
    out = np.empty(len(rows.codes), np.int32)
    kind = np.float64 if tables.values is None else tables.values.dtype
    values = np.empty(0 if tables.values is None else len(out), kind)
    spare = np.empty(rows.largest_nnz, np.int32), np.empty(rows.largest_nnz, kind)
    _encode(coded, tables.arrays, spare, (indptr, out, values))
    used = indptr[-1]
    return Encoded(
        indptr, out[:used], None if tables.values is None else values[:used], n_columns, rows.dense
    )


@kernel
def _fold(rows, dense, first, out):  # type: ignore[no-untyped-def]
    """Copy rows, each followed by the dense columns that are not 0; no values means that all are 1."""
    indptr, columns, values = rows
    out_indptr, out_columns, out_values = out
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
    columns, alone, _ = tables
    if code >= len(columns):
        return alone[code - len(columns)]
    return columns[code, fold if columns.shape[1] > 1 else 0]


@kernel
def _encode(rows, tables, spare, out):  # type: ignore[no-untyped-def]
    """The columns of a row are distinct, so the place of one is the number of smaller ones."""
    indptr, codes, fold = rows
    values = tables[2]
    out_indptr, out_columns, out_values = out
    flat, n_folds = tables[0].reshape(-1), tables[0].shape[1]
    of_row, values_of_row = spare
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
            of_row[n] = column
            if with_values:
                values_of_row[n] = values[code, fold[row]]
            n += 1
        if with_values:
            for i in range(n):
                rank = np.uint32(0)
                for j in range(n):
                    rank += np.uint32(of_row[j] < of_row[i])
                out_values[at + np.int64(rank)] = values_of_row[i]
        rank_into(of_row, n, out_columns, at)
        at += n
        out_indptr[row + 1] = at


@kernel
def _encode_all_colors(rows, tables, absent, present, out):  # type: ignore[no-untyped-def]
    """One column of every color; as they ascend with the colors, they are in order."""
    indptr, codes, fold = rows
    colors, absent_columns = absent
    out_indptr, out_columns = out
    n_colors = len(absent_columns)
    for row in range(len(indptr) - 1):
        for k in range(n_colors):
            present[k] = absent_columns[k]
        for i in range(indptr[row], indptr[row + 1]):
            present[colors[codes[i]]] = _column(tables, np.int64(codes[i]), fold[row])
        for k in range(n_colors):
            out_columns[row * n_colors + k] = present[k]
        out_indptr[row + 1] = (row + 1) * n_colors
