import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic._numba import RANKED, sort_slice

pytestmark = pytest.mark.kernels


@given(st.lists(st.integers(0, 100), max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_a_slice_is_sorted_and_the_rest_left_alone(values, a, b):
    check(values, a, b, distinct=False)


@given(st.sets(st.integers(0, 10**6), max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_a_slice_of_distinct_values_is_sorted(values, a, b):
    check(sorted(values, key=lambda value: value * 7919 % 10**6), a, b, distinct=True)


def check(values, a, b, distinct):
    start, stop = sorted((min(a, len(values)), min(b, len(values))))
    array = np.array(values, np.uint32)
    sort_slice(array, start, stop, np.empty(RANKED, np.uint32), distinct)
    assert array.tolist() == values[:start] + sorted(values[start:stop]) + values[stop:]
