"""What encoders give, where scikit-learn joins it with what others give."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder
from chromatic.errors import InputError, InputWarning

RANDOM = np.random.default_rng(0)
SHOPS = RANDOM.integers(0, 40, 600)
TABLE = pd.DataFrame(
    {
        "shop": [f"s{shop}" for shop in SHOPS],
        "item": [f"i{item}" for item in RANDOM.integers(0, 90, 600)],
        "price": RANDOM.random(600),
    },
    index=[f"order{i}" for i in range(600)],
)
CLICKED = SHOPS < 13
ENCODERS = [
    ChromaticEncoder(16),
    ChromaticEncoder.paper(64),
    ChromaticEncoder(encoding="target", leakage="none"),
    ChromaticEncoder(16, encoding="frequency"),
    FrequencyEncoder(16),
    HashingEncoder(16),
]
NAMES = ["submodular", "paper", "target", "frequency", "truncation", "hashing"]


def joined(encoder):
    """An encoder beside a column that passes through."""
    parts = [("encoded", clone(encoder), ["shop", "item"]), ("price", "passthrough", ["price"])]
    return ColumnTransformer(parts, verbose_feature_names_out=False)


@pytest.mark.parametrize("encoder", ENCODERS, ids=NAMES)
@pytest.mark.parametrize("shuffled", [True, False])
def test_frames_keep_the_rows_of_a_table_beside_other_columns(encoder, shuffled):
    train, test, y, _ = train_test_split(TABLE, CLICKED, random_state=0)
    if not shuffled:  # the same labels of rows in another order: rows would be joined to others in silence
        train, test = (part.set_axis(np.arange(len(part))[::-1]) for part in (train, test))
    plain, frames = joined(encoder), joined(encoder).set_output(transform="pandas")
    for wanted, got, rows in (
        (plain.fit_transform(train, y), frames.fit_transform(train, y), train),
        (plain.transform(test), frames.transform(test), test),
    ):
        wanted = wanted if isinstance(wanted, np.ndarray) else wanted.toarray()
        assert got.index.equals(rows.index)
        assert got["price"].to_numpy().tolist() == rows["price"].tolist()
        np.testing.assert_array_equal(got.to_numpy(np.float64), wanted)


def test_a_pipeline_of_frames_learns_what_one_of_matrices_does():
    train, test, y, _ = train_test_split(TABLE, CLICKED, random_state=1)
    plain = make_pipeline(joined(ENCODERS[0]), LogisticRegression())
    frames = clone(plain).set_output(transform="pandas")
    plain.fit(train, y)
    frames.fit(train, y)
    np.testing.assert_allclose(plain.predict_proba(test), frames.predict_proba(test))


@pytest.mark.parametrize("encoder", ENCODERS, ids=NAMES)
def test_a_series_gives_its_index_too_and_other_rows_are_numbered(encoder):
    series = pd.Series(TABLE[["shop", "item"]].to_numpy().tolist(), index=TABLE.index[::-1])
    frames = clone(encoder).set_output(transform="pandas")
    assert frames.fit_transform(series, CLICKED).index.equals(series.index)
    assert frames.transform(series[:7]).index.equals(series.index[:7])
    assert frames.transform(series[:7].tolist()).index.equals(pd.RangeIndex(7))


NOISE = RANDOM.random(600) < 0.5


@pytest.mark.parametrize(
    ("encoder", "rows", "message"),
    [
        (
            ChromaticEncoder(16, linear=0),
            TABLE[["item"]],
            "none of 90 sparse features .* min_gain=0 asks for less",
        ),
        (ChromaticEncoder(16, min_count=99), TABLE[["item"]], "no feature is in min_count rows"),
        (ChromaticEncoder(encoding="target", min_count=99), TABLE[["item"]], "no feature is in min_count"),
        (
            ChromaticEncoder(encoding="identity", min_count=99),
            TABLE[["item"]],
            "no feature is in min_count",
        ),
        (FrequencyEncoder(min_count=99), TABLE[["item"]], "no feature is in min_count rows"),
    ],
    ids=str,
)
def test_where_there_is_no_column_an_empty_matrix_comes_with_a_warning(encoder, rows, message):
    with pytest.warns(InputWarning, match=message) as told:
        empty = encoder.fit_transform(rows, NOISE)
    assert len(told) == 1
    assert empty.shape == (600, 0)
    assert encoder.transform(rows[:5]).shape == (5, 0) and encoder.get_feature_names_out().shape == (0,)
    frame = encoder.set_output(transform="pandas").transform(rows[:5])
    assert frame.shape == (5, 0) and frame.index.equals(rows.index[:5])


def test_a_budget_that_dense_columns_use_up_is_told():
    rows = [["all", f"item{i % 40}"] for i in range(600)]
    with pytest.warns(InputWarning, match="dense columns take the whole budget of 1; expected a larger"):
        assert FrequencyEncoder(1).fit_transform(rows).shape == (600, 1)


def test_asked_for_less_the_same_rows_make_columns():
    assert ChromaticEncoder(16, linear=0, min_gain=0).fit_transform(TABLE[["item"]], NOISE).shape[1] > 0


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
@pytest.mark.parametrize("output", ["default", "pandas"])
@pytest.mark.parametrize("beside", [["price"], []])
def test_scikit_learn_joins_what_has_no_columns_and_searches_over_it(output, beside):
    parts = [("encoded", ChromaticEncoder(16, linear=0), ["item"]), ("price", "passthrough", beside)]
    transformer = ColumnTransformer(parts).set_output(transform=output)
    assert transformer.fit_transform(TABLE, NOISE).shape == (600, len(beside))
    assert transformer.transform(TABLE[:9]).shape == (9, len(beside))
    assert len(transformer.get_feature_names_out()) == len(beside)
    learner = LogisticRegression() if beside else DummyClassifier()
    grid = {"columntransformer__encoded__min_gain": [None, 0.0]}
    search = GridSearchCV(make_pipeline(transformer, learner), grid, cv=3, error_score="raise")
    assert search.fit(TABLE, NOISE).best_score_ > 0.3


def test_no_column_can_be_explained_where_there_is_none():
    with pytest.warns(InputWarning):
        encoder = ChromaticEncoder(16, linear=0).fit(TABLE[["item"]], NOISE)
    with pytest.raises(InputError, match="the column is 0; expected none, as there are no columns"):
        encoder.explain(0)
    assert encoder.encode_one(["item=i3"]).tolist() == []
