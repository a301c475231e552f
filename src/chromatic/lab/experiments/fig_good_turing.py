"""Figure 4: new edges of a row, estimated and seen."""

from __future__ import annotations

from typing import Any

from chromatic.lab.experiments.appendix import lines_over_k, series, studied
from chromatic.lab.experiments.frame import Experiment, Found, Line
from chromatic.lab.experiments.paper import SPARSE_SETS
from chromatic.report.figures import draw_new_edges

FIGURES = {
    "good_turing": "new edges of a row, estimated",
    "new_edges": "new edges of a test row",
    "good_turing_seen": "of known features, estimated",
    "new_edges_seen": "of known features, in a test row",
}


def lines(found: Found) -> list[Line]:
    """Estimates and what test rows have."""
    return lines_over_k(found, FIGURES)


def draw(axes: Any, found: Found) -> None:
    """New edges against k."""
    draw_new_edges(axes, series(found))


EXPERIMENT = Experiment(
    "fig-good-turing",
    "New edges of a row, by Good and Turing's estimate and in test rows",
    "Figure 4",
    SPARSE_SETS,
    studied,
    lines,
    draw,
)
