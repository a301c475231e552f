"""The paper's figure of linear models: test log loss against columns, one pass of Vowpal Wabbit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from chromatic._figures import shown
from chromatic.lab.experiments.cells import grid
from chromatic.lab.experiments.data import Data
from chromatic.lab.experiments.frame import Experiment, Findings, Line
from chromatic.lab.experiments.paper import PLOTTED, SPARSE_SETS, TIMES_FEWER_COLUMNS
from chromatic.learn.results import Record, Results
from chromatic.report.figures import BLUE, GREEN, ORANGE, RED, over_columns

OURS = "cl-sm"  # which the paper does not have
BUDGETS = [2**bits for bits in range(10, 19)]
ENCODERS = {
    "ft": ("FT", ORANGE, "s--"),
    "ht": ("HT", RED, "^--"),
    "cl-sm-paper": ("CL+SM, the paper's setting", GREEN, "D-"),
    OURS: ("CL+SM, ours", BLUE, "o-"),
}


def run(data: Data, results: Results) -> list[Record]:
    """Train on every encoder's columns, with every budget."""
    return grid(data, results, [(e, budget) for e in ENCODERS for budget in BUDGETS], ["vw"])


def columns_needed(losses: Mapping[int, float], loss: float) -> float:
    """Return the columns that reach a loss, interpolated on a logarithmic axis; infinite if none do.

    >>> round(columns_needed({1024: 0.5, 4096: 0.3}, 0.4))
    2048
    >>> columns_needed({1024: 0.5, 4096: 0.3}, 0.2)
    inf
    """
    before: tuple[int, float] | None = None
    for budget, reached in sorted(losses.items()):
        if reached <= loss:
            if before is None:
                return float(budget)
            share = (before[1] - loss) / (before[1] - reached)
            return float(before[0] * (budget / before[0]) ** share)
        before = budget, reached
    return math.inf


def _losses(findings: Findings) -> dict[str, dict[int, float]]:
    told: dict[str, dict[int, float]] = {encoder: {} for encoder in ENCODERS}
    for record in findings.records:
        if not record["error"]:
            told[record["encoder"]][record["budget"]] = record["log_loss"]
    return told


def _times_fewer(findings: Findings) -> list[tuple[str, str, float, float | str]]:
    """Return two encoders, the loss of the first with the fewest columns, and the factor for the second."""
    losses, fewest = _losses(findings), BUDGETS[0]
    told = []
    for encoder in ("cl-sm-paper", "cl-sm"):
        if fewest in losses[encoder]:
            loss = losses[encoder][fewest]
            for other in TIMES_FEWER_COLUMNS:
                needed = columns_needed(losses[other], loss)
                times: float | str = needed / fewest
                if needed == math.inf:
                    times = f"more than {max(losses[other], default=fewest) / fewest:,.0f}"
                elif needed == fewest:
                    times = "at most 1"
                told.append((encoder, other, loss, times))
    return told


def lines(findings: Findings) -> list[Line]:
    """How many times fewer columns, and each log loss."""
    told = [
        {
            "figure": f"columns of {ENCODERS[other][0]} for the loss of {ENCODERS[encoder][0]}, times",
            "columns": BUDGETS[0],
            "paper": None if encoder == OURS else TIMES_FEWER_COLUMNS[other],
            "ours": times,
        }
        for encoder, other, _, times in _times_fewer(findings)
    ]
    return told + [
        {
            "figure": f"log loss, {ENCODERS[record['encoder']][0]}",
            "columns": record["budget"],
            "paper": None if record["encoder"] == OURS else PLOTTED,
            "ours": "failed" if record["error"] else record["log_loss"],
        }
        for record in findings.records
    ]


def remarks(findings: Findings) -> list[str]:
    """How many times fewer columns, in a sentence."""
    return [
        f"for the log loss of {loss:.4f} that {ENCODERS[encoder][0]} has with {BUDGETS[0]:,} columns, "
        f"{ENCODERS[other][0]} needs {shown(times)} times the columns"
        + ("" if encoder == OURS else f" (the paper says {TIMES_FEWER_COLUMNS[other]})")
        for encoder, other, loss, times in _times_fewer(findings)
    ]


def draw(axes: Any, findings: Findings) -> None:
    """Log loss against columns."""
    losses = _losses(findings)
    for encoder, (name, color, style) in ENCODERS.items():
        if losses[encoder]:
            axes.plot(
                *zip(*losses[encoder].items(), strict=True), style, color=color, markersize=4.5, label=name
            )
    over_columns(axes, BUDGETS)
    axes.set(xlabel="budget of columns", ylabel="log loss of test rows")
    axes.legend(loc="best")


EXPERIMENT = Experiment(
    name="fig-linear",
    what="Test log loss of a linear model (Vowpal Wabbit) against columns",
    where="Figure 3",
    sets=SPARSE_SETS,
    run=run,
    lines=lines,
    draw=draw,
    remarks=remarks,
    needs=("vowpalwabbit",),
)
