"""Small plots as what a template draws in SVG: paths, ticks and titles.

Shapes stretch with the page, text and strokes keep their size. Every color comes from the page's style
sheet, so that plots follow light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Axis:
    """A scale from numbers to 0..100 across a plot, linear or by logarithm.

    >>> Axis(1, 100, log=True).at(10)
    50.0
    """

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a number."""
        low, high, value = (
            (math.log(max(v, 1e-300)) for v in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return round(100 * (value - low) / (high - low), 2) if high > low else 0.0

    def ticks(self) -> list[float]:
        """Return round numbers: powers of ten, with twice and five times them, or about four steps."""
        if self.log:
            low, high = math.floor(math.log10(self.low)), math.floor(math.log10(self.high) + 1e-9)
            times = (1, 2, 5) if self.high / self.low < 300 else (1,)
            ticks = [n * 10.0**power for power in range(low, high + 1) for n in times]
            return [tick for tick in ticks if self.low <= tick * (1 + 1e-9) <= self.high * (1 + 2e-9)]
        step = nice_step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def nice_step(step: float) -> float:
    """Return the next of 1, 2, 5 times a power of ten.

    >>> nice_step(0.13), nice_step(3000)
    (0.2, 5000.0)
    """
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9))


class Shape(NamedTuple):
    """A path: its classes in the style sheet, and its drawing commands."""

    classes: str
    d: str


class Tick(NamedTuple):
    """A number beside an axis."""

    at: float  # 0..100
    text: str


def bars(values: Sequence[float], y: Axis, class_: str) -> Shape:
    """Return a bar for each value, side by side; many are drawn without gaps."""
    width = 100 / max(len(values), 1)
    gap = width * 0.2 if len(values) <= 300 else 0.0
    parts = [
        f"M{i * width + gap / 2:.3f} 100V{100 - y.at(value):.2f}h{width - gap:.3f}V100"
        for i, value in enumerate(values)
        if value
    ]
    return Shape(f"bar {class_}", "".join(parts))


def line(points: Iterable[tuple[float, float]], x: Axis, y: Axis, class_: str) -> Shape:
    """Return a line through points."""
    d = "L".join(f"{x.at(a)} {round(100 - y.at(b), 2)}" for a, b in points)
    return Shape(f"line {class_}", f"M{d}" if d else "")


def dots(points: Iterable[tuple[float, float]], x: Axis, y: Axis, class_: str) -> Shape:
    """Return a dot at each point; strokes of no length stay round however the plot is stretched."""
    return Shape(f"dot {class_}", "".join(f"M{x.at(a)} {round(100 - y.at(b), 2)}h0" for a, b in points))


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A plot: shapes between two axes."""

    label: str  # what it shows, in words
    shapes: Sequence[Shape]
    x: Axis | None
    y: Axis
    x_format: str = "{:,g}"
    y_format: str = "{:,g}"
    x_title: str = ""
    y_title: str = ""
    class_: str = ""

    @property
    def grid(self) -> list[Shape]:
        """A horizontal line at each tick of the y axis."""
        return [Shape("grid", f"M0 {round(100 - self.y.at(tick), 2)}H100") for tick in self.y.ticks()]

    @property
    def x_ticks(self) -> list[Tick]:
        """The numbers below the plot."""
        return _ticks(self.x, self.x_format) if self.x else []

    @property
    def y_ticks(self) -> list[Tick]:
        """The numbers to the left of the plot."""
        return _ticks(self.y, self.y_format)


def _ticks(axis: Axis, written: str) -> list[Tick]:
    return [Tick(axis.at(number), written.format(number)) for number in axis.ticks()]
