"""The linear columns: the model of all features that they sum up, and how well it predicts test labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from chromatic.encoding.explain import linear_features, strongest
from chromatic.encoding.linear import chances
from chromatic.report.calibration import around, pooled_shapes
from chromatic.report.observed import pool
from chromatic.report.subject import Floats, Hint, Subject, name_of
from chromatic.report.svg import Axis, Plot, line

STRONGEST = 15  # features in each direction, of all columns
STRONGEST_OF_COLUMN = 8  # the same, of one
DECILES = 10


class Weighted(NamedTuple):
    """A feature and its weight."""

    name: str
    rows: int  # of training
    weight: float


class LinearColumn(NamedTuple):
    """A linear column, and its strongest features."""

    number: int
    n_features: int
    raising: list[Weighted]
    lowering: list[Weighted]


class Group(NamedTuple):
    """A tenth of the test rows, by what is predicted for them."""

    told: str
    seen: str
    rows: int


class Predictions(NamedTuple):
    """What the model of all features predicts, against the labels of test rows."""

    plot: Plot
    groups: list[Group]


@dataclass(frozen=True)
class LinearColumns:
    """The linear columns and the model behind them."""

    template: ClassVar[str] = "linear.html"

    n_features: int
    n_columns: int
    penalty: float
    binary: bool
    label: str | None  # the class, where there are several
    raising: list[Weighted]
    lowering: list[Weighted]
    columns: list[LinearColumn]
    predictions: Predictions | None  # None without test labels


def linear(subject: Subject) -> LinearColumns | Hint:
    """Return the strongest weights, of all columns and of each, and predictions against test labels."""
    encoding = subject.encoding
    if encoding.linear is None:
        return Hint("This model has no linear columns.")
    groups = range(encoding.linear.n_columns)
    return LinearColumns(
        n_features=len(encoding.vocabulary),
        n_columns=encoding.linear.n_columns,
        penalty=1 / encoding.linear.strength,
        binary=subject.binary,
        label=subject.label,
        **_strongest(subject, None, STRONGEST),
        columns=[
            LinearColumn(
                number=subject.first + encoding.n_own_columns + group,
                n_features=len(linear_features(encoding, group)),
                **_strongest(subject, group, STRONGEST_OF_COLUMN),
            )
            for group in groups
        ],
        predictions=_predictions(subject),
    )


def _strongest(subject: Subject, group: int | None, most: int) -> dict[str, list[Weighted]]:
    """Return the features that raise and that lower the label most, the strongest first."""
    vocabulary = subject.encoding.vocabulary
    codes, weights = strongest(subject.encoding, group, most)
    listed = [
        Weighted(name_of(vocabulary, code), int(vocabulary.counts[code]), weight)
        for code, weight in zip(codes.tolist(), weights.tolist(), strict=True)
    ]
    return {
        "raising": [one for one in listed if one.weight > 0],
        "lowering": [one for one in reversed(listed) if one.weight < 0],
    }


def predicted(subject: Subject) -> Floats:
    """Return what the model of all features says of the test rows: a probability, or a mean."""
    model, observed = subject.encoding.linear, subject.observed
    assert model is not None and observed is not None
    margins = model.margins(observed.resolved)
    return chances(margins) if subject.binary else margins


def _predictions(subject: Subject) -> Predictions | None:
    """Return predictions in ten groups against the labels of the test rows; None without such labels."""
    observed = subject.observed
    if observed is None or observed.labels is None or not observed.n_rows:
        return None
    if subject.binary and observed.positive_rate is None:
        return None
    once = np.ones(observed.n_rows, np.int64)
    pooled = pool(predicted(subject), once, observed.labels, DECILES)
    both = np.concatenate((pooled.told, pooled.seen))
    axis = Axis(0, 1.04 * float(both.max())) if subject.binary else around(both)
    percent = "{:.0%}" if subject.binary else "{:.3g}"
    plot = Plot(
        label="predictions of the model of all features, and labels of test rows",
        shapes=[
            line([(axis.low, axis.low), (axis.high, axis.high)], axis, axis, "even"),
            *pooled_shapes(pooled, axis, axis),
        ],
        x=axis,
        y=axis,
        x_format=percent,
        y_format=percent,
        x_title="predicted probability" if subject.binary else "predicted label",
        y_title="positives in the test rows" if subject.binary else "mean label in the test rows",
        class_="square",
    )
    written = "{:.1%}" if subject.binary else "{:.4g}"
    groups = zip(pooled.told.tolist(), pooled.seen.tolist(), pooled.rows.tolist(), strict=True)
    return Predictions(
        plot, [Group(written.format(told), written.format(seen), n) for told, seen, n in groups]
    )
