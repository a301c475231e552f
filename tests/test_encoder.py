import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from clicks import matrix_of
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder, load
from chromatic.errors import InputError

ENCODERS = [
    ChromaticEncoder(),
    ChromaticEncoder(dense_threshold=2),
    ChromaticEncoder(dense_threshold=2, min_gain=0.0, smoothing=0.1),
    ChromaticEncoder(leakage="none", dense_threshold=2),
    ChromaticEncoder(encoding="target", dense_threshold=2, leakage="none"),
    ChromaticEncoder(target_type="numbers", dense_threshold=2, leakage="none"),
    ChromaticEncoder(target_type="classes", dense_threshold=2, leakage="none"),
    ChromaticEncoder(encoding="frequency", dense_threshold=2),
    ChromaticEncoder(encoding="identity", dense_threshold=2),
    FrequencyEncoder(),
    FrequencyEncoder(dense_threshold=2),
    HashingEncoder(),
]


REPEATED = "weights do not change which features are frequent, and so their colors; repeated rows do"


def failing_by_nature(encoder):
    """The checks that an encoder cannot pass, with the reason."""
    if not isinstance(encoder, ChromaticEncoder) or encoder.dense_threshold < 2:
        return {}
    if encoder.encoding in ("frequency", "identity"):
        return {}
    return {f"check_sample_weight_equivalence_on_{kind}_data": REPEATED for kind in ("dense", "sparse")}


@parametrize_with_checks(ENCODERS, expected_failed_checks=failing_by_nature)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_all_of_scikit_learn_s_checks_were_run():
    [mark] = [m for m in test_scikit_learn_s_checks_pass.pytestmark if m.name == "parametrize"]
    assert len(list(mark.args[1])) > 30 * len(ENCODERS)


def test_a_pipeline_is_searched_over_budgets(clicks):
    X, y = clicks
    model = make_pipeline(ChromaticEncoder(), LogisticRegression())
    search = GridSearchCV(model, {"chromaticencoder__budget": [8, 64]}, cv=3, scoring="roc_auc")
    search.fit(X, y)
    assert search.best_score_ > 0.75
    assert search.best_estimator_[0].n_columns_ <= search.best_params_["chromaticencoder__budget"]


@pytest.mark.parametrize("coding", [(0, 1), (-1, 1), (False, True), ("no", "yes"), (1.0, 2.0)])
def test_labels_may_be_any_two_things(clicks, coding):
    X, y = clicks
    plain = ChromaticEncoder(budget=32).fit_transform(X, y)
    other = ChromaticEncoder(budget=32).fit_transform(X, np.array(coding)[y])
    assert (plain != other).nnz == 0


def test_every_layout_of_a_matrix_gives_the_same(clicks):
    X, y = clicks
    matrix = matrix_of(X)
    wanted = ChromaticEncoder(64).fit(matrix, y).transform(matrix)
    shuffled = matrix.copy()
    shuffled.indices[:4] = shuffled.indices[:4][::-1]
    shuffled.has_sorted_indices = False
    layouts = [matrix.tocsc(), sp.csr_matrix(matrix), sp.csc_matrix(matrix), shuffled]
    layouts += [[row.nonzero()[0].tolist() for row in matrix.toarray()]]
    for layout in layouts:
        got = ChromaticEncoder(64).fit(layout, y).transform(layout)
        assert (wanted != got).nnz == 0


def test_tokens_sets_series_frames_and_files_give_the_same(clicks, tmp_path):
    X, y = clicks
    wanted = ChromaticEncoder(64).fit_transform(X, y)
    file = tmp_path / "clicks.tokens"
    file.write_text("".join(f"{label} {' '.join(row)}\n" for label, row in zip(y, X, strict=True)))
    objects = np.empty(len(X), object)
    objects[:] = X
    fields = pd.DataFrame([[token.split("=")[1] for token in row] for row in X], columns=list("abcd"))
    for other in (
        [dict.fromkeys(row, 1) for row in X],
        list(map(frozenset, X)),
        objects,
        pd.Series(X),
        pl.Series(X),
        pl.DataFrame({"tokens": X}),
        fields,
    ):
        encoder = ChromaticEncoder(64, coloring="balanced")  # by default, fields are the colors of a table
        assert (wanted != encoder.fit_transform(other, y)).nnz == 0
    assert (wanted != ChromaticEncoder(64).fit_transform(file)).nnz == 0, "labels are the file's"
    assert (wanted != encoder.fit_transform(fields.assign(label=y))).nnz == 0


def test_nothing_is_ever_made_dense(clicks, monkeypatch):
    X, y = clicks
    matrix = matrix_of(X)

    def refuse(*args, **kwargs):
        raise AssertionError("a sparse matrix was made dense")

    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, refuse)
    for encoder in (
        *(ChromaticEncoder(64, encoding=e) for e in ("submodular", "target", "frequency", "identity")),
        ChromaticEncoder.paper(64, leakage="none"),
        FrequencyEncoder(64),
        HashingEncoder(64),
    ):
        for data in (X, matrix):
            assert sp.issparse(clone(encoder).fit_transform(data, y))
            assert sp.issparse(encoder.fit(data, y).transform(data))


def test_columns_of_bins_are_sparse_in_frames_where_pandas_is_asked_for(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(32).set_output(transform="pandas")
    frame = encoder.fit_transform(X, y)
    assert list(frame.columns) == list(encoder.get_feature_names_out())
    n_own = encoder.encoding_.n_own_columns
    assert all(isinstance(kind, pd.SparseDtype) for kind in frame.dtypes[:n_own])
    assert n_own < encoder.n_columns_ and set(frame.dtypes[n_own:]) == {np.dtype(np.float64)}, "linear ones"
    assert (ChromaticEncoder(32).fit_transform(X, y).toarray() == frame.to_numpy()).all()
    with pytest.raises(InputError, match=r"polars has no sparse columns.*; expected sparse_output=False"):
        encoder.set_output(transform="polars").transform(X)


def test_the_names_of_columns_tell_their_features_and_what_they_hold():
    X = [["red", f"item{i % 50}"] for i in range(500)]
    encoder = ChromaticEncoder(8).fit(X, [i % 50 < 20 for i in range(500)])
    assert encoder.get_feature_names_out().tolist() == [
        "item26|item45|+28(rate=0.0040)",
        "item2|item16|+48(linear)",
        "red",
    ]
    assert FrequencyEncoder(3).fit(X).get_feature_names_out().tolist()[2] == "red"
    table = pd.DataFrame({"price": np.arange(500.0), "shop": [f"s{i % 40}" for i in range(500)]})
    encoder = ChromaticEncoder(8, encoding="target").fit(table, np.arange(500.0) % 7 + 0.5)
    assert encoder.get_feature_names_out().tolist() == ["shop(target)", "shop(linear)", "price"]


@pytest.mark.parametrize("encoding", ["submodular", "target", "frequency", "identity"])
def test_pickles_copies_and_files_encode_alike(clicks, tmp_path, encoding):
    X, y = clicks
    encoder = ChromaticEncoder(64, encoding=encoding, min_count=2).fit(X, y)
    encoder.encode_one(X[0])
    encoder.save(tmp_path / "m.chroma")
    wanted = encoder.transform(X)
    for other in (pickle.loads(pickle.dumps(encoder)), load(tmp_path / "m.chroma")):
        assert (other.transform(X) != wanted).nnz == 0
        assert other.get_params() == encoder.get_params()
        assert not hasattr(clone(other), "encoding_")
    script = """
import sys, numpy as np, chromatic
encoder = chromatic.load(sys.argv[1])
encoder.save(sys.argv[2])
"""
    again = tmp_path / "again.chroma"
    subprocess.run([sys.executable, "-c", script, tmp_path / "m.chroma", again], check=True)
    assert again.read_bytes() == (tmp_path / "m.chroma").read_bytes()


def test_a_loaded_encoder_still_knows_the_width_of_its_matrix(clicks, tmp_path):
    X, y = clicks
    matrix = matrix_of(X)
    ChromaticEncoder(64).fit(matrix, y).save(tmp_path / "m.chroma")
    with pytest.raises(ValueError, match="X has 9 features, but ChromaticEncoder is expecting"):
        load(tmp_path / "m.chroma").transform(sp.csr_array((2, 9)))


def test_explain_locate_and_collisions_agree_with_transform(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(64).fit(X, y)
    Z = encoder.transform(X)
    found = encoder.explain(3)
    names = [name for name, _, _ in found["features"]]
    for name, count, rate in found["features"][:5]:
        told = encoder.locate(name)
        assert (told["column"], told["color"]) == (3, found["color"])
        assert (told["count"], told["rate"]) == (count, rate)
    rows = [i for i, row in enumerate(X) if set(row) & set(names)]
    assert Z[:, [3]].nonzero()[0].tolist() == rows
    assert found["rows"] == len(rows)
    assert encoder.count_collisions(X)["mean"] == 0.0
    crowd = encoder.count_collisions([[token for row in X[:300] for token in row]])
    assert crowd["mean"] > 100 and crowd["share_of_rows"] == 1.0 and crowd["worst_colors"]
    with pytest.raises(InputError, match="the feature 'nobody' is not among"):
        encoder.locate("nobody")


@pytest.mark.parametrize("dense_threshold", [0.03, 0.5])
def test_linear_columns_hold_the_sums_of_the_weights_that_locate_tells(clicks, dense_threshold):
    X, y = clicks
    encoder = ChromaticEncoder(64, dense_threshold=dense_threshold).fit(X, y)
    encoding = encoder.encoding_
    n_own, n_sparse = encoding.n_own_columns, encoding.n_sparse_columns
    dense = encoding.vocabulary.dense_names
    assert 1 < n_sparse - n_own == encoding.linear.n_columns
    assert bool(dense) == (dense_threshold == 0.03)
    tokens = {token for row in X for token in row}
    told = {token: encoder.locate(token) for token in tokens}
    by_hand = np.zeros((len(X), n_sparse - n_own))
    for i, row in enumerate(X):
        for token in set(row):
            if told[token]["linear"] is not None:
                by_hand[i, told[token]["linear"] - n_own] += told[token]["weight"]
    assert encoder.transform(X)[:, n_own:n_sparse].toarray() == pytest.approx(by_hand, abs=1e-6)
    for code, weight in enumerate(encoding.linear.weights.tolist()):
        assert told[encoding.vocabulary.name(code).decode()]["weight"] == weight
    for name, weight in zip(dense, encoding.linear.of_dense.tolist(), strict=True):
        assert (told[name.decode()]["linear"], told[name.decode()]["weight"]) == (None, weight)


def test_explain_lists_the_strongest_features_of_a_linear_column(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(64).fit(X, y)
    encoding, tokens = encoder.encoding_, {token for row in X for token in row}
    located = [encoder.locate(token) for token in sorted(tokens)]
    for column in range(encoding.n_own_columns, encoding.n_sparse_columns):
        own = [one for one in located if one["linear"] == column]
        found = encoder.explain(column)
        assert (found["column"], found["color"], found["weight"]) == (column, None, None)
        assert found["rows"] == sum(one["count"] for one in own)
        weights = [weight for _, _, weight in found["features"]]
        assert weights == sorted(weights, reverse=True) and 0.0 not in weights
        every = sorted((one["weight"] for one in own if one["weight"]), reverse=True)
        positive = [weight for weight in every if weight > 0]
        assert weights == [*positive[:50], *[weight for weight in every if weight < 0][-50:]]
        listed = {one["feature"]: [one["feature"], one["count"], one["weight"]] for one in own}
        assert all(listed[feature[0]] == feature for feature in found["features"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"linear": 0},
        {"null": "emit"},
        {"collisions": "drop"},
        {"collisions": "drop", "null": "emit"},
        {"encoding": "target"},
        {"encoding": "target", "collisions": "drop"},
        {"encoding": "frequency"},
        {"encoding": "identity"},
        {"max_colors": 2},
        {"dense_threshold": 0.03},
    ],
    ids=str,
)
def test_one_row_is_encoded_as_many_are(clicks, options):
    X, y = clicks
    random = np.random.default_rng(1)
    tokens = sorted({token for row in X for token in row})
    rows = [[*random.choice(tokens, n), "new", "new"] for n in (0, 1, 4, 40, 200, 700)] + X[:20] + [[]]
    for features, data in ((tokens, X), (range(len(tokens)), None)):
        number = {token: i for i, token in enumerate(tokens)}
        given = rows if data is not None else [[number.get(t, 99999) for t in row] for row in rows]
        train = data or [[number[t] for t in row] for row in X]
        encoder = ChromaticEncoder(64, **options).fit(train, y)
        for row, wanted in zip(given, encoder.transform(given), strict=True):
            got = encoder.encode_one(row)
            if options.get("encoding") or options.get("collisions") != "drop":
                assert np.array_equal(got, wanted.toarray().ravel())
            else:
                assert np.array_equal(got, sp.csr_array(wanted.reshape(1, -1)).indices)
            assert len(features) > 0


def test_one_row_of_bytes_or_odd_text():
    X = [["a\udc80"[:1], "é", "b\n"], ["é"], ["c"]] * 40
    encoder = ChromaticEncoder(8, dense_threshold=2, min_gain=0.0).fit(X, [1, 0, 1] * 40)
    wanted = encoder.encode_one(["c"])
    assert encoder.encode_one([b"c"]).tolist() == wanted.tolist()
    assert encoder.encode_one([b"\xff", "c"]).tolist() == wanted.tolist()
    assert encoder.encode_one({"c"}).tolist() == wanted.tolist()
    for bad in ("c", {"c": None}, [1, 2]):
        with pytest.raises(InputError, match="expected"):
            encoder.encode_one(bad)


@pytest.mark.parametrize("quantizer", ["optimal", "greedy", "sort"])
@pytest.mark.parametrize("encoding", ["submodular", "target", "frequency", "identity"])
def test_rows_without_sparse_features_have_their_dense_columns(encoding, quantizer):
    for X, width in ([["a"] if i % 3 else ["a", "b"] for i in range(30)], 2), ([[]] * 30, 0):
        for null in ("drop", "emit"):
            encoder = ChromaticEncoder(8, encoding=encoding, quantizer=quantizer, null=null)
            Z = encoder.fit_transform(X, [0, 1] * 15)
            again = encoder.transform(X)  # without columns, dense arrays
            assert (
                Z.shape == again.shape == (30, width) and (sp.csr_array(Z) != sp.csr_array(again)).nnz == 0
            )


def test_a_field_of_200_values_keeps_its_signal_out_of_fold():
    """With folds by content alone, each value would be in one fold and never be estimated outside it."""
    random = np.random.default_rng(0)
    values = random.integers(0, 200, 20_000)
    y = random.random(20_000) < 1 / (1 + np.exp(-1.5 * random.normal(size=200)[values]))
    X = [[f"v{value}"] for value in values]
    encoder = ChromaticEncoder(64)
    honest = encoder.fit_transform(X, y)
    aucs = [
        roc_auc_score(y, LogisticRegression().fit(Z, y).decision_function(Z))
        for Z in (honest, encoder.transform(X))
    ]
    assert aucs[1] > 0.75 and aucs[0] > aucs[1] - 0.02


def test_columns_of_training_rows_do_not_know_their_labels():
    """Noise that is seen once or twice tells nothing: neither in sample nor out of it."""
    random = np.random.default_rng(0)
    X = [[f"n{value}"] for value in random.integers(0, 3000, 4000)]
    y = random.random(4000) < 0.5
    honest = ChromaticEncoder(64, min_gain=0.0).fit_transform(X, y)
    leaking = ChromaticEncoder(64, min_gain=0.0, leakage="none", smoothing=0.5).fit_transform(X, y)
    scores = [
        roc_auc_score(y, LogisticRegression().fit(Z, y).decision_function(Z)) for Z in (honest, leaking)
    ]
    assert scores[0] < 0.6 and scores[1] > 0.75


def test_the_paper_s_setting_splits_the_rows(clicks):
    X, y = clicks
    encoder = ChromaticEncoder.paper(budget=64)
    Z = encoder.fit(X, y).transform(X)
    assert Z.shape == (3000, encoder.n_columns_) and encoder.n_columns_ <= 64
    assert 1300 < len(encoder.training_rows_) < 1700
    assert (np.diff(Z.indptr) == encoder.n_colors_).all(), "a column of every color"
    assert encoder.get_params()["quantizer"] == "greedy"
    assert ChromaticEncoder.paper(64, leakage="none").leakage == "none"


def test_better_than_the_baselines_where_there_is_something_to_learn(clicks):
    X, y = clicks
    scores = {
        name: roc_auc_score(
            y,
            cross_val_predict(
                make_pipeline(encoder, LogisticRegression(max_iter=500)), X, y, method="predict_proba"
            )[:, 1],
        )
        for name, encoder in (
            ("ours", ChromaticEncoder(32)),
            ("ft", FrequencyEncoder(32)),
            ("ht", HashingEncoder(32)),
        )
    }
    assert scores["ours"] > scores["ft"] + 0.03
    assert scores["ours"] > scores["ht"] + 0.03
