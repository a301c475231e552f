"""The weights of features in a linear model over all of them."""

import logging
from dataclasses import replace

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic._lanes import LANES
from chromatic.data import Reader
from chromatic.data.hashing import mix_integers
from chromatic.fitting import descent
from chromatic.fitting import weights as solver
from chromatic.fitting.folds import row_sums
from chromatic.fitting.solving import Found, Four, Lane, Level
from chromatic.fitting.weighing import Dense, Weighing
from chromatic.fitting.weights import weigh


def weighing(lists, labels, *, dense=0, fold=None, binary=True):
    rows = Reader().read(lists, dense_threshold=2).rows
    random = np.random.default_rng(1)
    rows = replace(rows, dense=random.normal(3, 2, (rows.n_rows, dense)))
    fold = np.zeros(rows.n_rows, np.int32) if fold is None else np.asarray(fold, np.int32)
    sums = row_sums(rows, mix_integers(np.arange(rows.n_features, dtype=np.uint32)))
    labels = np.asarray(labels, np.float64)
    several = int((np.bincount(rows.codes, minlength=rows.n_features) > 1).sum())
    return Weighing(rows, Dense.of(rows), labels, fold, sums, n_several=several, binary=binary, seed=5)


def some_rows(n, seed=0, levels=12):
    """Rows of three fields, and labels that follow the first two."""
    random = np.random.default_rng(seed)
    fields = random.integers(0, levels, (n, 3))
    odds = (fields[:, 0] % 4 - 1.5) + 0.8 * (fields[:, 1] % 3 - 1)
    labels = (random.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
    return [[f"{j}={value}" for j, value in enumerate(row)] for row in fields], labels


@pytest.mark.kernels
@given(st.lists(st.integers(0, 100), max_size=30), st.integers(0, 2**64 - 1))
def test_an_order_is_the_shuffle_of_its_seed(items, seed):
    order = np.array(items, np.int64)
    descent.shuffle(order, np.uint64(seed))
    assert order.tolist() == naive.shuffled(items, seed)


@pytest.mark.kernels
@given(st.lists(st.sets(st.integers(0, 9)), max_size=8), st.integers(0, 10))
def test_features_of_one_row_stand_at_its_end(sets, n_several):
    indptr = np.cumsum([0, *map(len, sets)])
    codes = np.array([code for row in sets for code in sorted(row)], np.uint32)
    heads = np.empty(len(sets), descent.HEAD)
    descent.place((indptr, codes), n_several, heads)
    assert heads["start"].tolist() == indptr[:-1].tolist()
    assert heads["several"].tolist() == naive.several(sets, n_several)
    assert (heads["several"] + heads["own"]).tolist() == [len(row) for row in sets]


@pytest.mark.kernels
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=2, max_size=12),
    st.lists(st.sampled_from([0.03, 1.0, 10.0]), min_size=1, max_size=4),
    st.booleans(),
    st.integers(0, 2),
    st.data(),
)
def test_an_epoch_is_that_of_the_naive_twin(lists, strengths, binary, n_dense, data):
    """Model k learns from all rows but those of fold k, of which it tells its loss."""
    values = [0.0, 1.0] if binary else [-1.5, 0.0, 4.0]
    n = len(lists)
    labels = data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    weights = data.draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    fold = np.arange(n) % 6 - 1
    task = weighing(lists, labels, dense=n_dense, binary=binary, fold=fold)
    task = replace(task, importance=None if weights is None else np.array(weights))
    (center, unit), folds = task.scale, np.arange(5)
    lanes = [Lane(c, 0.3, 1.0, folds != k, folds == k) for k, c in enumerate(strengths)]
    four = Four(lanes, (n, task.n_several, n_dense), binary=binary)
    sets = [set(codes.tolist()) for codes in np.split(task.rows.codes, task.rows.indptr[1:-1])]
    seen = ((task.rows.dense - task.dense.centers) * task.dense.factors).tolist()
    labels = labels if binary else ((np.array(labels) - center) / unit).tolist()
    keys = [*range(task.rows.n_features), *(("dense", d) for d in range(n_dense)), None]
    solved = [([0.0] * n, dict.fromkeys(keys, 0.0)) for _ in lanes]
    for epoch in range(3):
        visit = next(task.packed.visits(epoch))
        four.begin(1.0)
        four.visit(visit)
        four.end()
        for k, strength in enumerate(strengths):
            learns, tells = set(np.flatnonzero(fold != k)), set(np.flatnonzero(fold == k))
            options = {"learns": learns, "tells": tells, "told": (0.3, strength, binary, weights)}
            expected = naive.descend(sets, seen, labels, visit.order.tolist(), solved[k], **options)
            told = four.sums[: 2 if binary else 3, k]
            assert told == pytest.approx(expected[: len(told)], rel=2e-3, abs=2e-3)
    for k, strength in enumerate(strengths):
        found = Found(four.weights[k::LANES], four.of_dense[k::LANES])
        level = Level(strength, 0.0, [found], four.duals[k::LANES])
        without = replace(task, fold=np.where(fold == k, -1, fold))
        of_features = without.all_weights(level) / without.scale[1]
        of_features = [*of_features.tolist(), *found.of_dense.tolist()]
        expected = [solved[k][1][key] for key in keys]
        np.testing.assert_allclose(of_features, expected, rtol=2e-3, atol=2e-3 * max(1.0, strength))


@pytest.mark.parametrize("binary", [True, False])
def test_weights_are_those_of_scikit_learn(one_penalty, binary):
    from sklearn.linear_model import LogisticRegression, Ridge

    lists, labels = some_rows(2000)
    if not binary:
        labels = labels * 3 + np.arange(2000) % 5
    task = weighing(lists, labels, dense=2, binary=binary)
    found = weigh(task, 1)
    seen = (task.rows.dense - task.dense.centers) * task.dense.factors
    n = task.rows.n_features
    one_hot = np.zeros((2000, n))
    for row, codes in enumerate(np.split(task.rows.codes, task.rows.indptr[1:-1])):
        one_hot[row, codes] = 1.0
    X = np.hstack((one_hot, seen, np.ones((2000, 1))))
    if binary:
        model = LogisticRegression(C=found.strength, fit_intercept=False, tol=1e-8, max_iter=1000)
        # scikit-learn has no fixed offset, from which our intercept is penalized to deviate.
        said = X @ model.fit(X, labels).coef_[0]
    else:
        mean = labels.mean()
        said = mean + X @ Ridge(1 / found.strength, fit_intercept=False).fit(X, labels - mean).coef_
    ours = one_hot @ found.of_features + task.rows.dense @ found.of_dense + found.intercept
    assert np.sqrt(np.mean((ours - said) ** 2)) < 0.05 * np.std(said)


@pytest.fixture
def one_penalty(monkeypatch):
    monkeypatch.setattr(solver, "STRENGTHS", (0.1,))
    monkeypatch.setattr(solver, "MOST_STRENGTH", 0.1)


def test_the_order_of_rows_changes_nothing():
    """In the order of a file that is sorted by label, the steps would need some hundred epochs here."""
    lists, labels = some_rows(4000)
    by_label = np.argsort(labels, kind="stable")
    found = weigh(weighing(lists, labels), 1)
    again = weigh(weighing([lists[i] for i in by_label], labels[by_label]), 1)
    # Names are coded by count and then by hash, whatever the order of the rows.
    assert np.array_equal(found.of_features, again.of_features)
    assert (found.intercept, found.strength) == (again.intercept, again.strength)


def test_weights_out_of_a_fold_know_nothing_of_its_labels(one_penalty):
    lists, labels = some_rows(1000)
    fold = np.arange(1000, dtype=np.int32) % 5
    task = weighing(lists, labels, fold=fold)
    found = weigh(task, 5)
    other = np.where(fold == 2, 1.0 - labels, labels)
    changed = weigh(weighing(lists, other, fold=fold), 5)
    assert np.array_equal(found.by_fold[:, 2], changed.by_fold[:, 2])
    assert not np.array_equal(found.by_fold[:, 1], changed.by_fold[:, 1])


def test_the_number_of_threads_changes_nothing():
    lists, labels = some_rows(1000)
    task = weighing(lists, labels, fold=np.arange(1000) % 5, dense=1)
    one, two = (weigh(task, 5, threads) for threads in (1, 3))
    for name in ("of_features", "by_fold", "of_dense"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert (one.intercept, one.strength) == (two.intercept, two.strength)


def test_a_fold_has_the_penalty_of_its_share_of_the_rows(one_penalty, monkeypatch):
    """Five folds of the same rows: the weights of four are those of five."""
    monkeypatch.setattr(solver, "TOLERANCE", 0.002)
    lists, labels = some_rows(300)
    task = weighing(lists * 5, np.tile(labels, 5), fold=np.repeat(np.arange(5), 300))
    found = weigh(task, 5)
    for fold in range(5):
        np.testing.assert_allclose(found.by_fold[:, fold], found.of_features, atol=0.005)


def test_a_fold_that_has_all_positives_is_said_and_left_at_zero(caplog):
    lists, _ = some_rows(100)
    fold = np.arange(100, dtype=np.int32) % 5
    labels = ((fold == 3) & (np.arange(100) < 40)).astype(float)
    with caplog.at_level(logging.WARNING, "chromatic"):
        found = weigh(weighing(lists, labels, fold=fold), 5)
    assert "outside of fold 3 have labels of one kind" in caplog.text
    assert not found.by_fold[:, 3].any() and found.by_fold[:, 0].any()


def test_weights_that_do_not_settle_are_said_and_used(caplog, monkeypatch):
    monkeypatch.setattr(solver, "MOST_EPOCHS", 1)
    lists, labels = some_rows(200)
    with caplog.at_level(logging.WARNING, "chromatic"):
        found = weigh(weighing(lists, labels), 1)
    assert "not settled after 1 epochs" in caplog.text and found.of_features.any()


def test_a_constant_dense_column_has_no_weight():
    lists, labels = some_rows(100)
    task = weighing(lists, labels, dense=1)
    task.rows.dense[:] = 1e9 + 1e-3
    same = replace(task, dense=Dense.of(task.rows))
    assert weigh(same, 1).of_dense.tolist() == [0.0]


def test_a_penalty_is_chosen_on_rows_that_did_not_find_the_weights():
    """Labels at random want the strongest penalty, rules want a weak one."""
    lists, labels = some_rows(3000)
    coin = np.random.default_rng(3).permutation(labels)
    fold = np.arange(3000, dtype=np.int32) % 5
    assert solver.choose_strength(weighing(lists, coin, fold=fold))[0] <= 0.01
    assert solver.choose_strength(weighing(lists, labels, fold=fold))[0] >= 0.1


def items(n, certain=1.0):
    """Rows of one item each, about four rows an item, and labels that follow it."""
    random = np.random.default_rng(5)
    item = random.integers(0, n // 4, n)
    labels = np.where(random.random(n) < certain, item % 2, 1 - item % 2)
    return weighing([[f"i{i}"] for i in item], labels, fold=np.arange(n) % 5)


def test_a_weak_penalty_is_found_where_stronger_ones_hardly_differ():
    assert solver.choose_strength(items(2000))[0] >= 1.0


def test_all_rows_may_want_a_weaker_penalty_than_a_sample(monkeypatch):
    task = items(20_000, certain=0.8)
    monkeypatch.setattr(solver, "MOST_TO_CHOOSE", 2000)
    chosen, _ = solver.choose_strength(task)
    assert chosen < weigh(task, 5).strength
