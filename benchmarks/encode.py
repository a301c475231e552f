"""Quantizing five million categories, and one row at a time."""

import time

import numpy as np
from measure import best_of, table

from chromatic import ChromaticEncoder
from chromatic.coloring import Coloring
from chromatic.encoding.statistics import packed
from chromatic.encoding.submodular import learn_codebook, merged


def categories(n, n_colors=22, seed=0):
    """Counts with a tail heavier than npm names have, and rates of all kinds."""
    random = np.random.default_rng(seed)
    counts = -np.sort(-np.minimum(random.zipf(2.0, n), 200_000))
    positives = random.binomial(counts, random.beta(0.6, 1.8, n))
    colors = random.integers(0, n_colors, n).astype(np.int32)
    rows = int(np.bincount(colors, counts).max()) + 1000
    all_positives = int(np.bincount(colors, positives).max()) + 250
    coloring = Coloring(colors, n_colors, "balanced", n_colors, 0, 0, 0, 1, 0, np.zeros(n, np.int32))
    return coloring, packed(np.append(positives, all_positives), np.append(counts, rows))


def quantize():
    some, many = categories(1000), categories(5_000_000)
    learn_codebook(*some, merged(*some), budget=64, smoothing=3.0)
    [seconds] = best_of(3, lambda: learn_codebook(*many, merged(*many), budget=1024, smoothing=3.0))
    return [
        ("quantize 5M categories of 22 colors to 1024 columns, one thread", f"{seconds:.2f} s", "< 3 s")
    ]


def one_row(n_rows=60_000, n_features=36, timed=20_000):
    random = np.random.default_rng(0)
    values = random.zipf(1.3, (n_rows, n_features)) % 200_000
    rows = [[f"field{j}=value{value}" for j, value in enumerate(row)] for row in values]
    encoder = ChromaticEncoder().fit(rows, random.random(n_rows) < 0.3)
    encoder.encode_one(rows[0])
    times = np.empty(timed)
    for i in range(timed):
        start = time.perf_counter_ns()
        encoder.encode_one(rows[i])
        times[i] = (time.perf_counter_ns() - start) / 1000
    print(f"one row: {n_features} of {len(encoder.encoding_.vocabulary):,} string features")
    return [
        ("encode_one, median", f"{np.median(times):.1f} us", "<= 10 us"),
        ("encode_one, 99th percentile", f"{np.percentile(times, 99):.1f} us", "<= 50 us"),
    ]


if __name__ == "__main__":
    table(quantize() + one_row())
