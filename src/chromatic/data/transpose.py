"""Transpose rows: from the features of each row to the rows of each feature."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import AHEAD, kernel, prefetch
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows


@dataclass(frozen=True)
class Transposed:
    """The transposed rows: the rows of feature v are rows[indptr[v] - base:indptr[v + 1] - base]."""

    indptr: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]
    base: int = 0  # of a range of features: where its rows would begin among those of all

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows each feature has."""
        return np.diff(self.indptr)


def transpose(rows: Rows, threads: int = 1) -> Transposed:
    """Transpose rows by a counting sort; each thread places one range of the features.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a"], ["a", "c"]], dense_threshold=2).rows
    >>> transposed = transpose(rows)
    >>> transposed.indptr.tolist(), transposed.rows[:3].tolist()
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
        _place((rows.indptr, rows.codes), 0, (first, stop), places[first:stop], out)

    for _ in ordered_map(place, shares, threads):
        pass
    return Transposed(indptr, out)


def transpose_range(
    pieces: Iterable[tuple[int, Rows]], indptr: npt.NDArray[np.int64], first: int, stop: int
) -> Transposed:
    """Transpose the features `first` to `stop` of rows that come in pieces, each with its first row.

    `indptr` says where the rows of each feature begin, among the rows of all features.
    """
    base = indptr[first]
    out = np.empty(indptr[stop] - base, np.uint32)
    places = indptr[first:stop] - base
    for start, rows in pieces:
        _place((rows.indptr, rows.codes), start, (first, stop), places, out)
    return Transposed(indptr, out, int(base))


@kernel
def _count(codes, counts):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        if i + AHEAD < len(codes):
            prefetch(counts, np.int64(codes[i + AHEAD]) + 1)
        counts[np.int64(codes[i]) + 1] += 1


@kernel
def _place(rows, start, features, places, out):  # type: ignore[no-untyped-def]
    """Write the rows of a range of features, each to its place; `start` is the first row's number."""
    indptr, codes = rows
    first, stop = features
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            if i + 2 * AHEAD < len(codes):
                ahead = np.int64(codes[i + 2 * AHEAD])
                if ahead >= first and ahead < stop:
                    prefetch(places, ahead - first)
                ahead = np.int64(codes[i + AHEAD])
                if ahead >= first and ahead < stop:
                    prefetch(out, places[ahead - first])
            code = np.int64(codes[i])
            if code >= first and code < stop:
                out[places[code - first]] = np.uint32(start + row)
                places[code - first] += 1
