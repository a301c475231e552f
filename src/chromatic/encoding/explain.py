"""What a column means, and where a feature went."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.hashing import MISSING
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError

STRONGEST = 50  # features of a linear column that are listed, in each direction


def explain(encoding: Encoding, column: int) -> dict[str, Any]:
    """Return the features of a column, the most frequent first, with their rows and their measure.

    The measure is the smoothed rate of a feature or, where columns hold numbers, its value. `rows` are
    those that have a feature of the column, counted once for each of them, also where it lost to another
    of its color; the column's measure is the mean over them. Of a linear column it is the weight, and its
    strongest features are listed, the most positive first. A dense column has its one feature and nothing
    else.
    """
    vocabulary, n_sparse = encoding.vocabulary, encoding.n_sparse_columns
    n_columns = n_sparse + len(vocabulary.dense_names)
    if not isinstance(column, Integral) or not 0 <= column < n_columns:
        expected = f"a number from 0 to {n_columns - 1}" if n_columns else "none, as there are no columns"
        raise InputError(f"the column is {column!r}; expected {expected}")
    measure = encoding.measure_key
    if column >= n_sparse:
        name = text_of(vocabulary.dense_names[int(column) - n_sparse])
        nothing = {"color": None, measure: None, "rows": None}
        return {"column": int(column), **nothing, "features": [[name, None, None]]}
    for label, part, first in encoding.of_classes():
        if column < first + part.n_sparse_columns:
            return {**explain(part, int(column) - first), "column": int(column), "class": label}
    if column >= encoding.n_own_columns:
        return _explain_linear(encoding, int(column))
    codes = np.flatnonzero(encoding.tables.of_features == column)
    counts, measures = vocabulary.counts[codes], encoding.measure[codes]
    rows = int(counts.sum())
    return {
        "column": column,
        "color": int(encoding.column_colors[column]),
        measure: float((counts * measures).sum() / rows) if rows else None,
        "rows": rows,
        "features": _listed(vocabulary, codes, measures),
    }


def _explain_linear(encoding: Encoding, column: int) -> dict[str, Any]:
    """Return the strongest features of a linear column, the most positive first."""
    codes, weights = strongest(encoding, column - encoding.n_own_columns, STRONGEST)
    of_column = linear_features(encoding, column - encoding.n_own_columns)
    return {
        "column": column,
        "color": None,
        "weight": None,
        "rows": int(encoding.vocabulary.counts[of_column].sum()),
        "features": _listed(encoding.vocabulary, codes, weights),
    }


def linear_features(encoding: Encoding, group: int | None) -> npt.NDArray[np.int64]:
    """Return the features whose weights a linear column sums, by its number among them; None: all."""
    assert encoding.linear is not None
    if group is None:
        return np.arange(len(encoding.vocabulary))
    return np.flatnonzero(encoding.linear.columns_of(encoding.coloring.colors) == group)


def strongest(
    encoding: Encoding, group: int | None, most: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the features of a linear column with the largest weights of either sign, and these weights.

    The most positive come first. Without a number, the features of all linear columns are compared.
    """
    assert encoding.linear is not None
    codes = linear_features(encoding, group)
    codes = codes[np.argsort(-encoding.linear.weights[codes], kind="stable")]
    weights = encoding.linear.weights[codes].astype(np.float64)
    positive, negative = int((weights > 0).sum()), int((weights < 0).sum())
    first, last = min(most, positive), min(most, negative)
    chosen = np.r_[:first, len(codes) - last : len(codes)]
    return codes[chosen], weights[chosen]


def _listed(vocabulary: Vocabulary, codes: Any, measures: Any) -> list[list[Any]]:
    """Return name, rows and measure of features."""
    return [
        [text_of(vocabulary.name(int(code))), int(vocabulary.counts[code]), float(number)]
        for code, number in zip(codes, measures, strict=True)
    ]


def locate(encoding: Encoding, feature: str | bytes | int) -> dict[str, Any]:
    """Return where a feature went: its color and its column, None where it makes no column.

    Where there are linear columns, also which of them it is in, and its weight.
    """
    name = feature if isinstance(feature, bytes) else str(feature).encode()
    vocabulary = encoding.vocabulary
    code = code_of(vocabulary, name)
    if code is None and name in vocabulary.dense_names + vocabulary.unused_names:
        return {"feature": text_of(name), **_place_of_dense(encoding, name)}
    if code is None:
        raise InputError(
            f"the feature {text_of(name)!r} is not among the features of this model; expected one of the "
            "training rows"
        )
    each = encoding.of_classes()
    if each:
        places = [(label, _shifted(locate(part, feature), first)) for label, part, first in each]
        shared = {key: places[0][1][key] for key in ("feature", "color", "count")}
        own = {label: {k: v for k, v in place.items() if k not in shared} for label, place in places}
        return {**shared, "classes": own}
    column = int(encoding.tables.of_features[code])
    place = {
        "feature": text_of(name),
        "color": int(encoding.coloring.colors[code]),
        "column": column if column >= 0 else None,
        "count": int(vocabulary.counts[code]),
        encoding.measure_key: float(encoding.measure[code]),
    }
    if encoding.linear is not None:
        group = int(encoding.linear.columns_of(encoding.coloring.colors[code : code + 1])[0])
        place |= {
            "linear": encoding.n_own_columns + group,
            "weight": float(encoding.linear.weights[code]),
        }
    return place


def _shifted(place: dict[str, Any], first: int) -> dict[str, Any]:
    """Return a place whose columns count from another first one."""
    columns = {key: place[key] for key in ("column", "linear") if place.get(key) is not None}
    return place | {key: column + first for key, column in columns.items()}


def _place_of_dense(encoding: Encoding, name: bytes) -> dict[str, Any]:
    """Return where a dense feature went: its column, None where the budget had no room for it."""
    place: dict[str, Any] = {"color": None, "column": None, "count": None, encoding.measure_key: None}
    if encoding.linear is not None:
        place |= {"linear": None, "weight": None}
    if name in encoding.vocabulary.dense_names:
        at = encoding.vocabulary.dense_names.index(name)
        place["column"] = encoding.n_sparse_columns + at
        if encoding.linear is not None:
            place["weight"] = float(encoding.linear.of_dense[at])
    return place


def code_of(vocabulary: Vocabulary, name: bytes) -> int | None:
    """Return the code of a feature, None where it is not a sparse feature of the vocabulary."""
    slot = vocabulary.find(Names.pack([name]))[0]
    return int(slot) if slot != MISSING and slot < len(vocabulary) else None


def text_of(name: bytes) -> str:
    """Return a name as text; bytes that are no UTF-8 are written as escapes."""
    return name.decode("utf-8", "backslashreplace")


def column_names(encoding: Encoding, called: Callable[[bytes], str] = text_of) -> list[str]:
    """Return a name for every column, dense ones last; `called` says what people call a feature."""
    return encoding.column_names(called) + [called(feature) for feature in encoding.vocabulary.dense_names]
