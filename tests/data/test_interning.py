import naive
import numpy as np
import pytest
from helpers import assert_same_rows, assert_same_vocabulary, batches_of_text
from hypothesis import example, given
from hypothesis import strategies as st
from test_one_hash import SAME

from chromatic.data.batch import Batch, distinct_per_row
from chromatic.data.interning import BLOCK, LONG, NameIndex, intern
from chromatic.data.names import Names
from chromatic.data.vocabulary import learn

pytestmark = pytest.mark.kernels

SHORT = st.binary(max_size=LONG)
ALIKE = st.integers(0, 20).map(lambda n: b"the same beginning"[: n % 12] + b"\0" * (n // 12))
STRINGS = st.lists(SHORT | ALIKE | st.binary(min_size=LONG, max_size=40), max_size=60)


def numbers(index, strings):
    names = Names.pack(strings)
    return index.add(names.data, names.offsets[:-1], names.offsets[1:]).tolist()


@given(STRINGS, STRINGS)
@example([b"", b"\0", b"\0\0", b"\xff" * 8, b"\xff" * 9], [b"\0" * 8, b"\0" * 9, b""])
def test_strings_are_numbered_as_by_the_naive_index(strings, more):
    index = NameIndex()
    expected, known = naive.numbered(strings + more)
    assert numbers(index, strings) + numbers(index, more) == expected
    assert index.names().tolist() == known and len(index) == len(known)


@pytest.mark.parametrize("length", [3, 30])
def test_the_index_grows(length):
    strings = [b"%0*d" % (length, i % 900) for i in range(2000 if length == 3 else 20 * BLOCK)]
    strings += [b"%0*d" % (length + 2, i) for i in range(5000)]
    index = NameIndex()
    expected, known = naive.numbered(strings)
    assert numbers(index, strings) == expected and numbers(index, strings) == expected
    assert index.names().tolist() == known


def test_very_long_strings_are_told_apart_to_their_ends():
    long = b"x" * 70_000
    strings = [long, long[:-1], long[:-1] + b"y", long[:65_535], long[:65_536], long]
    index = NameIndex()
    assert numbers(index, strings) == [0, 1, 2, 3, 4, 0]
    assert index.names().tolist() == strings[:-1]


def test_strings_of_one_hash_have_numbers_of_their_own():
    index = NameIndex()
    assert numbers(index, [name.encode() for name in (*SAME, *SAME)]) == [0, 1, 2, 0, 1, 2]


def test_of_equal_strings_the_first_tells_the_field():
    names = Names.pack([b"a", b"b", b"a", b"b", b"c"])
    spans = names.data, names.offsets[:-1], names.offsets[1:]
    ids, tokens = intern(*spans, np.array([4, 2, 3, 4, 1], np.int32))
    assert ids.tolist() == [0, 1, 0, 1, 2] and tokens.fields.tolist() == [4, 2, 1]
    assert tokens.hashes.tolist() == [naive.xxh64(name) for name in (b"a", b"b", b"c")]


@given(
    st.lists(st.lists(st.integers(0, 40) | st.integers(0, 2**32 - 1), max_size=40), min_size=1, max_size=10)
)
def test_features_that_stand_twice_in_a_row_are_seen(rows):
    indptr = np.cumsum([0] + [len(row) for row in rows])
    ids = np.array([i for row in rows for i in row], np.uint32)
    batch = distinct_per_row(Batch(indptr, ids))
    found = [row.tolist() for row in np.split(batch.ids, batch.indptr[1:-1])]
    assert found == naive.distinct_features(rows)


@pytest.mark.parametrize("format", ["svmlight", "tokens", "vw"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_gathered_batches_share_tokens_and_learn_the_same(format, threads):
    bar = "| " if format == "vw" else ""
    text = "".join(f"{i % 2} {bar}a{i % 700} b{i % 13} c{i}\n" for i in range(3000)).encode()
    apart = batches_of_text(text, format, size=1 << 12, threads=threads)
    shared = batches_of_text(text, format, size=1 << 12, threads=threads, gathered=True)
    assert len(shared) > 5 and len({id(batch.tokens) for batch in shared}) <= threads
    assert len({id(batch.tokens) for batch in apart}) == len(apart)
    (one, rows), (other, same) = (learn(batches, threads=threads) for batches in (apart, shared))
    assert_same_vocabulary(one, other)
    assert_same_rows(rows, same)


def test_integers_before_the_first_string_are_gathered_too():
    text = b"".join(b"1 %d:1 7:1\n" % i for i in range(1000)) + b"0 a:1 7:1\n" * 500
    batches = batches_of_text(text, size=1 << 10, gathered=True)
    assert batches[0].tokens is None and batches[-1].has_names
    vocabulary, rows = learn(batches, dense_threshold=2, threads=2)
    expected, others = learn(batches_of_text(text), dense_threshold=2)
    assert_same_vocabulary(vocabulary, expected)
    assert_same_rows(rows, others)
