"""Figure 8: collisions against the colors of a uniform coloring."""

from __future__ import annotations

from typing import Any

from chromatic.coloring import transpose
from chromatic.coloring.prices import prices
from chromatic.graph.study import study
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.over_k import MAX_K
from chromatic.lab.experiments.paper import PLOTTED, SPARSE_SETS, figures_of
from chromatic.learn.results import Record, Results
from chromatic.report.figures import draw_collisions


def run(data: Data, results: Results) -> list[Record]:
    """Color in every way at the k that needs the fewest colors, and count collisions."""

    def compute() -> list[Record]:
        train, test = data.coded()
        transposed = transpose(train.rows, data.threads)
        studied = study(train.rows, MAX_K, transposed=transposed, threads=data.threads)
        k, left = studied.suggested_k, studied.filtered
        about = {"name": data.name, "k": k}
        about |= {name: left[name][k - 1] for name in ("held_out", "max_degree")}
        return [
            about | price for price in prices(train.rows, k, transposed, test=test, threads=data.threads)
        ]

    return results.get({"data": data.fingerprint}, compute)


def lines(findings: Findings) -> list[Line]:
    """Collisions of each coloring; of the paper's set, those of its greedy coloring are in its Table 1."""
    paper = figures_of(findings.paper)
    greedy = paper.collisions if paper is not None else None
    return [
        {"coloring": record["coloring"], "k": record["min_edge_count"], "colors": record["colors"]}
        | {"promised": record["expected"]}
        | {"paper": greedy if record["coloring"] == "first-fit" else PLOTTED, "ours": record["collisions"]}
        for record in findings.records
    ]


def draw(axes: Any, findings: Findings) -> None:
    """Collisions against colors."""
    first = findings.records[0]
    draw_collisions(axes, findings.records, first["k"], first["held_out"], first["max_degree"])


EXPERIMENT = Experiment(
    name="fig-uniform",
    what="Collisions of a test row against colors, uniform colorings and others",
    where="Figure 8",
    sets=SPARSE_SETS,
    run=run,
    lines=lines,
    draw=draw,
)
