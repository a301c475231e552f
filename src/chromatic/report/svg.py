"""Small plots as inline SVG: shapes stretch with the page, text and strokes keep their size.

Every color comes from the page's style sheet, so that plots follow light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Axis:
    """From numbers to 0..100 across a plot, linear or by logarithm.

    >>> Axis(1, 100, log=True).at(10)
    50.0
    """

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, value = (
            (math.log(max(v, 1e-300)) for v in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return round(100 * (value - low) / (high - low), 2) if high > low else 0.0

    def ticks(self) -> list[float]:
        """Round numbers: powers of ten, with twice and five times them, or about four steps."""
        if self.log:
            low, high = math.floor(math.log10(self.low)), math.floor(math.log10(self.high) + 1e-9)
            times = (1, 2, 5) if self.high / self.low < 300 else (1,)
            found = [n * 10.0**power for power in range(low, high + 1) for n in times]
            return [tick for tick in found if self.low <= tick * (1 + 1e-9) <= self.high * (1 + 2e-9)]
        step = nice_step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def nice_step(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten.

    >>> nice_step(0.13), nice_step(3000)
    (0.2, 5000.0)
    """
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9))


def bars(values: Sequence[float], y: Axis, class_: str) -> str:
    """A bar for each value, side by side, as one path; many are drawn without gaps."""
    width = 100 / max(len(values), 1)
    gap = width * 0.2 if len(values) <= 300 else 0.0
    parts = [
        f"M{i * width + gap / 2:.3f} 100V{100 - y.at(value):.2f}h{width - gap:.3f}V100"
        for i, value in enumerate(values)
        if value
    ]
    return f'<path class="bar {class_}" d="{"".join(parts)}"/>'


def line(points: Iterable[tuple[float, float]], x: Axis, y: Axis, class_: str) -> str:
    """A line through points."""
    d = "L".join(f"{x.at(a)} {round(100 - y.at(b), 2)}" for a, b in points)
    return f'<path class="line {class_}" d="M{d}"/>' if d else ""


def dots(points: Iterable[tuple[float, float]], x: Axis, y: Axis, class_: str) -> str:
    """A dot at each point; strokes of no length stay round however the plot is stretched."""
    d = "".join(f"M{x.at(a)} {round(100 - y.at(b), 2)}h0" for a, b in points)
    return f'<path class="dot {class_}" d="{d}"/>' if d else ""


@dataclass(frozen=True)
class Plot:
    """A plot: its shapes, and its axes as (axis, how its ticks are written, its title)."""

    shapes: Sequence[str]
    x: Axis | None
    y: Axis
    x_format: str = "{:,g}"
    y_format: str = "{:,g}"
    x_title: str = ""
    y_title: str = ""
    class_: str = ""

    def html(self, label: str) -> str:
        """The plot as HTML; `label` says in words what it shows."""
        grid = "".join(
            f'<path class="grid" d="M0 {round(100 - self.y.at(t), 2)}H100"/>' for t in self.y.ticks()
        )
        y_ticks = "".join(
            f'<span style="bottom:{self.y.at(t)}%">{escape(self.y_format.format(t))}</span>'
            for t in self.y.ticks()
        )
        x_ticks = "".join(
            f'<span style="left:{x.at(t)}%">{escape(self.x_format.format(t))}</span>'
            for x in ([self.x] if self.x else [])
            for t in x.ticks()
        )
        return (
            f'<div class="plot {self.class_}" role="img" aria-label="{escape(label)}">'
            f'<div class="y-title">{escape(self.y_title)}</div>'
            f'<div class="area"><div class="y-ticks">{y_ticks}</div>'
            f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{grid}'
            f"{''.join(self.shapes)}</svg>"
            f'<div class="x-ticks">{x_ticks}</div></div>'
            f'<div class="x-title">{escape(self.x_title)}</div></div>'
        )
