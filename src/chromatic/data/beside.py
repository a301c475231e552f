"""Columns of a table that are no features, and what they tell of its rows: labels, weights, groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chromatic.data.names import Names
from chromatic.data.schema import listed
from chromatic.errors import InputError

MOST_CLASSES = 1 << 16  # texts of labels; a column that has more is hardly one of classes


class Beside(NamedTuple):
    """The names of these columns, None where a table has no such column."""

    label: str | None = None
    weight: str | None = None
    group: str | None = None

    def checked(self, names: list[str]) -> Beside:
        """Refuse a column that is not there, and one that is named twice."""
        for what, name in zip(self._fields, self, strict=True):
            if name is not None and name not in names:
                raise InputError(
                    f"there is no column {name!r} for the {what}; the columns are {', '.join(names)}"
                )
            twice = next((other for other in self._fields if getattr(self, other) == name), what)
            if name is not None and twice != what:
                raise InputError(
                    f"the column {name!r} is named for the {twice} and for the {what}; expected two columns"
                )
        return self


def texts_of(name: str, column: pa.Array) -> pa.Array:
    """Return a column of labels as texts; refuse empty ones."""
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"the label column {name!r} is of type {column.type}; expected numbers or texts"
        ) from error
    empty = pc.fill_null(pc.equal(texts, ""), True).to_numpy(zero_copy_only=False)
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise InputError(f"the label column {name!r} is empty in row {row + 1:,}; expected a label there")
    return texts


def classes_with(known: set[str], name: str, column: pa.Array) -> set[str]:
    """Return the kinds of labels of rows before and of a column of texts."""
    kinds = known | set(pc.unique(texts_of(name, column)).to_pylist())
    if len(kinds) > MOST_CLASSES:
        raise InputError(
            f"the label column {name!r} has more than {MOST_CLASSES:,} kinds of texts; expected classes"
        )
    return kinds


def labels_of(name: str, column: pa.Array, classes: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return labels as numbers: their own or, where there are classes, which class each one is."""
    if classes:
        return _numbers_of_classes(name, texts_of(name, column), classes)
    try:
        labels = column.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"the label column {name!r} is of type {column.type}; expected numbers, as in the rows before, "
            "or name another column as the label"
        ) from error
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InputError(f"the label column {name!r} has no finite number in row {row + 1:,}; expected one")
    return np.array(labels, np.float64)


def _numbers_of_classes(name: str, texts: pa.Array, classes: tuple[str, ...]) -> npt.NDArray[np.float64]:
    numbers = pc.index_in(texts, pa.array(classes, texts.type))
    if numbers.null_count:
        unseen = texts.filter(numbers.is_null())
        raise InputError(
            f"the label column {name!r} has {unseen[0].as_py()[:40]!r}, a class that training rows do not "
            f"have; expected one of {listed(list(classes))}, or --label '' to do without labels"
        )
    return np.array(numbers.to_numpy(zero_copy_only=False), np.float64)


def weights_of(name: str, column: pa.Array) -> npt.NDArray[np.float64]:
    """Return the weights of rows; whether they may be so is for the fit to say."""
    try:
        if pa.types.is_string(column.type):  # as CSV has it
            column = pc.utf8_trim_whitespace(column)
        weights = column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"the weight column {name!r} has values that are no numbers ({error}); expected numbers from 0"
        ) from error
    return np.array(weights, np.float64)


def groups_of(name: str, texts: pa.Array) -> npt.NDArray[np.uint64]:
    """Return a hash of the group of each row, from groups as texts; refuse empty ones."""
    empty = pc.fill_null(pc.equal(pc.binary_length(texts), 0), True).to_numpy(zero_copy_only=False)
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise InputError(f"the group column {name!r} is empty in row {row + 1:,}; expected a group there")
    return Names.of_arrow(texts).hashes()
