"""`encode_sparse` gives the row that `transform` gives, for every kind of model."""

import numpy as np
import pandas as pd
import pytest
from clicks import make_clicks, matrix_of

from chromatic import ChromaticEncoder
from chromatic.errors import InputError

X, Y = make_clicks()
TABLE = pd.DataFrame([dict(token.split("=") for token in row) for row in X])
TABLE["price"] = np.arange(len(Y)) % 90 / 7
KINDS = [
    {},
    {"encoding": "target"},
    {"encoding": "frequency"},
    {"collisions": "drop", "linear": 0},
    {"collisions": "drop", "linear": 0, "dense_threshold": 0.03},
    {"null": "emit", "collisions": "drop", "linear": 0},
    {"values": "distinct"},
]


def check(encoder, rows, data):
    for row, expected in zip(rows, encoder.transform(data).toarray(), strict=True):
        got = encoder.encode_sparse(row)
        values = np.zeros(encoder.n_columns_)
        values[got.columns] = got.values
        np.testing.assert_array_equal(values, expected)
        assert (np.diff(got.columns) > 0).all() and 0 <= got.unseen <= got.features


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_lists_and_dicts(parameters):
    encoder = ChromaticEncoder(budget=64, **parameters).fit(X, Y)
    rows = [*([*row, "new"] for row in X[:20]), [], ["a=1", "a=1"], ["odd\0", "a=2"]]
    check(encoder, rows, rows)
    dicts = [{**dict.fromkeys(row, 1.0), row[0]: 2.5, "new": 1} for row in X[:20]]
    check(encoder, dicts, dicts)


def test_rows_of_a_table_and_integers():
    encoder = ChromaticEncoder(budget=64).fit(TABLE, Y)
    check(encoder, TABLE[:20].to_dict("records"), TABLE[:20])
    ids = [[hash_free % 500 for hash_free in range(i, i + 5)] for i in range(600)]
    encoder = ChromaticEncoder(budget=64).fit(ids, [i % 500 < 100 for i in range(600)])
    check(encoder, ids[:20], ids[:20])


def test_features_and_unseen_ones_are_counted():
    encoder = ChromaticEncoder(budget=64).fit(X, Y)
    assert encoder.encode_sparse([*X[0], "new", "newer"])[2:] == (6, 2)
    assert encoder.encode_sparse([*X[0], "odd\0"])[2:] == (5, 1)
    assert encoder.encode_sparse([])[2:] == (0, 0)
    refusing = ChromaticEncoder(budget=64, handle_unknown="error").fit(X, Y)
    assert refusing.encode_sparse(X[0])[2:] == (4, 0)
    with pytest.raises(InputError, match="1 features of 1 rows were not seen"):
        refusing.encode_sparse(["new"])


def test_a_row_of_a_matrix_is_a_list_of_its_columns():
    matrix = matrix_of(X)
    encoder = ChromaticEncoder(budget=64).fit(matrix, Y)
    rows = [matrix[[i]].indices.tolist() for i in range(20)]
    check(encoder, rows, matrix[:20])
