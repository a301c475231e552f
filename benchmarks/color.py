"""Coloring without the graph against building the graph first, and against a transposition.

    python benchmarks/color.py [TRAIN.svm ...]      # more data to time against a transposition

One thread. The graph is built by the straightforward row-wise (Gustavson) kernel over the transposed
rows, and colored first-fit; both ways must give the same colors.
"""

import sys

import numpy as np
from measure import best_of, table
from numba import njit

from chromatic.coloring import color, transpose
from chromatic.data import Reader


def synthetic(n_rows, per_row, n_features, seed=0):
    """Rows of about 25 features, 300 pairs, of a heavy tail."""
    random = np.random.default_rng(seed)
    lengths = random.poisson(per_row, n_rows)
    ids = (n_features ** random.random(lengths.sum())).astype(np.int64)
    rows = np.repeat(np.arange(n_rows), lengths)
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(ids)), (rows, ids)), shape=(n_rows, n_features + 1)) > 0


@njit(nogil=True)
def count_neighbors(indptr, codes, col_indptr, col_rows):
    n = len(col_indptr) - 1
    degree = np.zeros(n, np.int64)
    last = np.full(n, -1, np.int64)
    for v in range(n):
        for i in range(col_indptr[v], col_indptr[v + 1]):
            row = col_rows[i]
            for j in range(indptr[row], indptr[row + 1]):
                u = codes[j]
                if u != v and last[u] != v:
                    last[u] = v
                    degree[v] += 1
    return degree


@njit(nogil=True)
def build_graph(indptr, codes, col_indptr, col_rows):
    degree = count_neighbors(indptr, codes, col_indptr, col_rows)
    n = len(degree)
    start = np.zeros(n + 1, np.int64)
    start[1:] = np.cumsum(degree)
    neighbors = np.empty(start[-1], np.uint32)
    last = np.full(n, -1, np.int64)
    for v in range(n):
        at = start[v]
        for i in range(col_indptr[v], col_indptr[v + 1]):
            row = col_rows[i]
            for j in range(indptr[row], indptr[row + 1]):
                u = codes[j]
                if u != v and last[u] != v:
                    last[u] = v
                    neighbors[at] = u
                    at += 1
    return start, neighbors


@njit(nogil=True)
def color_graph(start, neighbors):
    n = len(start) - 1
    colors = np.full(n, -1, np.int32)
    taken = np.full(n + 1, -1, np.int64)
    for v in range(n):
        for i in range(start[v], start[v + 1]):
            c = colors[neighbors[i]]
            if c >= 0:
                taken[c] = v
        c = 0
        while taken[c] == v:
            c += 1
        colors[v] = c
    return colors


def main():
    rows = Reader().read(synthetic(300_000, 25, 1_500_000), dense_threshold=2).rows
    columns = transpose(rows)
    arrays = rows.indptr, rows.codes, columns.indptr, columns.rows
    found = color(rows, "first-fit")
    assert (found.colors == color_graph(*build_graph(*arrays))).all(), "the colors differ"
    with_graph, without, balanced = best_of(
        3,
        lambda: color_graph(*build_graph(*arrays)),
        lambda: color(rows, "first-fit", columns=columns),
        lambda: color(rows, "balanced", columns=columns),
    )
    edges = build_graph(*arrays)[0][-1] // 2
    print(f"{rows.n_rows:,} rows, {rows.pairs_per_row:.0f} pairs a row, {edges:,} edges")
    table(
        [
            ("graph first, against first-fit without", f"{with_graph / without:.1f}x", ">= 10x"),
            ("graph first, against balanced without", f"{with_graph / balanced:.1f}x", ""),
        ]
    )
    for path in sys.argv[1:]:
        against_transposition(path)


def against_transposition(path):
    rows = Reader().read(path).rows
    columns = transpose(rows)
    jobs = {
        "first-fit, proper": lambda: color(rows, "first-fit", columns=columns),
        "balanced, proper": lambda: color(rows, columns=columns),
        "random, palette of 256": lambda: color(rows, "random", 256, columns=columns),
        "balanced, palette of 64": lambda: color(rows, max_colors=64, columns=columns),
        "balanced, palette of 128": lambda: color(rows, max_colors=128, columns=columns),
    }
    base, *seconds = best_of(4, lambda: transpose(rows), *jobs.values())
    print(f"{path}: a transposition takes {base:.3f} s")
    table([(f"  {what}", f"{s / base:.1f}x", "") for what, s in zip(jobs, seconds, strict=True)])


if __name__ == "__main__":
    main()
