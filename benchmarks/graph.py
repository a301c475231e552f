"""The histogram and degrees of the co-occurrence graph against sorting all pairs with numpy.

    python benchmarks/graph.py [TRAIN.svm [THREADS]]      # without data, rows of some 25 features

Both ways must agree. The memory is what numpy allocated at most, beyond the transposed rows.
"""

import sys
import tracemalloc

import numpy as np
from measure import best_of, table

from chromatic.benchmarks.data import heavy_tail
from chromatic.coloring import transpose
from chromatic.data import Reader
from chromatic.graph.order import hold_out
from chromatic.graph.pairs import count
from chromatic.graph.thinned import thin


def all_pairs(rows):
    """Each pair of each row as one integer, by rows of equal length."""
    lengths = np.diff(rows.indptr)
    parts = []
    for length in np.unique(lengths[lengths > 1]):
        starts = rows.indptr[:-1][lengths == length]
        block = rows.codes[starts[:, None] + np.arange(length)].astype(np.uint64)
        first, second = np.triu_indices(length, 1)
        parts.append((block[:, first] << np.uint64(32) | block[:, second]).ravel())
    return np.concatenate(parts)


def by_sorting(rows):
    pairs = all_pairs(rows)
    pairs.sort()
    starts = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1])))
    counts = np.diff(np.concatenate((starts, [len(pairs)])))
    edges = pairs[starts]
    ends = np.concatenate((edges >> np.uint64(32), edges & np.uint64(0xFFFFFFFF))).astype(np.int64)
    return np.bincount(counts), np.bincount(ends, minlength=rows.n_features)


def peak_mb(function):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main():
    data = sys.argv[1] if len(sys.argv) > 1 else heavy_tail(60_000, 300_000, 25)
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    rows = Reader().read(data, keep_names=False).rows
    transposed = transpose(rows, threads)

    def ours(max_k=1):
        return count(rows, max_k, transposed=transposed, threads=threads)

    histogram, degrees = by_sorting(rows)
    pairs = ours()
    np.testing.assert_array_equal(pairs.histogram[: len(histogram)], histogram)
    np.testing.assert_array_equal(pairs.degree(1), degrees)
    whole = ours(64)
    thin(rows, 2, transposed=transposed, threads=threads)  # compiled before it is timed
    hold_out(rows, whole, [2], transposed=transposed)
    counting, for_64, sorting, thinning, holding = best_of(
        3,
        ours,
        lambda: ours(64),
        lambda: by_sorting(rows),
        lambda: thin(rows, 2, transposed=transposed, threads=threads),
        lambda: hold_out(rows, whole, transposed=transposed, threads=threads),
    )
    n_pairs = rows.pairs_per_row * rows.n_rows
    size = f"{n_pairs:,.0f} pairs, {pairs.n_edges:,} edges, {rows.n_features:,} features"
    print(f"{size}, {threads} threads")
    table(
        [
            ("histogram and degrees", f"{counting:.2f} s", "< 5 s on npm"),
            ("the same by sorting all pairs with numpy", f"{sorting:.2f} s", ""),
            ("ratio", f"{sorting / counting:.1f}x", ">= 3x"),
            ("degrees for every k up to 64", f"{for_64:.2f} s", ""),
            ("held-out features for every k up to 64", f"{holding:.2f} s", ""),
            ("the graph of pairs seen twice, held", f"{thinning:.2f} s", ""),
            ("memory of counting", f"{peak_mb(ours):.0f} MB", ""),
            ("  the same in bytes a feature", f"{peak_mb(ours) * 1e6 / rows.n_features:.0f}", ""),
            ("memory of sorting", f"{peak_mb(lambda: by_sorting(rows)):.0f} MB", ""),
        ]
    )


if __name__ == "__main__":
    main()
