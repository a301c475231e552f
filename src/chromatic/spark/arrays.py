"""Encoded rows as columns of a frame: sparse vectors of pyspark.ml, or arrays of levels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chromatic.encoding.encoded import Encoded
from chromatic.encoding.protocol import Encoding
from chromatic.spark.frames import lists_of

_SPARSE = 0  # the type of a sparse vector of pyspark.ml
_ITEM = pa.field("element", pa.int32(), False), pa.field("element", pa.float64(), False)
_VECTOR = [
    pa.field("type", pa.int8(), False),
    pa.field("size", pa.int32()),
    pa.field("indices", pa.list_(_ITEM[0])),
    pa.field("values", pa.list_(_ITEM[1])),
]


def arrays_of(encoded: Encoded, *, levels: bool) -> list[pa.Array]:
    """Return encoded rows as the columns of a frame."""
    return _levels(encoded)[: 1 + bool(encoded.dense.shape[1])] if levels else [_vectors(encoded)]


def _vectors(encoded: Encoded) -> pa.Array:
    """Rows as sparse vectors of pyspark.ml, the dense columns last."""
    folded = encoded.with_dense_folded()
    n_rows = len(folded.indptr) - 1
    values = np.ones(len(folded.columns)) if folded.values is None else folded.values.astype(np.float64)
    offsets = pa.array(folded.indptr.astype(np.int32))
    arrays = [
        pa.array(np.full(n_rows, _SPARSE, np.int8)),
        pa.array(np.full(n_rows, folded.n_columns, np.int32)),
        pa.ListArray.from_arrays(offsets, pa.array(folded.columns), type=_VECTOR[2].type),
        pa.ListArray.from_arrays(offsets, pa.array(values), type=_VECTOR[3].type),
    ]
    return pa.StructArray.from_arrays(arrays, fields=_VECTOR)


def encoded_of(vectors: pa.StructArray, encoding: Encoding) -> Encoded:
    """Return what `arrays_of` made of rows as it was, the dense columns apart."""
    _, _, columns, values = vectors.flatten()
    lengths = columns.value_lengths().to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(vectors)), lengths)
    places, numbers = (part.flatten().to_numpy(zero_copy_only=False) for part in (columns, values))
    n_sparse, n_dense = encoding.n_sparse_columns, len(encoding.vocabulary.dense_names)
    sparse = places < n_sparse
    dense = np.zeros((len(vectors), n_dense))
    dense[rows[~sparse], places[~sparse] - n_sparse] = numbers[~sparse]
    halves = dense.astype(np.float32)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[sparse], minlength=len(vectors)))))
    exact = bool((halves == dense).all())
    return Encoded(indptr, places[sparse], numbers[sparse], n_sparse, halves if exact else dense)


def _levels(encoded: Encoded) -> list[pa.Array]:
    """Return rows as one integer a color, 0 where it is absent, and the values of dense features."""
    n_rows, n_colors, n_dense = len(encoded.indptr) - 1, encoded.n_sparse_columns, encoded.dense.shape[1]
    levels = np.zeros((n_rows, n_colors), np.int32)
    assert encoded.values is not None
    levels[np.repeat(np.arange(n_rows), np.diff(encoded.indptr)), encoded.columns] = encoded.values
    dense = encoded.dense.astype(np.float64)
    every = np.arange(n_rows + 1)
    return [lists_of(every * n_colors, levels.ravel()), lists_of(every * n_dense, dense.ravel())]
