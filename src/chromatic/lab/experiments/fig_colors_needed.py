"""Figure 7: holding features out saves colors."""

from __future__ import annotations

from typing import Any

from chromatic.lab.experiments.appendix import lines_over_k, series, studied
from chromatic.lab.experiments.frame import Experiment, Found, Line
from chromatic.lab.experiments.paper import SPARSE_SETS
from chromatic.report.figures import draw_colors_needed_filtered

FIGURES = {
    "colors_needed": "colors needed, m",
    "left_colors_needed": "with held-out features, m_f",
    "left_held_out": "held-out features, |W|",
}


def lines(found: Found) -> list[Line]:
    """Colors with features held out and without."""
    return lines_over_k(found, FIGURES)


def draw(axes: Any, found: Found) -> None:
    """Colors against k."""
    draw_colors_needed_filtered(axes, series(found), series(found, "left_"))


EXPERIMENT = Experiment(
    "fig-colors-needed",
    "Colors that a guarantee needs, with and without held-out features",
    "Figure 7",
    SPARSE_SETS,
    studied,
    lines,
    draw,
)
