"""What a column means, and where a feature went."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from chromatic.data.hashing import MISSING
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.baselines import TruncatedEncoding
from chromatic.encoding.fitting import Encoding, SubmodularEncoding
from chromatic.errors import InputError


def explain(encoding: Encoding, column: int) -> dict[str, Any]:
    """The features of a one-hot column, the most frequent first, with their rows and smoothed rates.

    `rows` are those that have a feature of the column, also where it lost to another of its color, and
    `rate` is the mean of their smoothed rates. A dense column has its one feature and nothing else.
    """
    vocabulary, n_sparse = encoding.vocabulary, encoding.n_sparse_columns
    n_columns = n_sparse + len(vocabulary.dense_names)
    if not isinstance(column, Integral) or not 0 <= column < n_columns:
        raise InputError(f"the column is {column!r}; expected a number from 0 to {n_columns - 1}")
    if column >= n_sparse:
        name = _text(vocabulary.dense_names[int(column) - n_sparse])
        nothing = {"color": None, "rate": None, "rows": None}
        return {"column": int(column), **nothing, "features": [[name, None, None]]}
    if not isinstance(encoding, SubmodularEncoding):
        raise InputError("only columns of the submodular encoding stand for groups of features")
    book = encoding.codebook
    bin_ = int(np.flatnonzero(book.columns == column)[0])
    codes = np.flatnonzero(encoding.columns == column)
    counts, rates = vocabulary.counts[codes], book.rates[codes]
    rows = int(counts.sum())
    return {
        "column": column,
        "color": int(np.searchsorted(book.bin_starts, bin_, side="right")) - 1,
        "rate": float((counts * rates).sum() / rows) if rows else None,
        "rows": rows,
        "features": [
            [_text(vocabulary.name(int(code))), int(count), float(rate)]
            for code, count, rate in zip(codes, counts, rates, strict=True)
        ],
    }


def locate(encoding: Encoding, feature: str | bytes | int) -> dict[str, Any]:
    """Where a sparse feature went: its color and its column, None where that makes no column."""
    name = feature if isinstance(feature, bytes) else str(feature).encode()
    code = code_of(encoding.vocabulary, name)
    if code is None and name in encoding.vocabulary.dense_names:
        at = encoding.n_sparse_columns + encoding.vocabulary.dense_names.index(name)
        return {"feature": _text(name), "color": None, "column": at, "count": None, "rate": None}
    if code is None:
        raise InputError(f"the feature {_text(name)!r} is not among the features of this model")
    color = int(encoding.coloring.colors[code])
    found: dict[str, Any] = {"feature": _text(name), "color": color, "column": color}
    if isinstance(encoding, SubmodularEncoding):
        column = int(encoding.columns[code])
        found["column"] = column if column >= 0 else None
    found["count"] = int(encoding.vocabulary.counts[code])
    if isinstance(encoding, SubmodularEncoding):
        found["rate"] = float(encoding.codebook.rates[code])
    return found


def column_names(encoding: Encoding | TruncatedEncoding, matrix_names: Any = None) -> list[str]:
    """A name for every column, dense ones last; `matrix_names` are those of the columns of a matrix."""
    vocabulary = encoding.vocabulary

    def name(feature: bytes) -> str:
        return _text(feature) if matrix_names is None else str(matrix_names[int(feature)])

    if isinstance(encoding, TruncatedEncoding):
        sparse = [name(vocabulary.name(code)) for code in range(encoding.n_sparse_columns)]
    elif isinstance(encoding, SubmodularEncoding):
        starts, columns = encoding.codebook.bin_starts, encoding.codebook.columns
        colors = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        sparse = [
            f"color{color}_bin{bin_ - starts[color]}"
            for bin_, (color, column) in enumerate(zip(colors, columns, strict=True))
            if column >= 0
        ]
    else:
        sparse = [f"color{color}" for color in range(encoding.coloring.n_colors)]
    numeric = [_text(feature) for feature in vocabulary.numeric_names]
    return sparse + numeric + [name(feature) for feature in vocabulary.dense_names[len(numeric) :]]


def code_of(vocabulary: Vocabulary, name: bytes) -> int | None:
    """The code of a feature, None where it is not a sparse feature of the vocabulary."""
    slot = vocabulary.find(Names.pack([name]))[0]
    return int(slot) if slot != MISSING and slot < len(vocabulary) else None


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
