from itertools import pairwise

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import transpose
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.order import hold_out, largest_first, smallest_last
from chromatic.graph.pairs import count, count_filtered
from chromatic.graph.stream import thin_stream
from chromatic.graph.study import study, time_split
from chromatic.graph.thinned import thin
from chromatic.graph.walk import edges

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=1, max_size=16)
ks = st.integers(1, 4)


def read(rows):
    data = Reader().read(rows, dense_threshold=2)
    return data.rows, sets(data.rows)


def sets(rows):
    return [set(part.tolist()) for part in np.split(rows.codes, rows.indptr[1:-1])]


def as_sets(graph):
    return [set(part.tolist()) for part in np.split(graph.neighbors, graph.indptr[1:-1])]


@given(lists, ks)
def test_degrees_and_the_histogram_are_those_of_the_graph(lists, max_k):
    rows, row_sets = read(lists)
    counts = naive.cooccurrence(row_sets, rows.n_features)[1]
    for threads in (1, 3):
        pairs = count(rows, max_k, threads=threads)
        assert pairs.n_edges == len(counts)
        assert [(j, f) for j, f in enumerate(pairs.histogram.tolist()) if f] == sorted(
            naive.Counter(counts.values()).items()
        )
        for k in range(1, max_k + 1):
            neighbors = naive.thinned(row_sets, rows.n_features, k)
            assert pairs.degree(k).tolist() == [len(around) for around in neighbors]
            assert pairs.edges(k) == sum(map(len, neighbors)) // 2


@given(lists, ks)
def test_good_turing_is_leave_one_out(lists, k):
    rows, row_sets = read(lists)
    pairs = count(rows, k)
    assert pairs.good_turing(k) == naive.good_turing(row_sets, k)
    assert pairs.good_turing(k) - pairs.single == naive.good_turing(row_sets, k, known_only=True)


@given(lists, ks, lists)
def test_new_edges_of_test_rows_are_those_that_fewer_rows_have(lists, max_k, others):
    data = Reader().read(lists, dense_threshold=2)
    test = Reader().read(others, vocabulary=data.vocabulary).rows
    pairs = count(data.rows, max_k, test=test, threads=2)
    n, train = test.n_rows, [set(row) for row in lists]
    for k in range(1, max_k + 1):
        new = sum(naive.new_pairs(set(row), train, k) for row in others)
        seen = sum(naive.new_pairs(set(row), train, k, known_only=True) for row in others)
        assert pairs.new_edges(k) == pytest.approx(new / n)
        assert pairs.new_edges_seen(k) == pytest.approx(seen / n)


@given(lists, ks, lists, st.data())
def test_filtered_figures_leave_out_what_is_held_out_for_each_k(lists, max_k, others, draw):
    data = Reader().read(lists, dense_threshold=2)
    rows, row_sets = data.rows, sets(data.rows)
    test = Reader().read(others, vocabulary=data.vocabulary).rows
    features = st.sets(st.integers(0, max(0, rows.n_features - 1)), max_size=min(6, rows.n_features))
    held = {k: np.array(sorted(draw.draw(features)), np.int64) for k in range(1, max_k + 1)}
    filtered = count_filtered(rows, held, test=test, threads=2)
    numbers = {int(data.vocabulary.name(v)): v for v in range(rows.n_features)}
    coded = [{numbers.get(v, -1 - v) for v in row} for row in others]
    for i, k in enumerate(held):
        without = set(held[k].tolist())
        assert filtered.good_turing[i] == naive.good_turing(row_sets, k, without)
        seen = sum(naive.new_pairs(row & set(numbers.values()), row_sets, k, without) for row in coded)
        assert filtered.test_seen[i] == seen
        new = sum(naive.new_pairs(row, row_sets, k, without) for row in coded)
        assert filtered.test_seen[i] + filtered.test_unseen[i] == new
        several = naive.good_turing(row_sets, k, without, known_only=True)
        assert filtered.good_turing_seen[i] == several


@given(lists, ks, st.sets(st.integers(0, 12)))
def test_the_thinned_graph_has_the_pairs_seen_often_enough(lists, k, leave):
    rows, row_sets = read(lists)
    without = np.isin(np.arange(rows.n_features), sorted(leave))
    counts = naive.cooccurrence(row_sets, rows.n_features)[1]
    for threads in (1, 3):
        graph = thin(rows, k, without=without, threads=threads)
        assert as_sets(graph) == (naive.thinned(row_sets, rows.n_features, k, leave) or [set()])
        for v in range(rows.n_features):
            around = graph.neighbors[graph.indptr[v] : graph.indptr[v + 1]].tolist()
            assert around == sorted(around)
            seen = graph.counts[graph.indptr[v] : graph.indptr[v + 1]].tolist()
            assert seen == [counts[min(u, v), max(u, v)] for u in around]


@given(lists, ks)
def test_held_out_features_are_the_smallest_largest_first_prefix(lists, max_k):
    rows, row_sets = read(lists)
    pairs = count(rows, max_k)
    for held in hold_out(rows, pairs, threads=2):
        neighbors = naive.thinned(row_sets, rows.n_features, held.k)
        assert held.max_degree == naive.held_out(neighbors, held.features.tolist())
        left = naive.thinned(row_sets, rows.n_features, held.k, set(held.features.tolist()))
        assert held.n_edges == sum(map(len, left)) // 2


@given(lists, ks)
def test_orders_take_the_largest_first_and_the_smallest_last(lists, k):
    rows, row_sets = read(lists)
    neighbors = naive.thinned(row_sets, rows.n_features, k)
    order = largest_first(rows, k).tolist()
    assert sorted(order) == list(range(rows.n_features))
    for i, v in enumerate(order):
        left = set(order[i:])
        assert len(neighbors[v] & left) == naive.largest_degree(neighbors, left)
    last = smallest_last(rows, k)
    order = last.order.tolist()
    assert sorted(order) == list(range(rows.n_features))
    degrees = []
    for i, v in enumerate(order):
        left = set(order[: i + 1])
        degrees.append(len(neighbors[v] & left))
        assert degrees[-1] == min(len(neighbors[u] & left) for u in left)
    assert last.degeneracy == max(degrees, default=0)


@given(lists, ks, st.sampled_from([1, 3]))
def test_filters_over_a_stream_give_the_same_graph(lists, k, n_batches):
    rows, _ = read(lists)
    cuts = np.linspace(0, rows.n_rows, n_batches + 1).astype(int)
    batches = [slice_of(rows, a, b) for a, b in pairwise(cuts)]
    streamed = thin_stream(lambda: batches, k, 300, n_features=rows.n_features)
    expected = thin(rows, k)
    np.testing.assert_array_equal(streamed.graph.indptr, expected.indptr)
    np.testing.assert_array_equal(streamed.graph.neighbors, expected.neighbors)
    np.testing.assert_array_equal(streamed.graph.counts, expected.counts)
    assert streamed.survivors - streamed.added == expected.n_edges


def slice_of(rows, first, stop):
    from dataclasses import replace

    span = rows.indptr[first : stop + 1]
    return replace(rows, indptr=span - span[0], codes=rows.codes[span[0] : span[-1]])


def drawn(n_rows, seed, n_features=3000, per_row=8):
    """Rows drawn alike, of a heavy tail."""
    random = np.random.default_rng(seed)
    return [np.unique((n_features ** random.random(per_row)).astype(int)).tolist() for _ in range(n_rows)]


@pytest.mark.parametrize("rate", [0.2, 0.01])
def test_filters_add_no_more_edges_than_asked(rate):
    rows, _ = read(drawn(400, 0))
    pairs = int(rows.pairs_per_row * rows.n_rows)
    for k in (1, 2, 3):
        streamed = thin_stream(lambda: [rows], k, pairs, n_features=rows.n_features, false_positive=rate)
        assert streamed.error <= rate
        assert abs(streamed.rarer + streamed.graph.n_edges - count(rows).n_edges) <= rate * pairs


def test_filters_too_small_add_edges_and_lose_none():
    rows, _ = read(drawn(400, 0))
    streamed = thin_stream(lambda: [rows], 2, 200, n_features=rows.n_features, false_positive=0.3)
    expected = thin(rows, 2)
    assert streamed.added > 1000 and streamed.error > 0.3
    np.testing.assert_array_equal(streamed.graph.neighbors, expected.neighbors)


def test_counts_saturate_in_the_thinned_graph(monkeypatch):
    import chromatic.graph.thinned as module

    monkeypatch.setattr(module, "MOST", 3)
    rows, _ = read([["a", "b"]] * 5 + [["a", "c"]] * 2)
    assert thin(rows).counts.tolist() == [3, 2, 3, 2]


@pytest.mark.parametrize("lists", [[[]], [[1]], [[1], [2]]])
def test_graphs_without_edges_are_no_error(lists):
    rows, _ = read(lists)
    whole = study(rows, 3, test=rows)
    assert whole.pairs.n_edges == thin(rows, 2).n_edges == 0
    assert whole.filtered["held_out"] == whole.per_k["max_degree"] == [0, 0, 0]
    assert whole.per_k["new_edges"] == [0, 0, 0] and whole.suggested_k == 1
    assert smallest_last(rows).degeneracy == 0
    assert sum(len(later) for later, _, _ in edges(rows)) == 0


def test_rows_drawn_alike_pass_the_time_split_and_others_fail():
    rows, _ = read(drawn(4000, 1))
    alike = time_split(rows)
    assert alike.holds and "as rows drawn alike do" in alike.sentence
    moved = drawn(3000, 1) + [[v + 5000 for v in row] for row in drawn(1000, 2)]
    other = time_split(read(moved)[0], threads=2)
    assert not other.holds and other.seen > 1.2 * other.estimated
    assert "not drawn alike in their order" in other.sentence


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rows: count(rows, 0), "k is 0; expected 1 to 65,534"),
        (lambda rows: thin(rows, 0), "k is 0; expected 1 to"),
        (lambda rows: count(rows, 2).degree(3), "k is 3; expected 1 to 2"),
        (lambda rows: thin_stream(lambda: [rows], 0, 1, n_features=3), "k is 0; expected 1 or more"),
        (lambda rows: thin_stream(lambda: [], 1, 1, n_features=3, false_positive=1), "rate is 1; expected"),
        (lambda rows: thin_stream(lambda: [], 1, -1, n_features=3), "pairs is -1; expected 0 or more"),
        (lambda rows: time_split(rows, 1), "the share is 1; expected"),
        (lambda rows: time_split(read([[1]])[0]), "1 rows cannot be split; expected 2 or more"),
        (lambda rows: count(rows, test=read([[5, 6]])[0]), "coded by another vocabulary"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call(read([[1, 2], [1, 3]])[0])


def test_rows_of_other_data_are_no_training_rows():
    data = Reader().read([[1, 2], [1, 3]], dense_threshold=2)
    other = Reader().read([[2], [2], [3]], vocabulary=data.vocabulary).rows
    with pytest.raises(InputError, match="not in descending count"):
        count(other)


def test_transposed_rows_may_be_given():
    rows, _ = read([[1, 2], [1, 3]])
    assert count(rows, transposed=transpose(rows)).n_edges == 2
