"""What the scalar columns of a table are: categories or numbers. It is decided once, and kept."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from chromatic._log import log
from chromatic.data.checked import finite, must
from chromatic.errors import InputError, InputWarning

CATEGORY = "category"  # text
WHOLE = "whole"  # a category whose values are whole numbers
NUMBER = "number"
DATE = "date"
KINDS = (CATEGORY, WHOLE, NUMBER, DATE)

MOST_NAMED = 12  # columns in a line
AUTO = "auto"


@dataclass(frozen=True)
class Column:
    """A scalar column: what it is, and what its missing values become."""

    name: str
    kind: str  # of KINDS
    mean: float = 0.0  # of a number: what stands for a missing one
    missing: bool = False  # of a number: whether missing ones have a column of their own
    guessed: bool = False  # whether whole numbers were told apart by how often they repeat
    edges: tuple[float, ...] = ()  # of a guessed category: ranges that are features too, were it an amount

    @property
    def is_category(self) -> bool:
        return self.kind in (CATEGORY, WHOLE)

    @property
    def numeric_names(self) -> list[bytes]:
        """The dense columns that a number makes."""
        name = self.name.encode()
        return [name, b"%s is missing" % name] if self.missing else [name]


@dataclass(frozen=True)
class Schema:
    """The scalar columns of a table, in its order, and what its labels are."""

    columns: tuple[Column, ...] = ()
    classes: tuple[str, ...] = ()  # of labels that are texts, ascending: a label is the number of its class

    @property
    def categories(self) -> list[Column]:
        return [column for column in self.columns if column.is_category]

    @property
    def numbers(self) -> list[Column]:
        return [column for column in self.columns if not column.is_category]

    @property
    def field_names(self) -> tuple[bytes, ...]:
        ranges = [b"%s<=" % column.name.encode() for column in self.categories if column.edges]
        return tuple([column.name.encode() for column in self.categories] + ranges)

    @property
    def numeric_names(self) -> tuple[bytes, ...]:
        return tuple(name for column in self.numbers for name in column.numeric_names)

    @property
    def line(self) -> str:
        """Which columns are categories and which are numbers, in one line."""
        parts = [
            f"{what} {listed([one.name + '*' * one.guessed for one in some])}"
            for what, some in (("categories:", self.categories), ("numbers:", self.numbers))
            if some
        ]
        missing = [column.name for column in self.columns if column.missing]
        if missing:
            parts.append(f"a column of its own says where {listed(missing)} is missing")
        if any(column.guessed for column in self.columns):
            parts.append("* whole numbers, told apart by how often they repeat: `categorical` names others")
        if self.classes:
            parts.append(self.line_of_classes)
        return "; ".join(parts)

    @property
    def line_of_classes(self) -> str:
        """Which class each label is."""
        return f"labels: {listed([f'{number} is {one}' for number, one in enumerate(self.classes)])}"

    def tell(self) -> None:
        """Say it: as a warning where something was guessed or is missing, or where labels are texts."""
        if self.classes or any(column.guessed or column.missing for column in self.columns):
            warnings.warn(self.line, InputWarning, stacklevel=2)
        elif self.columns:
            log.info(self.line)

    def facts(self) -> list[dict[str, Any]]:
        """Return what a file keeps of the columns."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def of_facts(cls, told: list[dict[str, Any]], classes: Any = ()) -> Self:
        """Return what a file says of columns and classes, checked."""
        columns = tuple(Column(**{**one, "edges": tuple(one.get("edges", ()))}) for one in told)
        for column in columns:
            must(isinstance(column.name, str) and column.kind in KINDS, "a column's kind is unknown")
            must({bool} == {type(column.missing), type(column.guessed)}, "a column is not said well")
        finite([column.mean for column in columns], "the means of columns")
        for column in columns:
            finite(column.edges, "the edges of a column")
            must(list(column.edges) == sorted(set(column.edges)), "the edges of a column do not ascend")
        must(len({column.name for column in columns}) == len(columns), "two columns have one name")
        must(all(isinstance(one, str) for one in classes), "a class is no text")
        must(list(classes) == sorted(set(classes)), "the classes do not ascend")
        return cls(columns, tuple(classes))


def listed(names: list[str]) -> str:
    """Return names of columns in a line; of very many, some."""
    more = len(names) - MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST_NAMED])} and {more:,} more"


def is_auto(categorical: Any) -> bool:
    """Whether it is to be found out which columns are categories."""
    return isinstance(categorical, str) and categorical == AUTO


def chosen_of(categorical: Any, names: list[str]) -> set[str]:
    """Return the names of the columns that `categorical` names, numbers or marks."""
    given = list(categorical)
    if given and all(isinstance(one, (bool, np.bool_)) for one in given):
        if len(given) != len(names):
            raise InputError(
                f"categorical marks {len(given)} columns and the table has {len(names)}; expected a mark "
                "for each"
            )
        return {name for name, marked in zip(names, given, strict=True) if marked}
    chosen = set()
    for one in given:
        name = one
        if isinstance(one, (int, np.integer)) and not isinstance(one, bool):
            name = names[one] if -len(names) <= one < len(names) else None
        if name not in names:
            raise InputError(
                f"categorical has {one!r}, which is no column of the table; its columns are "
                f"{listed(names) or 'none'}"
            )
        chosen.add(name)
    return chosen
