"""Figure 6: new edges of a row without the held-out features."""

from __future__ import annotations

from typing import Any

from chromatic.lab.experiments.appendix import lines_over_k, series, studied
from chromatic.lab.experiments.frame import Experiment, Found, Line
from chromatic.lab.experiments.paper import SPARSE_SETS
from chromatic.report.figures import draw_new_edges

FIGURES = {
    "left_held_out": "held-out features",
    "left_good_turing": "new edges of a row, estimated",
    "left_new_edges": "new edges of a test row",
    "left_good_turing_seen": "of known features, estimated",
    "left_new_edges_seen": "of known features, in a test row",
}


def lines(found: Found) -> list[Line]:
    """Estimates and what test rows have."""
    return lines_over_k(found, FIGURES)


def draw(axes: Any, found: Found) -> None:
    """New edges against k."""
    draw_new_edges(axes, series(found, "left_"))


EXPERIMENT = Experiment(
    "fig-filtered",
    "New edges of a row without the held-out features",
    "Figure 6",
    SPARSE_SETS,
    studied,
    lines,
    draw,
)
