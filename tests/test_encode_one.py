"""`encode_one(row)` is `transform([row])`, whatever the row holds."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chromatic import ChromaticEncoder
from chromatic.errors import InputError

N = 120
TRAINING = {
    "strings": [[f"s{i % 7}", f"t{i % 11}", "3", "é"] for i in range(N)],
    "integers": [[i % 7, 100 + i % 11, 3] for i in range(N)],
    "large integers": [[i % 7, 2**32 - 1 - i % 11, 3] for i in range(N)],
    "dicts": [{f"s{i % 7}": 1 + i % 3, "d": 0.5 + i % 2, f"t{i % 11}": "x"} for i in range(N)],
    "matrix": np.arange(N)[:, None] % np.array([2, 3, 5, 7]) == 1.0,
}
SETTINGS = [
    {},
    {"encoding": "frequency"},
    {"encoding": "target", "dense_threshold": 2.0},
    {"handle_unknown": "error"},
    {"names": False},
    {"values": "distinct"},
    {"null": "emit", "max_colors": 2},
    {"collisions": "drop", "linear": 0},
    {"linear": 0},
]


def fitted(kind, options):
    y = np.arange(N) % 7 < 3
    return ChromaticEncoder(16, **{"dense_threshold": 0.4, "min_gain": 0.0, **options}).fit(
        TRAINING[kind], y
    )


MODELS = [fitted(kind, options) for kind in TRAINING for options in SETTINGS]

KNOWN = st.sampled_from(["s1", "t3", "3", "é", "d", "t3=x", 1, 3, 105, 2**32 - 4])
ODD = st.one_of(
    [
        st.text(max_size=3),
        st.sampled_from(["\udc80", "s1\udcff", "\udcc3\udca9", "a\0b", "\0", "", "s1 ", "new", "03"]),
        st.binary(max_size=3),
        st.sampled_from([b"s1", b"\xff", b"3", np.bytes_(b"s1"), np.str_("s1")]),
        st.sampled_from([-1, 2**32, 2**32 + 3, 2**63, 2**64 + 3, -(2**70), 4]),
        st.sampled_from([3.0, 3.9, float("nan"), float("inf"), -0.0, 1e300, np.float64(3), np.float32(3)]),
        st.sampled_from([True, False, np.True_, np.int64(3), np.uint8(3), np.int64(-1), np.uint64(2**63)]),
        st.sampled_from([None, (), ("s1",), frozenset(["s1"]), 3j, Ellipsis]),
    ]
)
LISTED = st.lists(KNOWN | ODD, max_size=5)
ROWS = st.one_of(
    [
        LISTED,
        st.lists(KNOWN, max_size=5),
        st.lists(KNOWN | ODD, max_size=5).map(tuple),
        st.sets(KNOWN | ODD, max_size=5),
        st.dictionaries(KNOWN, st.sampled_from([0, 1, 1.0, 2, 2.5, "x", None, float("nan"), True])),
        st.lists(LISTED, min_size=1, max_size=2),
        st.lists(st.integers(0, 9), max_size=3).map(np.array),
        st.sampled_from([None, 3, b"s1", "no such file", iter(["s1"]), {"s1": 1}.keys(), ["s1"] * 600]),
    ]
)


def transformed(encoder, row):
    return encoder.transform([row]).toarray()[0]


def result_of(encode, encoder, row):
    """The values of all columns, or the message of the error; of a matrix, scikit-learn's own."""
    try:
        return encode(encoder, row)
    except ValueError as error:
        assert isinstance(error, InputError) or encoder.model_.input.kind == "matrix"
        return str(error)


@given(st.sampled_from(MODELS), ROWS)
@example(MODELS[len(SETTINGS)], [2**32 + 3])
@example(MODELS[len(SETTINGS)], [3.9])
@example(MODELS[len(SETTINGS)], ["3"])
@example(MODELS[len(SETTINGS)], [True])
@example(MODELS[0], ["\udcc3\udca9"])
@example(MODELS[3], ["new"])
def test_one_row_of_anything_is_encoded_as_many_are(encoder, row):
    wanted = result_of(transformed, encoder, row)
    found = result_of(ChromaticEncoder.encode_one, encoder, row)
    if isinstance(found, str):
        if not isinstance(wanted, str):  # what columns that are 1, or levels, cannot say
            assert "dense features with values" in found and set(wanted.tolist()) - {0, 1}
        elif not isinstance(row, str):
            assert found == wanted
    elif encoder.encoding_.tables.values is None and not encoder.encoding_.sums:
        assert found.tolist() == np.flatnonzero(wanted).tolist()
        assert set(wanted.tolist()) <= {0, 1}
    else:
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["integers", "strings", "dicts"])
def test_a_list_of_floats_is_no_matrix_where_features_were_lists(kind):
    encoder = fitted(kind, {})
    width = len(encoder.encoding_.vocabulary)
    for row in ([3.0], [3.0, 1.0], [0.0] * width):
        for encode in (encoder.encode_one, lambda row: transformed(encoder, row)):
            with pytest.raises(
                InputError, match="features of types float; expected all strings or all int"
            ):
                encode(row)


def test_lists_of_floats_are_a_matrix_if_they_are_one_in_training():
    X = TRAINING["matrix"].astype(float)
    encoder = ChromaticEncoder(8, min_gain=0.0).fit(X.tolist(), np.arange(N) % 2)
    assert np.array_equal(encoder.transform(X[:5].tolist()).toarray(), encoder.transform(X[:5]).toarray())
    with pytest.raises(InputError, match="features of types float; expected all strings or all integers"):
        ChromaticEncoder(8).fit([[1.0, 2.0], [3.0]] * 9, [0, 1] * 9)


class Shade(str):
    """Text of another type, as enumerations are."""


def test_text_of_any_type_is_text():
    X = [["red", f"b{i % 9}"] for i in range(90)]
    encoder = ChromaticEncoder(8, dense_threshold=0.4, min_gain=0.0).fit(X, [0, 1] * 45)
    row = [Shade("red"), Shade("b3")]
    assert encoder.encode_one(row).tolist() == encoder.transform([row]).toarray()[0].tolist()
    assert encoder.encode_one(row).any()
