"""Rows of four fields as tokens, for tests of encoders."""

import numpy as np
import scipy.sparse as sp


def make_clicks():
    """Return rows and labels, which depend on two of the fields."""
    random = np.random.default_rng(0)
    fields = random.integers(0, [30, 200, 3000, 15], (3000, 4))
    score = random.normal(size=30)[fields[:, 0]] + 1.5 * random.normal(size=200)[fields[:, 1]]
    y = (random.random(3000) < 1 / (1 + np.exp(-score))).astype(int)
    X = [[f"{name}={value}" for name, value in zip("abcd", row, strict=True)] for row in fields]
    return X, y


def matrix_of(X):
    names = sorted({token for row in X for token in row})
    number = {name: i for i, name in enumerate(names)}
    indptr = np.arange(len(X) + 1) * 4
    indices = [number[token] for row in X for token in row]
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(X), len(names)))
