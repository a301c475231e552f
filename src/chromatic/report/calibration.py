"""What a model tells of its columns, against the labels of test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from chromatic.encoding.protocol import Encoding
from chromatic.report.filters import counted
from chromatic.report.observed import Observed, Pooled, pool, sums_by
from chromatic.report.subject import Floats, Hint, Integers, Subject
from chromatic.report.svg import Axis, Plot, Shape, dots, line

ENOUGH = 30  # times that a column's features are in test rows, to draw its rate
SIZES = (300, 3000)  # times, of larger dots
FURTHEST = 10


class Furthest(NamedTuple):
    """A column whose rate in the test rows is far from that in training."""

    column: int
    times: int  # that its features are in test rows
    told: float  # its rate in training
    seen: float  # its rate in the test rows
    errors: float  # the difference in standard errors


@dataclass(frozen=True)
class RatesOfColumns:
    """Rates of columns in training, against those in the test rows."""

    template: ClassVar[str] = "calibration_columns.html"

    gap: float  # mean difference of the rates, weighted by how often the features are there
    within: float  # share of columns within two standard errors
    prior: float
    positive_rate: float
    plot: Plot
    n_left_out: int
    furthest: list[Furthest]
    enough: int = ENOUGH
    sizes: tuple[int, int] = SIZES


@dataclass(frozen=True)
class LabelsByValue:
    """Labels of test rows against the values of their features."""

    template: ClassVar[str] = "calibration_values.html"

    plot: Plot


def calibration(subject: Subject) -> RatesOfColumns | LabelsByValue | Hint:
    """Return rates or values against test labels, or why there is nothing to hold against them."""
    observed, encoding = subject.observed, subject.encoding
    if encoding.prior is None:
        return Hint("This encoding uses no labels, so there is nothing to hold against them.")
    if observed is None:
        return subject.needs_test("Rates of training are held against the labels of test rows.")
    if observed.labels is None:
        return Hint("The test rows have no labels.")
    if encoding.tables.values is not None:
        return _labels_by_value(encoding, observed.labels, observed)
    if encoding.measure_key != "rate":
        return Hint("The columns of this encoding have no rates to hold against labels.")
    if observed.positive_rate is None:
        kinds = counted(len(np.unique(observed.labels)), "kind")
        return Hint(f"The test rows have labels of {kinds}; two are needed here.")
    return _rates_of_columns(subject, observed.positive_rate)


def _rates_of_columns(subject: Subject, positive_rate: float) -> RatesOfColumns | Hint:
    assert subject.in_test is not None
    of_all, positives, squares = subject.in_test
    enough = np.flatnonzero(of_all >= ENOUGH)
    if not len(enough):
        return Hint(f"The features of no column are in the test rows {ENOUGH} times or more.")
    times, told = of_all[enough], subject.facts.measure[enough]
    seen = positives[enough] / times
    errors = (seen - told) / np.sqrt(np.maximum(told * (1 - told), 1e-9) * squares[enough] / times**2)
    furthest = np.argsort(-np.abs(errors), kind="stable")[:FURTHEST]
    numbers = subject.first + enough, times, told, seen, errors
    of_furthest = (each[furthest].tolist() for each in numbers)
    return RatesOfColumns(
        gap=float((np.abs(seen - told) * times).sum() / times.sum()),
        within=float((np.abs(errors) <= 2).mean()),
        prior=subject.encoding.prior or 0.0,
        positive_rate=positive_rate,
        plot=_plot_of_columns(told, seen, times, pool(told, times, positives[enough])),
        n_left_out=len(of_all) - len(enough),
        furthest=[Furthest(*one) for one in zip(*of_furthest, strict=True)],
    )


def _plot_of_columns(told: Floats, seen: Floats, times: Integers, pooled: Pooled) -> Plot:
    axis = Axis(0, 1.04 * float(max(told.max(), seen.max())))
    shapes = [line([(0, 0), (axis.high, axis.high)], axis, axis, "even")]
    sizes = np.digitize(times, SIZES)
    for size, class_ in enumerate(("few", "some", "many")):
        chosen = sizes == size
        shapes.append(dots(zip(told[chosen], seen[chosen], strict=True), axis, axis, class_))
    return Plot(
        label="rates of columns in training, and in the test rows",
        shapes=[*shapes, *pooled_shapes(pooled, axis, axis)],
        x=axis,
        y=axis,
        x_format="{:.0%}",
        y_format="{:.0%}",
        x_title="rate in training",
        y_title="rate in the test rows",
        class_="square",
    )


def _labels_by_value(encoding: Encoding, labels: Floats, observed: Observed) -> LabelsByValue | Hint:
    counted, n = observed.resolved, len(encoding.vocabulary)
    rows = np.bincount(counted.codes, minlength=n)
    sums = sums_by(counted.codes, np.repeat(labels, np.diff(counted.indptr)), n)
    if not rows.sum():
        return Hint("The test rows have no feature that the model knows.")
    pooled = pool(encoding.measure, rows, sums, 20)
    binary, mean = observed.positive_rate is not None, float(labels.mean())
    x = around(pooled.told)
    y = around(np.append(pooled.seen, [0.0, 1.08 * pooled.seen.max()]))
    plot = Plot(
        label="labels of test rows against the values of their features",
        shapes=[line([(x.low, mean), (x.high, mean)], x, y, "even"), *pooled_shapes(pooled, x, y)],
        x=x,
        y=y,
        x_format="{:.2g}",
        y_format="{:.0%}" if binary else "{:.3g}",
        x_title="value of features",
        y_title="rate of positives in the test rows" if binary else "mean label in the test rows",
    )
    return LabelsByValue(plot)


def around(values: Floats) -> Axis:
    """Return an axis that shows all values."""
    low, high = float(values.min()), float(values.max())
    return Axis(low, high if high > low else low + 1)


def pooled_shapes(pooled: Pooled, x: Axis, y: Axis) -> list[Shape]:
    """Return groups as dots on a line."""
    points = list(zip(pooled.told.tolist(), pooled.seen.tolist(), strict=True))
    return [line(points, x, y, "pooled"), dots(points, x, y, "pooled")]
