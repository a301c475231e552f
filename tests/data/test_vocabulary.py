from itertools import pairwise

import naive
import numpy as np
import pytest
from helpers import assert_same_rows, assert_same_vocabulary, batches_of_text, text_of
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.data.counting import by_descending_count
from chromatic.data.values import MOST_BINS
from chromatic.data.vocabulary import learn
from chromatic.errors import InputError

pytestmark = pytest.mark.kernels

VALUES = st.sampled_from([1.0, 1.0, 2.0, 0.5, -3.0])
INTEGERS = st.integers(0, 30).map(lambda i: b"%d" % i)
WIDE = (st.integers(0, 5) | st.integers(0, 2**32 - 1)).map(lambda i: b"%d" % i)
STRINGS = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"red", b"green", b"7", b"007"])


def rows(names):
    row = st.dictionaries(names, VALUES, max_size=30)
    return st.lists(st.tuples(st.sampled_from([0.0, 1.0]), row), min_size=1, max_size=15)


any_rows = rows(INTEGERS) | rows(WIDE) | rows(STRINGS)
CHUNKS = st.sampled_from([(64, True), (64, False), (1 << 20, False)])  # their size; gathered or not
thresholds = st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 2.0])


def names_of(vocabulary):
    return [vocabulary.name(code) for code in range(len(vocabulary))]


def assert_coded_as_naive(data, rows, sparse, dense):
    codes, blocks, elided, unseen = naive.encode(rows, sparse, dense)
    assert [c.tolist() for c in np.split(data.codes, data.indptr[1:-1])] == codes
    assert data.dense.tolist() == blocks
    assert (data.elided_values, data.unseen) == (elided, unseen)
    assert data.labels.tolist() == [label for label, _ in rows]


@given(
    any_rows,
    any_rows,
    thresholds,
    st.integers(1, 3),
    CHUNKS,
)
def test_data_is_coded_as_by_the_naive_vocabulary(train, test, threshold, min_count, how):
    batches = batches_of_text(text_of(train), size=how[0], gathered=how[1])
    vocabulary, data = learn(batches, dense_threshold=threshold, min_count=min_count, threads=2)
    assert batches == []
    sparse, dense, dropped = naive.vocabulary(train, threshold, min_count)
    assert names_of(vocabulary) == sparse
    assert list(vocabulary.dense_names) == dense
    assert (vocabulary.n_rows, vocabulary.dropped_features) == (len(train), dropped)
    counts = [sum(name in row for _, row in train) for name in sparse]
    assert vocabulary.counts.tolist() == counts
    assert_coded_as_naive(data, train, sparse, dense)
    assert_coded_as_naive(vocabulary.encode(batches_of_text(text_of(test))), test, sparse, dense)


@given(any_rows, thresholds)
def test_threads_and_chunks_change_nothing(train, threshold):
    text = text_of(train)
    expected_vocabulary, expected = learn(batches_of_text(text), dense_threshold=threshold)
    for size, threads, gathered in ((64, 1, False), (64, 3, False), (200, 2, True), (64, 3, True)):
        batches = batches_of_text(text, size=size, threads=threads, gathered=gathered)
        vocabulary, data = learn(batches, dense_threshold=threshold, threads=threads)
        assert_same_vocabulary(vocabulary, expected_vocabulary)
        assert_same_rows(data, expected)


def test_one_string_makes_all_features_strings():
    text = b"1 1:1 2:1\n" * 50 + b"0 a:1 2:1\n"
    vocabulary, _ = learn(batches_of_text(text, size=64), dense_threshold=2)
    assert not vocabulary.integers
    assert sorted(names_of(vocabulary)) == [b"1", b"2", b"a"]


def test_names_can_be_left_out():
    data = Reader().read([["a", "b"], ["a"], ["c"]], keep_names=False, dense_threshold=2)
    assert data.vocabulary.names is None
    assert data.vocabulary.name(0) == b"#%016x" % naive.xxh64(b"a")


def test_features_of_a_thousand_rows_are_in_order_of_count():
    rows = [[f"f{j}" for j in range(1000) if i % (j + 1) == 0] for i in range(1000)]
    vocabulary = Reader().read(rows, dense_threshold=2).vocabulary
    assert (np.diff(vocabulary.counts) <= 0).all()


@given(st.lists(st.integers(0, 200_000) | st.integers(0, 3), max_size=50))
def test_counts_of_any_size_are_put_in_descending_stable_order(counts):
    order = by_descending_count(np.array(counts, np.int64))
    assert order.tolist() == sorted(range(len(counts)), key=lambda i: -counts[i])


@pytest.mark.parametrize("option", [{"min_count": 0}, {"dense_threshold": -1}, {"dense_threshold": np.nan}])
def test_impossible_parameters_are_refused(option):
    with pytest.raises(InputError, match="expected"):
        learn(batches_of_text(b"1 1:1"), **option)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no rows"):
        learn([])


@given(rows(STRINGS), thresholds)
def test_distinct_values_become_features_of_their_own(train, threshold):
    counts = {}
    for _, row in train:
        for name, value in row.items():
            counts.setdefault(name, []).append(value)

    def rename(row):
        binned = {}
        for name, value in row.items():
            values = counts.get(name, [1.0])
            if len(values) <= threshold * len(train) and set(values) != {1.0}:
                name, value = b"%s=%d" % (name, value) if value != 0.5 else name + b"=0.5", 1.0
            binned[name] = value
        return binned

    expected = [(label, rename(row)) for label, row in train]
    vocabulary, data = learn(
        batches_of_text(text_of(train), size=64), dense_threshold=threshold, distinct_values=True
    )
    if vocabulary.bins is None:
        assert all(value == 1.0 for _, row in train for value in row.values())
    sparse, dense, _ = naive.vocabulary(expected, threshold, 1)
    assert (names_of(vocabulary), list(vocabulary.dense_names)) == (sparse, dense)
    assert_coded_as_naive(data, expected, sparse, dense)
    again = vocabulary.encode(batches_of_text(text_of(train)))
    assert_same_rows(again, data)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=200))
def test_many_values_are_cut_at_quantiles(values):
    rows = [{"f": float(value) + 2} for value in values]
    vocabulary = Reader().read(rows, values="distinct", dense_threshold=2).vocabulary
    assert vocabulary.bins.edges.tolist() == naive.value_bins([v + 2.0 for v in values], MOST_BINS)


def test_values_not_seen_before_fall_into_a_bin():
    data = Reader().read([{"f": 2}, {"f": 4}], values="distinct", dense_threshold=2)
    more = Reader().read([{"f": 0.1}, {"f": 3}, {"f": 99}], vocabulary=data.vocabulary)
    assert [data.vocabulary.name(code) for code in more.rows.codes] == [b"f=2", b"f=4", b"f=4"]


def test_a_row_that_names_a_value_itself_has_the_feature_once():
    rows = [{"f": 2.0, "f=2": 1.0, "g": 1.0} if i % 2 else {"f": 1.0, "h": 3.0} for i in range(6)]
    data = Reader().read(rows, values="distinct", dense_threshold=2)
    names = data.vocabulary.names.tolist()
    of_rows = [{names[code] for code in data.rows.codes[a:b]} for a, b in pairwise(data.rows.indptr)]
    assert of_rows == [{b"f=1", b"h=3"}, {b"f=2", b"g"}] * 3
    assert len(data.rows.codes) == 12 and data.vocabulary.counts.tolist() == [3] * 4
