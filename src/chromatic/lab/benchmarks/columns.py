"""How well learners do on the columns of each encoder, and on all features: one protocol for all sets."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.lab.benchmarks.measure import Say
from chromatic.lab.datasets.npm import read_npm_names
from chromatic.learn.encoders import WITHOUT_BUDGET
from chromatic.learn.evaluate import ISOLATED_FROM, Result, evaluate
from chromatic.learn.results import check_store
from chromatic.learn.splits import Split

BUDGETS = (64, 256)
LEARNERS = ("lr", "lightgbm")
ENCODERS = {
    "submodular": "`submodular`, the default",
    "target": "`target`",
    "none": "all features, uncompressed",
    "truncation": "most frequent features (FT)",
    "hashing": "signed hashing (HT)",
    "paper": "the paper's CL+SM",
    "sklearn-target": "scikit-learn's TargetEncoder",
}
FIGURES = {"log_loss": min, "auc": max}  # and which is best
DEMO = "the demo's names"

Cells = dict[tuple[str, int | None, str, str], Result]  # by encoder, budget, set and learner


def run(folders: Sequence[str], last: Sequence[str], results: str | None, threads: int, say: Say) -> Cells:
    """Measure every cell of every set, and say all as Markdown.

    A folder has files train* and test*. What a learner has to choose it chooses on random training rows or,
    in the folders of `last`, on the last ones, as test rows come after those. The names of the demo come
    after the folders.
    """
    if results is not None:
        check_store(results)
    files = {folder: _files(folder) for folder in (*folders, *last)}
    names = [os.path.basename(os.path.normpath(folder)) for folder in files]
    if len({*names, DEMO}) <= len(names):
        raise InputError(f"the folders are called {', '.join(names)}; expected a name for each")
    cells: Cells = {}
    how: dict[str, Any] = {"results": results, "threads": threads, "say": say}
    for name, (folder, (train, test)) in zip(names, files.items(), strict=True):
        split = Split.read(train, test, Reader(n_jobs=threads))
        cells |= measured(name, split, "last" if folder in last else "random", **how)
    cells |= measured(DEMO, read_npm_names(threads), "random", **how)
    for line in lines(cells):
        say(line)
    return cells


def _files(folder: str) -> tuple[list[str], list[str]]:
    parts = tuple(
        sorted(glob.glob(os.path.join(glob.escape(folder), part))) for part in ("train*", "test*")
    )
    if not all(parts):
        raise InputError(f"{folder}: has no files train* and test*; expected a folder with both")
    return parts[0], parts[1]


def measured(
    name: str, split: Split, validation: str, *, results: str | None, threads: int, say: Say
) -> Cells:
    """Return the cells of one set; say each when it is there."""
    features = len(split.train.vocabulary) + len(split.train.vocabulary.dense_names)
    say(
        f"{name}: {len(split.y):,} rows, {features:,} features, {len(split.y_test):,} test rows; the rate "
        f"alone gives a log loss of {split.base_loss:.4f}; the penalty is chosen on {validation} rows"
    )
    cells = {}
    for cell in evaluate(
        split,
        list(ENCODERS),
        LEARNERS,
        BUDGETS,
        out=results,
        validation=validation,
        threads=threads,
        isolated=len(split.y) >= ISOLATED_FROM,
    ):
        told = (
            cell["error"] or f"{cell['log_loss']:.4f}, AUC {cell['auc']:.4f}, {cell['columns']:,} columns"
        )
        say(f"  {cell['encoder']} {cell['budget'] or ''} {cell['learner']}: {told}")
        cells[cell["encoder"], cell["budget"], name, cell["learner"]] = cell
    return cells


def lines(cells: Cells) -> Iterator[str]:
    """A Markdown table of each figure: logistic regression / LightGBM, the best of a set in bold."""
    sets = list(dict.fromkeys(name for _, _, name, _ in cells))
    for figure in FIGURES:
        best = {key: _best(cells, figure, *key) for key in product(sets, LEARNERS)}
        yield f"\n| {figure.replace('_', ' ')} | budget | {' | '.join(sets)} |"
        yield "|---|---:|" + "---|" * len(sets)
        for encoder, name in ENCODERS.items():
            for budget in (None,) if encoder in WITHOUT_BUDGET else BUDGETS:
                texts = []
                for of_set in sets:
                    pair = [cells[encoder, budget, of_set, learner] for learner in LEARNERS]
                    figures = [_text(cell, figure, best[of_set, cell["learner"]]) for cell in pair]
                    texts.append(" / ".join(figures) + _columns(pair[0], budget))
                yield f"| {name} | {budget or ''} | {' | '.join(texts)} |"
    for reason, names in _reasons(cells).items():
        yield f"\nA dash for {', '.join(names)}: {reason}"


def _best(cells: Cells, figure: str, name: str, learner: str) -> float | None:
    figures = [cell[figure] for key, cell in cells.items() if key[2:] == (name, learner)]
    return FIGURES[figure]((number for number in figures if number is not None), default=None)


def _text(cell: Result, figure: str, best: float | None) -> str:
    if cell[figure] is None:
        return "–"
    return f"**{cell[figure]:.4f}**" if cell[figure] == best else f"{cell[figure]:.4f}"


def _columns(cell: Result, budget: int | None) -> str:
    """How many columns there are, where the budget does not say it."""
    return "" if cell["columns"] in (None, budget) else f" ({cell['columns']:,})"


def _reasons(cells: Cells) -> dict[str, list[str]]:
    """Why cells have no figures, each reason with the cells that it is true of."""
    reasons: dict[str, list[str]] = {}
    for (encoder, budget, name, learner), cell in cells.items():
        if cell["error"] is not None:
            what = f"{encoder} {budget or ''}".strip()
            reasons.setdefault(cell["error"], []).append(f"{what} with {learner} on {name}")
    return reasons
