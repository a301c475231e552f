"""What is measured of others, on the same rows: each function prepares, and returns what is timed."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from chromatic._extras import optional
from chromatic.lab.benchmarks.data import token_lists
from chromatic.lab.benchmarks.measure import Run


def sklearn_read(*paths: str) -> Run:
    """scikit-learn's loader, of one file after another."""
    from sklearn.datasets import load_svmlight_file

    def run() -> None:
        for path in paths:
            load_svmlight_file(path)

    return run


def sklearn_hash(path: str, columns: int, most: int) -> Run:
    """scikit-learn's FeatureHasher on lists of strings."""
    from sklearn.feature_extraction import FeatureHasher

    rows, _ = token_lists(path, most)
    hasher = FeatureHasher(columns, input_type="string")
    return lambda: hasher.transform(rows)


def sklearn_hash_one(path: str, columns: int, most: int) -> Run:
    """scikit-learn's FeatureHasher, row by row."""
    from sklearn.feature_extraction import FeatureHasher

    from chromatic.lab.benchmarks.ours import one_by_one

    rows, _ = token_lists(path, most)
    hasher = FeatureHasher(columns, input_type="string")
    return lambda: one_by_one(lambda row: hasher.transform([row]), rows)


def lightgbm_dataset(path: str, threads: int) -> Run:
    """LightGBM's Dataset of all features: it bins them, and bundles exclusive ones."""
    lightgbm = optional("lightgbm")
    x, y = _matrix(path)
    parameters = {"num_threads": threads, "verbosity": -1}
    return lambda: lightgbm.Dataset(x, y, params=parameters).construct()


def vowpal_wabbit(path: str) -> Run:
    """One pass of Vowpal Wabbit over the rows in its own text format."""
    optional("vowpalwabbit")
    from chromatic.data import Reader
    from chromatic.data.writers import write

    folder = tempfile.TemporaryDirectory()
    write([_signed(batch) for batch in Reader().batches(path)], os.path.join(folder.name, "rows.vw"), "vw")

    def run() -> None:
        rows = os.path.join(folder.name, "rows.vw")
        arguments = ["--quiet", "--no_stdin", "--data", rows, "--loss_function", "logistic"]
        optional("vowpalwabbit").Workspace(arg_list=arguments).finish()

    return run


def graph_first(path: str, threads: int) -> Run:
    """Our own co-occurrence graph, built and then colored first-fit."""
    from chromatic.coloring import Request, transpose
    from chromatic.coloring.graph import color
    from chromatic.data import Reader

    rows = Reader().read(path, keep_names=False).rows
    transposed = transpose(rows)
    return lambda: color(rows, Request("first-fit"), transposed, threads)


def pairs_by_sorting(path: str) -> Run:
    """The histogram of all pairs and the degrees of features, by sorting the pairs with numpy."""
    from chromatic.data import Reader

    rows = Reader().read(path, keep_names=False).rows
    return lambda: sorted_pairs(rows)


def sorted_pairs(rows: Any) -> tuple[Any, Any]:
    """Return how many pairs were seen how often, and the degree of each feature."""
    import numpy as np

    pairs = _all_pairs(rows)
    pairs.sort()
    starts = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1])))
    counts = np.diff(np.concatenate((starts, [len(pairs)])))
    edges = pairs[starts]
    ends = np.concatenate((edges >> np.uint64(32), edges & np.uint64(0xFFFFFFFF))).astype(np.int64)
    return np.bincount(counts), np.bincount(ends, minlength=rows.n_features)


def _all_pairs(rows: Any) -> Any:
    """Return each pair of each row as one integer, by rows of equal length."""
    import numpy as np

    lengths = np.diff(rows.indptr)
    parts = []
    for length in np.unique(lengths[lengths > 1]):
        starts = rows.indptr[:-1][lengths == length]
        block = rows.codes[starts[:, None] + np.arange(length)].astype(np.uint64)
        first, second = np.triu_indices(length, 1)
        parts.append((block[:, first] << np.uint64(32) | block[:, second]).ravel())
    return np.concatenate(parts)


def _matrix(path: str) -> Any:
    """Return all sparse features of a file as LightGBM takes them, and the labels."""
    import numpy as np
    from scipy.sparse import csr_matrix

    from chromatic.data import Reader

    rows = Reader().read(path, keep_names=False).rows
    arrays = np.ones(len(rows.codes), np.float32), rows.codes.astype(np.int32), rows.indptr
    return csr_matrix(arrays, shape=(rows.n_rows, rows.n_features)), rows.labels


def _signed(batch: Any) -> Any:
    """Return a batch with labels of 1 and -1, as the logistic loss takes them."""
    from dataclasses import replace

    import numpy as np

    return replace(batch, labels=np.where(batch.labels > 0, 1.0, -1.0))
