"""What a report says of several classes: each against the others, and what is taken for what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from chromatic.encoding.explain import strongest
from chromatic.report.linear import predicted
from chromatic.report.subject import Floats, Hint, Integers, Subject, name_of

MOST_CLASSES = 40  # that a table of confusions shows
RAISING = 5  # features that speak most for a class


class OneClass(NamedTuple):
    """A class at a glance."""

    label: str
    prior: float | None  # its share of training rows
    in_test: float | None  # and of test rows
    n_own: int  # columns
    n_linear: int
    raising: list[str]  # the features that speak most for it


class Confused(NamedTuple):
    """The test rows of a class, by what is predicted for them."""

    label: str
    rows: int
    shares: list[float]


@dataclass(frozen=True)
class Confusions:
    """What the linear models of all classes say of test rows; the likeliest class counts."""

    n_rows: int
    accuracy: float
    most_frequent: float  # the accuracy of naming the most frequent class of training
    table: list[Confused]  # none where there are too many classes
    labels: list[str]


@dataclass(frozen=True)
class ClassList:
    """The classes, and what is taken for what."""

    template: ClassVar[str] = "classes.html"

    classes: list[OneClass]
    has_test: bool
    confusions: Confusions | None


@dataclass(frozen=True)
class ByClass:
    """A section for each class."""

    template: ClassVar[str] = "by_class.html"

    parts: list[tuple[str, Any]]  # the class, and what is shown of it


def by_class(subject: Subject, content: Callable[[Subject], Any]) -> Any:
    """Return what a section shows: once or, of several classes, for each; a hint that all share, once."""
    made = [(one.label or "", content(one)) for one in subject.parts]
    first = made[0][1]
    if len(made) == 1 or (isinstance(first, Hint) and all(one == first for _, one in made)):
        return first
    return ByClass(made)


def classes(subject: Subject) -> ClassList:
    """Return each class at a glance, and how often each is taken for which."""
    each = [_one_class(one) for one in subject.parts]
    has_test = any(one.in_test is not None for one in each)
    return ClassList(each, has_test, _confusions(subject) if has_test else None)


def _one_class(one: Subject) -> OneClass:
    encoding, observed = one.encoding, one.observed
    seen = None if observed is None or observed.labels is None else float(np.mean(observed.labels))
    raising: list[str] = []
    if encoding.linear is not None:
        codes, weights = strongest(encoding, None, RAISING)
        raising = [name_of(encoding.vocabulary, code) for code in codes[weights > 0].tolist()]
    n_linear = encoding.n_sparse_columns - encoding.n_own_columns
    return OneClass(
        label=one.label or "",
        prior=encoding.prior,
        in_test=seen,
        n_own=encoding.n_own_columns,
        n_linear=n_linear,
        raising=raising,
    )


def _confusions(subject: Subject) -> Confusions | None:
    """Return what the linear models predict; None without them, or without rows of known classes."""
    parts = subject.parts
    if any(one.encoding.linear is None for one in parts):
        return None
    is_of = np.stack([_is_of_class(one) for one in parts], axis=1)
    known = np.flatnonzero(is_of.any(axis=1))
    if not len(known):
        return None
    true = is_of[known].argmax(axis=1)
    told = np.stack([predicted(one) for one in parts], axis=1)[known].argmax(axis=1)
    labels = [one.label or "" for one in parts]
    most = int(np.argmax([one.encoding.prior or 0.0 for one in parts]))
    return Confusions(
        n_rows=len(known),
        accuracy=float((told == true).mean()),
        most_frequent=float((true == most).mean()),
        table=_table(true, told, labels) if len(labels) <= MOST_CLASSES else [],
        labels=labels,
    )


def _is_of_class(one: Subject) -> Floats:
    assert one.observed is not None and one.observed.labels is not None
    return one.observed.labels


def _table(true: Integers, told: Integers, labels: list[str]) -> list[Confused]:
    n = len(labels)
    counts = np.bincount(true * n + told, minlength=n * n).reshape(n, n)
    rows = counts.sum(axis=1)
    shares = counts / np.maximum(rows, 1)[:, None]
    return [Confused(*one) for one in zip(labels, rows.tolist(), shares.tolist(), strict=True)]
