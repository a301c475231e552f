"""What a column means, and where a feature went."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.counting import by_descending_count
from chromatic.data.hashing import MISSING
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.naming import Called, finished, text_of
from chromatic.encoding.protocol import Encoding, Floats
from chromatic.errors import InputError

STRONGEST = 50  # features of a linear column that are listed, in each direction


def explain(encoding: Encoding, column: int | str, names: list[str] | None = None) -> dict[str, Any]:
    """Return the features of a column, the most frequent first, with their rows and their measure.

    The column goes by its number or by its name among `names`, those of all columns. The measure is the
    smoothed rate of a feature or, where columns hold numbers, its value, with the `smoothed` rate beside
    it; `observed` is the rate before smoothing, None where the model does not tell it. `rates` holds both
    for each feature. `rows` are those that have a feature of the column,
    counted once for each of them, also where it lost to another of its color; the column's measure is the
    mean over them. Where absence makes a column, its rows count too, and are told as `absent`. Of a linear
    column the measure is the weight, and its strongest features are listed, the most positive first. A
    dense column has its one feature and nothing else.
    """
    names = column_names(encoding) if names is None else names
    number = _number(column, names)
    told: dict[str, Any] = {"column": number, "name": names[number]}
    if number >= encoding.n_sparse_columns:
        feature = text_of(encoding.vocabulary.dense_names[number - encoding.n_sparse_columns])
        nothing = {"color": None, encoding.measure_key: None, "rows": None}
        return {**told, **nothing, "features": [[feature, None, None]]}
    for label, part, first in encoding.of_classes():
        if number < first + part.n_sparse_columns:
            return {**explain(part, number - first), **told, "class": label}
    if number >= encoding.n_own_columns:
        return {**told, **_of_linear(encoding, number - encoding.n_own_columns)}
    return {**told, **_of_own(encoding, number)}


def _number(column: int | str, names: list[str]) -> int:
    """Return the number of a column that is given by its number or by its name."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, Integral) and 0 <= int(column) < len(names):
        return int(column)
    expected = "none, as there are no columns"
    if names:
        like = (get_close_matches(str(column), names, 1, 0.0) or names)[0]
        expected = f"a number from 0 to {len(names) - 1}, or a name such as {like!r}"
    raise InputError(f"the column is {column!r}; expected {expected}")


def _of_own(encoding: Encoding, column: int) -> dict[str, Any]:
    """Return what one of the encoding's own columns means."""
    vocabulary, facts = encoding.vocabulary, encoding.column_facts()
    codes = np.flatnonzero(encoding.tables.of_features == column)
    codes = codes[by_descending_count(vocabulary.counts[codes])]  # later rows may have changed their order
    rows, absent = int(facts.rows[column]), int(facts.absent[column])
    mean = None if encoding.gives_levels or not rows else float(facts.measure[column])
    told: dict[str, Any] = {"color": int(facts.colors[column]), encoding.measure_key: mean}
    for key, rates in _rates_told(encoding).items():
        before = float((vocabulary.counts[codes] * rates[codes]).sum() / max(rows, 1))
        told[key] = None if absent or not rows or np.isnan(before) else before
    if encoding.absent is not None:
        told["absent"] = absent
    told |= {"rows": rows, "features": _listed(vocabulary, codes, encoding.measure[codes])}
    if _rates_told(encoding):
        smoothed = encoding.measure if encoding.smoothed is None else encoding.smoothed
        observed = np.full(len(smoothed), np.nan) if encoding.observed is None else encoding.observed
        told["rates"] = [_or_none(both) for both in zip(smoothed[codes], observed[codes], strict=True)]
    return told


def _rates_told(encoding: Encoding) -> dict[str, Floats]:
    """Return the rates of features beside their measure: before smoothing, and after it."""
    rates = {"smoothed": encoding.smoothed, "observed": encoding.observed}
    return {key: some for key, some in rates.items() if some is not None}


def _or_none(numbers: Iterable[float]) -> list[float | None]:
    return [None if np.isnan(number) else float(number) for number in numbers]


def nothing_told(encoding: Encoding) -> dict[str, None]:
    """Return what is told of rates and weights where there is no sparse feature."""
    keys = [*_rates_told(encoding), *([] if encoding.linear is None else ["linear", "weight"])]
    return dict.fromkeys(keys)


def _of_linear(encoding: Encoding, group: int) -> dict[str, Any]:
    """Return the strongest features of a linear column, the most positive first."""
    codes, weights = strongest(encoding, group, STRONGEST)
    return {
        "color": None,
        "weight": None,
        "rows": int(encoding.vocabulary.counts[linear_features(encoding, group)].sum()),
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
        return {"feature": text_of(name), **place_of_dense(encoding, name)}
    if code is None:
        raise InputError(
            f"the feature {text_of(name)!r} is not among the features of this model; expected one of the "
            "training rows"
        )
    each = encoding.of_classes()
    if each:
        places = [(label, shifted(locate(part, feature), first)) for label, part, first in each]
        shared = {key: places[0][1][key] for key in ("feature", "color", "count")}
        own = {label: {k: v for k, v in place.items() if k not in shared} for label, place in places}
        return {**shared, "classes": own}
    return {"feature": text_of(name), **places_of(encoding, np.array([code]))[0]}


def places_of(encoding: Encoding, codes: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return where sparse features went: color, column, rows, measure, linear column and weight."""
    columns, colors = encoding.tables.of_features[codes], encoding.coloring.colors[codes]
    told: dict[str, list[Any]] = {
        "color": colors.tolist(),
        "column": [column if column >= 0 else None for column in columns.tolist()],
        "count": encoding.vocabulary.counts[codes].tolist(),
        encoding.measure_key: encoding.measure[codes].tolist(),
    }
    for key, rates in _rates_told(encoding).items():
        told[key] = _or_none(rates[codes])
    if encoding.linear is not None:
        told["linear"] = (encoding.n_own_columns + encoding.linear.columns_of(colors)).tolist()
        told["weight"] = encoding.linear.weights[codes].tolist()
    return [dict(zip(told, one, strict=True)) for one in zip(*told.values(), strict=True)]


def shifted(place: dict[str, Any], first: int) -> dict[str, Any]:
    """Return a place whose columns count from another first one."""
    columns = {key: place[key] for key in ("column", "linear") if place.get(key) is not None}
    return place | {key: column + first for key, column in columns.items()}


def place_of_dense(encoding: Encoding, name: bytes) -> dict[str, Any]:
    """Return where a dense feature went: its column, None where the budget had no room for it."""
    place: dict[str, Any] = {"color": None, "column": None, "count": None, encoding.measure_key: None}
    place |= nothing_told(encoding)
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


def column_names(encoding: Encoding, called: Called = text_of) -> list[str]:
    """Return a name for every column, dense ones last; `called` says what people call a feature."""
    return finished(
        encoding.column_names(called) + [called(name) for name in encoding.vocabulary.dense_names]
    )
