"""What encoders take and refuse, and what they tell of it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clicks import matrix_of
from sklearn.exceptions import NotFittedError

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder, load
from chromatic.errors import InputError, InputWarning


def test_hashing_has_both_signs_and_keeps_values():
    X = [{f"f{i}": 2.0} for i in range(2000)]
    Z = HashingEncoder(256).fit_transform(X)
    assert set(Z.data) == {-2.0, 2.0} and abs(Z.data.mean()) < 0.2
    assert np.bincount(Z.indices, minlength=256).min() > 0
    both = HashingEncoder(1).fit_transform([{"a": 2.0, "b": 3.0}])
    alone = HashingEncoder(1).fit_transform([{"a": 2.0}, {"b": 3.0}])
    assert both.toarray()[0, 0] == alone.toarray().sum()


def test_hashing_knows_integers_and_their_digits_apart_only_by_kind(tmp_path):
    (tmp_path / "integers.svm").write_text("1 3:1 7:1\n")
    (tmp_path / "strings.svm").write_text("1 3:1 7:1 x:1\n")
    encoder = HashingEncoder(64).fit(tmp_path / "integers.svm")
    one, other = (encoder.transform(tmp_path / f"{n}.svm").toarray() for n in ("integers", "strings"))
    assert (one != other).sum() == 1, "only x is new"
    encoder = HashingEncoder(64).fit(tmp_path / "strings.svm")
    assert (encoder.transform(tmp_path / "integers.svm") != 0).nnz == 2


def test_numeric_columns_pass_through_or_are_hashed():
    table = pd.DataFrame({"price": np.arange(100.0), "shop": [f"s{i % 40}" for i in range(100)]})
    y = np.arange(100) % 40 < 15
    for encoder in (ChromaticEncoder(16), FrequencyEncoder(16)):
        Z = encoder.fit_transform(table, y)
        assert Z[:, [-1]].toarray().ravel().tolist() == table["price"].tolist()
    Z = HashingEncoder(1 << 16).fit_transform(table)
    assert np.abs(Z).sum() == pytest.approx(100 + table["price"].sum())
    with pytest.raises(
        InputError, match="the numeric columns are none; expected those of the data before: price"
    ):
        ChromaticEncoder(16).fit(table, y).encode_one(["s1"])


def test_a_number_is_a_target_too():
    random = np.random.default_rng(0)
    values = random.integers(0, 50, 2000)
    y = random.normal(size=50)[values] + 0.1 * random.normal(size=2000)
    encoder = ChromaticEncoder(encoding="target", dense_threshold=2)
    Z = encoder.fit_transform([[f"v{v}"] for v in values], y)
    assert np.corrcoef(Z.toarray()[:, 0], y)[0, 1] > 0.95


def test_field_dims_are_the_sizes_of_embeddings(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(50, encoding="frequency").fit(X)
    Z = encoder.transform(X)
    assert encoder.field_dims_.sum() == 50 + encoder.n_colors_
    assert (Z.max(axis=0).toarray().ravel() < encoder.field_dims_).all()
    with pytest.raises(AttributeError, match="frequency and identity only"):
        ChromaticEncoder(50).fit(X, y).field_dims_


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({}, None, "requires y to be passed"),
        ({}, [1] * 6, "there is only one class"),
        ({}, ["a"] * 6, "there is only one class"),
        (
            {},
            [0, 1, 2] * 2,
            "whole numbers of more than two kinds, 0 to 2, in 6 rows; expected target_type",
        ),
        ({}, [0, 1], "6 rows and labels of shape"),
        ({}, [0, 1, 1, 0, 1, np.nan], "NaN"),
        ({}, [[0, 1]] * 6, "y should be a 1d array"),
        ({"budget": 0}, None, "budget is 0; expected a whole number from 1"),
        ({"budget": 2.5}, None, "budget is 2.5; expected a whole number"),
        ({"budget": "many"}, None, "budget is 'many'; expected a whole number"),
        ({"encoding": "magic"}, None, "encoding is 'magic'; expected submodular, target"),
        ({"coloring": "pretty", "budget": 9}, [0, 1] * 3, "pretty"),
        ({"leakage": "some"}, None, "leakage is 'some'"),
        ({"smoothing": -1}, None, "smoothing is -1"),
        ({"max_colors": 0, "budget": 9}, [0, 1] * 3, "max_colors is 0"),
        ({"handle_unknown": "warn"}, None, "handle_unknown is 'warn'; expected ignore or error"),
        ({"min_count": 0}, [0, 1] * 3, "min_count is 0; expected a whole number from 1"),
        ({"n_jobs": 0}, [0, 1] * 3, "the number of threads is 0"),
    ],
    ids=str,
)
def test_what_cannot_be_fitted_is_refused_with_a_reason(options, y, message):
    with pytest.raises(ValueError, match=message):
        ChromaticEncoder(**options).fit([["a", "b"], ["a"], ["b"]] * 2, y)


def test_what_cannot_be_transformed_is_refused_with_a_reason(clicks):
    X, y = clicks
    with pytest.raises(NotFittedError):
        ChromaticEncoder().transform(X)
    with pytest.raises(NotFittedError):
        ChromaticEncoder().encode_one(X[0])
    with pytest.raises(AttributeError, match="not fitted"):
        ChromaticEncoder().n_colors_
    on_tokens, on_matrix = ChromaticEncoder(32).fit(X, y), ChromaticEncoder(32).fit(matrix_of(X), y)
    with pytest.raises(InputError, match=r"the features are integers .*, at fit they were strings"):
        on_tokens.transform(matrix_of(X))
    with pytest.raises(InputError, match="the features are strings, at fit they were integers"):
        on_matrix.transform(X)
    with pytest.raises(ValueError, match="X has 7 features, but ChromaticEncoder is expecting"):
        on_matrix.transform(sp.csr_array((3, 7)))
    strict = ChromaticEncoder(32, handle_unknown="error").fit(X, y)
    strict.transform(X)
    with pytest.raises(InputError, match="2 features of 1 rows were not seen in training"):
        strict.transform([["new", "newer"]])
    with pytest.raises(InputError, match="data of type int"):
        on_tokens.transform(3)


def test_a_random_state_may_be_a_generator_and_verbose_tells(clicks, caplog):
    X, y = clicks
    one, two = (
        ChromaticEncoder(32, coloring="random", random_state=np.random.RandomState(seed), verbose=1).fit(
            X, y
        )
        for seed in (1, 1)
    )
    assert np.array_equal(one.colors_, two.colors_)
    assert "colors: " in caplog.text and "columns: " in caplog.text


def test_columns_of_a_table_with_dense_text_have_their_names(tmp_path):
    """Dense features of a table are not columns of a matrix, whatever their names look like."""
    table = pd.DataFrame(
        {
            "shop": [f"s{i % 50}" for i in range(1000)],
            "tags": [["new", f"t{i % 30}"] for i in range(1000)],
            "price": [i % 7 + 0.5 for i in range(1000)],
        }
    )
    encoder = ChromaticEncoder(32).fit(table, [i % 50 < 10 for i in range(1000)])
    assert encoder.get_feature_names_out()[-2:].tolist() == ["price", "new"]
    encoder.set_output(transform="pandas").transform(table)
    encoder.save(tmp_path / "m.chroma")
    assert load(tmp_path / "m.chroma").get_feature_names_out()[-2:].tolist() == ["price", "new"]
    assert encoder.explain(encoder.n_columns_ - 1)["features"] == [["new", None, None]]
    assert encoder.locate("price")["column"] == encoder.n_columns_ - 2
    integers = pd.DataFrame({"ids": [[i % 200 + 100, 7] for i in range(1000)], "price": np.arange(1000.0)})
    assert FrequencyEncoder(8).fit(integers).get_feature_names_out()[-2:].tolist() == ["price", "7"]


def test_a_column_called_label_is_one_like_the_others_where_one_says_so(clicks):
    _, y = clicks
    table = pd.DataFrame({"label": [f"record{i % 40}" for i in range(len(y))]})
    by_label = np.arange(len(y)) % 40 < 9
    encoder = ChromaticEncoder(16, label="").fit(table, by_label)
    assert encoder.locate("label=record3")["rate"] > 0.9
    assert encoder.transform(table).shape[0] == len(y)


def test_what_a_user_may_overlook_is_told(clicks, caplog):
    X, y = clicks
    ChromaticEncoder(16).fit([dict.fromkeys(row, 2.0) for row in X], y)
    table = pd.DataFrame(
        {"price": [np.nan, *range(1, len(y))], "shop": [f"s{i % 40}" for i in range(len(y))]}
    )
    with pytest.warns(
        InputWarning, match="numbers: price.*a column of its own says where price is missing"
    ):
        ChromaticEncoder(16).fit(table, y)
    ChromaticEncoder(16).fit(table[1:], y[1:]).transform(table)
    for words in (
        "12,000 values other than 1",
        "read 1 empty cells of columns that had none at fit as the mean of their column",
    ):
        assert words in caplog.text


def test_rows_that_were_not_split_are_not_taken_for_files(clicks):
    with pytest.raises(InputError, match=r"expected rows of features, as \[text.split\(\) for text in X\]"):
        ChromaticEncoder().fit(["paid shop1", "paid shop2"], [0, 1])
    with pytest.raises(InputError, match="y has values of the types int, str; expected labels of one type"):
        ChromaticEncoder().fit([["a"], ["b"]], np.array([1, "a"], object))


def test_files_are_fitted_within_a_limit_of_memory_with_the_same_model(clicks, tmp_path, within_memory):
    X, y = clicks
    path = tmp_path / "clicks.tokens"
    path.write_text("".join(f"{label} {' '.join(row)}\n" for label, row in zip(y, X, strict=True)))
    within = ChromaticEncoder(64, **within_memory)
    Z, expected = within.fit_transform(path), ChromaticEncoder(64).fit_transform(path)
    assert (Z != expected).nnz == 0
    within.save(tmp_path / "within.chroma")
    ChromaticEncoder(64).fit(path).save(tmp_path / "all.chroma")
    assert (tmp_path / "within.chroma").read_bytes() == (tmp_path / "all.chroma").read_bytes()
    with pytest.raises(InputError, match="memory is '64G' and X is in memory already; expected paths"):
        within.fit(X, y)
    with pytest.raises(InputError, match="cache is of no use without memory"):
        ChromaticEncoder(cache="here").fit(X, y)


def test_each_value_may_be_a_feature_of_its_own_also_within_a_limit_of_memory(tmp_path, within_memory):
    path = tmp_path / "rows.svm"
    path.write_text(
        "".join(f"{i % 2} {i % 40}:{i % 3 + 1} {100 + i % 90}:{i % 50 / 8}\n" for i in range(900))
    )
    for name, limit in (("within", within_memory), ("all", {})):
        ChromaticEncoder(32, values="distinct", **limit).fit(path).save(tmp_path / name)
    assert (tmp_path / "within").read_bytes() == (tmp_path / "all").read_bytes()


def test_each_value_may_be_a_feature_of_its_own(clicks):
    _, y = clicks
    X = [{"size": float(i % 7 + 1), f"item{i % 90}": 1.0} for i in range(len(y))]
    by_size = np.arange(len(y)) % 7 < 2
    elided = ChromaticEncoder(16, dense_threshold=2).fit(X, by_size)
    distinct = ChromaticEncoder(16, dense_threshold=2, values="distinct").fit(X, by_size)
    assert len(elided.colors_) == 91 and len(distinct.colors_) == 97
    assert distinct.n_columns_ > elided.n_columns_


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
def test_values_of_integer_features_are_features_of_other_rows_too(tmp_path):
    X = sp.csr_array([[1.0 + i % 3, float(i % 2), 2.0 * (i % 7 == 0), 0.0] for i in range(90)])
    encoder = ChromaticEncoder(16, values="distinct", dense_threshold=0.6, encoding="frequency").fit(X)
    wanted, names = encoder.transform(X), encoder.get_feature_names_out().tolist()
    assert wanted.nnz > 90 and names[-1] == "x0"
    encoder.save(tmp_path / "m.chroma")
    loaded = load(tmp_path / "m.chroma")
    assert (loaded.transform(X) != wanted).nnz == 0 and loaded.get_feature_names_out().tolist() == names
    rows = ChromaticEncoder(16, values="distinct", dense_threshold=2, encoding="frequency")
    rows.fit([{1: 2.0, 5 + i % 3: 1.0} for i in range(90)])
    assert rows.encode_one([5]).tolist() == rows.transform([[5]]).toarray()[0].tolist()
