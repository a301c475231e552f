"""The paper's open end: which share of the rows should estimate, and which should train."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chromatic.lab.experiments.cells import fitted
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import SPARSE_SETS
from chromatic.learn.results import Record, Results
from chromatic.parameters import Settings
from chromatic.report.figures import BLUE, GRAY, GREEN

BUDGET = 1024
RATES = (1, 2, 3, 4, 5)
NOT_THERE = "not measured"


def run(data: Data, results: Results) -> list[Record]:
    """Vowpal Wabbit on columns that 2^-rate of the rows estimate, and on cross-fitted ones."""
    paper = Settings.paper(BUDGET)
    tried = {rate: replace(paper, split_rate=rate) for rate in RATES} | {
        0: replace(paper, leakage="crossfit")
    }
    return [
        fitted(data, results, {"split_rate": rate, "budget": BUDGET}, settings)
        for rate, settings in tried.items()
    ]


def _share(rate: int) -> str:
    return f"1/{2**rate}" if rate else "all, cross-fitted"


def lines(findings: Findings) -> list[Line]:
    """Each log loss; the paper only says that tuning may help."""
    return [
        {"rows that estimate": _share(record["split_rate"]), "rows that train": record["rows"]}
        | {"paper": NOT_THERE, "ours": record["log_loss"]}
        for record in findings.records
    ]


def remarks(findings: Findings) -> list[str]:
    """The best share."""
    split = [record for record in findings.records if record["split_rate"]]
    best, [whole] = min(split, key=lambda record: record["log_loss"]), findings.records[len(split) :]
    return [
        f"of the splits, {_share(best['split_rate'])} is best: {best['log_loss']:.4f}; with 1/2, as in the "
        f"paper, {split[0]['log_loss']:.4f}; cross-fitted {whole['log_loss']:.4f}"
    ]


def draw(axes: Any, findings: Findings) -> None:
    """Test and training log loss against the share."""
    split = [record for record in findings.records if record["split_rate"]]
    places = [record["split_rate"] for record in split]
    axes.plot(
        places,
        [record["log_loss"] for record in split],
        "o-",
        color=BLUE,
        markersize=4.5,
        label="split, test rows",
    )
    axes.plot(
        places,
        [record["train_log_loss"] for record in split],
        "o:",
        color=GRAY,
        markersize=4.5,
        markerfacecolor="white",
        label="split, training rows",
    )
    for record in findings.records[len(split) :]:
        axes.axhline(record["log_loss"], color=GREEN, linestyle="--", label="cross-fitted, test rows")
    axes.set_xticks(places, [_share(rate) for rate in places])
    axes.set(xlabel="share of the rows that estimate; the others train", ylabel="log loss")
    axes.legend(loc="best")


EXPERIMENT = Experiment(
    name="split-rates",
    what="Log loss against the share of rows that estimate, 1,024 columns",
    where="left open in Section 4.1",
    sets=SPARSE_SETS,
    run=run,
    lines=lines,
    draw=draw,
    remarks=remarks,
    needs=("vowpalwabbit",),
)
