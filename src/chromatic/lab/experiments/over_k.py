"""The figures of the paper's appendix over k: four views of one study of the graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from chromatic.graph.study import MAX_K, Series, study
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import PLOTTED, SPARSE_SETS
from chromatic.learn.results import Record, Results
from chromatic.report.figures import draw_colors_needed, draw_colors_needed_filtered, draw_new_edges

STUDY = "graph-study"  # one file of results for all of these figures
SHOWN = [2**i for i in range(7)]  # of all k, in tables
Figures = dict[str, tuple[str, str | None]]
LEFT = "left_"  # begins the figures of the graph without the held-out features


def run(data: Data, results: Results) -> list[Record]:
    """Study the graph: a record for each k."""

    def compute() -> list[Record]:
        train, test = data.coded()
        studied = study(train.rows, MAX_K, test=test, threads=data.threads)
        return [
            {"name": data.name}
            | {name: values[i] for name, values in studied.per_k.items()}
            | {f"{LEFT}{name}": values[i] for name, values in studied.filtered.items() if name != "k"}
            for i in range(MAX_K)
        ]

    return results.get({"data": data.fingerprint, "max_k": MAX_K}, compute)


def series(findings: Findings, prefix: str = "") -> Series:
    """Return the figures of a study over k."""
    names = [name.removeprefix(prefix) for name in findings.records[0] if name.startswith(prefix)]
    return {"k": [record["k"] for record in findings.records]} | {
        name: [record[prefix + name] for record in findings.records] for name in names
    }


def _lines(figures: Figures, findings: Findings) -> list[Line]:
    """Some figures for some k; the paper only plots."""
    return [
        {"figure": told, "k": record["k"], "paper": paper, "ours": record[figure]}
        for figure, (told, paper) in figures.items()
        for record in findings.records
        if record["k"] in SHOWN
    ]


def _experiment(
    name: str,
    what: str,
    where: str,
    figures: Figures,
    draw: Callable[[Any, Findings], None],
) -> Experiment:
    """A figure over k; `figures` are those of its table: what they are, and what the paper has of them."""
    return Experiment(
        name=name,
        what=what,
        where=where,
        sets=SPARSE_SETS,
        run=run,
        lines=partial(_lines, figures),
        draw=draw,
        shares=STUDY,
    )


EXPERIMENTS = (
    _experiment(
        "fig-good-turing",
        "New edges of a row, by Good and Turing's estimate and in test rows",
        "Figure 4",
        {
            "good_turing": ("new edges of a row, estimated", PLOTTED),
            "new_edges": ("new edges of a test row", PLOTTED),
            "good_turing_seen": ("of known features, estimated", None),
            "new_edges_seen": ("of known features, in a test row", None),
        },
        lambda axes, findings: draw_new_edges(axes, series(findings)),
    ),
    _experiment(
        "fig-max-degree",
        "Colors that a guarantee needs, all features colored",
        "Figure 5",
        {
            "max_degree": ("largest degree, Δ", PLOTTED),
            "colors_needed": ("colors needed, m", PLOTTED),
        },
        lambda axes, findings: draw_colors_needed(axes, series(findings)),
    ),
    _experiment(
        "fig-filtered",
        "New edges of a row without the held-out features",
        "Figure 6",
        {
            "left_held_out": ("held-out features, |W|", None),
            "left_good_turing": ("new edges of a row, estimated", PLOTTED),
            "left_new_edges": ("new edges of a test row", PLOTTED),
            "left_good_turing_seen": ("of known features, estimated", None),
            "left_new_edges_seen": ("of known features, in a test row", None),
        },
        lambda axes, findings: draw_new_edges(axes, series(findings, LEFT)),
    ),
    _experiment(
        "fig-colors-needed",
        "Colors that a guarantee needs, with and without held-out features",
        "Figure 7",
        {
            "colors_needed": ("colors needed, m", PLOTTED),
            "left_colors_needed": ("with held-out features, m_f", PLOTTED),
            "left_max_degree": ("largest degree without them, Δ_f", PLOTTED),
            "left_held_out": ("held-out features, |W|", None),
        },
        lambda axes, findings: draw_colors_needed_filtered(axes, series(findings), series(findings, LEFT)),
    ),
)
