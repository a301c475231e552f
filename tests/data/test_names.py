import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data.names import Names

pytestmark = pytest.mark.kernels


@given(st.lists(st.binary(max_size=12)), st.randoms())
def test_names_are_taken_in_any_order(strings, random):
    order = [random.randrange(len(strings)) for _ in strings]
    taken = Names.pack(strings).take(np.array(order, np.int64))
    assert taken.tolist() == [strings[i] for i in order]


@given(st.lists(st.lists(st.binary(max_size=5)), min_size=1))
def test_names_are_joined(parts):
    assert Names.concatenate([Names.pack(part) for part in parts]).tolist() == [
        s for part in parts for s in part
    ]


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_integers_are_named_by_their_digits(values):
    assert Names.of_integers(np.array(values, np.uint32)).tolist() == [b"%d" % v for v in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**54), 2**54)))
def test_numbers_are_written_so_that_they_read_back(values):
    texts = Names.of_numbers(np.array(values, np.float64)).tolist()
    assert [float(text) for text in texts] == [float(value) for value in values]


@given(st.lists(st.binary(max_size=5)))
def test_arrow_holds_the_same_names(strings):
    assert Names.of_arrow(Names.pack(strings).to_arrow()).tolist() == strings
    assert Names.of_arrow(Names.pack(strings).to_arrow()[1:]).tolist() == strings[1:]
