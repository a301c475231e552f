"""Features of a row that share a color all count."""

from itertools import pairwise

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.encoding.encoded import NO_COLUMN, Summing, Tables, encode_sums

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 40), max_size=12), min_size=1, max_size=20)


def pairs(encoded):
    starts = encoded.indptr
    columns, values = encoded.columns.tolist(), encoded.values.tolist()
    return [list(zip(columns[i:j], values[i:j], strict=True)) for i, j in pairwise(starts)]


@given(lists, st.integers(0, 3), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_columns_hold_the_sums_of_their_features(lists, n_linear, with_values, emit, random):
    """With few columns most rows look at all of them; with many, touched ones are sorted."""
    rows = Reader().read(lists, dense_threshold=2).rows
    sets = [set(codes.tolist()) for codes in np.split(rows.codes, rows.indptr[1:-1])]
    n, n_colors, n_own = rows.n_features, 3, random.choice([5, 400])
    colors = np.array([random.randrange(n_colors) for _ in range(n)], np.int32)
    columns = np.array([random.randrange(-1, n_own) for _ in range(n)], np.int32)
    values = np.array([random.choice([0.5, -0.5, 2.0]) for _ in range(n)])
    n_weighed = random.randint(0, n)  # features after these have no weight
    weights = np.array([random.choice([0.25, -0.25, 1.0]) for _ in range(n_weighed)], np.float32)
    absent = np.array([random.randrange(n_own) for _ in range(n_colors)], np.int32) if emit else None
    tables = Tables(columns[:, None], values[:, None] if with_values else None)
    if n_linear:
        tables = tables._replace(weights=weights[:, None])
    encoded = encode_sums(rows, tables, summing=Summing(colors, n_colors, n_own, n_linear), absent=absent)
    assert encoded.n_sparse_columns == n_own + n_linear
    assert pairs(encoded) == naive.summed_columns(
        sets,
        [None if column == NO_COLUMN else column for column in columns.tolist()],
        values.tolist() if with_values else [1.0] * n,
        [*weights.tolist(), *[None] * (n - n_weighed)],
        colors=colors.tolist(),
        n_own=n_own,
        n_linear=n_linear,
        absent=None if absent is None else absent.tolist(),
    )


@given(lists, st.randoms(use_true_random=False))
def test_a_row_is_encoded_by_the_table_of_its_fold(lists, random):
    rows = Reader().read(lists, dense_threshold=2).rows
    n, n_rows = rows.n_features, rows.n_rows
    fold = np.array([random.randrange(3) for _ in range(n_rows)], np.int32)
    columns = np.array([random.randrange(-1, 4) for _ in range(3 * n)], np.int32).reshape(n, 3)
    weights = np.array([random.random() for _ in range(3 * n)], np.float32).reshape(n, 3)
    summing = Summing(np.zeros(n, np.int32), 1, 4, 1)
    together = pairs(encode_sums(rows, Tables(columns, weights=weights), fold, summing=summing))
    for f in range(3):
        of_fold = Tables(columns[:, f : f + 1].copy(), weights=weights[:, f : f + 1].copy())
        alone = pairs(encode_sums(rows, of_fold, summing=summing))
        for row in np.flatnonzero(fold == f):
            assert together[row] == alone[row]
