"""Weights by L-BFGS over rows that are far away."""

from dataclasses import replace

import numpy as np
import pytest
from pieces import InPieces

from chromatic.data import Reader
from chromatic.fitting.folds import folds_of_rows, number_of_folds, row_sums
from chromatic.fitting.gradients import Problem, _row_losses, _settled
from chromatic.fitting.source import n_several
from chromatic.fitting.weighing import Dense, Weighing
from chromatic.fitting.weights import weigh
from chromatic.parameters import Settings


def some_rows(kind):
    """Rows of three fields and two numbers; many features are in one row."""
    random = np.random.default_rng(3)
    fields = random.integers(0, [8, 40, 3000], (1600, 3))
    odds = 1.5 * (fields[:, 0] % 4 - 1.5) + 0.8 * (fields[:, 1] % 3 - 1)
    labels = (random.random(len(odds)) < 1 / (1 + np.exp(-odds))).astype(float)
    if kind == "numbers":
        labels = odds + random.normal(0, 0.5, len(odds))
    data = Reader().read([[f"{j}={value}" for j, value in enumerate(row)] for row in fields.tolist()])
    rows = replace(data.rows, dense=random.normal(3, 2, (len(odds), 2)))
    return rows, data.vocabulary, labels


def rounds_of(kind, step, weights=None):
    rows, vocabulary, labels = some_rows(kind)
    settings = Settings(budget=32)
    fold = folds_of_rows(rows, vocabulary.hashes, None, settings).of_rows
    task = Weighing(
        rows,
        Dense.of(rows, weights),
        labels,
        fold,
        row_sums(rows, vocabulary.hashes),
        n_several=n_several(vocabulary, number_of_folds(settings)),
        binary=kind != "numbers",
        seed=0,
        importance=weights,
    )
    return InPieces(vocabulary, settings, rows.n_rows, task.binary, task=task, step=step)


@pytest.mark.parametrize("kind", ["two kinds", "numbers"])
def test_rounds_find_the_weights_of_dual_coordinate_descent_from_any_pieces(kind):
    rounds = rounds_of(kind, 400)
    assert 0 < rounds.problem.n_several < len(rounds.vocabulary)
    found, again = rounds.weigh(), replace(rounds, step=1130).weigh()
    for name in ("of_features", "by_fold", "of_dense", "intercept"):
        assert np.array_equal(getattr(found, name), getattr(again, name)), name
    near = weigh(rounds.task, number_of_folds(rounds.settings))
    assert found.strength == near.strength
    assert found.held_out_loss == pytest.approx(near.held_out_loss, rel=0.02)  # of two folds, and of all
    assert np.corrcoef(found.of_features, near.of_features)[0, 1] > 0.999
    np.testing.assert_allclose(found.of_dense, near.of_dense, atol=0.02)


def test_what_a_row_adds_to_the_gradient_is_the_slope_of_its_loss():
    random = np.random.default_rng(0)
    labels, margins = random.integers(0, 2, 300).astype(float), random.normal(0, 8, 300)
    own = np.where(random.random(300) < 0.3, 0.0, 10 ** random.uniform(-3, 4, 300))
    for binary in (True, False):
        problem = Problem(0, Dense(np.empty(0), np.empty(0)), binary, 1.0)
        above, below = (_row_losses(margins + step, labels, own, problem)[0] for step in (1e-4, -1e-4))
        slopes = _row_losses(margins, labels, own, problem)[1]
        np.testing.assert_allclose((above - below) / 2e-4, slopes, atol=1e-5, rtol=1e-5)


def test_the_own_features_of_a_row_settle_however_many_they_are():
    margins, own = (
        grid.ravel() for grid in np.meshgrid(np.linspace(-60, 60, 61), np.geomspace(1e-3, 1e5, 60))
    )
    t = _settled(margins, own)
    np.testing.assert_allclose(t, margins + own / (1 + np.exp(t)), atol=1e-6, rtol=1e-9)
