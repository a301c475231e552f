"""What became of the features of one row and, with a linear model's coefficients, what each contributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import Batch
from chromatic.data.hashing import MISSING
from chromatic.data.names import Names
from chromatic.encoding.explain import nothing_told, place_of_dense, places_of, shifted
from chromatic.encoding.naming import text_of
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError

Entry = dict[str, Any]


def explain_row(
    encoding: Encoding, batch: Batch, names: list[str], *, coef: Any = None, intercept: Any = 0.0
) -> dict[str, Any]:
    """Return what became of the features of a row, given as a batch of one row.

    Each of `features` tells where it went, as `locate` does, the `name` of its column, and what it `adds`
    to that column; its `weight` is what it adds to its linear column. A feature that shares its color with
    a rarer one adds 0 where collisions are dropped. Where absence makes a column, an entry without a
    feature stands for it. Where there are several classes, a feature has an entry for each, which names
    the `class`. `unseen` are the features that were not in training.

    With the coefficients of a linear model on the columns, each entry has its `contribution`, and the sum
    of all of them and of the intercept is the `score` of the row.
    """
    given = None if coef is None else _coefficients(coef, len(names))
    entries, unseen = _entries(encoding, batch)
    for entry in entries:
        entry["name"] = None if entry["column"] is None else names[entry["column"]]
    told: dict[str, Any] = {"features": entries, "unseen": unseen}
    if given is None:
        return told
    for entry in entries:
        parts = [(entry["column"], entry["adds"]), (entry.get("linear"), entry.get("weight"))]
        entry["contribution"] = sum(
            float(given[column]) * adds for column, adds in parts if column is not None
        )
    told["intercept"] = _intercept(intercept)
    told["score"] = told["intercept"] + sum(entry["contribution"] for entry in entries)
    return told


def _entries(encoding: Encoding, batch: Batch) -> tuple[list[Entry], list[str]]:
    """Return an entry for each feature of a row that is known, and the others."""
    vocabulary = encoding.vocabulary
    words = _words(encoding, batch)
    slots = vocabulary.find(Names.pack(words)).astype(np.int64)
    rows = vocabulary.encode([batch])
    is_sparse = slots < len(vocabulary)
    codes = np.sort(slots[is_sparse])
    kept = set(encoding.resolve(rows).codes.tolist())
    entries: list[Entry] = []
    for label, part, first in encoding.of_classes():
        of_class = [shifted(entry, first) for entry in _sparse_entries(part, codes, kept)]
        entries += [entry | {"class": label} for entry in of_class]
    if not encoding.of_classes():
        entries = _sparse_entries(encoding, codes, kept)
    unused = [word for word, slot in zip(words, slots, strict=True) if _is_dense(slot, encoding)]
    for at, name in enumerate(vocabulary.dense_names):
        value = float(rows.dense[0, at])
        if value:
            entries.append({"feature": text_of(name), **place_of_dense(encoding, name), "adds": value})
    entries += [
        {"feature": text_of(word), **place_of_dense(encoding, word), "adds": 0.0}
        for word in unused
        if word not in vocabulary.dense_names
    ]
    unseen = [text_of(word) for word, slot in zip(words, slots, strict=True) if slot == MISSING]
    return entries, unseen


def _sparse_entries(encoding: Encoding, codes: npt.NDArray[np.int64], kept: set[int]) -> list[Entry]:
    """Return an entry for each of some sparse features, and for each color whose absence makes a column."""
    values = encoding.tables.values
    entries = []
    for code, place in zip(codes.tolist(), places_of(encoding, codes), strict=True):
        adds = 1.0 if values is None else float(values[code, 0])
        counts = code in kept and place["column"] is not None
        feature = encoding.vocabulary.text(code)
        entries.append({"feature": feature, **place, "adds": adds if counts else 0.0})
    if encoding.absent is not None:
        entries += _absences(encoding, set(encoding.coloring.colors[codes].tolist()))
    return entries


def _is_dense(slot: np.int64, encoding: Encoding) -> bool:
    return bool(slot != MISSING and slot >= len(encoding.vocabulary))


def _words(encoding: Encoding, batch: Batch) -> list[bytes]:
    """Return the names of a row's features; where each value is a feature of its own, with the value."""
    bins = encoding.vocabulary.bins
    batch = (batch if bins is None else bins.apply(batch.with_names())).with_names()
    assert batch.tokens is not None and batch.tokens.names is not None
    return batch.tokens.names.take(batch.ids.astype(np.int64)).tolist()


def _absences(encoding: Encoding, present: set[int]) -> list[Entry]:
    """Return an entry for each color that a row has no feature of."""
    assert encoding.absent is not None
    entries = []
    for color, column in enumerate(encoding.absent.tolist()):
        if color not in present:
            measure = float(encoding.absent_measure[color])
            place: Entry = {"color": color, "column": column, "count": None, encoding.measure_key: measure}
            entries.append({"feature": None, **place, **nothing_told(encoding), "adds": 1.0})
    return entries


def _coefficients(coef: Any, n_columns: int) -> npt.NDArray[np.float64]:
    given = np.asarray(coef, np.float64)
    if given.shape not in ((n_columns,), (1, n_columns)):
        raise InputError(
            f"coef has the shape {given.shape}; expected one number for each of {n_columns} columns, as "
            "the coef_ of a linear model of two classes or of numbers"
        )
    return given.reshape(-1)


def _intercept(intercept: Any) -> float:
    given = np.asarray(intercept, np.float64)
    if given.size != 1:
        raise InputError(f"intercept has the shape {given.shape}; expected one number")
    return float(given.reshape(-1)[0])
