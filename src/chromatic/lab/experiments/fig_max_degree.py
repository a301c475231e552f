"""Figure 5: large degrees ask for many colors."""

from __future__ import annotations

from typing import Any

from chromatic.lab.experiments.appendix import lines_over_k, series, studied
from chromatic.lab.experiments.frame import Experiment, Found, Line
from chromatic.lab.experiments.paper import SPARSE_SETS
from chromatic.report.figures import draw_colors_needed

FIGURES = {"max_degree": "largest degree", "colors_needed": "colors needed, m"}


def lines(found: Found) -> list[Line]:
    """Degrees and colors."""
    return lines_over_k(found, FIGURES)


def draw(axes: Any, found: Found) -> None:
    """Colors against k."""
    draw_colors_needed(axes, series(found))


EXPERIMENT = Experiment(
    "fig-max-degree",
    "Colors that a guarantee needs, all features colored",
    "Figure 5",
    SPARSE_SETS,
    studied,
    lines,
    draw,
)
