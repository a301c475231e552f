"""Degrees of the graph of rows in a file: distinct pairs counted in passes, a range of features each."""

from __future__ import annotations

import logging

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, mix
from chromatic.data.stored import StoredRows
from chromatic.graph.walk import count_earlier

log = logging.getLogger("chromatic")

U64 = np.uint64
SPARE = 24 << 20  # bytes for a block of the file
BYTES_OF_FEATURE = 40  # its degree, its pairs, and where ranges end
LEAST_SLOTS = 64


def stream_degrees(rows: StoredRows) -> npt.NDArray[np.uint32]:
    """The degree of every feature, within the limit of memory.

    A table of the distinct pairs whose later feature lies in a range is held at a time: a pair that is not
    in it yet adds to the degrees of both.
    """
    pairs, degrees = np.zeros(rows.n_features, np.int64), np.zeros(rows.n_features, np.uint32)
    for _, piece in rows.pieces():
        count_earlier(piece.indptr, piece.codes, pairs)
    distinct = np.minimum(pairs, np.arange(rows.n_features))  # at most, of each later feature
    most = int(distinct.max(initial=0))
    rows.memory.check(8 * _slots(most) + BYTES_OF_FEATURE * rows.n_features + SPARE, "counting degrees")
    room = rows.memory.left() - BYTES_OF_FEATURE * rows.n_features - SPARE
    ends, first = np.cumsum(distinct), 0
    passes = 0
    while first < rows.n_features:
        before = int(ends[first - 1]) if first else 0
        stop = int(np.searchsorted(ends, before + max(most, room // 32), side="right"))
        stop = min(max(stop, first + 1), rows.n_features)
        table = np.zeros(_slots(int(ends[stop - 1]) - before), np.uint64)
        for _, piece in rows.pieces():
            _add_distinct((piece.indptr, piece.codes), (first, stop), table, degrees)
        first, passes = stop, passes + 1
    log.info("degrees: passes: %d", passes)
    return degrees


def _slots(n: int) -> int:
    """Slots of a table that is half full at most: a power of two, so 32 bytes a pair or fewer."""
    return max(LEAST_SLOTS, 1 << (2 * n).bit_length())


@kernel
def _add_distinct(rows, span, table, degrees):  # type: ignore[no-untyped-def]
    """Add to the degrees of both ends for each pair that the table does not have yet."""
    indptr, codes = rows
    first, stop = span
    mask = U64(len(table) - 1)
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            later = np.int64(codes[i])
            if later < first or later >= stop:
                continue
            for j in range(indptr[row], i):
                pair = (U64(codes[i]) << U64(32)) | U64(codes[j])  # never 0: the later one is not
                at = mix(pair) & mask
                while table[np.int64(at)] != U64(0) and table[np.int64(at)] != pair:
                    at = (at + U64(1)) & mask
                if table[np.int64(at)] == U64(0):
                    table[np.int64(at)] = pair
                    degrees[codes[i]] += np.uint32(1)
                    degrees[codes[j]] += np.uint32(1)
