"""What labels are: two kinds, several classes, or numbers; bins and weights that learn from numbers."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from chromatic import ChromaticEncoder, load
from chromatic.coloring import Request, color
from chromatic.data import Reader
from chromatic.encoding.codebook import columns_of, cut, means_by_fold, rated_moments, smoothed_means
from chromatic.encoding.smoothing import smoothing_of_means
from chromatic.encoding.statistics import Extent, LabelMoments
from chromatic.errors import InputError, InputWarning

N_FEATURES = 800


def made(n_rows, seed=0, noise=1.0):
    """Rows of some ten features, frequent and rare ones, and numbers that are sums of known effects."""
    random = np.random.default_rng(seed)
    effects = random.normal(size=N_FEATURES)
    rows = [np.unique((N_FEATURES * random.random(10) ** 2.5).astype(int)) for _ in range(n_rows)]
    y = np.array([effects[row].sum() for row in rows]) + noise * random.normal(size=n_rows)
    return [[f"f{v}" for v in row] for row in rows], 100 + y


def ridge_error(train, y, test, y_test):
    """The test error of ridge regression whose penalty a held-out part of the training rows chose."""
    cut = len(y) * 4 // 5

    def error(penalty, rows, labels, other, other_labels):
        model = Ridge(penalty, solver="lsqr", tol=1e-6).fit(rows, labels)
        return np.sqrt(np.mean((model.predict(other) - other_labels) ** 2))

    penalties = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100]
    held_out = [error(penalty, train[:cut], y[:cut], train[cut:], y[cut:]) for penalty in penalties]
    return error(penalties[int(np.argmin(held_out))], train, y, test, y_test)


def one_hot(rows):
    lengths = np.cumsum([0, *map(len, rows)])
    columns = [int(token[1:]) for row in rows for token in row]
    return sp.csr_array((np.ones(len(columns)), columns, lengths), shape=(len(rows), N_FEATURES))


@pytest.mark.parametrize("encoding", ["submodular", "target"])
def test_columns_of_numbers_predict_about_as_well_as_all_features(encoding):
    X, y = made(8000)
    train, test = slice(6000), slice(6000, None)
    all_features = ridge_error(one_hot(X[train]), y[train], one_hot(X[test]), y[test])
    encoder = ChromaticEncoder(budget=128, encoding=encoding)
    columns = encoder.fit_transform(X[train], y[train])
    assert columns.shape[1] <= 128
    ours = ridge_error(columns, y[train], encoder.transform(X[test]), y[test])
    assert ours < 1.02 * all_features, "within 2 % of ridge regression on one-hot features"
    assert all_features < 0.5 * y.std()


def test_bins_alone_tell_of_numbers_and_noise_makes_none():
    X, y = made(4000)
    encoder = ChromaticEncoder(budget=64, linear=0).fit(X, y)
    assert encoder.n_columns_ > 20
    known = ridge_error(encoder.fit_transform(X, y), y, encoder.transform(X), y)
    assert known < 0.9 * y.std()
    noise = np.random.default_rng(1).normal(size=len(y))
    with pytest.warns(InputWarning, match="none of 795 sparse features makes a column"):
        silent = ChromaticEncoder(budget=64, linear=0).fit(X, noise)
    assert silent.encoding_.n_sparse_columns == 0


def test_a_feature_s_mean_does_not_know_the_labels_of_its_own_fold():
    X = [[f"r{i}"] for i in range(400)]
    y = np.random.default_rng(0).normal(size=400)
    columns = ChromaticEncoder(budget=64, min_gain=0.0).fit_transform(X, y).toarray()
    assert np.ptp(columns, axis=0).max(initial=0.0) < 1e-12, "no feature was seen outside its own fold"


def test_models_of_numbers_are_saved_explained_and_encode_one_row(tmp_path):
    X, y = made(2000)
    encoder = ChromaticEncoder(budget=64).fit(X, y)
    encoder.save(tmp_path / "numbers.chroma")
    for other in (load(tmp_path / "numbers.chroma"), pickle.loads(pickle.dumps(encoder))):
        assert (encoder.transform(X) != other.transform(X)).nnz == 0
        for column in range(encoder.n_columns_):
            assert encoder.explain(column) == other.explain(column)
    assert "mean" in encoder.explain(0) and "mean" in encoder.locate("f3")
    wanted = encoder.transform(X[:5]).toarray()
    np.testing.assert_allclose([encoder.encode_one(row) for row in X[:5]], wanted)
    information = encoder.encoding_.information()
    assert 0 < information.chosen <= information.whole


def test_the_same_numbers_with_another_mean_and_scale_make_the_same_bins():
    X, y = made(3000)
    plain = ChromaticEncoder(budget=64, linear=0).fit_transform(X, y)
    other = ChromaticEncoder(budget=64, linear=0).fit_transform(X, 1000 * y - 5e6)
    assert (plain != other).nnz <= 0.001 * plain.nnz, "but for ties that rounding breaks"


def test_smoothing_of_means_finds_the_ratio_of_variances():
    random = np.random.default_rng(0)
    rows = random.integers(2, 60, 3000)
    labels = [random.normal(mean, 3.0, n) for mean, n in zip(random.normal(size=3000), rows, strict=True)]
    moments = np.array([[len(one), one.sum(), (one**2).sum()] for one in labels]).T
    assert smoothing_of_means(moments, 0.0, 10.0) == pytest.approx(9.0, rel=0.15)
    assert smoothing_of_means(np.zeros((3, 4)), 0.0, 10.0) == 1.0


def test_out_of_fold_columns_of_numbers_are_those_of_the_other_folds():
    X, y = made(300)
    data = Reader().read(X, dense_threshold=2)
    coloring = color(data.rows, Request(palette=8))
    fold = (np.arange(300) % 3).astype(np.int32)
    moments = LabelMoments.zeros(Extent(data.rows.n_features, 3, data.rows.n_features, coloring.n_colors))
    moments.add(data.rows, y, fold, coloring.colors)
    [book] = cut([rated_moments(coloring, moments, y.mean(), smoothing=4.0, spread=2.0)], budget=40)
    columns = columns_of(book, coloring.colors, book.rates)
    tables = means_by_fold(book, coloring.colors, moments, columns)
    for f in range(3):
        others = LabelMoments.zeros(
            Extent(data.rows.n_features, 1, data.rows.n_features, coloring.n_colors)
        )
        others.add(data.rows, y, np.where(fold == f, -1, 0).astype(np.int32), coloring.colors)
        rates = smoothed_means(others.totals(), y.mean(), 4.0 * (fold != f).mean())
        expected = columns_of(book, coloring.colors, rates)
        here = moments.of_features[0, :, f] > 0
        assert (tables.columns[here, f] == expected[here]).all()
        assert (tables.columns[~here, f] == columns[~here]).all()


@pytest.mark.parametrize(
    ("y", "target_type", "message"),
    [
        ([0, 1, 2], "auto", "y has whole numbers of more than two kinds, 0 to 2, in 3 rows; expected"),
        (
            [0.0, 1.0, 7.0],
            "auto",
            "expected target_type='classes' where they name classes, or",
        ),
        (
            [0, 1, 2],
            "binary",
            "target_type is 'binary' and y has labels of more than two kinds in 3 rows",
        ),
        (["a", "b", "b"], "numbers", "target_type is 'numbers' and y has texts, such as 'a'; expected num"),
        (["a", "a", "a"], "auto", "y is a in all 3 rows, there is only one class; expected two kinds"),
        ([1.5, 1.5, 1.5], "numbers", "y is 1.5 in all 3 rows"),
    ],
)
def test_labels_that_are_no_good_are_refused(y, target_type, message):
    with pytest.raises(InputError, match=message):
        ChromaticEncoder(target_type=target_type).fit([["a"], ["b"], ["a"]], y)


def test_two_kinds_are_numbers_where_one_says_so():
    X, y = made(2000)
    two = (y > y.mean()).astype(int)
    binary, classes, numbers = (
        ChromaticEncoder(64, target_type=kind).fit(X, two).encoding_
        for kind in ("binary", "classes", "numbers")
    )
    assert binary.name == classes.name == "submodular" and numbers.name == "means"
    assert binary.prior == pytest.approx(numbers.prior)
    assert ChromaticEncoder(64).fit(X, two.astype(object)).encoding_.prior == binary.prior
