"""Noise stays silent: a learner on training columns is not surer of itself than the labels allow."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from chromatic import ChromaticEncoder

IDS = 1 << 22


def fields(random, n, levels, n_fields=5):
    """Rows of one value each of some fields, and the values; a column for each value of a field."""
    values = np.minimum(random.zipf(1.5, (n, n_fields)), levels)
    return one_hot(values, levels + 1), values


def one_hot(values, levels):
    n, n_fields = values.shape
    columns = (values + levels * np.arange(n_fields)).ravel()
    ends = np.arange(0, n * n_fields + 1, n_fields)
    return sp.csr_array((np.ones(len(columns)), columns, ends), shape=(n, n_fields * levels))


def coin(random, n, rate):
    return (random.random(n) < rate).astype(int)


def at_random(random, n):
    return fields(random, n, 200)[0], coin(random, n, 0.3)


def with_features_that_determine_their_row(random, n):
    alone = one_hot(random.integers(0, IDS, (n, 1)), IDS)
    return sp.hstack((fields(random, n, 50)[0], alone), "csr"), coin(random, n, 0.3)


def with_duplicate_rows(random, n):
    return sp.vstack([fields(random, n // 10, 50)[0]] * 10, "csr"), coin(random, n, 0.3)


def with_rare_positives(random, n):
    return fields(random, 5 * n, 50, 3)[0], coin(random, 5 * n, 0.001)


def with_very_rare_positives(random, n):
    return fields(random, 10 * n, 20, 3)[0], coin(random, 10 * n, 0.0003)


NOISE = [
    at_random,
    with_features_that_determine_their_row,
    with_duplicate_rows,
    with_rare_positives,
    with_very_rare_positives,
]


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
@pytest.mark.parametrize("linear", [0, None], ids=["without-linear", "with-linear"])
@pytest.mark.parametrize("encoding", ["submodular", "target"])
@pytest.mark.parametrize("made", NOISE, ids=lambda made: made.__name__)
def test_a_learner_on_noise_is_about_the_best_constant(made, encoding, linear):
    losses = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        (X, y), (Xt, yt) = made(random, 20_000), made(random, 20_000)
        encoder = ChromaticEncoder(64, encoding=encoding, linear=linear, dense_threshold=2.0)
        Z, Zt = encoder.fit_transform(X, y), encoder.transform(Xt)
        if Z.shape[1] == 0:
            continue
        predicted = LogisticRegression(max_iter=1000).fit(Z, y).predict_proba(Zt)[:, 1]
        constant = log_loss(yt, np.full(len(yt), y.mean()), labels=[0, 1])
        losses.append(log_loss(yt, predicted, labels=[0, 1]) / constant)
    assert not losses or np.mean(losses) <= 1.01


@pytest.mark.parametrize("linear", [0, None], ids=["without-linear", "with-linear"])
@pytest.mark.parametrize("encoding", ["submodular", "target"])
def test_one_strong_field_among_noise_is_told_as_well_as_alone(encoding, linear):
    random = np.random.default_rng(0)
    strength = random.normal(size=51) * 1.5

    def made(n):
        rows, values = fields(random, n, 50)
        odds = strength[values[:, 0]] - 0.5
        truth = 1 / (1 + np.exp(-odds))
        return rows, coin(random, n, truth), truth

    (X, y, _), (Xt, yt, truth) = made(20_000), made(20_000)
    encoder = ChromaticEncoder(64, encoding=encoding, linear=linear, dense_threshold=2.0)
    learner = LogisticRegression(max_iter=1000).fit(encoder.fit_transform(X, y), y)
    predicted = learner.predict_proba(encoder.transform(Xt))[:, 1]
    assert log_loss(yt, predicted) <= 1.01 * log_loss(yt, truth)
