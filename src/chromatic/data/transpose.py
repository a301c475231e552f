"""From rows of features to columns of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows


@dataclass(frozen=True)
class Columns:
    """The transposed rows: the rows of feature v are rows[indptr[v] - base:indptr[v + 1] - base]."""

    indptr: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]
    base: int = 0  # of a range of features: where its rows would begin among those of all

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows each feature has."""
        return np.diff(self.indptr)


def transpose(rows: Rows, threads: int = 1) -> Columns:
    """Transpose rows by a counting sort; each thread places one range of the features.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a"], ["a", "c"]], dense_threshold=2).rows
    >>> columns = transpose(rows)
    >>> columns.indptr.tolist(), columns.rows[:3].tolist()
    ([0, 3, 4, 5], [0, 1, 2])
    """
    counts = np.zeros(rows.n_features + 1, np.int64)
    _count(rows.codes, counts)
    indptr = np.cumsum(counts)
    out = np.empty(len(rows.codes), np.uint32)
    places = indptr[:-1].copy()
    # Codes ascend within a row: equal shares of the entries are ranges of codes.
    bounds = np.searchsorted(indptr, np.linspace(0, len(out), threads + 1)[1:-1])
    shares = list(zip([0, *bounds], [*bounds, rows.n_features], strict=True))

    def place(share: tuple[int, int]) -> None:
        first, stop = share
        _place(rows.indptr, rows.codes, first, stop, 0, places[first:stop], out)

    for _ in ordered_map(place, shares, threads):
        pass
    return Columns(indptr, out)


def transpose_range(
    pieces: Iterable[tuple[int, Rows]], indptr: npt.NDArray[np.int64], first: int, stop: int
) -> Columns:
    """The columns of the features first to stop, from rows that come in pieces, with their first row.

    `indptr` tells where the rows of each of all features begin.
    """
    base = indptr[first]
    out = np.empty(indptr[stop] - base, np.uint32)
    places = indptr[first:stop] - base
    for start, rows in pieces:
        _place(rows.indptr, rows.codes, first, stop, start, places, out)
    return Columns(indptr, out, int(base))


@kernel
def _count(codes, counts):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        counts[np.int64(codes[i]) + 1] += 1


@kernel
def _place(indptr, codes, first, stop, start, places, out):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            code = np.int64(codes[i])
            if code >= first and code < stop:
                out[places[code - first]] = np.uint32(start + row)
                places[code - first] += 1
