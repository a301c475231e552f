"""The one in-memory form of coded data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from chromatic._numba import RANKED, kernel, sort_slice

ROWS_PER_PIECE = 1 << 15
ENTRIES_PER_PIECE = 1 << 18  # about: its arrays stay in the cache, and their memory is used again


@dataclass(frozen=True)
class Rows:
    """Rows under a vocabulary: CSR of sparse features, labels, and the block of dense ones.

    Codes ascend within a row, and code 0 is the most frequent feature of the training data.
    """

    indptr: npt.NDArray[np.int64]  # n_rows + 1
    codes: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.float64] | None  # n_rows
    dense: npt.NDArray[np.float32] | npt.NDArray[np.float64]  # n_rows × dense; float32 where exact
    n_features: int  # sparse ones, in the vocabulary
    vocabulary: int  # the fingerprint of the vocabulary that codes the rows
    elided_values: int = 0  # values other than 1 of sparse features, which count as presence
    unseen: int = 0  # features that the vocabulary does not know, counted once per row
    unseen_by_row: npt.NDArray[np.uint32] | None = None  # None where every feature is known

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def pieces(self) -> Iterator[tuple[int, Rows]]:
        """The rows a number at a time, each piece with the number of its first row."""
        step = min(ROWS_PER_PIECE, 1 + ENTRIES_PER_PIECE * self.n_rows // max(len(self.codes), 1))
        for start in range(0, self.n_rows, step):
            yield start, self.span(start, start + step)

    def span(self, start: int, stop: int) -> Rows:
        """The rows from start to stop; `unseen` stays that of all rows."""
        here, indptr = slice(start, stop), self.indptr[start : stop + 1]
        return replace(
            self,
            indptr=indptr - indptr[0],
            codes=self.codes[indptr[0] : indptr[-1]],
            labels=None if self.labels is None else self.labels[here],
            dense=self.dense[here],
            unseen_by_row=None if self.unseen_by_row is None else self.unseen_by_row[here],
        )

    def truncated(self, n_kept: int) -> Rows:
        """Return the rows with only the features whose code is below n_kept."""
        if n_kept >= self.n_features:
            return self
        kept = self.codes < n_kept
        before = np.concatenate(([0], np.cumsum(kept)))
        return replace(self, indptr=before[self.indptr], codes=self.codes[kept])

    def recoded(self, ranks: npt.NDArray[np.uint32]) -> Rows:
        """Return the rows with ranks[v] in the place of each code v."""
        codes = ranks[self.codes]
        _sort_rows(self.indptr, codes, np.empty(RANKED, codes.dtype))
        return replace(self, codes=codes)

    @property
    def average_nnz(self) -> float:
        """Sparse features per row."""
        return len(self.codes) / self.n_rows if self.n_rows else 0.0

    @property
    def largest_nnz(self) -> int:
        return int(np.diff(self.indptr).max(initial=0))

    @property
    def pairs_per_row(self) -> float:
        """Pairs of sparse features that share a row, a row: the edges that a graph would count."""
        lengths = np.diff(self.indptr)
        return float((lengths * (lengths - 1)).sum() / 2 / self.n_rows) if self.n_rows else 0.0

    @property
    def positive_rate(self) -> float | None:
        """The share of rows with the larger of two labels; None unless there are two."""
        if self.labels is None or self.n_rows == 0:
            return None
        low, high = self.labels.min(), self.labels.max()
        positive = self.labels == high
        if low == high or not (positive | (self.labels == low)).all():
            return None
        return float(positive.mean())


@kernel
def _sort_rows(indptr, codes, spare):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        sort_slice(codes, indptr[row], indptr[row + 1], spare, True)
