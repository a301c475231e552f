"""The demo: names of packages, five ways to make columns of them, one logistic regression each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from chromatic._files import replacing
from chromatic.data.objects import batches_of
from chromatic.datasets.npm import NamedRows, load_npm_names
from chromatic.encoding.fitting import SubmodularEncoding
from chromatic.learn.encoders import Split
from chromatic.learn.evaluate import Result, evaluate
from chromatic.modelfile import Model, save
from chromatic.report.figures import BLUE, GRAY, GREEN, ORANGE, RED, write_figures
from chromatic.report.information import Information, information
from chromatic.report.page import report

BUDGETS = (256, 1024)
ENCODERS = {
    "ft": "most frequent features (FT)",
    "ht": "signed hashing (HT)",
    "cl-sm-paper": "the paper's CL+SM",
    "cl-sm": "chromatic",
    "none": "all features, uncompressed",
}


def read(threads: int = 1) -> Split:
    """The names that come with the package, as rows of strings."""
    train, test = load_npm_names()
    limits = {"dense_threshold": 0.1, "min_count": 1}
    return Split.of([_batch(train)], [_batch(test)], limits, threads)


def compare(split: Split, threads: int = 1) -> Iterator[Result]:
    """Test log loss and AUC of logistic regression on each encoder's columns."""
    options: dict[str, Any] = {"threads": threads, "isolated": False}
    for encoder in ENCODERS:
        yield from evaluate(split, [encoder], ["lr"], BUDGETS, **options)


def most_telling(encoding: SubmodularEncoding, count: int) -> list[int]:
    """The columns that tell most of the label: many rows, and a rate far from the overall one."""
    counts, columns = encoding.vocabulary.counts, encoding.columns
    there = columns >= 0
    rows, positives = (
        np.bincount(columns[there], weights[there], minlength=encoding.codebook.n_columns)
        for weights in (counts, counts * encoding.codebook.rates)
    )
    surprise = rows * (positives / np.maximum(rows, 1) - encoding.codebook.prior) ** 2
    return [int(column) for column in np.argsort(-surprise, kind="stable")[:count]]


def write_report(split: Split, encoding: SubmodularEncoding, folder: str, threads: int = 1) -> list[str]:
    """Write the model and its report; their paths."""
    paths = [os.path.join(folder, name) for name in ("model.chroma", "report.html")]
    model = Model(encoding, {"budget": BUDGETS[0]})
    save(model, paths[0])
    with replacing(paths[1]) as file:
        file.write(report(model, split.test, name="names of npm packages", threads=threads).encode())
    return paths


def draw(results: list[Result], encoding: SubmodularEncoding, base: float, folder: str) -> list[str]:
    """Three figures: what the table says, information against columns, and the sizes of the colors."""
    found = information(encoding)
    drawings = {
        "log-loss": lambda axes: _draw_losses(axes, results, base),
        "information": lambda axes: _draw_information(axes, found),
        "colors": lambda axes: _draw_colors(axes, encoding),
    }
    return write_figures(drawings, folder)


def _draw_losses(axes: Any, results: list[Result], base: float) -> None:
    colors = dict(zip(ENCODERS, (GRAY, ORANGE, BLUE, GREEN, RED), strict=True))
    for encoder, name in ENCODERS.items():
        points = sorted((row["columns"], row["log_loss"]) for row in results if row["encoder"] == encoder)
        axes.plot(*zip(*points, strict=True), "o-", color=colors[encoder], label=name)
    axes.axhline(base, color="black", linewidth=1, linestyle=":", label="knowing the overall rate alone")
    axes.set(
        xscale="log", xlabel="columns", ylabel="log loss on other names", title="Fewer columns, less loss"
    )
    axes.legend()


def _draw_information(axes: Any, found: Information) -> None:
    columns, nats = zip(*found.curve, strict=True)
    axes.plot(columns, nats, color=BLUE, label="the best that so many columns can tell")
    axes.plot([found.columns], [found.chosen], "o", color=RED, label=f"the model: {found.columns} columns")
    axes.axhline(found.whole, color=GRAY, linewidth=1, linestyle=":", label="all features")
    axes.set(
        xlabel="columns", ylabel="mutual information, nats a row", title="What columns tell of the label"
    )
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right")


def _draw_colors(axes: Any, encoding: SubmodularEncoding) -> None:
    coloring = encoding.coloring
    sizes = -np.sort(-coloring.sizes)
    axes.bar(np.arange(len(sizes)), sizes, color=BLUE, width=1.0)
    title = f"{len(encoding.vocabulary):,} features share {coloring.n_colors} colors"
    axes.set(xlabel="colors, the largest first", ylabel="features of the color", title=title)


def _batch(part: NamedRows) -> Any:
    [batch] = batches_of(part.rows)
    return replace(batch, labels=np.array(part.labels, np.float64))
