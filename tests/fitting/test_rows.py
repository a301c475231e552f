"""Weights of rows, groups of rows, and folds of consecutive rows."""

from dataclasses import replace

import naive
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from chromatic import ChromaticEncoder
from chromatic.data import Reader
from chromatic.data.hashing import mix_integers
from chromatic.encoding.smoothing import smoothing_of
from chromatic.encoding.statistics import Extent, LabelMoments
from chromatic.errors import InputError
from chromatic.fitting import weights as solver
from chromatic.fitting.folds import consecutive_folds, folds_of_groups, row_sums
from chromatic.fitting.labels import checked_weights
from chromatic.fitting.weighing import Dense, Weighing
from chromatic.fitting.weights import weigh
from chromatic.parameters import Settings

ENCODINGS = ["submodular", "target"]


def clicks(n, seed=0):
    """Rows of three fields, and labels that follow the first two."""
    random = np.random.default_rng(seed)
    fields = random.integers(0, 25, (n, 3))
    odds = (fields[:, 0] % 4 - 1.5) + 0.8 * (fields[:, 1] % 3 - 1)
    y = (random.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    return [[f"{j}={value}" for j, value in enumerate(row)] for row in fields], y


X, Y = clicks(2000)
SOME = np.random.default_rng(1).integers(0, 4, len(X))


@pytest.mark.kernels
@given(st.lists(st.lists(st.integers(0, 12), max_size=5), min_size=1, max_size=12), st.data())
def test_whole_weights_are_repeated_rows_in_every_statistic(lists, data):
    n = len(lists)
    y = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, -2.5]), min_size=n, max_size=n)))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    fold = np.arange(n, dtype=np.int32) % 3 - 1
    rows = Reader().read(lists, dense_threshold=2).rows
    colors = np.arange(rows.n_features, dtype=np.int32) % 2
    weighted, repeated = (LabelMoments.zeros(Extent(rows.n_features, 2, rows.n_features, 2)) for _ in "ab")
    weighted.add(rows, y, fold, colors, times.astype(float))
    for _, piece in rows.pieces():
        for time in range(3):
            repeated.add(piece, y, np.where(times > time, fold, -1).astype(np.int32), colors)
    np.testing.assert_allclose(weighted.cells(), repeated.cells(), atol=1e-12)
    sets = [set(codes.tolist()) for codes in np.split(rows.codes, rows.indptr[1:-1])]
    often = [i for i in range(n) for _ in range(times[i])]
    counts, _ = naive.label_counts(
        [sets[i] for i in often], y[often] == 1, fold[often], colors.tolist(), n_colors=2, n_folds=2
    )
    np.testing.assert_allclose(weighted.cells()[0], counts)


def weighing(importance, labels):
    """The task of finding weights for the rows above."""
    rows = Reader().read(X, dense_threshold=2).rows
    rows = replace(rows, dense=(labels[:, None] + np.arange(len(labels))[:, None] % 7).astype(float))
    sums = row_sums(rows, mix_integers(np.arange(rows.n_features, dtype=np.uint32)))
    fold, dense = np.zeros(len(labels), np.int32), Dense.of(rows, importance)
    options = {"n_several": rows.n_features, "binary": set(labels) == {0, 1}, "seed": 5}
    task = Weighing(rows, dense, labels.astype(float), fold, sums, **options)
    return replace(task, importance=importance)


@pytest.mark.parametrize("labels", [Y, Y + np.arange(len(Y)) % 5 / 3])
def test_weights_of_features_with_weighted_rows_are_those_of_scikit_learn(labels, monkeypatch):
    monkeypatch.setattr(solver, "STRENGTHS", (0.3,))
    for most in ("MOST_EPOCHS", "MOST_EPOCHS_OF_NUMBERS"):
        monkeypatch.setattr(solver, most, 2000)
    monkeypatch.setattr(solver, "TOLERANCE", 1e-7)
    monkeypatch.setattr(solver, "TOLERANCE_OF_NUMBERS", 1e-7)
    weights = SOME.astype(float)
    task = weighing(weights, labels)
    found = weigh(task, 1)
    matrix = np.zeros((len(X), task.rows.n_features + 2))
    matrix[:, -2] = (task.rows.dense[:, 0] - task.dense.centers[0]) * task.dense.factors[0]
    matrix[:, -1] = 1.0  # the intercept is penalized too, around what the mean says
    matrix[np.repeat(np.arange(len(X)), np.diff(task.rows.indptr)), task.rows.codes] = 1
    mean = np.average(labels, weights=weights)
    said = matrix[:, :-2] @ found.of_features + task.rows.dense @ found.of_dense + found.intercept
    if task.binary:
        offset = np.log(mean / (1 - mean))
        coefficients = said - offset  # scikit-learn knows no offset: the optimum's gradient is 0 instead
        slope = matrix.T @ (weights * (1 / (1 + np.exp(-offset - coefficients)) - labels)) * 0.3
        solution = np.append(found.of_features, [found.of_dense[0] / task.dense.factors[0]])
        np.testing.assert_allclose(solution, -slope[:-1], atol=2e-4)
    else:
        ridge = Ridge(1 / 0.3, fit_intercept=False).fit(matrix, labels - mean, sample_weight=weights)
        np.testing.assert_allclose(said, mean + ridge.predict(matrix), atol=2e-4)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("target_type", ["binary", "numbers"])
def test_weights_that_are_all_alike_change_nothing_but_the_last_digit(encoding, target_type):
    options = {"budget": 32, "encoding": encoding, "target_type": target_type}
    plain = ChromaticEncoder(**options).fit_transform(X, Y).toarray()
    for weight in (1.0, 7.5):
        weighted = ChromaticEncoder(**options).fit_transform(X, Y, sample_weight=np.full(len(X), weight))
        np.testing.assert_allclose(weighted.toarray(), plain, atol=1e-6)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_rows_of_weight_0_are_as_if_their_labels_were_unknown(encoding):
    """A row that does not count has no say in any column, whatever its label."""
    weights = np.where(np.arange(len(X)) % 2, 2.0, 0.0)
    other = np.where(weights > 0, Y, 1 - Y)
    options = {"budget": 32, "encoding": encoding}
    one, two = (ChromaticEncoder(**options).fit_transform(X, y, sample_weight=weights) for y in (Y, other))
    assert (one != two).nnz == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_weights_undo_what_was_left_out(encoding):
    """Three of four negatives are left out and the others count four times: rates come out about right."""
    X, y = clicks(20000)
    kept = np.flatnonzero((y == 1) | (np.arange(len(y)) % 4 == 0))
    weights = np.where(y[kept] == 1, 1.0, 4.0)
    options = {"budget": 16, "encoding": encoding, "linear": 0}
    whole = ChromaticEncoder(**options).fit(X, y).encoding_
    weighted, plain = (
        ChromaticEncoder(**options).fit([X[i] for i in kept], y[kept], sample_weight=w).encoding_
        for w in (weights, None)
    )
    assert abs(weighted.prior - whole.prior) < 0.01 < 0.1 < abs(plain.prior - whole.prior)
    if encoding == "submodular":
        rates = [
            dict(zip(one.vocabulary.names.tolist(), one.measure, strict=True)) for one in (weighted, whole)
        ]
        off = [abs(rates[0][name] - rates[1][name]) for name in rates[1]]
        assert np.mean(off) < 0.04


def test_several_classes_have_weights_too():
    classes = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    weights = np.where(classes == "a", 4.0, 1.0)
    encoding = ChromaticEncoder(64).fit(X, classes, sample_weight=weights).encoding_
    shares = [part.prior for part in encoding.parts]
    np.testing.assert_allclose(shares, [4 / 6, 1 / 6, 1 / 6], atol=2e-3)


def test_smoothing_of_fractions_agrees_with_that_of_counts():
    random = np.random.default_rng(0)
    counts = random.integers(1, 40, 500)
    positives = random.binomial(counts, random.beta(2, 6, 500))
    whole = smoothing_of(positives, counts, 0.25)
    assert smoothing_of(positives.astype(float), counts.astype(float), 0.25) == pytest.approx(
        whole, rel=1e-6
    )


def test_weights_and_groups_go_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        encoder = ChromaticEncoder(32).set_fit_request(sample_weight=True, groups=True)
        model = make_pipeline(encoder, LogisticRegression().set_fit_request(sample_weight=True))
        weights, groups = np.where(Y, 3.0, 1.0), np.arange(len(X)) % 40
        model.fit(X, Y, sample_weight=weights, groups=groups)
    alone = ChromaticEncoder(32).fit(X, Y, sample_weight=weights, groups=groups)
    assert (
        model[0].encoding_.prior == alone.encoding_.prior == pytest.approx(np.average(Y, weights=weights))
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(7), r"2,000 rows and weights of shape \(7,\); expected one weight a row"),
        (np.full(len(X), np.nan), "the weight is NaN or infinite in 2,000 of 2,000 rows; expected numbers"),
        (-SOME, "the weight is negative in 1,5.* of 2,000 rows; expected numbers from 0"),
        (np.zeros(len(X)), "the weights of all 2,000 rows are zero; expected some above 0"),
        (["heavy"] * len(X), "expected numbers from 0"),
    ],
)
def test_weights_that_are_no_good_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        ChromaticEncoder(32).fit(X, Y, sample_weight=weights)


def test_only_the_ratios_of_weights_count():
    assert checked_weights([0, 2, 6], 3).tolist() == [0, 2, 6]


@pytest.mark.parametrize("leakage", ["crossfit", "split"])
@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(0, 3))
def test_rows_of_a_group_share_a_fold_and_no_fold_is_empty(leakage, groups, seed):
    settings = Settings(leakage=leakage, folds=4, seed=seed)
    n_groups, least = len(set(groups)), 4 if leakage == "crossfit" else 2
    if n_groups < least:
        with pytest.raises(InputError, match=f"{n_groups} groups cannot be held apart in {least} folds"):
            folds_of_groups(groups, len(groups), settings)
        return
    fold = folds_of_groups(groups, len(groups), settings)
    assert all(len({f for f, g in zip(fold, groups, strict=True) if g == one}) == 1 for one in groups)
    assert len(set(fold.tolist())) == least
    texts = folds_of_groups([str(one) for one in groups], len(groups), settings)
    assert texts.tolist() == fold.tolist(), "a group is told by what it is called"


def test_no_row_is_encoded_by_the_labels_of_its_group():
    """Each group has its own feature, and a label of its own: only rows of the group could tell it."""
    random = np.random.default_rng(0)
    groups = np.arange(1000) % 100
    y = (random.random(100) < 0.5)[groups]
    rows = [[f"g{group}"] for group in groups]
    options = {"budget": 16, "smoothing": 1.0}
    apart = ChromaticEncoder(**options).fit_transform(rows, y, groups=groups).toarray()
    mixed = ChromaticEncoder(**options).fit_transform(rows, y).toarray()
    assert np.ptp(apart, axis=0).max(initial=0.0) < 1e-6
    assert max(abs(np.corrcoef(column, y)[0, 1]) for column in mixed.T if np.ptp(column)) > 0.9


def test_groups_that_are_no_good_are_refused():
    with pytest.raises(InputError, match="2,000 rows and groups of shape"):
        ChromaticEncoder(32).fit(X, Y, groups=[1, 2])
    with pytest.raises(InputError, match="3 groups cannot be held apart in 5 folds; expected as many"):
        ChromaticEncoder(32).fit(X, Y, groups=np.arange(len(X)) % 3)
    with pytest.raises(InputError, match="folds is 'consecutive' and rows have groups; expected one"):
        ChromaticEncoder(32, folds="consecutive").fit(X, Y, groups=np.arange(len(X)))
    with pytest.raises(InputError, match="groups are NaN or infinite; expected a group for every row"):
        ChromaticEncoder(32).fit(X, Y, groups=np.full(len(X), np.nan))


def test_consecutive_folds_hold_neighbors_together():
    """The label follows the time of day of the row's feature: only neighbors know it."""
    fold = consecutive_folds(12)
    assert fold.tolist() == sorted(fold) and set(np.bincount(fold)) <= {2, 3}
    rows = [[f"day{i // 20}"] for i in range(2000)]
    y = (np.random.default_rng(0).random(100) < 0.5)[np.arange(2000) // 20]
    options = {"budget": 16, "smoothing": 1.0}
    apart = ChromaticEncoder(**options, folds="consecutive").fit_transform(rows, y).toarray()
    mixed = ChromaticEncoder(**options).fit_transform(rows, y).toarray()
    assert np.ptp(apart, axis=0).max(initial=0.0) < 1e-6, "the rows of a day share a fold"
    assert max(abs(np.corrcoef(column, y)[0, 1]) for column in mixed.T if np.ptp(column)) > 0.9


def test_weights_and_groups_are_the_same_within_a_limit_of_memory(tmp_path, within_memory):
    path = tmp_path / "rows.tokens"
    path.write_text("".join(f"{y} {' '.join(row)}\n" for y, row in zip(Y, X, strict=True)))
    told = {"sample_weight": SOME + 0.5, "groups": np.arange(len(X)) % 50}
    wanted = ChromaticEncoder(32).fit_transform(X, Y, **told)
    for options in ({}, within_memory):
        assert (wanted != ChromaticEncoder(32, **options).fit_transform(path, **told)).nnz == 0
