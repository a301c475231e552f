"""Figure 8: collisions against the colors of a uniform coloring."""

from __future__ import annotations

from typing import Any

from chromatic.coloring import transpose
from chromatic.coloring.prices import prices
from chromatic.experiments.appendix import MAX_K
from chromatic.experiments.data import Data
from chromatic.experiments.frame import Experiment, Found, Line
from chromatic.experiments.paper import PLOTTED, SPARSE_SETS, figures_of
from chromatic.experiments.results import Record, Store
from chromatic.graph.study import study
from chromatic.report.figures import draw_collisions

NAME = "fig-uniform"


def run(data: Data, store: Store) -> list[Record]:
    """Color in every way, over the pairs seen as often as needs the fewest colors, and count collisions."""

    def compute() -> list[Record]:
        train, test = data.coded()
        transposed = transpose(train.rows, data.threads)
        found = study(train.rows, MAX_K, transposed=transposed, threads=data.threads)
        k, left = found.suggested_k, found.filtered
        about = {"name": data.name, "k": k}
        about |= {name: left[name][k - 1] for name in ("held_out", "max_degree")}
        return [
            about | price for price in prices(train.rows, k, transposed, test=test, threads=data.threads)
        ]

    return store.get(NAME, {"data": data.fingerprint}, compute)


def lines(found: Found) -> list[Line]:
    """Collisions of each coloring; of the paper's set, those of its greedy coloring are in its Table 1."""
    paper = figures_of(found.paper)
    greedy = paper.collisions if paper is not None else None
    return [
        {"coloring": record["coloring"], "k": record["min_edge_count"], "colors": record["colors"]}
        | {"promised": record["expected"]}
        | {"paper": greedy if record["coloring"] == "first-fit" else PLOTTED, "ours": record["collisions"]}
        for record in found.records
    ]


def draw(axes: Any, found: Found) -> None:
    """Collisions against colors."""
    first = found.records[0]
    draw_collisions(axes, found.records, first["k"], first["held_out"], first["max_degree"])


EXPERIMENT = Experiment(
    NAME,
    "Collisions of a test row against colors, uniform colorings and others",
    "Figure 8",
    SPARSE_SETS,
    run,
    lines,
    draw,
)
