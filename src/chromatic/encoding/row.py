"""One row as it comes to a server: a dict of features and values, or a row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError

LARGEST = 1 << 53  # of integers, as far as floats tell all of them apart

Numbers = Sequence[tuple[int, float]]  # places or columns, and values


def as_dict(row: Any) -> dict[str, Any] | None:
    """Return a mapping, or a row of a pandas frame, as a dict; None for anything else."""
    if isinstance(row, Mapping):
        return dict(row)
    if not hasattr(row, "to_dict") or not hasattr(row, "index"):
        return None
    told: dict[str, Any] = row.to_dict()
    return told if all(type(name) is str for name in told) else None


def features_and_values(row: dict[Any, Any]) -> tuple[list[Any], Numbers] | None:
    """Return the features of a dict, and the values other than 1 by their places; None where one is odd."""
    tokens: list[Any] = []
    numbers = []
    for key, value in row.items():
        if type(value) is str:
            tokens.append(f"{key}={value}")
        elif not is_plain_number(value):
            return None
        elif value:
            if value != 1:
                numbers.append((len(tokens), value))
            tokens.append(key)
    return (tokens, numbers) if len(set(tokens)) == len(tokens) else None


def is_plain_number(value: Any) -> bool:
    """Return whether a value is a number that a float holds, neither NaN nor infinite."""
    return type(value) in (int, float, bool) and -LARGEST <= value <= LARGEST


def is_plain_integer(value: Any) -> bool:
    """Return whether a value is an integer that a float tells apart from all others."""
    return type(value) is int and -LARGEST <= value <= LARGEST


def table_of_row(
    row: Mapping[Any, Any], vocabulary: Vocabulary, columns: tuple[str, ...] | None, label: str | None
) -> Any:
    """Return an Arrow table of one row that is given by the names of its columns, without its label.

    `columns` are those of the fit, where they are known, and `label` that of the labels. A text column that
    the row does not have is empty.
    """
    import pyarrow as pa

    numeric = [name.decode() for name in (*vocabulary.numeric_names, *vocabulary.unused_numeric)]
    categories = [] if vocabulary.schema is None else vocabulary.schema.categories
    given = dict.fromkeys([column.name for column in categories])  # one that is not given is empty
    given |= {str(name): value for name, value in row.items()}
    apart = "label" if label is None else label
    if columns is None or apart not in columns:
        given.pop(apart, None)
    expected = columns if columns is not None else tuple(dict.fromkeys([*numeric, *given]))
    odd = [name for name in given if name not in expected]
    if odd:
        raise InputError(
            f"the row has the column {odd[0]!r}; expected those of the fit: {', '.join(expected)[:200]}"
        )
    known = [name for name in expected if name in given]
    kinds = [pa.float64() if name in numeric and given[name] is None else None for name in known]
    try:
        cells = [pa.array([given[name]], kind) for name, kind in zip(known, kinds, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise InputError(
            f"the row has a value of a kind that tables do not have ({error}); expected numbers, text, or "
            "lists of text or of integers".replace("\n", " ")
        ) from error
    return pa.table(cells, known)
