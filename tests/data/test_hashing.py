import naive
import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data.hashing import MISSING, HashIndex, hash_spans, mix_integers
from chromatic.data.names import Names, integers_of_spans

pytestmark = pytest.mark.kernels


@given(st.lists(st.binary(max_size=100), max_size=20))
def test_strings_hash_to_xxh64(strings):
    names = Names.pack(strings)
    hashes = hash_spans(names.data, names.offsets[:-1], names.offsets[1:]).tolist()
    assert hashes == [naive.xxh64(string) for string in strings]
    assert hashes == [xxhash.xxh64_intdigest(string) for string in strings]


def test_integers_hash_one_to_one():
    values = np.arange(100_000, dtype=np.uint32)
    assert len(np.unique(mix_integers(values))) == len(values)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=3000))
def test_the_index_numbers_hashes_in_the_order_of_their_first_coming(hashes):
    number = {}
    expected = [number.setdefault(h, len(number)) for h in hashes]
    index = HashIndex()
    half = len(hashes) // 2
    first_ids, _ = index.add(np.array(hashes[:half], np.uint64))
    more_ids, first = index.add(np.array(hashes[half:], np.uint64))
    assert first_ids.tolist() + more_ids.tolist() == expected
    assert [hashes[half:][i] for i in first] == list(number)[len(number) - len(first) :]
    assert index.find(np.array(list(number), np.uint64)).tolist() == list(range(len(number)))
    others = np.array([h ^ 1 for h in number if h ^ 1 not in number], np.uint64)
    assert (index.find(others) == MISSING).all()


def test_the_index_grows():
    hashes = mix_integers(np.arange(5000, dtype=np.uint32))
    index = HashIndex()
    assert index.add(hashes)[0].tolist() == list(range(5000))
    assert index.find(hashes).tolist() == list(range(5000))


@given(st.lists(st.from_regex(rb"\A[0-9a+-]{0,12}\Z") | st.integers(0, 2**33).map(lambda i: b"%d" % i)))
def test_canonical_integers_are_told_from_other_strings(strings):
    names = Names.pack(strings)
    values, valid = integers_of_spans(names.data, names.offsets[:-1], names.offsets[1:])
    assert valid.tolist() == [naive.is_integer(string) for string in strings]
    assert values[valid].tolist() == [int(string) for string in strings if naive.is_integer(string)]
