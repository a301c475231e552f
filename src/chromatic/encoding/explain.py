"""What a column means, and where a feature went."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from chromatic.data.hashing import MISSING
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.baselines import TruncatedEncoding
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError


def explain(encoding: Encoding, column: int) -> dict[str, Any]:
    """Return the features of a column, the most frequent first, with their rows and their measure.

    The measure is the smoothed rate of a feature or, where columns hold numbers, its value. `rows` are
    those that have a feature of the column, also where it lost to another of its color; the column's
    measure is the mean over them. A dense column has its one feature and nothing else.
    """
    vocabulary, n_sparse = encoding.vocabulary, encoding.n_sparse_columns
    n_columns = n_sparse + len(vocabulary.dense_names)
    if not isinstance(column, Integral) or not 0 <= column < n_columns:
        raise InputError(f"the column is {column!r}; expected a number from 0 to {n_columns - 1}")
    measure = encoding.measure_key
    if column >= n_sparse:
        name = text_of(vocabulary.dense_names[int(column) - n_sparse])
        nothing = {"color": None, measure: None, "rows": None}
        return {"column": int(column), **nothing, "features": [[name, None, None]]}
    codes = np.flatnonzero(encoding.tables.of_features == column)
    counts, measures = vocabulary.counts[codes], encoding.measure[codes]
    rows = int(counts.sum())
    return {
        "column": column,
        "color": int(encoding.column_colors[column]),
        measure: float((counts * measures).sum() / rows) if rows else None,
        "rows": rows,
        "features": [
            [text_of(vocabulary.name(int(code))), int(count), float(number)]
            for code, count, number in zip(codes, counts, measures, strict=True)
        ],
    }


def locate(encoding: Encoding, feature: str | bytes | int) -> dict[str, Any]:
    """Return where a feature went: its color and its column, None where it makes no column."""
    name = feature if isinstance(feature, bytes) else str(feature).encode()
    vocabulary = encoding.vocabulary
    code = code_of(vocabulary, name)
    if code is None and name in vocabulary.dense_names:
        at = encoding.n_sparse_columns + vocabulary.dense_names.index(name)
        place = {"color": None, "column": at, "count": None}
        return {"feature": text_of(name), **place, encoding.measure_key: None}
    if code is None:
        raise InputError(
            f"the feature {text_of(name)!r} is not among the features of this model; expected one of the "
            "training rows"
        )
    column = int(encoding.tables.of_features[code])
    return {
        "feature": text_of(name),
        "color": int(encoding.coloring.colors[code]),
        "column": column if column >= 0 else None,
        "count": int(vocabulary.counts[code]),
        encoding.measure_key: float(encoding.measure[code]),
    }


def column_names(encoding: Encoding | TruncatedEncoding, matrix_names: Any = None) -> list[str]:
    """Return a name for every column, dense ones last.

    `matrix_names` are those of the columns of a matrix, whose features are the numbers of its columns.
    """
    vocabulary = encoding.vocabulary

    def called(feature: bytes) -> str:
        return text_of(feature) if matrix_names is None else str(matrix_names[int(feature)])

    numeric = [text_of(feature) for feature in vocabulary.numeric_names]
    dense = [called(feature) for feature in vocabulary.dense_names[len(numeric) :]]
    return encoding.column_names(called) + numeric + dense


def code_of(vocabulary: Vocabulary, name: bytes) -> int | None:
    """Return the code of a feature, None where it is not a sparse feature of the vocabulary."""
    slot = vocabulary.find(Names.pack([name]))[0]
    return int(slot) if slot != MISSING and slot < len(vocabulary) else None


def text_of(name: bytes) -> str:
    """Return a name as text; bytes that are no UTF-8 are written as escapes."""
    return name.decode("utf-8", "backslashreplace")
