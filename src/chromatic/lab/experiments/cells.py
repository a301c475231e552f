"""Cells that train a learner: by an encoder's short name, or by settings of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from chromatic.lab.experiments.data import Data
from chromatic.learn.encoders import fit_pair
from chromatic.learn.evaluate import FIGURES, evaluate, measure
from chromatic.learn.results import Record, Results
from chromatic.parameters import Settings

ISOLATED_FROM = 100_000  # rows to train on: fewer cannot fill the memory, and a process costs seconds
MOST_VARIABLES = 64


def grid(
    data: Data, results: Results, encoders: Iterable[tuple[str, int]], learners: Sequence[str]
) -> list[Record]:
    """Train each learner on the columns of each encoder with its budget."""
    records = []
    isolated = data.n_rows >= ISOLATED_FROM and learners != ["vw"]
    for encoder, budget in encoders:
        cells = {
            learner: {"encoder": encoder, "learner": learner, "budget": budget, "data": data.fingerprint}
            for learner in learners
        }
        missing = [learner for learner, cell in cells.items() if not results.done(cell)]
        if missing:
            for result in evaluate(
                data.split, [encoder], missing, [budget], threads=data.threads, isolated=isolated
            ):
                figures = {figure: result[figure] for figure in (*FIGURES, "error")}
                if not isolated:
                    figures["peak_mb"] = None  # it would be the peak of all cells before, too
                results.put(cells[result["learner"]], [_about(data) | figures])
        records += [record for cell in cells.values() for record in results.all(cell)]
    return records


def fitted(data: Data, results: Results, cell: Record, settings: Settings, learner: str) -> Record:
    """Train a learner on the columns that some settings make."""

    def compute() -> list[Record]:
        start = time.perf_counter()
        pair = fit_pair(data.split, settings, data.threads)
        seconds = time.perf_counter() - start
        figures = {"columns": pair.train.n_columns, "encode_seconds": seconds}
        figures |= measure(learner, pair, threads=data.threads)
        del figures["peak_mb"]  # it would be the peak of all cells before, too
        return [_about(data) | {"rows": len(pair.y)} | figures]

    [record] = results.get(cell | {"learner": learner, "data": data.fingerprint}, compute)
    return record


def over_budgets(
    data: Data, results: Results, setting: str, values: Iterable[str], budgets: Sequence[int]
) -> list[Record]:
    """Train logistic regression on few variables, for each value of a setting and each budget."""
    records = []
    for value in values:
        for budget in budgets:
            settings = few_variables(data, budget, **{setting: value})
            records.append(fitted(data, results, {setting: value, "budget": budget}, settings, "lr"))
    return records


def _about(data: Data) -> Record:
    return {"name": data.name, "base_log_loss": data.split.base_log_loss}


def few_variables(data: Data, columns: int, **changes: Any) -> Settings:
    """Return the paper's settings for few variables, as Criteo has; dense columns come on top."""
    n_dense = data.split.train.rows.dense.shape[1]
    settings = replace(Settings.paper(columns + n_dense), max_colors=min(MOST_VARIABLES, columns // 2))
    if data.has_fields:
        settings = replace(settings, coloring="fields")
    return replace(settings, **changes)
