"""A choice of settings on held-out rows: some are tried one after the other, each by a linear learner.

The search goes parameter by parameter from the settings that were given: the other values of one are
tried with the best of those before it. The encoder that is judged does not know the held-out rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from chromatic._threads import thread_count
from chromatic.data.batch import Batch, have_labels
from chromatic.data.vocabulary import Vocabulary, limits_of
from chromatic.encoder import ChromaticEncoder
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.price import price_of_column
from chromatic.errors import InputError, InputWarning
from chromatic.fitting.fit import coloring_request
from chromatic.fitting.labels import checked
from chromatic.learn.encoders import VALIDATIONS
from chromatic.learn.evaluate import why_not
from chromatic.learn.linear import losses_by_strength
from chromatic.learn.splits import Pair, Split, held_out, parted
from chromatic.learn.targets import Target, kind_of
from chromatic.parameters import DEFAULTS, ORDERED, Settings
from chromatic.registry import encoding_class

FEWEST = 10  # rows that a fifth can be held out of
MOST_JUDGED = 100_000  # rows that logistic regression learns from, and as many that it is judged on
PALETTES = (16, 32, 64)
STRONG_SMOOTHING = 200.0
DEAR = 8  # times the default price of a column
SMALLER = 4  # the budget is divided by it

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """Settings, and what a linear learner on their columns loses on held-out rows.

    It is logistic regression and its log loss or, where labels are numbers, ridge regression and its RMSE.
    """

    settings: Settings
    changed: dict[str, Any]  # what differs from the settings that were given
    seconds: float
    loss: float | None = None  # to six digits; None: the settings cannot be fitted
    columns: int | None = None
    strength: float | None = None  # the C of the regression; None: there are no columns
    error: str | None = None

    @property
    def rank(self) -> tuple[float, int]:
        """What the best has the least of: loss, then columns; among equals the first that was tried."""
        if self.loss is None or self.columns is None:
            return np.inf, 0
        return self.loss, self.columns


class TrialRows(Protocol):
    """Rows to learn from and held-out ones, wherever they are, as a search and its judge ask for them."""

    @property
    def target(self) -> Target:
        """What is predicted."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The features of the rows to learn from."""

    @property
    def sizes(self) -> tuple[int, int]:
        """How many rows there are to learn from, and held out."""

    @property
    def base_loss(self) -> float:
        """The loss on held-out rows of a model that knows the other labels alone."""

    def fitted(self, settings: Settings, threads: int = 1) -> Pair:
        """Fit with any settings, and encode both; of more than MOST_JUDGED rows, so many are enough."""


@dataclass(frozen=True)
class Tuner:
    """What trials share: rows to learn from, held-out rows, and the settings to start from."""

    split: TrialRows
    given: Settings
    n_rows: int  # that the chosen settings will be fitted to
    threads: int

    @classmethod
    def of(
        cls,
        train: list[Batch],
        validation: str | list[Batch],
        settings: Settings,
        target_type: str | None = None,
    ) -> Tuner:
        """Hold rows out of the training rows, or take others; the batches stay as they are.

        A `target_type` tells more than the settings do, where labels that came apart are known better.
        """
        check_judged(settings)
        labels = _labels_of(train, "the training rows")
        texts = () if train[0].schema is None else train[0].schema.classes
        kind = kind_of(labels, target_type or settings.target_type, "the label of training rows", texts)
        n_rows, threads = len(labels), thread_count(settings.threads)
        if isinstance(validation, str):
            if n_rows < FEWEST:
                raise InputError(
                    f"there are {n_rows} rows, too few to hold a fifth out; expected {FEWEST} or more, or "
                    "other rows for validation"
                )
            held = held_out(n_rows, validation, settings.seed)
            left, others = parted(train, held)
            for part, where in ((~held, "that are left to train on"), (held, "that are held out")):
                check_kinds(labels[part], f"the rows {where}")
        else:
            left, others = list(train), validation
            _labels_of(others, "the rows for validation")
        limits = limits_of(settings) | {"distinct_values": settings.values == "distinct"}
        split = Split.of(left, others, limits, threads, target_type=kind)
        rows = replace(split.train.rows, elided_values=0)  # the fit to all rows tells of them, once
        return cls(replace(split, train=replace(split.train, rows=rows)), settings, n_rows, threads)

    @property
    def plan(self) -> list[tuple[str, list[Any]]]:
        """The parameters that are tried, in order, each with other values; what a user set stays."""
        given, target = self.given, self.split.target
        kind = encoding_class(given.encoding)
        palette = coloring_request(kind, self.split.vocabulary, given, target.n_parts).palette
        dear = float(round(DEAR * price_of_column(self.n_rows, target.n_parts)))
        tried: dict[str, list[Any]] = {
            "linear": [0] if given.collisions == "sum" else [],
            "max_colors": [n for n in PALETTES if n != palette] if given.coloring in ORDERED else [],
            "smoothing": [STRONG_SMOOTHING],
            "min_gain": [dear],
        }
        plan = [(name, values) for name, values in tried.items() if _is_default(given, name) and values]
        smaller = given.budget // SMALLER
        return [*plan, ("budget", [smaller])] if smaller else plan

    @property
    def n_trials(self) -> int:
        """How many settings are tried."""
        return 1 + sum(len(values) for _, values in self.plan)

    def trials(self) -> Iterator[Trial]:
        """Yield what is tried, one after the other; the first are the settings that were given."""
        first = self._judge({})
        if first.error is not None:
            raise InputError(first.error)
        tried = [first]
        yield first
        for name, values in self.plan:
            best = best_first(tried)[0].changed
            for value in values:
                tried.append(self._judge(best | {name: value}))
                yield tried[-1]

    def _judge(self, changed: dict[str, Any]) -> Trial:
        start = time.perf_counter()
        settings, error = self.given, None
        loss = strength = columns = None
        try:
            settings = replace(self.given, **changed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)  # the fit to all rows tells what matters
                pair = self.split.fitted(settings, self.threads)
            columns, loss = pair.train.n_columns, self.split.base_loss
            if columns:
                parts = (*_some(pair.train, pair.y), *_some(pair.test, pair.y_test))
                losses = losses_by_strength(*parts, pair.target)
                strength = min(losses, key=losses.__getitem__)
                loss = losses[strength]
        except InputError as refused:
            error = str(refused)
        return Trial(
            settings,
            changed,
            time.perf_counter() - start,
            loss=None if loss is None else round(loss, 6),
            columns=columns,
            strength=strength,
            error=error,
        )

    @property
    def figures(self) -> dict[str, int | float]:
        """How many rows are there to learn from and to judge, and how many of them do."""
        n_left, n_held_out = self.split.sizes
        return {
            "rows": n_left,
            "rows_learned": min(n_left, MOST_JUDGED),
            "held_out": n_held_out,
            "held_out_judged": min(n_held_out, MOST_JUDGED),
            f"base_{self.split.target.loss_key}": round(self.split.base_loss, 6),
        }

    @property
    def sentence(self) -> str:
        """The figures in words."""
        left, learned, held_out, judged, base = self.figures.values()
        target = self.split.target
        learner = "logistic regression" if target.n_classes else "ridge regression"
        return (
            f"{learner} learns from {learned:,} of {left:,} rows and is judged on {judged:,} of "
            f"{held_out:,} held-out rows; {target.base_name} is {base:.5f}"
        )


def best_first(trials: list[Trial]) -> list[Trial]:
    """Return trials by their loss, equal ones by their columns, and then as they were tried."""
    return sorted(trials, key=lambda trial: trial.rank)


def _is_default(settings: Settings, name: str) -> bool:
    return bool(getattr(settings, name) == getattr(DEFAULTS, name))


def _some(columns: Encoded, y: Floats) -> tuple[Encoded, Floats]:
    """Return as many rows as are judged, evenly spread, where there are more."""
    if len(y) <= MOST_JUDGED:
        return columns, y
    chosen = np.arange(MOST_JUDGED) * len(y) // MOST_JUDGED
    return columns.take(chosen), y[chosen]


def _labels_of(batches: list[Batch], where: str) -> Floats:
    if not have_labels(batches):
        raise InputError(
            f"{where} have no labels; expected labels of two kinds at least, or the name of their column"
        )
    labels = np.concatenate([batch.labels for batch in batches if batch.labels is not None])
    check_kinds(labels, where)
    return labels


def check_judged(settings: Settings) -> None:
    """Refuse an encoding whose columns a linear learner cannot judge."""
    refused = why_not(settings.encoding, "lr")
    if refused is not None:
        raise InputError(refused)


def check_kinds(labels: npt.NDArray[Any], where: str) -> None:
    """Refuse labels of one kind."""
    if len(np.unique(labels)) == 1:
        raise InputError(f"{where} have labels of one kind; expected two kinds of labels")


@dataclass(frozen=True)
class Tuned:
    """What `tune` found.

    Attributes
    ----------
    encoder : ChromaticEncoder
        An encoder with the best settings, fitted to all training rows.
    trials : list of Trial
        What was tried, best first.
    """

    encoder: ChromaticEncoder
    trials: list[Trial]


def tune(encoder: ChromaticEncoder, X: Any, y: Any = None, *, validation: Any = "random") -> Tuned:
    """Choose settings on held-out rows, and fit an encoder with them to all training rows.

    Parameters that the encoder has at other values than their defaults stay; a smaller budget is tried.

    Parameters
    ----------
    encoder : ChromaticEncoder
        The encoder to start from; it is not changed.
    X : sparse matrix, list of rows, table or path
        The training rows, as `ChromaticEncoder.fit` takes them.
    y : array-like of shape (n_rows,), default=None
        The labels, where they do not come with X: of two kinds, of several classes, or numbers.
    validation : {"random", "last"} or tuple of X and y, default="random"
        The rows that judge: a random fifth of the training rows, the last fifth, or other rows, later
        ones for example. Their y is None where labels come with the rows.

    Returns
    -------
    Tuned
        The fitted encoder, and what was tried.

    Examples
    --------
    >>> X = [["red", f"item{i % 50}"] for i in range(500)]
    >>> tuned = tune(ChromaticEncoder(budget=8), X, [i % 50 < 20 for i in range(500)])
    >>> len(tuned.trials), tuned.encoder.transform(X).shape[0]
    (8, 500)
    """
    settings = encoder._settings()
    if settings.memory is not None:
        raise InputError(
            f"memory is {settings.memory!r} and tuning holds all rows in memory; expected memory=None, and "
            "a sample of the rows"
        )
    tuner = Tuner.of(*_read(clone(encoder), X, y, validation), settings, _kind(y, settings))
    trials = best_first(list(tuner.trials()))
    return Tuned(clone(encoder).set_params(**trials[0].changed).fit(X, y), trials)


def _read(
    reader: ChromaticEncoder, X: Any, y: Any, validation: Any
) -> tuple[list[Batch], str | list[Batch]]:
    """Return the training rows, and which of them are held out or the rows for validation."""
    batches, input = reader._read_to_fit(X, labels_apart=y is not None)
    if isinstance(validation, str) and validation in VALIDATIONS:
        return (batches if y is None else _labelled([batches], [y])[0]), validation
    if not isinstance(validation, tuple) or len(validation) != 2:
        raise InputError(f"validation is {validation!r}; expected random, last, or a tuple of X and y")
    more, y_more = validation
    by = reader._reader(input, labels_apart=y is not None).like(batches)
    others, _ = reader._read(more, input, by, fitting=False)
    if (y is None) != (y_more is None):
        raise InputError("one of y and validation's y is None; expected both, or none of them")
    parts = [batches, others] if y is None else _labelled([batches, others], [y, y_more])
    return parts[0], parts[1]


def _labelled(parts: list[list[Batch]], labels: list[Any]) -> list[list[Batch]]:
    """Return rows with labels that came apart from them, as the same numbers in all parts."""
    each = [column_or_1d(some) for some in labels]
    for batches, some in zip(parts, each, strict=True):
        n_rows = sum(batch.n_rows for batch in batches)
        if len(some) != n_rows:
            raise InputError(f"{n_rows:,} rows and {len(some):,} labels; expected one label a row")
    every = checked(np.concatenate(each))
    numbers = iter(np.unique(every, return_inverse=True)[1] if every.dtype.kind not in "biuf" else every)
    return [
        [replace(batch, labels=np.fromiter(numbers, np.float64, batch.n_rows)) for batch in batches]
        for batches in parts
    ]


def _kind(y: Any, settings: Settings) -> str | None:
    """Return what labels are that came apart: texts become numbers, which would not tell that."""
    return None if y is None else kind_of(checked(column_or_1d(y)), settings.target_type, "y")
