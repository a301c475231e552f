import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import certify, collisions, color, represent, transpose
from chromatic.data import Reader
from chromatic.errors import InputError

pytestmark = pytest.mark.kernels

FITS = ("first-fit", "balanced", "random")
lists = st.lists(st.lists(st.integers(0, 25), max_size=8), min_size=1, max_size=20)
palettes = st.sampled_from(["proper", 1, 2, 3, 5, 64, 70])


def read(rows):
    data = Reader().read(rows, dense_threshold=2)
    return data.rows, sets(data.rows)


def sets(rows):
    return [set(part.tolist()) for part in np.split(rows.codes, rows.indptr[1:-1])]


def palette_for(fit, palette, rows):
    return 30 if fit == "random" and palette == "proper" else palette


@pytest.mark.parametrize("fit", FITS)
@given(lists, palettes, st.integers(0, 2**63 - 1))
def test_colors_are_those_of_the_graph(fit, lists, palette, seed):
    rows, as_sets = read(lists)
    palette = palette_for(fit, palette, rows)
    found = color(rows, fit, palette, seed=seed)
    limit = 10**6 if palette == "proper" else palette
    colors, n_colors, forced, conflicts = naive.greedy(as_sets, rows.n_features, fit, limit, seed)
    assert found.colors.tolist() == colors
    assert (found.forced, found.conflicts) == (forced, conflicts)
    assert found.n_colors == (n_colors if colors else 0)
    assert found.lower_bound == max(len(row) for row in as_sets)


@pytest.mark.parametrize("fit", FITS)
def test_colors_are_those_of_the_graph_where_bitsets_widen(fit):
    random = np.random.default_rng(0)
    rows, as_sets = read([random.integers(0, 300, 70).tolist() for _ in range(12)] + [list(range(140))])
    for palette in ("proper", 100, 160):
        palette = palette_for(fit, palette, rows)
        limit = 10**6 if palette == "proper" else palette
        colors, n_colors, forced, _ = naive.greedy(as_sets, rows.n_features, fit, limit)
        found = color(rows, fit, palette)
        assert (found.colors.tolist(), found.n_colors, found.forced) == (colors, n_colors, forced)


@given(lists, st.sampled_from(FITS[:2]))
def test_a_proper_coloring_has_no_collision_in_training(lists, fit):
    rows, _ = read(lists)
    found = color(rows, fit)
    assert found.forced == 0
    assert collisions(rows, found).dropped == 0
    assert found.n_colors >= found.lower_bound


@given(lists, palettes, lists)
def test_the_representation_keeps_the_rarest_feature_of_each_color(lists, palette, others):
    data = Reader().read(lists, dense_threshold=2)
    more = Reader().read(others, vocabulary=data.vocabulary).rows
    found = color(data.rows, "balanced", palette)
    kept, lost = represent(more, found)
    expected = naive.represent(sets(more), found.colors.tolist())
    assert [part.tolist() for part in np.split(kept.codes, kept.indptr[1:-1])] == expected
    dropped = [len(row) - len(left) for row, left in zip(sets(more), expected, strict=True)]
    assert lost.mean == pytest.approx(np.mean(dropped))
    assert lost.std == pytest.approx(np.std(dropped))
    assert lost.share_of_rows == pytest.approx(np.mean(np.array(dropped) > 0))
    assert sum(count for _, count in lost.worst_colors) == lost.dropped == sum(dropped)


@given(lists)
def test_columns_are_the_transposed_rows_for_any_number_of_threads(lists):
    rows, as_sets = read(lists)
    expected = [[i for i, row in enumerate(as_sets) if v in row] for v in range(rows.n_features)]
    for threads in (1, 2, 3):
        columns = transpose(rows, threads)
        assert [part.tolist() for part in np.split(columns.rows, columns.indptr[1:-1])] == (
            expected or [[]]
        )


@given(lists, st.sampled_from([2, 5, 40]), st.integers(0, 100))
def test_the_certificate_counts_pairs_seen_once(lists, palette, seed):
    rows, as_sets = read(lists)
    columns = transpose(rows)
    found = color(rows, "random", palette, seed=seed, columns=columns)
    expected = naive.expected_collisions(as_sets, rows.n_features, palette, seed)
    for threads in (1, 3):
        certificate = certify(rows, columns, found, threads=threads)
        assert certificate.expected == pytest.approx(expected)
        assert certificate.standard_error == 0


def test_features_of_fields_have_the_colors_of_their_fields():
    import pandas as pd

    table = pd.DataFrame(
        {"city": ["x", "y", "x"], "sex": ["f", "m", "m"], "tags": [["a", "b"], ["b", "c"], []]}
    )
    data = Reader().read(table, keep_fields=True, dense_threshold=2)
    found = color(data.rows, fields=data.vocabulary.fields)
    by_name = dict(zip(data.vocabulary.names.tolist(), found.colors.tolist(), strict=True))
    assert by_name[b"city=x"] == by_name[b"city=y"] == 0
    assert by_name[b"sex=f"] == by_name[b"sex=m"] == 1
    assert {by_name[b"a"], by_name[b"b"], by_name[b"c"]} == {2, 3}
    assert (found.n_colors, found.fit) == (4, "fields")
    with pytest.raises(InputError, match="max_colors is 2; expected more than the 2 fields"):
        color(data.rows, max_colors=2, fields=data.vocabulary.fields)


@pytest.mark.parametrize("lists", [[[]], [[], []], [[1]]])
def test_nothing_to_color_is_no_error(lists):
    rows, _ = read(lists)
    for fit, palette in (("balanced", "proper"), ("first-fit", 3), ("random", 3)):
        found = color(rows, fit, palette)
        assert len(found.colors) == rows.n_features
        assert collisions(rows, found).mean == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_colors": 0}, "max_colors is 0; expected 1 to"),
        ({"max_colors": -3}, "max_colors is -3"),
        ({"max_colors": "many"}, "max_colors is 'many'; expected a number, or 'proper'"),
        ({"max_colors": 2.5}, "max_colors is 2.5"),
        ({"seed": -1}, "the seed is -1; expected 0 to"),
        ({"fit": "best"}, "the fit is 'best'; expected one of balanced, first-fit, random"),
        ({"fit": "random"}, "a random coloring needs a number of colors"),
        ({"order": "name"}, "the order is 'name'; expected one of count, degree"),
    ],
)
def test_impossible_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        color(read([[1, 2]])[0], **options)


def test_rows_of_another_vocabulary_are_refused():
    found = color(read([[1, 2], [1]])[0])
    with pytest.raises(InputError, match="another vocabulary"):
        collisions(read([[1, 3], [1]])[0], found)


def test_only_random_colorings_are_certified():
    rows, _ = read([[1, 2]])
    with pytest.raises(InputError, match="the coloring is balanced"):
        certify(rows, transpose(rows), color(rows))
