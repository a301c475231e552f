"""Rows as columns: what every encoding gives, and how it is made from tables of what features become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._numba import AHEAD, inlined, kernel, prefetch, rank_into, trailing_zeros
from chromatic.data.batch import Batch
from chromatic.data.rows import ROWS_PER_PIECE, Rows

NO_COLUMN = np.int32(-1)


class Tables(NamedTuple):
    """What each feature becomes in each fold: features × folds, or × 1 where all folds agree."""

    columns: npt.NDArray[np.int32]  # or NO_COLUMN
    values: npt.NDArray[Any] | None = None  # None: every column holds 1
    alone: npt.NDArray[np.int32] | None = None  # the columns of the features after these, in any fold
    weights: npt.NDArray[np.float32] | None = None  # in linear columns, which come after the others
    of_classes: tuple[Tables, ...] = ()  # those of several classes, in the place of what stands above

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
        old = np.empty(0) if self.values is None else self.values.astype(np.float64, copy=False)
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
            else Batch.of(rows.indptr, ids, None, rows.values.astype(np.float64, copy=False))
        )
        numeric = rows.dense.astype(np.float64) if names else None
        return replace(batch, labels=labels, numeric=numeric, numeric_names=names)

    def to_array(self, first: int = 0) -> npt.NDArray[Any]:
        """One dense array of the columns from `first`: integers where all hold levels, else float64."""
        levels = None if self.values is None or self.dense.shape[1] else self.values.dtype
        out = np.zeros((self.n_rows, self.n_columns - first), np.float64 if levels is None else levels)
        rows = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        wanted = np.flatnonzero(self.columns >= first)
        places = rows[wanted], self.columns[wanted] - first
        out[places] = 1 if self.values is None else self.values[wanted]
        out[:, self.n_sparse_columns - first :] = self.dense
        return out

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


def side_by_side(pieces: Sequence[Encoded]) -> Encoded:
    """The same rows with the columns of one piece after those of another."""
    indptr = np.sum([piece.indptr for piece in pieces], axis=0)
    columns, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    at, first = indptr[:-1].copy(), 0  # where the entries of a piece go, and its first column
    for piece in pieces:
        lengths = np.diff(piece.indptr)
        places = np.repeat(at - piece.indptr[:-1], lengths) + np.arange(piece.indptr[-1])
        columns[places] = piece.columns + np.int32(first)
        values[places] = 1.0 if piece.values is None else piece.values
        at, first = at + lengths, first + piece.n_sparse_columns
    without = all(piece.values is None for piece in pieces)
    return Encoded(indptr, columns, None if without else values, first, pieces[0].dense)


class Summing(NamedTuple):
    """What it takes to encode rows in which features share colors, and all of them count."""

    colors: npt.NDArray[np.int32]  # of the features
    n_colors: int
    n_own: int  # columns that are not linear
    n_linear: int


def encode_sums(
    rows: Rows,
    tables: Tables,
    fold: npt.NDArray[np.int32] | None = None,
    *,
    summing: Summing,
    absent: npt.NDArray[np.int32] | None = None,
) -> Encoded:
    """Replace the features of rows by columns, ascending within a row, that hold the sums of their values.

    Linear columns hold the sums of their weights: color k belongs to linear column k mod n_linear.
    `absent` is the column of each color where a row has none of its features.
    """
    fold = np.zeros(rows.n_rows, np.int32) if fold is None else fold
    n_columns = summing.n_own + summing.n_linear
    absent = np.empty(0, np.int32) if absent is None else absent
    lengths = np.diff(rows.indptr)
    most = int(np.minimum(lengths * (1 + (summing.n_linear > 0)) + len(absent), n_columns).sum())
    indptr, out, values = np.zeros(rows.n_rows + 1, np.int64), np.empty(most, np.int32), np.empty(most)
    weights = (
        np.empty((0, tables.columns.shape[1]), np.float32) if tables.weights is None else tables.weights
    )
    bits, last_row_of_color = np.zeros((n_columns + 63) // 64, np.uint64), np.full(summing.n_colors, -1)
    scratch = np.empty(n_columns), bits, last_row_of_color
    coded, layout = (
        (rows.indptr, rows.codes, fold),
        (summing.colors, summing.n_own, summing.n_linear, absent),
    )
    _encode_sums(coded, (*tables.arrays, weights), layout, scratch, (indptr, out, values))
    used = indptr[-1]
    return Encoded(indptr, out[:used], values[:used], n_columns, rows.dense)


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


@inlined
def _prefetch_column(tables, code):  # type: ignore[no-untyped-def]
    """Ask the cache for what `_column` will read of a feature."""
    columns, alone = tables[0], tables[1]
    if code >= len(columns):
        prefetch(alone, code - len(columns))
    else:
        prefetch(columns, code * columns.shape[1])


@kernel
def _encode(rows, tables, spare, out):  # type: ignore[no-untyped-def]
    """The columns of a row are distinct, so the place of one is the number of smaller ones."""
    indptr, codes, fold = rows
    values = tables[2]
    out_indptr, out_columns, out_values = out
    of_row, values_of_row = spare
    with_values = len(out_values) > 0
    at = np.int64(0)
    for row in range(len(indptr) - 1):
        n = np.int64(0)
        for i in range(indptr[row], indptr[row + 1]):
            if i + AHEAD < len(codes):
                _prefetch_column(tables, np.int64(codes[i + AHEAD]))
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
def _encode_sums(rows, tables, layout, scratch, out):  # type: ignore[no-untyped-def]
    """Sum the values of a row's features by column; `scratch` has a sum and a bit of each."""
    indptr, codes, fold = rows
    _, _, values, weights = tables
    colors, n_own, n_linear, absent = layout
    sums, bits, last_row_of_color = scratch
    out_indptr, out_columns, out_values = out
    by_color = n_linear > 0 or len(absent) > 0
    at = np.int64(0)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            if i + AHEAD < len(codes):
                _prefetch_column(tables, np.int64(codes[i + AHEAD]))
                if by_color:
                    prefetch(colors, np.int64(codes[i + AHEAD]))
                if np.int64(codes[i + AHEAD]) < len(weights):
                    prefetch(weights, np.int64(codes[i + AHEAD]) * weights.shape[1])
            code, color = np.int64(codes[i]), np.int32(0)
            if by_color:
                color = colors[code]
                last_row_of_color[color] = row
            column = _column(tables[:3], code, fold[row])
            if column != NO_COLUMN:
                value = 1.0
                if len(values):
                    value = values[code, fold[row] if values.shape[1] > 1 else 0]
                _add(sums, bits, np.int64(column), value)
            if code < len(weights):
                weight = weights[code, fold[row] if weights.shape[1] > 1 else 0]
                _add(sums, bits, np.int64(n_own + color % n_linear), weight)
        for k in range(len(absent)):
            if last_row_of_color[k] != row:
                _add(sums, bits, np.int64(absent[k]), 1.0)
        for word in range(len(bits)):
            left = bits[word]
            bits[word] = np.uint64(0)
            while left:
                column = np.int64(word * 64) + np.int64(trailing_zeros(left))
                left &= left - np.uint64(1)
                out_columns[at] = column
                out_values[at] = sums[column]
                at += 1
        out_indptr[row + 1] = at


@inlined
def _add(sums, bits, column, value):  # type: ignore[no-untyped-def]
    """Add a value to a column of a row, whose bit tells that the column has one."""
    word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
    if bits[word] & bit:
        sums[column] += value
    else:
        bits[word] |= bit
        sums[column] = value


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
