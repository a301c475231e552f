"""The paper's figure of double-dipping: estimating and training on the same rows, and on other rows.

As the authors have it: each variable cut alone (`sort`), one pass of Vowpal Wabbit, 100 to 1,000 columns.
"""

from __future__ import annotations

from typing import Any

from chromatic.lab.experiments.cells import few_variables, fitted
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import FIELDS_SETS, PLOTTED
from chromatic.learn.results import Record, Results
from chromatic.report.figures import BLUE, GREEN, ORANGE, over_hundreds

BUDGETS = list(range(100, 1001, 100))
LEAKAGES = {  # what it is called, what the paper has of it, and its color
    "none": ("without splitting", PLOTTED, ORANGE),
    "split": ("split", PLOTTED, BLUE),
    "crossfit": ("cross-fitted (ours)", None, GREEN),
}


def run(data: Data, results: Results) -> list[Record]:
    """Train on columns whose rates come from the same rows, from the other half, and from other folds."""
    records = []
    for leakage in LEAKAGES:
        for budget in BUDGETS:
            settings = few_variables(data, budget, quantizer="sort", leakage=leakage)
            cell = {"leakage": leakage, "quantizer": "sort", "budget": budget}
            records.append(fitted(data, results, cell, settings))
    return records


def lines(findings: Findings) -> list[Line]:
    """Each log loss; the paper only plots."""
    told = []
    for record in findings.records:
        name, paper, _ = LEAKAGES[record["leakage"]]
        for of, figure in (("training rows", "train_log_loss"), ("test rows", "log_loss")):
            line = {"estimates": name, "columns": record["budget"], "log loss of": of}
            told.append(line | {"paper": paper, "ours": record[figure]})
    return told


def remarks(findings: Findings) -> list[str]:
    """What double-dipping costs."""
    most = {record["leakage"]: record for record in findings.records if record["budget"] == BUDGETS[-1]}
    return [
        f"{BUDGETS[-1]:,} columns {name}: log loss {most[leakage]['train_log_loss']:.4f} of training rows, "
        f"{most[leakage]['log_loss']:.4f} of test rows"
        for leakage, (name, *_) in LEAKAGES.items()
    ]


def draw(axes: Any, findings: Findings) -> None:
    """Log loss of training and test rows against columns."""
    for figure, style, of in (("log_loss", "o-", "test"), ("train_log_loss", "o:", "training")):
        for leakage, (name, _, color) in LEAKAGES.items():
            chosen = [record for record in findings.records if record["leakage"] == leakage]
            budgets, losses = ([record[key] for record in chosen] for key in ("budget", figure))
            face = color if of == "test" else "white"
            label = f"{name}, {of} rows"
            axes.plot(
                budgets, losses, style, color=color, markersize=4.5, markerfacecolor=face, label=label
            )
    over_hundreds(axes, BUDGETS)
    axes.set(xlabel="columns", ylabel="log loss")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)


EXPERIMENT = Experiment(
    name="fig-split",
    what="Log loss with and without sample splitting",
    where="Figure 1",
    sets=FIELDS_SETS,
    run=run,
    lines=lines,
    draw=draw,
    remarks=remarks,
    needs=("vowpalwabbit",),
)
