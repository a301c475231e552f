"""A look over all rows of a table, to tell which of its columns are categories and which are numbers.

Text, categories and booleans are categories. Dates are numbers: days since 1970-01-01, UTC. A column of
whole numbers is a category where its values repeat: leaving the most frequent value aside, at least half
of the rows have a value that is in `FEW` rows or more. Where some are below -1 they are amounts, and
numbers. `categorical` names the categories, and then nothing is guessed. No order and no chunk of the rows
plays a part.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from chromatic.data.beside import Beside, classes_with
from chromatic.data.schema import AUTO, CATEGORY, DATE, NUMBER, WHOLE, Column, Schema, chosen_of, is_auto
from chromatic.errors import InputError

FEW = 3  # rows: a value that fewer have is hardly a category
MOST_VALUES = 1 << 16  # that are counted of a column; of more, those of some hashes are
MANY = 64  # values: of fewer, each is in enough rows
RANGES = 16
ALIKE = 0.4  # the correlation of neighbors, of which there are MANY
EXACT = 1 << 53  # up to which float64 holds every whole number

_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass
class _Values:
    """How often each whole number occurs; of very many numbers, those whose hashes begin with zeros.

    What is left depends on the numbers alone, not on their order.
    """

    keys: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    zeros: int = 0  # bits of a hash

    def add(self, numbers: npt.NDArray[np.int64]) -> None:
        self._count(*np.unique(numbers, return_counts=True))

    def _count(self, keys: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
        both = np.concatenate((self.keys, keys))
        self.keys, where = np.unique(both, return_inverse=True)
        counts = np.concatenate((self.counts, counts))
        self.counts = np.bincount(where, counts, len(self.keys)).astype(np.int64)
        self._thin()
        while len(self.keys) > MOST_VALUES:
            self.zeros += 1
            self._thin()

    def merge(self, other: _Values) -> None:
        """Have seen what another has seen."""
        self.zeros = max(self.zeros, other.zeros)
        self._thin()
        self._count(other.keys, other.counts)

    def _thin(self) -> None:
        if self.zeros:
            kept = _hashes(self.keys) >> np.uint64(64 - self.zeros) == 0
            self.keys, self.counts = self.keys[kept], self.counts[kept]

    @property
    def edges(self) -> tuple[float, ...]:
        """The upper ends of RANGES parts of the rows, in the order of the numbers, where that order tells.

        It does where neighboring numbers are alike in how often they occur, as amounts are and ids are not.
        """
        if len(self.keys) < MANY or self.counts.min() == self.counts.max():
            return ()
        logs = np.log(self.counts)
        if not np.corrcoef(logs[:-1], logs[1:])[0, 1] > ALIKE:
            return ()
        below = np.cumsum(self.counts)
        parts = np.arange(1, RANGES + 1) * below[-1] / RANGES
        ends = self.keys[np.minimum(np.searchsorted(below, parts), len(below) - 1)]
        return tuple(np.unique(ends.astype(np.float64)).tolist())

    @property
    def most(self) -> int:
        """In how many rows the most frequent number is."""
        return int(self.counts.max(initial=0))

    @property
    def rare_rows(self) -> int:
        """In how many rows the number is one that fewer than FEW rows have."""
        return int(self.counts[self.counts < FEW].sum()) << self.zeros


@dataclass
class _Facts:
    """What rows tell of a column."""

    kind: str | None = None  # "text", "number", "boolean", "date", "lists", or None: nothing but nulls
    labelled: bool = False  # whether its type says that whole numbers are categories
    present: int = 0
    missing: int = 0
    whole: bool = True
    low: int = 0
    high: int = 0
    total: Fraction = Fraction(0)
    values: _Values = field(default_factory=_Values)

    def add(self, column: pa.Array) -> None:
        kind = kind_of(column.type)
        self.labelled |= pa.types.is_dictionary(column.type)
        if kind is None:
            self.missing += len(column)
            return
        if self.kind not in (None, kind):
            kind = NUMBER if {self.kind, kind} == {NUMBER, "boolean"} else "text"
        self.kind = kind
        if kind in (NUMBER, "boolean", DATE):
            self._add_numbers(column, whole=kind != DATE)

    def _add_numbers(self, column: pa.Array, *, whole: bool) -> None:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        numbers = days_of(column) if not whole else column.cast(pa.float64(), safe=False)
        values = numbers.drop_null().to_numpy(zero_copy_only=False)
        values = values[np.isfinite(values)]  # reading the rows refuses infinite ones
        self.present += len(values)
        self.missing += len(column) - len(values)
        self.total += exact_sum(values)
        if not len(values) or not whole or not self.whole:
            return
        if pa.types.is_integer(column.type):
            exact = column.drop_null().to_numpy(zero_copy_only=False)
        else:
            self.whole = bool(((np.floor(values) == values) & (np.abs(values) < 2.0**63)).all())
            exact = values
        if self.whole:
            self.low, self.high = min(self.low, int(exact.min())), max(self.high, int(exact.max()))
            unsigned = exact.dtype == np.uint64
            self.values.add(exact.view(np.int64) if unsigned else exact.astype(np.int64))

    def merge(self, other: _Facts) -> None:
        """Have seen what another has seen of a column of the same type."""
        self.kind, self.labelled = self.kind or other.kind, self.labelled or other.labelled
        self.present, self.missing = self.present + other.present, self.missing + other.missing
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole, self.total = self.whole and other.whole, self.total + other.total
        self.values.merge(other.values)

    def plain(self) -> dict[str, Any]:
        """Return the facts as JSON can write them."""
        total, values = self.total, self.values
        arrays = {"keys": values.keys.tolist(), "counts": values.counts.tolist(), "zeros": values.zeros}
        return vars(self) | {"total": [total.numerator, total.denominator], "values": arrays}

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> _Facts:
        keys, counts, zeros = (plain["values"][name] for name in ("keys", "counts", "zeros"))
        values = _Values(np.array(keys, np.int64), np.array(counts, np.int64), zeros)
        return cls(**plain | {"total": Fraction(*plain["total"]), "values": values})

    @property
    def is_guessed(self) -> bool:
        return self.kind == NUMBER and self.whole and self.present > 0 and not self.labelled

    @property
    def repeats(self) -> bool:
        """Whether whole numbers are rather names than amounts."""
        amounts = self.low < -1 and max(-self.low, self.high) < EXACT
        return not amounts and 2 * self.values.rare_rows <= self.present - self.values.most

    def column(self, name: str, categorical: bool | None) -> Column:
        """Return what the column is; `categorical` says it, or None: it is to be found."""
        guessed = categorical is None and self.is_guessed
        if categorical is None:
            categorical = self.kind == "boolean" or (self.kind == NUMBER and self.labelled)
            categorical |= guessed and self.repeats
        if self.kind in (None, "text"):
            return Column(name, CATEGORY)
        if categorical:
            is_whole = self.kind in ("boolean", NUMBER) and self.whole
            edges = self.values.edges if guessed else ()
            return Column(name, WHOLE if is_whole else CATEGORY, guessed=guessed, edges=edges)
        mean = float(self.total / self.present) if self.present else 0.0
        kind = DATE if self.kind == DATE else NUMBER
        return Column(name, kind, mean, self.missing > 0, guessed)


class Look:
    """A look over all rows of tables, which come some at a time, to tell what their columns are."""

    def __init__(self) -> None:
        self._facts: dict[str, _Facts] = {}
        self.label: str | None = None  # the column of labels
        self.label_kind: str | None = None  # "text", or "number" for all else; None: not seen yet
        self._classes: set[str] = set()  # the labels that are texts

    def add(self, table: pa.Table, beside: Beside, *, label_read: bool = True) -> None:
        """Look over some rows: their features and, where these are read, their labels."""
        self.label = beside.label
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name == beside.label and label_read:
                self._add_labels(name, column)
            elif name not in beside:
                facts = self._facts.setdefault(name, _Facts())
                for chunk in column.chunks:
                    for start in range(0, len(chunk), MOST_VALUES):
                        facts.add(chunk.slice(start, MOST_VALUES))

    def _add_labels(self, name: str, column: pa.ChunkedArray) -> None:
        kind = "text" if kind_of(column.type) == "text" else NUMBER
        if self.label_kind not in (None, kind):
            raise InputError(
                f"the label column {name!r} has texts in some rows and numbers in others; expected one kind"
            )
        self.label_kind = kind
        for chunk in column.chunks if kind == "text" else ():
            self._classes = classes_with(self._classes, name, chunk)

    @property
    def classes(self) -> tuple[str, ...]:
        """The kinds of labels that are texts, ascending."""
        return tuple(sorted(self._classes))

    def copy(self) -> Look:
        """Return what was seen so far, to go on from."""
        other = Look()
        other._facts, other._classes = deepcopy(self._facts), self._classes
        other.label_kind = self.label_kind
        return other

    def take(self, other: Look) -> None:
        """Have seen what a copy has seen."""
        self._facts, self.label, self._classes = other._facts, other.label, other._classes
        self.label_kind = other.label_kind

    def columns_as_json(self) -> str:
        """Return what was seen of the columns of features, for `merge` in another process."""
        return json.dumps({name: facts.plain() for name, facts in self._facts.items()})

    def merge(self, columns: str) -> None:
        """Have seen what a look over other rows of the same columns has seen of them."""
        for name, plain in json.loads(columns).items():
            self._facts.setdefault(name, _Facts()).merge(_Facts.of_plain(plain))

    def is_settled(self, categorical: Any) -> bool:
        """Whether other rows of the same types cannot change what columns are."""
        if self._classes:
            return False
        names = list(self._facts)
        chosen = set() if is_auto(categorical) else chosen_of(categorical, names)
        open = [facts for name, facts in self._facts.items() if name not in chosen]
        return all(facts.kind in ("text", "lists", "boolean") or facts.labelled for facts in open)

    def with_numbers(self, names: tuple[bytes, ...]) -> Schema:
        """Return the schema for a model that knows its numeric columns only; empty cells are 0 then."""
        scalars = [name for name, facts in self._facts.items() if facts.kind != "lists"]
        return Schema(
            tuple(Column(name, NUMBER if name.encode() in names else CATEGORY) for name in scalars),
            self.classes,
        )

    def schema(self, categorical: Any = AUTO) -> Schema:
        """Return what the columns are."""
        names = list(self._facts)
        chosen = None if is_auto(categorical) else chosen_of(categorical, names)
        for name in chosen or ():
            if self._facts[name].kind == "lists":
                raise InputError(
                    f"categorical has the column {name!r}, which has lists of features; expected columns "
                    "of text or numbers"
                )
        return Schema(
            tuple(
                facts.column(name, None if chosen is None else name in chosen)
                for name, facts in self._facts.items()
                if facts.kind != "lists"
            ),
            self.classes,
        )


def _hashes(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return SplitMix64 of each."""
    z = keys.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ z >> np.uint64(31))


def kind_of(type: pa.DataType) -> str | None:
    """Return what values of a type are: "text", "number", "boolean", "date", "lists"; None: nulls only."""
    types = pa.types
    if types.is_dictionary(type):
        type = type.value_type
    if types.is_null(type):
        return None
    if types.is_boolean(type):
        return "boolean"
    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        return NUMBER
    if types.is_temporal(type) and not types.is_interval(type):
        return DATE
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_map)
    return "lists" if any(is_kind(type) for is_kind in lists) else "text"


def days_of(column: pa.Array) -> pa.Array:
    """Return dates and times as days since 1970-01-01, UTC; durations and times of a day in days too.

    >>> days_of(pa.array([86_400_000, None], pa.timestamp("ms"))).to_pylist()
    [1.0, None]
    """
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.float64())
    unit = "ms" if pa.types.is_date64(column.type) else column.type.unit
    if pa.types.is_time32(column.type):
        column = column.cast(pa.int32())
    ticks, day = column.cast(pa.int64()), pa.scalar(_DAY[unit], pa.int64())
    whole = pc.divide(ticks, day)  # a day has more ticks than float64 has digits to spare
    rest = pc.subtract(ticks, pc.multiply(whole, day))
    return pc.add(whole.cast(pa.float64()), pc.divide(rest.cast(pa.float64()), float(_DAY[unit])))


def exact_sum(values: npt.NDArray[np.float64]) -> Fraction:
    """Return the sum of finite numbers, exact in whatever order they come; of 2**26 at most at once.

    >>> exact_sum(np.array([1e300, 0.5, -1e300, 2.0**-1074])) == Fraction(1, 2) + Fraction(1, 1 << 1074)
    True
    """
    mantissas, exponents = np.frexp(values)
    whole = (mantissas * EXACT).astype(np.int64)
    places, of_place = np.unique(exponents, return_inverse=True)
    halves = (np.bincount(of_place, half, len(places)) for half in (whole >> 26, whole & (1 << 26) - 1))
    total = Fraction(0)
    for place, high, low in zip(places.tolist(), *(half.tolist() for half in halves), strict=True):
        total += ((int(high) << 26) + int(low)) * Fraction(2) ** (place - 53)
    return total
