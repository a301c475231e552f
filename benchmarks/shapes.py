"""Synthetic rows against the paper: figures at two sizes, continued to the full one, and the speed.

    python benchmarks/shapes.py                           # all shapes, from 60,000 and 480,000 rows
    python benchmarks/shapes.py kdda --rows 8407752       # and as measured at a size, such as the full one

Names come at an even pace, so features and edges grow in proportion to rows, and colors with the
logarithm of the rows: two sizes tell the full one.
"""

import argparse
import math
import os
import tempfile
from dataclasses import dataclass

from measure import best_of

from chromatic.coloring import Request, collisions, color, transpose
from chromatic.data import Reader
from chromatic.datasets.shapes import SHAPES
from chromatic.datasets.synthetic import make
from chromatic.graph.pairs import count

NAMES = (
    "dense_features",
    "sparse_features",
    "avg_nnz",
    "max_nnz",
    "pairs_per_row",
    "avg_degree",
    "colors",
    "collisions",
)


@dataclass(frozen=True)
class Measured:
    rows: int
    dense_features: int
    sparse_features: int
    avg_nnz: float
    max_nnz: int
    pairs_per_row: float
    edges: float
    colors: float
    collisions: float  # a test row
    positive_rate: float

    @property
    def avg_degree(self):
        return 2 * self.edges / self.sparse_features


def measured(shape, rows, test_rows=5000):
    """The figures of the first rows of a shape; those after them are test rows."""
    with tempfile.TemporaryDirectory() as folder:
        make(shape, f"{folder}/train.svm", rows)
        make(shape, f"{folder}/test.svm", test_rows, first=rows)
        data = Reader().read(f"{folder}/train.svm", keep_names=False)
        test = Reader().read(f"{folder}/test.svm", vocabulary=data.vocabulary)
    transposed = transpose(data.rows)
    coloring = color(data.rows, Request("first-fit"), transposed=transposed)
    return Measured(
        rows,
        len(data.vocabulary.dense_names),
        len(data.vocabulary),
        data.rows.average_nnz,
        data.rows.largest_nnz,
        data.rows.pairs_per_row,
        count(data.rows, transposed=transposed).n_edges,
        coloring.n_colors,
        collisions(test.rows, coloring).mean,
        data.rows.positive_rate,
    )


def extrapolated(small, large, rows):
    """What two sizes say of more rows."""
    share = (rows - large.rows) / (large.rows - small.rows)
    doublings = math.log(rows / large.rows) / math.log(large.rows / small.rows)

    def grown(name, by):
        return getattr(large, name) + by * (getattr(large, name) - getattr(small, name))

    return Measured(
        rows,
        large.dense_features,
        grown("sparse_features", share),
        large.avg_nnz,
        large.max_nnz,
        large.pairs_per_row,
        grown("edges", share),
        grown("colors", doublings),
        large.collisions,
        large.positive_rate,
    )


def show(shape, columns):
    """A Markdown table: the paper's figures, and others with their difference from those."""
    print(f"\n| {shape.name} | paper | {' | '.join(columns)} |")
    print("|---|---:|" + "---:|" * len(columns))
    for name in NAMES:
        paper = getattr(shape.paper, name)
        cells = [
            f"{value:,.4g} ({value / paper - 1:+.0%})" if paper else f"{value:,.4g}"
            for value in (getattr(found, name) for found in columns.values())
        ]
        print(f"| {name.replace('_', ' ')} | {paper:,} | {' | '.join(cells)} |")


def megabytes_per_second(shape, rows=50_000):
    """Of a file, by one thread, the best of three times."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/made.svm"
        seconds = best_of(3, lambda: make(shape, path, rows))[0]
        return os.path.getsize(path) / seconds / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--rows", type=int, help="also measure this many rows")
    asked = parser.parse_args()
    for shape in (SHAPES[name] for name in asked.shapes):
        small, large = measured(shape, 60_000), measured(shape, 480_000)
        columns = {
            f"{found.rows:,} rows": found
            for found in (small, large, *([measured(shape, asked.rows)] if asked.rows else []))
        }
        columns["extrapolated"] = extrapolated(small, large, shape.paper.rows)
        show(shape, columns)
        print(f"\nmade at {megabytes_per_second(shape):.0f} MB/s; positive: {large.positive_rate:.3f}")


if __name__ == "__main__":
    main()
