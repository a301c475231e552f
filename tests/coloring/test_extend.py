"""Colors for new features, while those that have a color keep it."""

from dataclasses import replace

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import Coloring, extend
from chromatic.data.rows import Rows

SETS = st.lists(st.sets(st.integers(0, 11), max_size=6), min_size=1, max_size=15)


def rows_of(sets, n_features):
    indptr = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    codes = np.array([code for row in sets for code in sorted(row)], np.uint32)
    dense = np.empty((len(sets), 0), np.float32)
    return Rows(indptr, codes, None, dense, n_features=n_features, vocabulary=7)


def coloring_of(colors, n_colors, strategy="balanced"):
    return Coloring(
        colors=np.array(colors, np.int32),
        n_colors=n_colors,
        strategy=strategy,
        palette=n_colors,
        seed=0,
        forced=2,
        conflicts=3,
        lower_bound=1,
        vocabulary=5,
        forbidden=np.zeros(len(colors), np.int32),
    )


@pytest.mark.kernels
@given(SETS, st.integers(1, 70), st.data())
def test_new_features_are_colored_as_by_the_naive_twin(sets, n_colors, data):
    known = data.draw(st.lists(st.integers(0, n_colors - 1), max_size=12))
    masses = data.draw(st.lists(st.integers(0, 9), min_size=12, max_size=12))
    extended = extend(coloring_of(known, n_colors), rows_of(sets, 12), masses=np.array(masses))
    colors, forced, conflicts = naive.extend(sets, known, masses, n_colors)
    assert extended.colors.tolist() == colors
    assert (extended.forced, extended.conflicts) == (min(2, len(known)) + forced, 3 + conflicts)
    assert (extended.n_colors, extended.vocabulary) == (n_colors, 7)


def test_a_value_of_a_known_field_takes_its_color():
    rows = rows_of([{0, 1, 2}, {3, 4}], 5)
    fields = np.array([0, 1, 1, 0, -1], np.int32)
    by_field = coloring_of([0, 1], 3, "fields")
    masses = np.ones(5, np.int64)
    assert extend(by_field, rows, masses=masses, fields=fields, n_fields=2).colors.tolist() == [
        0,
        1,
        1,
        0,
        2,
    ]
    new_field, heavy = np.array([0, 1, -1, 0, 2], np.int32), np.array([1, 1, 9, 1, 1])
    beside = coloring_of([0, 1, 2], 3, "fields")  # the third feature has no field
    colors = extend(beside, rows, masses=heavy, fields=new_field, n_fields=2).colors
    assert colors.tolist() == [0, 1, 2, 0, 1]
    other = replace(by_field, strategy="balanced")
    assert extend(other, rows, masses=masses, fields=fields, n_fields=2).colors.tolist()[2] == 2
