"""Figure 8: collisions against the colors of a uniform coloring."""

from __future__ import annotations

from typing import Any

from chromatic.coloring import transpose
from chromatic.coloring.prices import prices
from chromatic.graph.study import MAX_K, study
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
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

    return results.get({"data": data.fingerprint, "first_fit": "by degree"}, compute)


def lines(findings: Findings) -> list[Line]:
    """Collisions of each coloring; the paper plots uniform ones, and has those of its greedy in Table 1."""
    paper = figures_of(findings.paper)
    has = {"uniform": PLOTTED, "first-fit": paper.collisions if paper is not None else None}
    return [
        {"coloring": record["coloring"], "k": record["min_edge_count"], "colors": record["colors"]}
        | {"promised": record["expected"]}
        | {"paper": has.get(record["coloring"]), "ours": record["collisions"]}
        for record in findings.records
    ]


def remarks(findings: Findings) -> list[str]:
    """What the paper writes beside each plot: k, |W| and the colors of the greedy coloring."""
    first, [greedy] = findings.records[0], [r for r in findings.records if r["coloring"] == "first-fit"]
    return [
        f"k = {first['k']}, |W| = {first['held_out']:,} features are held out, Δ_f = "
        f"{first['max_degree']:,} is the largest degree without them, and the greedy coloring (first-fit) "
        f"has {greedy['colors']:,} colors"
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
    remarks=remarks,
)
