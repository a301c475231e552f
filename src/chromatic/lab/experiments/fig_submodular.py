"""The paper's figure of objectives: the sum over all variables against sorting, for each budget."""

from __future__ import annotations

from typing import Any

from chromatic.lab.experiments.cells import few_variables, fitted, truncated
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import FIELDS_SETS, PLOTTED
from chromatic.learn.results import Record, Results
from chromatic.report.figures import BLUE, GRAY, GREEN, ORANGE, over_hundreds

BUDGETS = list(range(100, 1001, 100))
FREQUENT = "ft"  # no quantizer: the most frequent features
QUANTIZERS = {  # what it is called, what the paper has of it, and its look
    FREQUENT: ("frequent features (FT)", PLOTTED, (GRAY, "^--")),
    "sort": ("sort (Bateni et al.)", PLOTTED, (ORANGE, "s--")),
    "greedy": ("global sum, greedy (the paper)", PLOTTED, (GREEN, "D-")),
    "optimal": ("global sum, exact (ours)", None, (BLUE, "o-")),
}


def run(data: Data, results: Results) -> list[Record]:
    """Train on the columns that each way to cut gives, and on as many frequent features."""
    records = []
    for quantizer in QUANTIZERS:
        for budget in BUDGETS:
            cell = {"quantizer": quantizer, "budget": budget}
            if quantizer == FREQUENT:
                records.append(truncated(data, results, cell, budget))
            else:
                settings = few_variables(data, budget, quantizer=quantizer)
                records.append(fitted(data, results, cell, settings))
    return records


def lines(findings: Findings) -> list[Line]:
    """Each log loss; the paper only plots."""
    return [
        {"objective": QUANTIZERS[record["quantizer"]][0], "columns": record["budget"]}
        | {"paper": QUANTIZERS[record["quantizer"]][1], "ours": record["log_loss"]}
        for record in findings.records
    ]


def remarks(findings: Findings) -> list[str]:
    """For how many budgets each sum beats sorting."""
    loss = {(record["quantizer"], record["budget"]): record["log_loss"] for record in findings.records}
    told = []
    for quantizer in ("greedy", "optimal"):
        better = sum(loss[quantizer, budget] < loss["sort", budget] for budget in BUDGETS)
        told.append(
            f"{QUANTIZERS[quantizer][0]} has a lower test log loss than sort with {better} of "
            f"{len(BUDGETS)} budgets"
        )
    return told


def draw(axes: Any, findings: Findings) -> None:
    """Test log loss against columns."""
    for quantizer, (name, _, (color, style)) in QUANTIZERS.items():
        chosen = [record for record in findings.records if record["quantizer"] == quantizer]
        budgets, losses = ([record[key] for record in chosen] for key in ("budget", "log_loss"))
        axes.plot(budgets, losses, style, color=color, markersize=4.5, label=name)
    over_hundreds(axes, BUDGETS)
    axes.set(xlabel="columns", ylabel="log loss of test rows")
    axes.legend(loc="best")


EXPERIMENT = Experiment(
    name="fig-submodular",
    what="Test log loss: one objective for all variables against sorting",
    where="Figure 2",
    sets=FIELDS_SETS,
    run=run,
    lines=lines,
    draw=draw,
    remarks=remarks,
    needs=("vowpalwabbit",),
)
