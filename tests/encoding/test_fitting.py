from itertools import pairwise

import naive
import numpy as np
import pytest

from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, fit
from chromatic.parameters import Settings


@pytest.fixture(scope="module")
def data():
    """Rows with three fields and some tags; the label depends on the values of two fields."""
    random = np.random.default_rng(0)
    a, b, c = random.integers(0, [40, 300, 5000], (4000, 3)).T
    score = random.normal(size=40)[a] + random.normal(size=300)[b]
    labels = random.random(4000) < 1 / (1 + np.exp(-score))
    rows = [
        [f"a{i}", f"b{j}", f"c{k}", *(f"t{t}" for t in random.integers(0, 30, 2))]
        for i, j, k in zip(a, b, c, strict=True)
    ]
    return Reader().read(rows), labels


def same(one, two):
    return (one.to_csr() != two.to_csr()).nnz == 0


@pytest.mark.parametrize("null", ["drop", "emit"])
@pytest.mark.parametrize("quantizer", ["optimal", "greedy", "sort"])
@pytest.mark.parametrize("budget", [8, 40, 1000])
def test_the_budget_is_a_ceiling(data, null, quantizer, budget):
    train, labels = data
    fitted = fit(LocalSource(train, labels), Settings(budget, null=null, quantizer=quantizer, min_gain=0.0))
    assert fitted.training.n_columns <= budget
    assert fitted.training.to_csr().shape == (4000, fitted.training.n_columns)
    n_linear = fitted.encoding.n_sparse_columns - fitted.encoding.n_own_columns
    assert n_linear == min(16, budget // 4)
    rows = np.repeat(np.arange(4000), np.diff(fitted.training.indptr))
    own = np.bincount(rows[fitted.training.columns < fitted.encoding.n_own_columns], minlength=4000)
    assert (own <= fitted.encoding.coloring.n_colors + (5 if null == "emit" else 0)).all()


def test_bins_do_not_depend_on_the_folds_and_weights_hardly(data):
    """Folds choose the penalty, and how long one goes over the rows."""
    train, labels = data
    two, nine = (fit(LocalSource(train, labels), Settings(64, folds=folds)) for folds in (2, 9))
    columns, others = (one.encoding.encode(train.rows) for one in (two, nine))
    assert columns.columns.tolist() == others.columns.tolist()
    linear = columns.columns >= two.encoding.n_own_columns
    assert (columns.values == others.values)[~linear].all()
    assert linear.any() and np.abs(columns.values - others.values).max() < 0.1
    assert not same(two.training, nine.training)


def test_without_leakage_control_training_rows_are_encoded_as_others(data):
    train, labels = data
    fitted = fit(LocalSource(train, labels), Settings(64, leakage="none"))
    assert same(fitted.training, fitted.encoding.encode(train.rows))
    assert len(fitted.training_rows) == 4000


def test_a_split_leaves_the_other_rows_to_train_on(data):
    train, labels = data
    for rate in (1, 2):
        fitted = fit(LocalSource(train, labels), Settings(64, leakage="split", split_rate=rate))
        assert len(fitted.training_rows) == pytest.approx(4000 * (1 - 2**-rate), rel=0.05)
        assert fitted.training.to_csr().shape[0] == 4000


def test_a_source_serves_one_fit(data):
    source = LocalSource(*data)
    fit(source, Settings(64, collisions="drop"))
    with pytest.raises(RuntimeError, match="the source has served a fit"):
        fit(source, Settings(32))


def test_rare_pairs_may_share_a_color(data):
    train, labels = data
    one, two = (
        fit(LocalSource(train, labels), Settings(64, max_colors="proper", min_edge_count=k)) for k in (1, 9)
    )
    assert two.encoding.coloring.n_colors < one.encoding.coloring.n_colors
    assert two.training.n_columns <= 64


@pytest.mark.parametrize("encoding", ["submodular", "frequency", "target"])
def test_uniform_colorings_encode_and_choose_as_many_colors_as_they_need(data, encoding):
    train, labels = data
    settings = Settings(200, encoding, coloring="uniform", min_edge_count=3)
    one, two = (fit(LocalSource(train, labels, threads=threads), settings) for threads in (1, 2))
    np.testing.assert_array_equal(one.encoding.coloring.colors, two.encoding.coloring.colors)
    assert one.encoding.coloring.strategy == "uniform" and one.training.to_csr().shape[0] == 4000


def test_a_palette_too_small_for_a_uniform_coloring_is_refused_with_what_would_do(data):
    train, labels = data
    with pytest.raises(InputError, match=r"max_colors is 64; expected [0-9]+ or more to color pairs"):
        fit(LocalSource(train, labels), Settings(coloring="uniform", max_colors=64))
    with pytest.raises(InputError, match="the budget leaves 45 columns and the coloring"):
        fit(LocalSource(train, labels), Settings(60, "target", coloring="uniform"))
    with pytest.raises(InputError, match="min_edge_count is 0; expected a whole number from 1"):
        Settings(min_edge_count=0)
    with pytest.raises(InputError, match="where coloring is 'fields'"):
        Settings(coloring="fields", min_edge_count=2)


@pytest.mark.parametrize("options", [{"null": "emit"}, {"encoding": "target"}], ids=str)
def test_more_colors_than_the_budget_has_columns_for_are_refused(data, options):
    rows, y = data
    assert fit(LocalSource(rows, y), Settings(budget=3, **options)).encoding.coloring.n_colors <= 3
    for quantizer in ("optimal", "greedy"):
        with pytest.raises(InputError, match="the budget leaves 2 columns and the coloring has 5 colors"):
            fit(LocalSource(rows, y), Settings(budget=3, max_colors=5, quantizer=quantizer, **options))


def test_the_paper_s_setting_emits_a_column_of_every_color(data):
    train, labels = data
    fitted = fit(LocalSource(train, labels), Settings.paper(100))
    n_colors = fitted.encoding.coloring.n_colors
    assert fitted.encoding.coloring.strategy == "first-fit" and n_colors <= 50
    assert (np.diff(fitted.training.indptr) == n_colors).all()
    assert fitted.training.n_columns <= 100
    assert (np.diff(fitted.training.columns.reshape(4000, n_colors), axis=1) > 0).all()


def test_out_of_fold_columns_tell_less_of_the_label_than_leaking_ones():
    """The labels of a feature seen once are known in sample, and not out of fold."""
    rare = Reader().read([[f"r{i}"] for i in range(2000)])
    coin = np.random.default_rng(1).random(2000) < 0.5
    settings = {"smoothing": 0.01, "min_gain": 0.0}
    leaking = (
        fit(LocalSource(rare, coin), Settings(8, leakage="none", **settings)).training.to_csr().toarray()
    )
    honest = fit(LocalSource(rare, coin), Settings(8, **settings)).training.to_csr().toarray()
    assert abs(np.corrcoef(leaking[:, 0], coin)[0, 1]) > 0.99
    assert honest.std(axis=0).max() == 0, "no feature was seen outside its own fold"


def test_threads_and_seeds(data):
    train, labels = data
    assert same(
        fit(LocalSource(train, labels, threads=1), Settings(64)).training,
        fit(LocalSource(train, labels, threads=3), Settings(64)).training,
    )
    assert not same(
        fit(LocalSource(train, labels), Settings(64)).training,
        fit(LocalSource(train, labels), Settings(64, seed=1)).training,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget is 0; expected a whole number from 1"),
        ({"leakage": "some"}, "leakage is 'some'; expected crossfit, split or none"),
        ({"quantizer": "best"}, "quantizer is 'best'"),
        ({"null": "keep"}, "null is 'keep'"),
        ({"folds": 1}, "folds is 1"),
        ({"leakage": "split", "split_rate": 0}, "split_rate is 0"),
        ({"smoothing": -1}, "smoothing is -1"),
        ({"smoothing": "much"}, "smoothing is 'much'"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Settings(**options)


def test_data_that_cannot_be_fitted_is_refused(data):
    train, labels = data
    with pytest.raises(InputError, match="y is 1 in all 4,000 rows, there is only one class"):
        fit(LocalSource(train, np.ones_like(labels)), Settings())
    with pytest.raises(InputError, match="coloring is 'fields'"):
        fit(LocalSource(train, labels), Settings(coloring="fields"))


@pytest.mark.parametrize("seed", range(8))
def test_the_paper_s_formulas_give_the_columns_of_the_paper_s_setting(seed):
    random = np.random.default_rng(seed)
    fields = random.integers(0, [12, 15, 40, 500], (700, 4))
    weights = 1.5 * random.normal(size=(4, 500))
    score = weights[np.arange(4), fields].sum(axis=1)
    labels = (random.random(700) < 1 / (1 + np.exp(-score))).astype(int)
    names = [[f"{f}={v}" for f, v in enumerate(row) if v % 5] for row in fields]
    data = Reader().read(names, dense_threshold=2)
    rows, budget = data.rows, 24
    fitted = fit(LocalSource(data, labels.astype(float)), Settings.paper(budget))
    coded = [set(rows.codes[i:j].tolist()) for i, j in pairwise(rows.indptr.tolist())]
    hashes = naive.row_hashes(coded, data.vocabulary.keys.tolist(), 0)
    estimating = [h >> 63 == 0 for h in hashes]
    assert fitted.training_rows.tolist() == [i for i in range(700) if not estimating[i]]
    columns, _ = naive.paper_columns(coded, rows.n_features, labels.tolist(), estimating, budget)
    n_colors = fitted.encoding.coloring.n_colors
    assert fitted.training.columns.reshape(700, n_colors).tolist() == columns
    assert fitted.training.n_columns <= budget
