from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from helpers import assert_same_rows, assert_same_vocabulary

from chromatic.data import Reader
from chromatic.data.objects import batches_of
from chromatic.errors import InputError

ROWS = [["a", "b"], ["b"], [], ["a", "c", "a"]]


def named(data, dense_threshold=2.0, **options):
    """Rows of feature names."""
    read = Reader().read(data, dense_threshold=dense_threshold, **options)
    bounds = read.rows.indptr
    return [
        {read.vocabulary.name(code).decode() for code in read.rows.codes[bounds[i] : bounds[i + 1]]}
        for i in range(read.rows.n_rows)
    ]


@pytest.mark.parametrize("kind", [list, set, tuple, frozenset, Counter])
def test_rows_of_tokens_in_any_container(kind):
    assert named([kind(row) for row in ROWS]) == [{"a", "b"}, {"b"}, set(), {"a", "c"}]


def test_dicts_bring_values_and_strings():
    data = Reader().read([{"city": "Rome", "n": 3, "off": 0, "on": True}, {"n": 2}], dense_threshold=0.5)
    assert data.vocabulary.dense_names == (b"n",)
    assert data.rows.dense.ravel().tolist() == [3, 2]
    assert {data.vocabulary.name(0), data.vocabulary.name(1)} == {b"city=Rome", b"on"}


def test_integers_and_matrices_are_the_same_data():
    dense = np.array([[0, 1, 2.5], [1, 0, 0], [0, 0, 0]])
    expected = Reader().read([{1: 1, 2: 2.5}, {0: 1}, {}])
    for layout in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array, sp.coo_array, np.asarray):
        data = Reader().read(layout(dense))
        assert_same_rows(data.rows, expected.rows)
        assert_same_vocabulary(data.vocabulary, expected.vocabulary)


def test_repeated_entries_of_a_matrix_add_up_as_in_scipy():
    matrix = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert Reader().read(matrix, dense_threshold=0).rows.dense.tolist() == [[3.0]]
    assert matrix.nnz == 2, "the caller's matrix was changed"


TABLE = {
    "label": [1, 0, 1],
    "tags": [["a", "b"], ["b", None], None],
    "city": ["x", "y", None],
    "price": [1.5, None, 2.0],
}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_every_library(library):
    data = Reader().read(library(TABLE), dense_threshold=2, keep_fields=True)
    assert data.rows.labels.tolist() == [1, 0, 1]
    assert data.rows.dense.tolist() == [[1.5, 0], [1.75, 1], [2, 0]]
    assert data.vocabulary.dense_names == (b"price", b"price is missing")
    assert named(library(TABLE)) == [{"a", "b", "city=x"}, {"b", "city=y"}, set()]
    fields = dict(zip(data.vocabulary.names.tolist(), data.vocabulary.fields.tolist(), strict=True))
    assert fields == {b"a": -1, b"b": -1, b"city=x": 0, b"city=y": 0}
    assert data.vocabulary.field_names == (b"city",)


def test_values_of_fields_are_never_dense_where_fields_are_kept():
    table = pd.DataFrame({"city": ["x"] * 9 + ["y"]})
    assert Reader().read(table).vocabulary.dense_names == (b"city=x",)
    assert Reader().read(table, keep_fields=True).vocabulary.dense_names == ()


def test_categories_and_integers_in_lists():
    assert named(pd.DataFrame({"c": pd.Categorical(["u", "v", None])})) == [{"c=u"}, {"c=v"}, set()]
    assert Reader().read(pa.table({"f": [[1, 7], [7]]}), dense_threshold=2).vocabulary.integers


def test_the_index_of_a_frame_is_no_column():
    frame = pd.DataFrame({"city": ["x", "y", "z"]}, index=[7, 3, 5])
    assert named(frame.iloc[1:]) == [{"city=y"}, {"city=z"}]
    assert Reader().read(frame).vocabulary.numeric_names == ()


def test_an_empty_text_is_absence():
    assert named(pd.DataFrame({"city": ["", "y", None]})) == [set(), {"city=y"}, set()]


def test_several_list_columns_are_told_apart():
    table = pa.table({"tags": [["a"]], "words": [["a"]]})
    assert named(table) == [{"tags=a", "words=a"}]


def test_maps_and_pairs_bring_values():
    pairs = [[("a", 2.0), ("b", 0.0)], None, [("a", 1.0)]]
    as_map = pa.table({"f": pa.array(pairs, pa.map_(pa.string(), pa.float64()))})
    struct = pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))
    as_list = pa.table(
        {"f": pa.array([p and [{"name": n, "value": v} for n, v in p] for p in pairs], struct)}
    )
    for table in (as_map, as_list, as_map.slice(0, 3)):
        assert Reader().read(table).rows.dense.ravel().tolist() == [2, 0, 1]
    assert Reader().read(as_map.slice(2, 1)).rows.dense.ravel().tolist() == [1]


def test_a_table_of_numbers_alone_has_no_sparse_feature():
    data = Reader().read(pd.DataFrame({"x": [1, 2], "label": [0, 1]}))
    assert (len(data.vocabulary), data.rows.dense.tolist()) == (0, [[1], [2]])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a b", "c"], "no such file"),
        ([1, 2], "row 0 is 1; expected a list or set of features"),
        ([["a"], "b"], "row 1 is 'b'"),
        ([pd.DataFrame({"a": ["x"]})], "expected a list or set of features"),
        ([pd.Series(["a"])], "expected a list or set of features"),
        ([["\ud800"]], "a feature is not valid text"),
        (sp.csr_array([[1j]]), "a matrix of type complex128; expected real numbers"),
        (pa.table({"f": [[0.5]]}), "the column 'f' has lists of double; expected lists of text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of the table have one name"),
        (pd.DataFrame({"c": [1j]}), "mixed or unknown values"),
        (pd.DataFrame(), "there are no rows"),
        (pd.DataFrame({"a": []}), "there are no rows"),
        ([["a", 1]], "features of types int, str; expected all strings or all integers"),
        ([[-1]], "expected 0 to 4294967295"),
        ([{"a": None}], "the feature 'a' has the value None; expected a number or a string"),
        ([{"a": float("nan")}], "NaN"),
        (sp.csr_array([[np.nan]]), "NaN or infinite"),
        (np.zeros(3), "an array of 1 dimensions"),
        (object(), "data of type object; expected a path, a scipy matrix"),
        (pd.DataFrame({"x": [{1}, 2, "a"]}), "mixed or unknown"),
        (pd.DataFrame({"x": [1.0, np.inf]}), "infinite"),
        (pa.table({"label": [{"a": 1}], "f": [1]}), "the label column 'label' is of type"),
        (pd.DataFrame({"label": [1.0, None]}), "no finite number in row 2"),
        (pd.DataFrame({"label": ["yes", None]}), "the label column 'label' is empty in row 2"),
        (pa.table({"f": [[-1]]}), "expected 0 to 4294967295"),
        ([], "there are no rows"),
    ],
)
def test_bad_data_is_told_in_one_line(data, message):
    with pytest.raises(InputError) as error:
        Reader().read(data)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_label_that_is_not_there_is_told_with_the_columns():
    with pytest.raises(InputError, match="no column 'y' for the label; the columns are x, z"):
        Reader(label="y").read(pd.DataFrame({"x": ["a"], "z": ["b"]}))


def test_other_numeric_columns_than_in_training_are_refused():
    vocabulary = Reader().read(pd.DataFrame({"x": [1.0], "c": ["a"]})).vocabulary
    with pytest.raises(
        InputError, match="there is no column 'x', which the rows before have; the columns are z"
    ):
        Reader().read(pd.DataFrame({"z": [1.0], "c": ["a"]}), vocabulary=vocabulary)


@pytest.mark.parametrize("option", ["format", "features", "on_bad_line"])
def test_unknown_options_list_the_known_ones(option):
    with pytest.raises(InputError, match=f"{option} is 'x'; expected one of"):
        Reader(**{option: "x"})


def test_some_rows_of_a_batch_keep_their_values_and_labels():
    [batch] = batches_of([{"a": 2.0, "b": 1.0}, {"c": 1.0}, {"b": 3.0, "c": 4.0}])
    batch = replace(batch, labels=np.array([0.0, 1.0, 2.0]))
    some = batch.take(np.array([True, False, True]))
    assert some.indptr.tolist() == [0, 2, 4] and some.labels.tolist() == [0.0, 2.0]
    assert [some.tokens.names[i] for i in some.ids] == [b"a", b"b", b"b", b"c"]
    assert some.all_values().tolist() == [2.0, 1.0, 3.0, 4.0]
