"""Equal rows merged into one row with a weight: the same sum of any loss, over fewer rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, mix
from chromatic.data.batch import Batch

U64 = np.uint64
BYTES_PER_ROW = 64  # two hashes, and what sorting them takes
VALUE = 1 << 63  # stands before a value in what is hashed; no feature is as large


def merged(batches: Callable[[], Iterable[Batch]]) -> Iterator[Batch]:
    """Yield each distinct row where it first stands, with the number of rows that equal it as its weight.

    Rows are equal if their labels, integer features, values and numeric columns are. `batches` is called
    twice and gives the same rows both times: first each row is hashed to 128 bits, which tell rows apart,
    then those that stand first are passed on. So memory holds two words a row, and one batch.

    >>> rows = Batch(np.array([0, 2, 3, 5]), np.array([3, 7, 3, 3, 7], np.uint32), np.array([1.0, 1, 1]))
    >>> [once] = merged(lambda: [rows])
    >>> once.ids.tolist(), once.weights.tolist()
    ([3, 7, 3], [2.0, 1.0])
    """
    hashes = [_hashes(batch) for batch in batches()]
    weights = _weights(np.concatenate([np.empty((0, 2), U64), *hashes]))
    start = 0
    for batch in batches():
        of_batch = weights[start : start + batch.n_rows]
        start += batch.n_rows
        first = of_batch > 0
        yield replace(batch.take(first), weights=of_batch[first])


def _weights(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Return how many rows equal each row, at the first of them; 0 at the others."""
    weights = np.zeros(len(hashes))
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))  # stable: the first of equal rows comes first
    ordered = hashes[order]
    begins = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(hashes)]
    starts = np.flatnonzero(begins)
    weights[order[starts]] = np.diff(np.append(starts, len(hashes)))
    return weights


def _hashes(batch: Batch) -> npt.NDArray[np.uint64]:
    """Return two words that tell each row apart."""
    out = np.empty((batch.n_rows, 2), U64)
    labels = np.zeros(batch.n_rows) if batch.labels is None else batch.labels
    numeric = np.empty((batch.n_rows, 0)) if batch.numeric is None else batch.numeric
    _hash_rows(
        (batch.indptr, batch.ids),
        (batch.value_at, _bits(batch.values)),
        (_bits(labels), _bits(numeric)),
        out,
    )
    return out


def _bits(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(numbers, np.float64).view(U64)


@inlined
def _step(pair, word):  # type: ignore[no-untyped-def]
    """Take a word into both hashes of a row."""
    a = mix(pair[0] + mix(word + U64(0x9E3779B97F4A7C15)))
    b = mix(pair[1] + mix(word + U64(0xD1B54A32D192ED03)))
    return a, b


@kernel
def _hash_rows(csr, valued, others, out):  # type: ignore[no-untyped-def]
    """Hash the features of each row with their values, its label and its numbers."""
    (indptr, ids), (value_at, values), (labels, numeric) = csr, valued, others
    v = np.int64(0)
    for row in range(len(indptr) - 1):
        pair = _step((U64(0), U64(1)), U64(indptr[row + 1] - indptr[row]))
        pair = _step(pair, labels[row])
        for i in range(indptr[row], indptr[row + 1]):
            pair = _step(pair, U64(ids[i]))
            if v < len(value_at) and value_at[v] == i:
                pair = _step(_step(pair, U64(VALUE)), values[v])
                v += 1
        for c in range(numeric.shape[1]):
            pair = _step(pair, numeric[row, c])
        out[row, 0], out[row, 1] = pair
