"""Encoded rows as frames of pandas and polars."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError


def pandas_frame(encoded: Encoded, n_bins: int, names: list[str], X: Any) -> Any:
    """Return a frame of pandas with the index of X, where it has one; the first columns are sparse."""
    import pandas as pd

    index = X.index if isinstance(X, (pd.DataFrame, pd.Series)) else None
    bins = _sparse_part(encoded).to_csr()[:, :n_bins]
    parts = [pd.DataFrame.sparse.from_spmatrix(bins, index)] if n_bins else []
    parts += [pd.DataFrame(part, index) for part in _dense_parts(encoded, n_bins)]
    frame = pd.concat(parts, axis=1)
    frame.columns = pd.Index(names, dtype=object)
    return frame


def polars_frame(encoded: Encoded, n_bins: int, names: list[str]) -> Any:
    """Return a frame of polars, which has no sparse columns."""
    if n_bins:
        raise InputError(
            "polars has no sparse columns, and columns of bins are sparse; expected sparse_output=False, "
            "or the output pandas or default"
        )
    import polars as pl

    columns = [column for part in _dense_parts(encoded, 0) for column in part.T]
    return pl.DataFrame(
        {name: np.ascontiguousarray(column) for name, column in zip(names, columns, strict=True)}
    )


def _dense_parts(encoded: Encoded, n_bins: int) -> list[npt.NDArray[Any]]:
    """Return the columns after the bins: those of sparse features, perhaps integers, and the dense ones."""
    return [_sparse_part(encoded).to_array(n_bins), encoded.dense.astype(np.float64)]


def _sparse_part(encoded: Encoded) -> Encoded:
    return replace(encoded, dense=np.empty((encoded.n_rows, 0)))
