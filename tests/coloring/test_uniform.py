"""What holds only on average: that colorings are uniform, and that the bound is one."""

from collections import Counter

import naive
import numpy as np
import pytest
from test_thinned import graph_of

from chromatic.coloring import Request, collisions, transpose
from chromatic.coloring.glauber import sample
from chromatic.coloring.uniform import color_uniform
from chromatic.data import Reader
from chromatic.graph.bounds import bound
from chromatic.graph.study import study

RING = [{1, 3}, {0, 2}, {1, 3}, {0, 2}]
TAILED = [{1, 3}, {0, 2}, {1, 3, 4}, {0, 2}, {2}]
TRIANGLE = [{1, 2, 3}, {0, 2}, {0, 1}, {0}]


def whole(colors):
    return tuple(colors)


def sharing(colors):
    """Who shares a color with whom, whatever the color."""
    first = {}
    return tuple(first.setdefault(c, len(first)) for c in colors)


def chi_square(neighbors, m, key, draw, n):
    """How far n drawn colorings are from uniform, in standard deviations of chi-square."""
    every = Counter(key(coloring) for coloring in naive.proper_colorings(neighbors, m))
    seen = Counter(key(draw(seed)) for seed in range(n))
    assert set(seen) <= set(every), "a coloring is not proper"
    expected = {kind: n * share / every.total() for kind, share in every.items()}
    value = sum((seen[kind] - e) ** 2 / e for kind, e in expected.items())
    freedom = len(every) - 1
    return (value - freedom) / np.sqrt(2 * freedom)


@pytest.mark.parametrize(
    ("neighbors", "m", "last", "key"),
    [
        (RING, 5, [], whole),
        (RING, 5, [], sharing),
        (TAILED, 7, [], sharing),  # the tail is drawn once
        (TRIANGLE, 7, [2, 3], sharing),
    ],
)
def test_glauber_dynamics_draws_colorings_uniformly(neighbors, m, last, key):
    graph = graph_of(neighbors)
    marked = np.isin(np.arange(len(neighbors)), last)
    far = chi_square(neighbors, m, key, lambda seed: sample(graph, m, seed=seed, last=marked).colors, 3000)
    assert abs(far) < 3.5


def test_a_sampler_that_colors_once_and_stops_is_found_out():
    def once(seed):
        colors = []
        random = np.random.default_rng(seed)
        for v, around in enumerate(RING):
            taken = {colors[u] for u in around if u < v}
            colors.append(random.choice([c for c in range(5) if c not in taken]))
        return colors

    assert chi_square(RING, 5, sharing, once, 3000) > 10


def drawn(n_rows, seed):
    """Rows drawn alike: some six features of a heavy tail over two thousand."""
    random = np.random.default_rng(seed)
    return [np.unique((2000 ** random.random(6)).astype(int)).tolist() for _ in range(n_rows)]


@pytest.fixture(scope="module")
def data():
    train = Reader().read(drawn(3000, 1), dense_threshold=2)
    return train.rows, Reader().read(drawn(3000, 2), vocabulary=train.vocabulary).rows


@pytest.mark.parametrize("k", [1, 3])
def test_uniform_colorings_collide_less_than_promised(data, k):
    train, test = data
    transposed = transpose(train)
    _, how = color_uniform(train, Request("uniform", min_edge_count=k), transposed=transposed)
    m = how.held_out + 2 * how.max_degree + 30
    requests = [Request("uniform", m, seed=seed, min_edge_count=k) for seed in range(5)]
    drawn = [color_uniform(train, request, transposed=transposed) for request in requests]
    seen = np.mean([collisions(test, coloring).mean for coloring, _ in drawn])
    assert 0 < seen < drawn[0][1].expected_collisions


def test_good_turing_foretells_new_edges_and_the_theorem_bounds_collisions(data):
    train, test = data
    whole = study(train, 6, test=test, threads=2)
    for series in (whole.per_k, whole.filtered):
        for estimate, new in (("good_turing", "new_edges"), ("good_turing_seen", "new_edges_seen")):
            np.testing.assert_allclose(series[estimate], series[new], rtol=0.06)
    k, held = 3, whole.held_out[2]
    m = 2 * held.max_degree + 30
    promised = bound(
        k,
        m,
        n_rows=train.n_rows,
        largest_nnz=train.largest_nnz,
        max_degree=held.max_degree,
        good_turing=whole.filtered["good_turing"][k - 1],
    )
    coloring, _ = color_uniform(train, Request("uniform", m + len(held.features), min_edge_count=k))
    assert collisions(test, coloring).mean <= promised.mcdiarmid < promised.paper
