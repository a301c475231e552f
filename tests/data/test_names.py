import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data.names import Names, empty_names, place_names, with_twelve_digits

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


DECIMALS = st.builds(lambda k, p: k / 10.0**p, st.integers(-(10**15), 10**15), st.integers(0, 22))
TWELVE_DIGITS = st.builds(lambda k, p: k / 10.0**p, st.integers(-(10**12), 10**12), st.integers(0, 12))


@given(st.lists(DECIMALS | TWELVE_DIGITS | st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_are_written_in_as_few_digits_as_tell_them(values):
    texts = Names.of_numbers(np.array([0.5, *values])).tolist()  # of whole numbers alone, all digits
    assert texts == [naive.text_of(value) for value in [0.5, *values]]


@given(st.lists(DECIMALS | TWELVE_DIGITS | st.floats(-1e15, 1e15)))
def test_numbers_are_rounded_to_twelve_digits(values):
    rounded = with_twelve_digits(np.array(values))
    assert rounded.tolist() == pytest.approx([naive.twelve_digits(value) for value in values], rel=1e-11)
    assert np.array_equal(with_twelve_digits(rounded), rounded)
    for value in rounded[np.abs(rounded) >= 1e-10]:
        digits = naive.text_of(value).decode().split("e")[0].strip("-0.").replace(".", "")
        assert len(digits) <= 12 or value == round(value)


@given(st.lists(st.binary(max_size=5)))
def test_arrow_holds_the_same_names(strings):
    assert Names.of_arrow(Names.pack(strings).to_arrow()).tolist() == strings
    assert Names.of_arrow(Names.pack(strings).to_arrow()[1:]).tolist() == strings[1:]


@given(st.lists(st.tuples(st.binary(max_size=12), st.integers(0, 6)), max_size=12), st.integers(0, 5))
def test_names_are_placed_where_one_is_missing(placed, n_places):
    names, places = [name for name, _ in placed], [place for _, place in placed]
    expected = naive.placed_names(names, places, n_places)
    out = empty_names(np.array([len(name or b"") for name in expected], np.int64))
    missing = np.ones(n_places, np.bool_)
    place_names(Names.pack(names), np.array(places, np.uint32), missing, out)
    assert missing.tolist() == [name is None for name in expected]
    assert out.tolist() == [name or b"" for name in expected]


@given(st.lists(st.binary(max_size=5)), st.data())
def test_a_part_of_names(strings, data):
    start = data.draw(st.integers(0, len(strings)))
    stop = data.draw(st.integers(start, len(strings)))
    assert Names.pack(strings).part(start, stop).tolist() == strings[start:stop]


@given(st.lists(st.binary(max_size=20), min_size=1), st.lists(st.binary(max_size=20)), st.randoms())
def test_names_are_compared_with_spans(strings, others, random):
    others = [random.choice(strings) if random.random() < 0.5 else other for other in others]
    which = [random.randrange(len(strings) + 1) for _ in others]
    spans = Names.pack(others)
    same = Names.pack(strings).are(
        np.array(which, np.uint32), spans.data, spans.offsets[:-1], spans.offsets[1:]
    )
    assert same.tolist() == [
        k == len(strings) or strings[k] == other for k, other in zip(which, others, strict=True)
    ]
