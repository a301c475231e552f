"""Synthetic rows against the paper: figures at two sizes, continued to the full one.

Names come at an even pace, so features and edges grow in proportion to rows, and colors with the logarithm
of the rows: two sizes tell the full one.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace

from chromatic.coloring import Request, collisions, color, transpose
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.pairs import count
from chromatic.lab.benchmarks.measure import Say, machine
from chromatic.lab.datasets.shapes import SHAPES, Figures, Shape
from chromatic.lab.datasets.synthetic import make
from chromatic.learn.results import Record

ROWS = (60_000, 480_000)
TIMED_ROWS = 50_000
FIGURES = (
    "dense_features",
    "sparse_features",
    "avg_nnz",
    "max_nnz",
    "pairs_per_row",
    "avg_degree",
    "colors",
    "collisions",
)


def run(rows: tuple[int, int], runs: int, say: Say) -> list[Record]:
    """Measure every shape at two sizes, and continue to the size of the paper's set."""
    if rows[0] == rows[1]:
        raise InputError(
            f"the rows are {rows[1]}; expected 8 or more, since shapes are measured at two sizes"
        )
    kept: list[Record] = []
    for shape in SHAPES.values():
        small, large = (measured(shape, size) for size in rows)
        sizes = {f"{figures.rows:,} rows": figures for figures in (small, large)}
        sizes["extrapolated"] = extrapolated(small, large, shape.paper.rows)
        for line in lines(shape, sizes):
            say(line)
        speed = megabytes_per_second(shape, runs)
        say(f"\nmade at {speed:.0f} MB/s")
        facts = {"benchmark": "shapes", "what": shape.name, **machine(), "mb_per_second": speed}
        kept += [{**facts, "size": size, **asdict(figures)} for size, figures in sizes.items()]
    return kept


def measured(shape: Shape, rows: int, test_rows: int = 5000) -> Figures:
    """Measure the first rows of a shape; those after them are test rows."""
    with tempfile.TemporaryDirectory() as folder:
        make(shape, f"{folder}/train.svm", rows)
        make(shape, f"{folder}/test.svm", test_rows, first=rows)
        data = Reader().read(f"{folder}/train.svm", keep_names=False)
        test = Reader().read(f"{folder}/test.svm", vocabulary=data.vocabulary)
    transposed = transpose(data.rows)
    coloring = color(data.rows, Request("first-fit"), transposed=transposed)
    return Figures(
        rows=rows,
        test_rows=test_rows,
        dense_features=len(data.vocabulary.dense_names),
        sparse_features=len(data.vocabulary),
        avg_nnz=data.rows.average_nnz,
        max_nnz=data.rows.largest_nnz,
        pairs_per_row=data.rows.pairs_per_row,
        avg_degree=2 * count(data.rows, transposed=transposed).n_edges / len(data.vocabulary),
        colors=coloring.n_colors,
        collisions=collisions(test.rows, coloring).mean,
    )


def extrapolated(small: Figures, large: Figures, rows: int) -> Figures:
    """Return what two sizes say of more rows."""
    share = (rows - large.rows) / (large.rows - small.rows)
    doublings = math.log(rows / large.rows) / math.log(large.rows / small.rows)

    def grown(before: float, after: float, by: float) -> float:
        return after + by * (after - before)

    features = grown(small.sparse_features, large.sparse_features, share)
    before, after = (figures.avg_degree * figures.sparse_features for figures in (small, large))
    return replace(
        large,
        rows=rows,
        sparse_features=round(features),
        avg_degree=grown(before, after, share) / features,
        colors=round(grown(small.colors, large.colors, doublings)),
    )


def lines(shape: Shape, sizes: dict[str, Figures]) -> Iterator[str]:
    """A Markdown table: the paper's figures, and those of some sizes with their difference."""
    yield f"\n| {shape.name} | paper | {' | '.join(sizes)} |"
    yield "|---|---:|" + "---:|" * len(sizes)
    for name in FIGURES:
        paper = getattr(shape.paper, name)
        cells = [
            f"{value:,.4g} ({value / paper - 1:+.0%})" if paper else f"{value:,.4g}"
            for value in (getattr(figures, name) for figures in sizes.values())
        ]
        yield f"| {name.replace('_', ' ')} | {paper:,} | {' | '.join(cells)} |"


def megabytes_per_second(shape: Shape, runs: int) -> float:
    """How fast one thread makes the text of a shape, the best of several runs."""
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = os.path.join(folder, "made.svm"), math.inf
        for _ in range(runs):
            start = time.perf_counter()
            make(shape, path, TIMED_ROWS)
            seconds = min(seconds, time.perf_counter() - start)
        return os.path.getsize(path) / seconds / 1e6
