"""`page`: what has moved between the rows of training and new rows, on one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chromatic.drift.findings import Column, Drift, Labels, Predicted, Window
from chromatic.report.render import Section, rendered
from chromatic.report.subject import Hint
from chromatic.report.svg import Axis, Plot, Shape, dots, line

LISTED = 25  # columns of a table
FURTHEST = 12  # columns beside a plot
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class UnseenFeatures:
    """The features that training did not have, over time."""

    template: ClassVar[str] = "drift_unseen.html"

    found: Drift
    plots: list[Plot]


@dataclass(frozen=True)
class MovedColumns:
    """The columns whose features come more or less often than chance makes of it."""

    template: ClassVar[str] = "drift_columns.html"

    moved: list[Column]
    n_moved: int
    n_columns: int
    most: float  # the largest index


@dataclass(frozen=True)
class MovedRates:
    """The columns whose rates have moved."""

    template: ClassVar[str] = "drift_rates.html"

    moved: list[Column]
    n_moved: int
    n_columns: int
    plot: Plot
    share: bool  # whether rates are shares of positives, not means


@dataclass(frozen=True)
class Predictions:
    """Labels over time, and what the linear columns predict."""

    template: ClassVar[str] = "drift_labels.html"

    each: list[tuple[Labels, Plot]]
    share: bool


def page(found: Drift, *, name: str = "model") -> str:
    """Return the page as HTML."""
    share = all(0 <= one.then <= 1 and 0 <= one.now <= 1 for one in found.labels)
    return rendered(
        "drift.html",
        name=name,
        found=found,
        n_moved=len(found.moved),
        sections=[
            Section("unseen", "Unseen features", _unseen(found)),
            Section("columns", "Columns", _columns(found)),
            Section("rates", "Rates", _rates(found, share=share)),
            Section("labels", "Labels and predictions", _labels(found, share=share)),
        ],
    )


def _unseen(found: Drift) -> UnseenFeatures:
    shares = [one.unseen for one in found.windows]
    every = [one.rows_with_unseen for one in found.windows]
    expected = [] if found.expected_unseen is None else [found.expected_unseen]
    x = Axis(0, found.rows)
    plots = []
    for title, values, level in (
        ("unseen share of a row's features", shares, expected),
        ("share of rows with any", every, []),
    ):
        y = _from_zero([*values, *level])
        even = [line([(0, one), (found.rows, one)], x, y, "even") for one in level]
        plots.append(_over_rows(title, [*even, *_curve(found.windows, values, x, y, "")], x, y))
    return UnseenFeatures(found, plots)


def _columns(found: Drift) -> MovedColumns | Hint:
    moved = found.moved
    if not moved:
        return Hint("The features of no column come more or less often than chance makes of it.")
    return MovedColumns(moved[:LISTED], len(moved), len(found.columns), moved[0].psi)


def _rates(found: Drift, *, share: bool) -> MovedRates | Hint:
    told = found.rates_moved
    if not found.labels:
        return Hint("The new rows have no labels, or the model uses none.")
    if not told:
        return Hint("The columns of this model have no rates to hold against labels.")
    points = [(one.rate_then or 0.0, one.rate_now or 0.0) for one in told]
    both = [rate for point in points for rate in point]
    axis = _from_zero(both) if share else Axis(min(both), max(max(both), min(both) + 1e-9))
    moved = [one.rate_moved for one in told]
    shapes = [
        line([(axis.low, axis.low), (axis.high, axis.high)], axis, axis, "even"),
        dots([at for at, far in zip(points, moved, strict=True) if not far], axis, axis, "some"),
        dots([at for at, far in zip(points, moved, strict=True) if far], axis, axis, "pooled"),
    ]
    written = "{:.0%}" if share else "{:.3g}"
    plot = Plot(
        label="rates of columns in training, and in new rows",
        shapes=shapes,
        x=axis,
        y=axis,
        x_format=written,
        y_format=written,
        x_title="then",
        y_title="now",
        class_="square",
    )
    return MovedRates(told[:FURTHEST], sum(moved), len(told), plot, share)


def _labels(found: Drift, *, share: bool) -> Predictions | Hint:
    if not found.labels:
        return Hint("The new rows have no labels, or the model uses none.")
    return Predictions([(one, _plot_of(found, one, share=share)) for one in found.labels], share)


def _plot_of(found: Drift, one: Labels, *, share: bool) -> Plot:
    seen = [each.observed for each in one.windows]
    said = _predicted(one.windows)
    x, every = Axis(0, found.rows), [*seen, *said, one.then]
    y = _from_zero(every) if share else Axis(min(every), max(max(every), min(every) + 1e-9))
    even = line([(0, one.then), (found.rows, one.then)], x, y, "even")
    drawn = _curve(found.windows, said, x, y, "") if said else []
    shapes = [even, *drawn, *_curve(found.windows, seen, x, y, "pooled")]
    title = "share of positive labels" if share else "mean label"
    return _over_rows(title, shapes, x, y, percent=share)


def _predicted(windows: Iterable[Predicted]) -> list[float]:
    return [one.predicted for one in windows if one.predicted is not None]


def _curve(windows: Sequence[Window], values: list[float], x: Axis, y: Axis, class_: str) -> list[Shape]:
    """Return a line over the middles of windows, with a dot at each."""
    points: Points = [(one.first + one.rows / 2, at) for one, at in zip(windows, values, strict=True)]
    return [line(points, x, y, class_), dots(points, x, y, class_)]


def _over_rows(title: str, shapes: list[Shape], x: Axis, y: Axis, *, percent: bool = True) -> Plot:
    return Plot(
        label=f"{title} over the new rows",
        shapes=shapes,
        x=x,
        y=y,
        x_format="{:,.0f}",
        y_format="{:.3g}" if not percent else "{:.0%}" if y.high > 0.04 else "{:.2%}",
        x_title="new rows, in their order",
        y_title=title,
    )


def _from_zero(values: list[float]) -> Axis:
    return Axis(0, 1.08 * max([*values, 1e-9]))
