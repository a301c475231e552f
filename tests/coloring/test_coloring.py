import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import Request, certify, collisions, color, represent, transpose
from chromatic.data import Reader
from chromatic.errors import InputError

pytestmark = pytest.mark.kernels

STRATEGIES = ("first-fit", "balanced", "random")
lists = st.lists(st.lists(st.integers(0, 25), max_size=8), min_size=1, max_size=20)
FIELDS = np.array([0, -1], np.int32)
palettes = st.sampled_from(["proper", 1, 2, 3, 5, 64, 70])


def read(rows):
    data = Reader().read(rows, dense_threshold=2)
    return data.rows, sets(data.rows)


def sets(rows):
    return [set(part.tolist()) for part in np.split(rows.codes, rows.indptr[1:-1])]


def palette_for(strategy, palette):
    return 30 if strategy == "random" and palette == "proper" else palette


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(lists, palettes, st.integers(0, 2**63 - 1))
def test_colors_are_those_of_the_graph(strategy, lists, palette, seed):
    rows, as_sets = read(lists)
    palette = palette_for(strategy, palette)
    coloring = color(rows, Request(strategy, palette, seed=seed))
    limit = 10**6 if palette == "proper" else palette
    colors, n_colors, forced, conflicts = naive.greedy(as_sets, rows.n_features, strategy, limit, seed)
    assert coloring.colors.tolist() == colors
    assert (coloring.forced, coloring.conflicts) == (forced, conflicts)
    assert coloring.n_colors == (n_colors if colors else 0)
    assert coloring.lower_bound == max(len(row) for row in as_sets)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_colors_are_those_of_the_graph_where_bitsets_widen(strategy):
    random = np.random.default_rng(0)
    rows, as_sets = read([random.integers(0, 300, 70).tolist() for _ in range(12)] + [list(range(140))])
    for palette in ("proper", 100, 160):
        palette = palette_for(strategy, palette)
        limit = 10**6 if palette == "proper" else palette
        colors, n_colors, forced, _ = naive.greedy(as_sets, rows.n_features, strategy, limit)
        coloring = color(rows, Request(strategy, palette))
        assert (coloring.colors.tolist(), coloring.n_colors, coloring.forced) == (colors, n_colors, forced)


@given(lists, st.sampled_from(STRATEGIES[:2]))
def test_a_proper_coloring_has_no_collision_in_training(lists, strategy):
    rows, _ = read(lists)
    coloring = color(rows, Request(strategy))
    assert coloring.forced == 0
    assert collisions(rows, coloring).dropped == 0
    assert coloring.n_colors >= coloring.lower_bound


@given(lists, palettes, lists)
def test_the_representation_keeps_the_rarest_feature_of_each_color(lists, palette, others):
    data = Reader().read(lists, dense_threshold=2)
    more = Reader().read(others, vocabulary=data.vocabulary).rows
    coloring = color(data.rows, Request("balanced", palette))
    kept, lost = represent(more, coloring)
    expected = naive.represent(sets(more), coloring.colors.tolist())
    assert [part.tolist() for part in np.split(kept.codes, kept.indptr[1:-1])] == expected
    dropped = [len(row) - len(left) for row, left in zip(sets(more), expected, strict=True)]
    assert lost.mean == pytest.approx(np.mean(dropped))
    assert lost.std == pytest.approx(np.std(dropped))
    assert lost.share_of_rows == pytest.approx(np.mean(np.array(dropped) > 0))
    assert sum(count for _, count in lost.worst_colors) == lost.dropped == sum(dropped)


@given(lists)
def test_rows_are_transposed_alike_for_any_number_of_threads(lists):
    rows, as_sets = read(lists)
    expected = [[i for i, row in enumerate(as_sets) if v in row] for v in range(rows.n_features)]
    for threads in (1, 2, 3):
        transposed = transpose(rows, threads)
        parts = np.split(transposed.rows, transposed.indptr[1:-1])
        assert [part.tolist() for part in parts] == (expected or [[]])


@given(lists, st.sampled_from([2, 5, 40]), st.integers(0, 100))
def test_the_certificate_counts_pairs_seen_once(lists, palette, seed):
    rows, as_sets = read(lists)
    transposed = transpose(rows)
    coloring = color(rows, Request("random", palette, seed=seed), transposed=transposed)
    expected = naive.expected_collisions(as_sets, rows.n_features, palette, seed)
    for threads in (1, 3):
        certificate = certify(rows, transposed, coloring, threads=threads)
        assert certificate.expected == pytest.approx(expected)
        assert certificate.standard_error == 0


def test_features_of_fields_have_the_colors_of_their_fields():
    import pandas as pd

    table = pd.DataFrame(
        {"city": ["x", "y", "x"], "sex": ["f", "m", "m"], "tags": [["a", "b"], ["b", "c"], []]}
    )
    data = Reader().read(table, keep_fields=True, dense_threshold=2)
    coloring = color(data.rows, Request(fields=data.vocabulary.fields))
    by_name = dict(zip(data.vocabulary.names.tolist(), coloring.colors.tolist(), strict=True))
    assert by_name[b"city=x"] == by_name[b"city=y"] == 0
    assert by_name[b"sex=f"] == by_name[b"sex=m"] == 1
    assert {by_name[b"a"], by_name[b"b"], by_name[b"c"]} == {2, 3}
    assert (coloring.n_colors, coloring.strategy) == (4, "fields")
    with pytest.raises(InputError, match="max_colors is 2; expected more than the 2 fields"):
        color(data.rows, Request(palette=2, fields=data.vocabulary.fields))


@pytest.mark.parametrize("lists", [[[]], [[], []], [[1]]])
def test_nothing_to_color_is_no_error(lists):
    rows, _ = read(lists)
    for strategy, palette in (("balanced", "proper"), ("first-fit", 3), ("random", 3)):
        coloring = color(rows, Request(strategy, palette))
        assert len(coloring.colors) == rows.n_features
        assert collisions(rows, coloring).mean == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"palette": 0}, "max_colors is 0; expected 1 to"),
        ({"palette": -3}, "max_colors is -3"),
        ({"palette": "many"}, "max_colors is 'many'; expected a number, or 'proper'"),
        ({"palette": 2.5}, "max_colors is 2.5"),
        ({"seed": -1}, "the seed is -1; expected 0 to"),
        (
            {"strategy": "best"},
            "the strategy is 'best'; expected one of balanced, first-fit, random, uniform",
        ),
        ({"strategy": "random"}, "a random coloring needs a number of colors"),
        ({"min_edge_count": 0}, "min_edge_count is 0; expected 1 or more"),
        ({"min_edge_count": 2, "fields": FIELDS}, "min_edge_count is of no use where coloring is 'fields'"),
        ({"strategy": "uniform", "fields": FIELDS}, "a uniform coloring has no place for fields"),
        ({"strategy": "uniform", "at_most": 3}, "a uniform coloring has no place for fields and at_most"),
        ({"palette": 3, "at_most": 3}, "at_most is 3 and max_colors 3; expected 1 or more, and 'proper'"),
        ({"at_most": 0}, "at_most is 0"),
        ({"order": "name"}, "the order is 'name'; expected one of count, degree"),
        (
            {"order": "degree", "strategy": "random", "palette": 3},
            "order is 'degree' and the coloring 'random' has none; expected 'count', or the coloring 'bal",
        ),
        ({"order": "degree", "strategy": "uniform"}, "the coloring 'uniform' has none; expected 'count'"),
        ({"order": "degree", "fields": FIELDS}, "the coloring 'fields' has none; expected 'count'"),
        ({"min_edge_count": "many"}, "min_edge_count is 'many'; expected 1 or more, or 'auto'"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        color(read([[1, 2]])[0], Request(**options))


def test_rows_of_another_vocabulary_are_refused():
    coloring = color(read([[1, 2], [1]])[0])
    with pytest.raises(InputError, match="another vocabulary"):
        collisions(read([[1, 3], [1]])[0], coloring)


def test_only_random_colorings_are_certified():
    rows, _ = read([[1, 2]])
    with pytest.raises(InputError, match="the coloring is balanced"):
        certify(rows, transpose(rows), color(rows))
