import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import Request, color_sample
from chromatic.data.rows import Rows

SETS = st.lists(st.sets(st.integers(0, 15), max_size=6), max_size=12)


def rows_of(sets, n_features):
    codes = [code for row in sets for code in sorted(row)]
    indptr = np.cumsum([0, *map(len, sets)])
    dense = np.empty((len(sets), 0), np.float32)
    entries = {"indptr": indptr, "codes": np.array(codes, np.uint32)}
    return Rows(**entries, labels=None, dense=dense, n_features=n_features, vocabulary=7)


@pytest.mark.kernels
@given(SETS, st.lists(st.integers(1, 9), min_size=16, max_size=16), st.integers(1, 9))
def test_features_outside_the_sample_take_the_lightest_color(sets, counts, palette):
    found = color_sample(rows_of(sets, 16), np.array(counts), Request("balanced", palette))
    colors, n_colors, forced, conflicts = naive.color_sample(sets, counts, palette)
    assert found.colors.tolist() == colors
    assert (found.n_colors, found.forced, found.conflicts) == (n_colors, forced, conflicts)
    assert (found.sampled_rows, found.vocabulary) == (len(sets), 7)


def test_a_sample_of_all_rows_gives_their_colors():
    from chromatic.coloring import color

    random = np.random.default_rng(0)
    sets = [set(random.integers(0, 40, 5).tolist()) for _ in range(200)]
    rows = rows_of(sets, 40)
    wanted = color(rows)
    found = color_sample(rows, np.bincount(rows.codes, minlength=40), Request())
    assert (found.colors == wanted.colors).all()
