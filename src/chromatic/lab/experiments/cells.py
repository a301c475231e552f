"""Cells that train a learner: by an encoder's short name, or by settings of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from chromatic.lab.experiments.data import Data
from chromatic.learn.encoders import encode_pair
from chromatic.learn.evaluate import FIGURES, ISOLATED_FROM, NETWORKS, Networks, evaluate, measure
from chromatic.learn.results import Record, Results
from chromatic.learn.splits import Pair, StreamedPair
from chromatic.parameters import Settings

MOST_VARIABLES = 64
LINEAR = "vw"  # the paper's linear model: one pass of Vowpal Wabbit
UPDATES = "dense"  # Adam, as the paper has it, for all networks: one optimizer a table


def grid(
    data: Data, results: Results, encoders: Iterable[tuple[str, int]], learners: Sequence[str]
) -> list[Record]:
    """Train each learner on the columns of each encoder with its budget."""
    records = []
    # A process of its own takes its rows by a copy, which a limit of memory has no place for.
    isolated = data.n_rows >= ISOLATED_FROM and learners != [LINEAR] and data.memory is None
    for encoder, budget in encoders:
        cells = {learner: _cell(data, encoder, learner, budget) for learner in learners}
        missing = [learner for learner, cell in cells.items() if not results.done(cell)]
        if missing:
            for result in evaluate(
                data.split,
                [encoder],
                missing,
                [budget],
                threads=data.threads,
                networks=Networks(data.device, UPDATES),
                isolated=isolated,
            ):
                figures = {figure: result[figure] for figure in (*FIGURES, "error")}
                if not isolated:
                    figures["peak_mb"] = None  # it would be the peak of all cells before, too
                results.put(cells[result["learner"]], [_about(data) | figures])
        records += [record for cell in cells.values() for record in results.all(cell)]
    return records


def _cell(data: Data, encoder: str, learner: str, budget: int) -> Record:
    cell = {"encoder": encoder, "learner": learner, "budget": budget, "data": data.fingerprint}
    return cell | ({"updates": UPDATES} if learner in NETWORKS else {})


def fitted(data: Data, results: Results, cell: Record, settings: Settings) -> Record:
    """Train the linear model on the columns that some settings make."""
    return _linear(data, results, cell, lambda: data.split.fitted(settings, data.threads))


def truncated(data: Data, results: Results, cell: Record, columns: int) -> Record:
    """Train the linear model on the most frequent features; dense columns come on top."""
    return _linear(
        data, results, cell, lambda: encode_pair(data.split, "truncation", columns + n_dense(data))
    )


def _linear(data: Data, results: Results, cell: Record, make: Callable[[], Pair | StreamedPair]) -> Record:
    def compute() -> list[Record]:
        start = time.perf_counter()
        pair = make()
        seconds = time.perf_counter() - start
        figures = {"columns": pair.train.n_columns, "encode_seconds": seconds}
        figures |= measure(LINEAR, pair, threads=data.threads)
        del figures["peak_mb"]  # it would be the peak of all cells before, too
        return [_about(data) | {"rows": len(pair.y)} | figures]

    [record] = results.get(cell | {"learner": LINEAR, "data": data.fingerprint}, compute)
    return record


def _about(data: Data) -> Record:
    return {"name": data.name, "base_log_loss": data.split.base_loss}


def n_dense(data: Data) -> int:
    """Return the number of dense columns."""
    return len(data.split.train.vocabulary.dense_names)


def few_variables(data: Data, columns: int, **changes: Any) -> Settings:
    """Return the paper's settings for few variables, as Criteo has; dense columns come on top."""
    budget, colors = columns + n_dense(data), min(MOST_VARIABLES, columns // 2)
    settings = Settings.paper(budget, coloring="fields" if data.has_fields else "first-fit")
    return replace(settings, max_colors=colors, **changes)
