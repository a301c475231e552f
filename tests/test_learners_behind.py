"""Dense output, frames, and integer codes for the learners that stand behind the encoder."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from chromatic import ChromaticEncoder, load
from chromatic.errors import InputError

N = 2000
RANDOM = np.random.default_rng(0)
SHOPS, ITEMS = RANDOM.integers(0, 40, N), RANDOM.integers(0, 200, N)
TABLE = pd.DataFrame(
    {
        "shop": [f"s{shop}" for shop in SHOPS],
        "item": [f"i{item}" for item in ITEMS],
        "price": RANDOM.random(N),
    },
    index=[f"order{i}" for i in range(N)],
)
Y = (RANDOM.random(N) < np.where(SHOPS % 3 == 0, 0.85, 0.1)).astype(int)
TEXT = TABLE[["shop", "item"]]
OPTIONS = [
    {},
    {"linear": 0},
    {"encoding": "target"},
    {"encoding": "frequency"},
    {"encoding": "identity"},
    {"null": "emit"},
    {"collisions": "drop", "linear": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("table", [TABLE, TEXT], ids=["numbers too", "text"])
def test_dense_output_and_frames_hold_what_the_sparse_matrix_does(options, table, tmp_path):
    sparse = ChromaticEncoder(24, **options)
    dense = ChromaticEncoder(24, sparse_output=False, **options)
    for wanted, array in (
        (sparse.fit_transform(table, Y).toarray(), dense.fit_transform(table, Y)),
        (sparse.transform(table[:9]).toarray(), dense.transform(table[:9])),
    ):
        assert isinstance(array, np.ndarray) and np.array_equal(array, wanted)
    levels = "encoding" in options and options["encoding"] != "target"
    whole = levels and table is TEXT
    assert array.dtype == (np.int32 if whole else np.float64)
    dense.save(tmp_path / "m.chroma")
    assert isinstance(load(tmp_path / "m.chroma").transform(table[:3]), np.ndarray)
    names = dense.get_feature_names_out().tolist()
    own = np.int32 if levels else np.float64
    for encoder in (dense, sparse):
        frame = encoder.set_output(transform="pandas").transform(table[:9])
        assert frame.columns.tolist() == names and frame.index.equals(table.index[:9])
        np.testing.assert_array_equal(frame.to_numpy(np.float64), wanted)
        n_own = encoder.encoding_.n_own_columns
        bins = encoder is sparse and options.get("encoding") is None
        assert [isinstance(kind, pd.SparseDtype) for kind in frame.dtypes[:n_own]] == [bins] * n_own
        assert bins or set(frame.dtypes[:n_own]) == {np.dtype(own)}
        assert set(frame.dtypes[n_own:]) <= {np.dtype(np.float64)}
    frame = dense.set_output(transform="polars").transform(table[:9])
    assert isinstance(frame, pl.DataFrame) and frame.columns == names
    assert frame.dtypes[0] == (pl.Int32 if levels else pl.Float64)
    np.testing.assert_array_equal(frame.to_numpy(), wanted)


def test_polars_takes_what_is_dense_anyway_and_refuses_bins():
    encoder = ChromaticEncoder(24, encoding="target").set_output(transform="polars")
    assert encoder.fit_transform(TABLE, Y).shape == (N, encoder.n_columns_)
    with pytest.raises(InputError, match=r"polars has no sparse columns.*; expected sparse_output=False"):
        ChromaticEncoder(24).set_output(transform="polars").fit_transform(TABLE, Y)


def auc(pipeline, table, **parameters):
    train, test = slice(None, None, 2), slice(1, None, 2)
    pipeline.fit(table[train], Y[train], **parameters)
    return roc_auc_score(Y[test], pipeline.predict_proba(table[test])[:, 1])


@pytest.mark.parametrize("encoding", ["frequency", "identity"])
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_hist_gradient_boosting_takes_codes_as_categories_in_a_pipeline(encoding, output):
    encoder = ChromaticEncoder(encoding=encoding, coloring="fields", sparse_output=False)
    boosting = HistGradientBoostingClassifier(categorical_features=[0, 1], max_iter=30)
    pipeline = make_pipeline(encoder, boosting).set_output(transform=output)
    assert auc(pipeline, TEXT) > 0.85
    assert auc(pipeline, TABLE) > 0.85  # a dense column beside codes
    assert pipeline[-1].is_categorical_.tolist() == [True, True, False]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # of LightGBM, for any array
@pytest.mark.parametrize("encoding", ["frequency", "identity"])
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_lightgbm_takes_codes_as_categories_in_a_pipeline(encoding, output):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    encoder = ChromaticEncoder(encoding=encoding, coloring="fields", sparse_output=False)
    learner = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1)
    pipeline = make_pipeline(encoder, learner).set_output(transform=output)
    assert auc(pipeline, TEXT, lgbmclassifier__categorical_feature=[0, 1]) > 0.85
    tree = pipeline[-1].booster_.dump_model()["tree_info"][0]["tree_structure"]
    assert tree["decision_type"] == "==", "a split on a set of levels"


@pytest.mark.parametrize(
    "encoder", [ChromaticEncoder.paper(64), ChromaticEncoder(16, leakage="split")], ids=str
)
def test_rows_that_estimate_reach_no_learner_by_accident(encoder):
    for fit in (
        clone(encoder).fit_transform,
        make_pipeline(clone(encoder), LogisticRegression()).fit,
    ):
        with pytest.raises(InputError, match=r"leakage is 'split'.*; expected leakage='crossfit', or fit"):
            fit(TEXT, Y)
    rows = encoder.fit(TEXT, Y).training_rows_
    assert 0 < len(rows) < N and encoder.transform(TEXT.iloc[rows]).shape == (len(rows), encoder.n_columns_)
    levels = clone(encoder).set_params(encoding="frequency", null="drop")
    assert levels.fit_transform(TEXT, Y).shape[0] == N, "no label is used, and no row estimates"
