"""`encode_one` of a table's row, a dict or a pandas Series, is `transform` of the table with that row."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chromatic import ChromaticEncoder, load
from chromatic.errors import InputError

N = 300
RANDOM = np.random.default_rng(0)
SHOPS = RANDOM.integers(0, 12, N)
TABLE = pd.DataFrame(
    {
        "shop": [f"s{shop}" for shop in SHOPS],
        "price": RANDOM.random(N).round(2),
        "city": [f"c {i % 7}" if i % 5 else None for i in range(N)],
        "size": RANDOM.integers(-3, 3, N),
        "often": "yes",
    }
)
Y = SHOPS < 5
OPTIONS = [
    {},
    {"encoding": "target"},
    {"encoding": "frequency"},
    {"coloring": "fields"},
    {"null": "emit", "max_colors": 2},
    {"names": False},
    {"handle_unknown": "error"},
    {"budget": 2},
]
NUMBERS = ["price", "size"]
with pytest.warns(UserWarning, match="dense columns are left out"):
    MODELS = [ChromaticEncoder(**{"budget": 16, "min_gain": 0.0, **one}).fit(TABLE, Y) for one in OPTIONS]
TEXTS = st.sampled_from(["s1", "s3", "c 2", "yes", "", "never", "\0", "é", "s1\0s2"])
VALUES = {
    **dict.fromkeys(["shop", "city", "often"], TEXTS | st.none()),
    "price": st.floats(-5, 5) | st.integers(-9, 2**53) | st.booleans(),
    "size": st.integers(-9, 9) | st.floats(0, 1).map(np.float64) | st.integers(0, 5).map(np.int64),
}


@given(st.sampled_from(MODELS), st.fixed_dictionaries(VALUES))
@example(MODELS[0], {"shop": "s1", "price": 1.5, "city": "c 2", "size": -2, "often": "yes"})
def test_a_dict_or_a_series_is_encoded_as_its_table_is(encoder, row):
    table = pa.table({name: [row[name]] for name in TABLE.columns})
    try:
        wanted = encoder.transform(table).toarray()[0]
    except InputError as error:
        wanted = str(error)
        assert "not seen in training" in wanted
    shuffled = dict(sorted(row.items()))
    for given_row in (row, shuffled, pd.Series(row, dtype=object)):
        try:
            assert np.array_equal(encoder.encode_one(given_row), wanted)
        except InputError as error:
            assert str(error) == wanted


@pytest.mark.parametrize("encoder", MODELS, ids=map(str, OPTIONS))
def test_rows_of_the_table_itself_are_encoded_as_it_is(encoder, tmp_path):
    encoder.save(tmp_path / "m.chroma")
    wanted = encoder.transform(TABLE[:20]).toarray()
    for one in (encoder, load(tmp_path / "m.chroma")):
        for i in range(20):
            assert np.array_equal(one.encode_one(TABLE.iloc[i]), wanted[i])
            assert np.array_equal(one.encode_one(TABLE.iloc[i].to_dict()), wanted[i])


def test_missing_text_is_absence_and_missing_numbers_are_read_as_a_table_reads_them():
    encoder = MODELS[0]
    whole = {"shop": None, "price": 1.0, "city": "", "size": 2, "often": None}
    assert np.array_equal(encoder.encode_one({"price": 1.0, "size": 2}), encoder.encode_one(whole))
    empty = {**whole, "price": None}
    kinds = [pa.float64() if name in NUMBERS else pa.string() for name in empty]
    arrays = [pa.array([empty[name]], kind) for name, kind in zip(empty, kinds, strict=True)]
    table = pa.table(arrays, list(empty))
    assert np.array_equal(encoder.encode_one(empty), encoder.transform(table).toarray()[0])


def test_a_row_with_its_label_is_encoded_without_it():
    encoder = ChromaticEncoder(16).fit(TABLE.assign(label=Y.astype(int)))
    row = TABLE.iloc[3].to_dict()
    assert np.array_equal(encoder.encode_one({**row, "label": 1}), encoder.encode_one(row))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"shop": "s1"}, "there is no column 'price', which the rows before have; the columns are shop"),
        (
            {"colour": "red", "price": 1.0, "size": 1},
            "the row has the column 'colour'; expected those of",
        ),
        ({"price": "dear", "size": 1}, "the column 'price' .* not all of it can be read as numbers"),
        ({"price": float("inf"), "size": 1}, "infinite value; expected finite numbers"),
        (["shop=s1"], "the numeric columns are none; expected"),
        ({"price": 1.0, "size": 1, "shop": 3j}, "a value of a kind that tables do not have"),
    ],
    ids=str,
)
def test_a_row_of_another_table_is_refused(row, message):
    with pytest.raises(InputError, match=message) as raised:
        MODELS[0].encode_one(row)
    assert "\n" not in str(raised.value)


def test_a_list_column_is_read_as_in_a_table():
    table = TABLE.assign(tags=[["t", f"t{i % 9}"] for i in range(N)])
    encoder = ChromaticEncoder(16).fit(table, Y)
    for i in range(5):
        wanted = encoder.transform(table[i : i + 1]).toarray()[0]
        assert np.array_equal(encoder.encode_one(table.iloc[i]), wanted)


def test_a_model_of_a_file_takes_dicts_too(tmp_path):
    TABLE.assign(label=Y.astype(int)).to_parquet(tmp_path / "rows.parquet")
    encoder = ChromaticEncoder(16).fit(tmp_path / "rows.parquet")
    wanted = encoder.transform(tmp_path / "rows.parquet").toarray()
    for i in range(5):
        assert np.array_equal(encoder.encode_one(TABLE.iloc[i].to_dict()), wanted[i])
        assert np.array_equal(encoder.encode_one(TABLE.iloc[i].to_dict() | {"label": 1}), wanted[i])


def test_values_of_dense_features_in_dicts_are_given():
    X = [{"size": 0.5 + i % 4, f"shop{i % 9}": 2.0, "city": f"c{i % 5}"} for i in range(N)]
    for options in (
        {},
        {"encoding": "frequency"},
        {"encoding": "target", "collisions": "drop", "linear": 0},
    ):
        encoder = ChromaticEncoder(16, **options).fit(X, Y)
        wanted = encoder.transform(X[:20]).toarray()
        assert set(wanted[:, -1]) - {0.0, 1.0}, "the dense feature has values"
        for i in range(20):
            assert np.array_equal(encoder.encode_one(X[i]), wanted[i])
            assert np.array_equal(encoder.encode_one(pd.Series(X[i], dtype=object)), wanted[i])


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")
def test_rows_of_whole_numbers_that_are_categories_are_encoded_as_their_table_is():
    values = np.random.default_rng(1).zipf(1.3, (4000, 2)) % 300
    table = pd.DataFrame(values * 7, columns=["shop", "item"])
    encoder = ChromaticEncoder(16, min_gain=0.0).fit(table, values[:, 0] % 3 == 0)
    schema = encoder.encoding_.vocabulary.schema
    assert all(column.is_category and column.edges for column in schema.columns)
    odd = [{"shop": shop, "item": item} for shop in (0, 3, 7, -1, 2**60, "7", "x") for item in (14, 999)]
    for row in [*table[:20].to_dict("records"), *odd]:
        wanted = encoder.transform(pd.DataFrame([row])).toarray()[0]
        assert np.array_equal(encoder.encode_one(row), wanted), row
