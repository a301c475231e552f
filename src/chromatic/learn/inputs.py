"""Rows as a network takes them: weighted entries of embeddings that belong to fields.

One-hot columns, columns with values, categorical codes and dense numbers are all the same here: an entry of
a row names an embedding, the embedding belongs to a field, and the entry has a value. What is absent has no
entry: the code 0 of a field, and a column of 0, are the reference that the network's bias holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Layout:
    """What the columns of a matrix are: fields of codes, numbers, and the scales of the dense numbers."""

    n_columns: int  # with the dense ones, which are last
    field_dims: tuple[int, ...] | None  # how many codes each column has, 0 included; None: no codes
    scales: tuple[float, ...]  # of the dense columns

    @property
    def n_sparse_columns(self) -> int:
        return self.n_columns - len(self.scales)

    @property
    def n_fields(self) -> int:
        """Each column is a field; one without any code but 0 is none."""
        return int(np.count_nonzero(self._sizes))

    @property
    def fields(self) -> npt.NDArray[np.int32]:
        """The field of each embedding."""
        sizes = self._sizes
        return np.repeat(np.arange(self.n_fields, dtype=np.int32), sizes[sizes > 0])

    @property
    def _sizes(self) -> npt.NDArray[np.int64]:
        """How many embeddings each column has."""
        if self.field_dims is None:
            return np.ones(self.n_columns, np.int64)
        return np.array([*(size - 1 for size in self.field_dims), *[1] * len(self.scales)], np.int64)

    @classmethod
    def of(cls, encoded: Encoded, field_dims: npt.NDArray[np.int64] | None = None) -> Layout:
        """The layout of training rows."""
        if field_dims is not None and len(field_dims) != encoded.n_sparse_columns:
            raise InputError(
                f"{encoded.n_sparse_columns} columns of codes and {len(field_dims)} field_dims; expected "
                "as many of both"
            )
        dims = None if field_dims is None else tuple(int(size) for size in field_dims)
        return cls(encoded.n_columns, dims, tuple(scales_of(encoded.dense).tolist()))

    def inputs(self, encoded: Encoded) -> Inputs:
        """Rows in this layout."""
        if (encoded.n_columns, encoded.dense.shape[1]) != (self.n_columns, len(self.scales)):
            raise InputError(
                f"{encoded.n_columns} columns, {encoded.dense.shape[1]} of them dense, and a network of "
                f"{self.n_columns} and {len(self.scales)}; expected as many of both"
            )
        index, values = np.asarray(encoded.columns, np.int32), encoded.values
        first_dense = encoded.n_sparse_columns
        if self.field_dims is not None:
            index, first_dense = self._embeddings_of_codes(encoded)
            values = None
        weights = None if values is None else np.asarray(values, np.float32)
        return _with_dense(encoded, index, weights, first_dense, self.scales)

    def _embeddings_of_codes(self, encoded: Encoded) -> tuple[npt.NDArray[np.int32], int]:
        sizes = np.asarray(self.field_dims, np.int64) - 1
        starts = np.concatenate(([0], np.cumsum(sizes)))
        codes = np.zeros(0) if encoded.values is None else encoded.values
        if (
            len(codes) != len(encoded.columns)
            or (codes < 1).any()
            or (codes != np.floor(codes)).any()
            or (codes > sizes[encoded.columns]).any()
        ):
            raise InputError("a code is not within its field; expected integers from 0 to below field_dims")
        return (starts[encoded.columns] + codes - 1).astype(np.int32), int(starts[-1])


@dataclass(frozen=True)
class Batch:
    """Some rows: the embeddings that occur in them, and the entries by their place among those."""

    unique: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    local: npt.NDArray[np.int32]
    values: Floats  # empty: all are 1


@dataclass(frozen=True)
class Inputs:
    """CSR of entries."""

    indptr: npt.NDArray[np.int64]
    index: npt.NDArray[np.int32]  # of embeddings
    values: Floats  # empty: all are 1
    n_embeddings: int

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def batches(
        self, order: npt.NDArray[np.int64], size: int
    ) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """Rows in an order, `size` at a time, with their numbers; a last one alone joins others."""
        slots = np.full(self.n_embeddings, -1, np.int32)
        starts = list(range(0, len(order), size))
        if len(starts) > 1 and len(order) - starts[-1] == 1:  # one row has no variance to normalize by
            starts.pop()
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            rows = order[start:stop]
            yield rows, self._batch(rows, slots)

    def _batch(self, rows: npt.NDArray[np.int64], slots: npt.NDArray[np.int32]) -> Batch:
        length = int((self.indptr[rows + 1] - self.indptr[rows]).sum())
        indptr = np.empty(len(rows) + 1, np.int64)
        local = np.empty(length, np.int32)
        values = np.empty(length if len(self.values) else 0, np.float32)
        unique = np.empty(min(length, self.n_embeddings), np.int64)
        csr, out = (self.indptr, self.index, self.values), (indptr, local, values, unique)
        n_unique = _gather(csr, rows, slots, out)
        return Batch(unique[:n_unique], indptr, local, values)


def scales_of(dense: npt.NDArray[Any]) -> Floats:
    """What dense columns are divided by: 1 where no number passes 1, else the root mean square.

    >>> scales_of(np.array([[0.0, 7.0], [1.0, -1.0]])).tolist()
    [1.0, 5.0]
    """
    if not len(dense):
        return np.ones(dense.shape[1], np.float32)
    wide = np.asarray(dense, np.float64)
    return np.where(np.abs(wide).max(axis=0) <= 1, 1.0, np.sqrt((wide**2).mean(axis=0))).astype(np.float32)


def _with_dense(
    encoded: Encoded,
    index: npt.NDArray[np.int32],
    values: Floats | None,
    first_dense: int,
    scales: tuple[float, ...],
) -> Inputs:
    """The numbers of dense columns become entries after the row's others, where they are not 0."""
    n_embeddings = first_dense + len(scales)
    none = np.empty(0, np.float32)
    if not scales:
        return Inputs(
            np.asarray(encoded.indptr, np.int64), index, none if values is None else values, n_embeddings
        )
    numbers = np.asarray(encoded.dense / np.asarray(scales), np.float32)
    there = numbers != 0
    lengths = np.diff(encoded.indptr)
    indptr = np.concatenate(([0], np.cumsum(lengths + there.sum(axis=1))))
    merged = np.empty(indptr[-1], np.int32)
    weights = np.ones(indptr[-1], np.float32)
    sparse = np.arange(len(index)) + np.repeat(indptr[:-1] - encoded.indptr[:-1], lengths)
    merged[sparse] = index
    if values is not None:
        weights[sparse] = values
    rows, columns = np.nonzero(there)
    after = np.cumsum(there, axis=1)[there] - 1
    places = indptr[rows] + lengths[rows] + after
    merged[places] = first_dense + columns
    weights[places] = numbers[there]
    return Inputs(indptr, merged, none if (weights == 1).all() else weights, n_embeddings)


@kernel
def _gather(csr, rows, slots, out):  # type: ignore[no-untyped-def]
    """Copy rows; number their embeddings in the order of first sight, and return how many there are.

    All slots are -1 before and after.
    """
    indptr, index, values = csr
    out_indptr, local, out_values, unique = out
    n_unique, at = np.int64(0), np.int64(0)
    out_indptr[0] = 0
    for r in range(len(rows)):
        for i in range(indptr[rows[r]], indptr[rows[r] + 1]):
            embedding = index[i]
            if slots[embedding] < 0:
                slots[embedding] = n_unique
                unique[n_unique] = embedding
                n_unique += 1
            local[at] = slots[embedding]
            if len(out_values):
                out_values[at] = values[i]
            at += 1
        out_indptr[r + 1] = at
    for u in range(n_unique):
        slots[unique[u]] = -1
    return n_unique
