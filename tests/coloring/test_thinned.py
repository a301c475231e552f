"""Colorings of the thinned graph: greedy ones and uniform ones."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import Request, collisions, color, graph, transpose
from chromatic.coloring.glauber import _step, sample
from chromatic.coloring.uniform import color_uniform
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.order import ORDERS, ordered
from chromatic.graph.thinned import Graph, thin

pytestmark = pytest.mark.kernels

STRATEGIES = ("first-fit", "balanced", "random")
lists = st.lists(st.lists(st.integers(0, 12), max_size=6), min_size=1, max_size=16)


def read(rows):
    rows = Reader().read(rows, dense_threshold=2).rows
    return rows, [set(part.tolist()) for part in np.split(rows.codes, rows.indptr[1:-1])]


def graph_of(neighbors):
    ends = [(v, u, 1) for v, around in enumerate(neighbors) for u in sorted(around) if u < v]
    return Graph.of_edges(1, len(neighbors), *np.array(ends, np.uint32).reshape(-1, 3).T)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(lists, st.integers(1, 3), st.sampled_from(["proper", 1, 2, 4]), st.sampled_from(ORDERS))
def test_greedy_colors_are_those_of_the_thinned_graph(strategy, lists, k, palette, order):
    rows, sets = read(lists)
    if strategy == "random":
        palette, order = 30 if palette == "proper" else palette, "count"
    request = Request(strategy, palette, seed=7, min_edge_count=k, order=order)
    coloring = graph.color(rows, request, transpose(rows), threads=2)
    neighbors = naive.thinned(sets, rows.n_features, k)
    counts = naive.cooccurrence(sets, rows.n_features)[1]
    mass = [sum(v in row for row in sets) for v in range(rows.n_features)]
    limit = 10**6 if palette == "proper" else palette
    in_order = ordered(rows, order, k, transposed=transpose(rows)).tolist()
    expected = naive.color_graph((neighbors, counts, mass), strategy, limit, 7, in_order)
    got = coloring.colors.tolist(), coloring.n_colors, coloring.forced, coloring.conflicts
    assert got == (expected if rows.n_features else ([], 0, 0, 0))


@pytest.mark.parametrize("order", ORDERS)
@given(lists, st.sampled_from(STRATEGIES))
def test_pairs_seen_once_are_what_rows_without_a_graph_know(order, lists, strategy):
    rows, _ = read(lists)
    is_random = strategy == "random"
    request = Request(strategy, 30 if is_random else "proper", order="count" if is_random else order)
    one, two = color(rows, request), graph.color(rows, request, transpose(rows))
    np.testing.assert_array_equal(one.colors, two.colors)
    np.testing.assert_array_equal(one.forbidden, two.forbidden)
    assert (one.n_colors, one.lower_bound) == (two.n_colors, two.lower_bound)


@given(lists, st.integers(1, 3), st.integers(0, 2**63 - 1))
def test_uniform_colorings_are_proper_and_the_same_for_any_number_of_threads(lists, k, seed):
    rows, sets = read(lists)
    request = Request("uniform", seed=seed, min_edge_count=k)
    coloring, how = color_uniform(rows, request)
    again, _ = color_uniform(rows, request, threads=3)
    np.testing.assert_array_equal(coloring.colors, color(rows, request).colors)
    np.testing.assert_array_equal(coloring.colors, again.colors)
    for v, around in enumerate(naive.thinned(sets, rows.n_features, k)):
        assert all(coloring.colors[u] != coloring.colors[v] for u in around)
    assert how.palette > 2 * how.max_degree and how.held_out >= 2 * how.max_degree
    if rows.n_features:
        assert coloring.n_colors == how.held_out + how.palette
        sizes = np.bincount(coloring.colors, minlength=coloring.n_colors)
        assert (sizes[: how.held_out] == 1).all(), "held-out features share their colors"
    if k == 1:
        assert collisions(rows, coloring).dropped == 0


@given(lists, st.integers(0, 2**63 - 1), st.integers(0, 50))
def test_a_step_takes_the_first_free_color_drawn(lists, seed, sweep):
    rows, sets = read(lists)
    neighbors = naive.thinned(sets, rows.n_features, 1)
    thinned = thin(rows)
    colors = np.arange(rows.n_features, dtype=np.int32)
    expected = colors.tolist()
    features = np.arange(rows.n_features)[::-1].copy()
    m = 2 * thinned.max_degree + 1
    _step((thinned.indptr, thinned.neighbors), features, colors, (m, seed, sweep))
    naive.glauber_step(neighbors, features.tolist(), expected, (m, seed, sweep))
    assert colors.tolist() == expected


def test_pieces_of_a_class_change_nothing(monkeypatch):
    import chromatic.coloring.glauber as module

    random = np.random.default_rng(0)
    neighbors = [set() for _ in range(200)]
    for u, v in random.integers(0, 200, (500, 2)).tolist():
        if u != v:
            neighbors[u].add(v)
            neighbors[v].add(u)
    random_graph = graph_of(neighbors)
    whole = sample(random_graph, 60, seed=3)
    monkeypatch.setattr(module, "FEATURES_PER_PIECE", 7)
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(
            whole.colors, sample(random_graph, 60, seed=3, threads=threads).colors
        )
    assert whole.steps % whole.core == 0 and 0 < whole.core <= 200
    assert 1 <= whole.at_once <= whole.core
    equal_weights = np.log(whole.core / 0.01) / np.log(
        (60 - random_graph.max_degree) / random_graph.max_degree
    )
    assert 1 <= whole.steps / whole.core <= np.ceil(equal_weights)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda rows: color_uniform(rows, Request("uniform", 3)),
            "max_colors is 3; expected 5 or more .*2 features .* degree, 1",
        ),
        (lambda rows: color_uniform(rows, Request("uniform", 9), epsilon=0), "epsilon is 0; expected more"),
        (lambda rows: sample(thin(rows), 4), "m is 4 and the largest degree 2; expected 5 colors or more"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    ring = [[1, 2], [2, 3], [3, 1]]
    pairs = [[2 * i, 2 * i + 1] for i in range(6)]
    rows, _ = read(ring if "largest degree 2" in message else pairs)
    with pytest.raises(InputError, match=message):
        call(rows)


@pytest.mark.parametrize("lists", [[[]], [[1], [2]]])
def test_graphs_without_edges_are_no_error(lists):
    rows, _ = read(lists)
    coloring, how = color_uniform(rows, Request("uniform"))
    assert len(coloring.colors) == rows.n_features and (how.steps, how.expected_collisions) == (0, 0)
    assert color(rows, Request(min_edge_count=2)).n_colors == min(1, rows.n_features)
