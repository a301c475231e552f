"""The labels of training rows: of two kinds, of several classes, or numbers; what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.data.look import exact_sum
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError
from chromatic.parameters import Settings

Floats = npt.NDArray[np.float64]

STEPS = 1 << 20  # of the weight of a row that counts as one
AT_ONCE = 1 << 20  # weights that are summed at once


class OfRows(NamedTuple):
    """What is told of rows beside their labels, each an array of one element a row, or None."""

    weights: Any = None
    groups: Any = None  # rows of one group share a fold

    def or_of_data(self, weights: Floats | None, groups: Any) -> OfRows:
        """Return what is told apart, or else what the data brings itself; refuse both."""
        own = OfRows(weights, None if groups is None else Hashed(groups))
        for what, apart, brought in zip(self._fields, self, own, strict=True):
            if apart is not None and brought is not None:
                raise InputError(
                    f"{what} are given and the data brings {what} of its own, in a column or in its lines; "
                    "expected one of them"
                )
        return OfRows(
            *(brought if apart is None else apart for apart, brought in zip(self, own, strict=True))
        )


class Hashed(NamedTuple):
    """Groups by the hashes of their names, as readers have them."""

    hashes: npt.NDArray[np.uint64]


NOTHING_TOLD = OfRows()


class Labels(NamedTuple):
    """Labels as a fit takes them."""

    numbers: Floats  # 0 and 1, the numbers of classes from 0, or the labels themselves
    classes: npt.NDArray[Any] | None  # what the first ones stand for; None: labels are numbers

    @property
    def each(self) -> list[int | None]:
        """What is learned: each of several classes by its number, or the labels as they are."""
        return classes_of(self.classes)


def classes_of(classes: npt.NDArray[Any] | None) -> list[int | None]:
    """Return the numbers of the classes where they are more than two; else None alone."""
    return [None] if classes is None or len(classes) <= 2 else list(range(len(classes)))


def plain_classes(classes: npt.NDArray[Any] | None) -> tuple[Any, ...] | None:
    """Return classes as plain values, which a file can keep."""
    if classes is None:
        return None
    return tuple(one if isinstance(one, (str, int, float)) else str(one) for one in classes.tolist())


def class_names(classes: npt.NDArray[Any]) -> list[str]:
    """Return what classes are called.

    >>> class_names(np.array([0.0, 1.5])), class_names(np.array(["thai"]))
    (['0', '1.5'], ['thai'])
    """
    return [f"{one:g}" if isinstance(one, float) else str(one) for one in classes.tolist()]


@dataclass(frozen=True)
class LabelFacts:
    """What one look over the labels of all rows tells."""

    where: str  # "y", or which column they are
    n_rows: int
    low: Any
    high: Any
    two_kinds: bool
    null: int = 0  # rows without a label
    infinite: int = 0  # rows whose label is NaN or infinite
    text: bool = False  # whether they are texts, and no numbers
    fractions: bool = False  # whether there are numbers that are not whole

    def kind(self, encoding: type[Encoding], settings: Settings) -> str:
        """Return what the labels are, "binary", "classes" or "numbers"; refuse those that are no good."""
        rows, target_type = f"{self.n_rows:,} rows", settings.target_type
        self.check_told()
        if self.low == self.high:
            only = self.low if self.text else f"{self.low:g}"
            raise InputError(
                f"{self.where} is {only} in all {rows}, there is only one class; expected two kinds "
                "of labels"
            )
        if target_type == "numbers" and self.text:
            raise InputError(
                f"target_type is 'numbers' and {self.where} has texts, such as {str(self.low)!r}; expected "
                "numbers, or target_type='classes'"
            )
        if target_type == "binary" and not self.two_kinds:
            raise InputError(
                f"target_type is 'binary' and {self.where} has labels of more than two kinds in {rows}; "
                "expected two, or another target_type"
            )
        kind = target_type if target_type != "auto" else self._guessed()
        if kind == "numbers" and encoding.of_numbers is None:
            raise InputError(
                f"{self.where} has numbers as labels, which the {settings.encoding} encoding does not "
                "learn from; expected labels of two kinds, or another encoding"
            )
        return "binary" if kind == "classes" and self.two_kinds else kind

    def check_told(self) -> None:
        """Refuse rows without a label."""
        for number, what in ((self.null, "null"), (self.infinite, "NaN or infinite")):
            if number:
                raise InputError(
                    f"{self.where} is {what} in {number:,} of {self.n_rows:,} rows; filter those, or give "
                    "them labels"
                )

    def _guessed(self) -> str:
        """Texts are classes, fractions are numbers; whole numbers may be either."""
        if self.two_kinds:
            return "binary"
        if not self.text and not self.fractions:
            raise InputError(
                f"{self.where} has whole numbers of more than two kinds, {self.low:g} to {self.high:g}, in "
                f"{self.n_rows:,} rows; expected target_type='classes' where they name classes, or "
                "target_type='numbers'"
            )
        return "classes" if self.text else "numbers"


def facts_of(y: npt.NDArray[Any], where: str, classes: tuple[str, ...] = ()) -> LabelFacts:
    """Look over labels in memory, which `checked` has seen; with classes, they are numbers of these."""
    if classes:
        return LabelFacts(where, len(y), classes[0], classes[-1], len(classes) <= 2, text=True)
    if y.dtype.kind not in "biuf":
        kinds = np.unique(y)
        return LabelFacts(where, len(y), kinds[0], kinds[-1], len(kinds) <= 2, text=True)
    infinite = 0 if y.dtype.kind != "f" else int((~np.isfinite(y)).sum())
    low, high = (y.min(), y.max()) if len(y) else (np.float64(0), np.float64(0))
    two_kinds = bool(((y == low) | (y == high)).all())
    fractions = y.dtype.kind == "f" and not two_kinds and not infinite and bool((y != np.floor(y)).any())
    return LabelFacts(
        where, len(y), float(low), float(high), two_kinds, infinite=infinite, fractions=fractions
    )


def check_one_a_row(given: npt.NDArray[Any], n_rows: int, what: str = "label") -> None:
    """Refuse labels, or weights or groups, that are not one a row."""
    if given.shape != (n_rows,):
        raise InputError(f"{n_rows:,} rows and {what}s of shape {given.shape}; expected one {what} a row")


def checked(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as an array of one type; refuse several types.

    >>> checked(np.array([1, 2], dtype=object)).dtype.kind
    'i'
    """
    types = {type(label) for label in y.tolist()} if y.dtype == object else {y.dtype.type}
    if len(types) > 1:
        listed = ", ".join(sorted(kind.__name__ for kind in types))
        raise InputError(f"y has values of the types {listed}; expected labels of one type")
    numeric = y.dtype == object and all(issubclass(kind, Number) for kind in types)
    return np.array(y.tolist()) if numeric else y


def settled(y: npt.NDArray[Any], kind: str, names: tuple[str, ...] = ()) -> Labels:
    """Return labels of a known kind as numbers; with names, they are numbers of classes of these names.

    >>> settled(np.array(["no", "yes", "no"]), "binary").numbers.tolist()
    [0.0, 1.0, 0.0]
    """
    if names:
        counts = np.bincount(y.astype(np.int64), minlength=len(names))
        return Labels(y, checked_classes(np.array(names), counts) if kind == "classes" else np.array(names))
    if kind == "numbers":
        return Labels(np.asarray(y, np.float64), None)
    if kind == "binary":
        kinds = kinds_of(y)
        return Labels(np.asarray(y == kinds[1], np.float64), kinds)
    classes, numbers, counts = np.unique(y, return_inverse=True, return_counts=True)
    return Labels(numbers.astype(np.float64), checked_classes(classes, counts))


def as_in_training(
    labels: npt.NDArray[Any], classes: tuple[Any, ...] | None, *, coded: bool = False
) -> Floats:
    """Return the labels of other rows as numbers: of classes the place among those of training, from 0.

    Without classes they are numbers; where they are `coded`, they are such places already.

    >>> as_in_training(np.array(["yes", "no"]), ("no", "yes")).tolist()
    [1.0, 0.0]
    """
    if classes is None or coded:
        numbers = np.asarray(labels, np.float64)
        if not np.isfinite(numbers).all():
            raise InputError("a label is NaN or infinite; expected numbers, as in training")
        return numbers
    kinds, places = np.unique(labels, return_inverse=True)
    known = {kind: float(place) for place, kind in enumerate(classes)}
    for name, kind in zip(class_names(kinds), kinds.tolist(), strict=True):
        if kind not in known:
            listed = ", ".join(class_names(np.array(classes)))
            kinds_differ = name in class_names(np.array(classes))
            which = f"{name} of the type {type(kind).__name__}" if kinds_differ else name
            raise InputError(f"a row has the label {which}, which training did not have; expected {listed}")
    return np.array([known[kind] for kind in kinds.tolist()])[places]


def checked_classes(classes: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return classes that all have two rows at least; refuse others."""
    once = classes[counts == 1]
    if len(once):
        raise InputError(
            f"{len(once):,} of {len(classes):,} classes have one row, such as {once[0]!s}; expected two "
            "rows of each at least: leave these rows out, or put rare classes together"
        )
    return classes


def as_numbers(y: npt.NDArray[Any]) -> Floats:
    """Return labels of two kinds as 0 and 1, the larger as 1, and numbers of more kinds as they are.

    >>> as_numbers(np.array(["no", "yes", "no"])).tolist(), as_numbers(np.array([1.0, 2, 3])).tolist()
    ([0.0, 1.0, 0.0], [1.0, 2.0, 3.0])
    """
    y = checked(y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        return np.asarray(y, np.float64)
    kinds = kinds_of(y)
    if len(kinds) == 2:
        return settled(y, "binary").numbers
    if y.dtype.kind not in "biuf":
        raise InputError(f"y has {len(kinds)} kinds of labels; expected two, or numbers")
    return np.asarray(y, np.float64)


def kinds_of(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct labels, ascending; where they are two at most, without sorting them all."""
    if len(labels) and labels.dtype.kind in "biuf":
        ends = np.unique([labels.min(), labels.max()])
        if ((labels == ends[0]) | (labels == ends[-1])).all():
            return ends
    return np.unique(labels)


def checked_weights(weights: Any, n_rows: int) -> Floats:
    """Return the weights of rows, as they came."""
    given = np.asarray(weights)
    check_one_a_row(given, n_rows, "weight")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the weights are of type {given.dtype}; expected numbers from 0") from error
    for wrong, what in ((~np.isfinite(numbers), "NaN or infinite"), (numbers < 0, "negative")):
        if wrong.any():
            raise InputError(
                f"the weight is {what} in {int(wrong.sum()):,} of {n_rows:,} rows; expected numbers from 0"
            )
    if not (numbers > 0).any():
        raise InputError(f"the weights of all {n_rows:,} rows are zero; expected some above 0")
    return numbers


def mean_weight(weights: Floats) -> float:
    """Return the mean of the weights that are not 0, the same for any order of them."""
    some = weights[weights > 0]
    return float(sum_of(some) / len(some))


def sum_of(numbers: Floats) -> Fraction:
    """Return the exact sum of numbers."""
    return sum((exact_sum(numbers[i : i + AT_ONCE]) for i in range(0, len(numbers), AT_ONCE)), Fraction(0))


def in_units(weights: Floats, unit: float) -> Floats:
    """Return weights over that of a row that counts as one, as multiples of 2**-20, above 0 where they are.

    Sums of such numbers are exact up to 2**33 rows, so that rows may be added up in any order.

    >>> (in_units(np.array([0.0, 1e-9, 3.0]), 2.0) * STEPS).tolist()
    [0.0, 1.0, 1572864.0]
    """
    steps = np.rint(weights / unit * STEPS)
    return np.where(weights > 0, np.maximum(steps, 1.0), 0.0) / STEPS


def moments_of(labels: Floats, weights: Floats | None) -> tuple[float, float]:
    """Return the mean and the variance of labels, 0 where there are none."""
    if weights is None:
        return (float(labels.mean()), float(labels.var())) if len(labels) else (0.0, 0.0)
    if not (weights > 0).any():
        return 0.0, 0.0
    mean = float(np.average(labels, weights=weights))
    return mean, float(np.average((labels - mean) ** 2, weights=weights))
