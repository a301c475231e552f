import pickle

import naive
import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import hashing
from chromatic.data.hashing import MISSING, HashIndex, HashMap, hash_spans, mix_integers, secret_hashes
from chromatic.data.names import Names, integers_of_spans

pytestmark = pytest.mark.kernels


@given(st.lists(st.binary(max_size=100), max_size=20))
def test_strings_hash_to_xxh64(strings):
    names = Names.pack(strings)
    hashes = hash_spans(names.data, names.offsets[:-1], names.offsets[1:]).tolist()
    assert hashes == [naive.xxh64(string) for string in strings]
    assert hashes == [xxhash.xxh64_intdigest(string) for string in strings]


@given(st.lists(st.binary(max_size=100), max_size=20))
def test_secret_hashes_are_xxh64_with_other_primes(strings):
    names = Names.pack(strings)
    hashes = secret_hashes(names.data, names.offsets[:-1], names.offsets[1:]).tolist()
    assert hashes == [naive.xxh64(string, hashing._SECRET.tolist()) for string in strings]


@given(st.integers(0, 2**64 - 1), st.sampled_from([b"", b"8 bytes ", b"sixteen bytes in"]))
def test_a_string_can_be_made_up_for_any_hash(h, prefix):
    assert naive.xxh64(naive.with_hash(h, prefix)) == h


def test_secret_hashes_tell_apart_what_was_made_up():
    names = Names.pack(naive.with_hash(7, b"%08d" % i) for i in range(1000))
    spans = names.data, names.offsets[:-1], names.offsets[1:]
    assert set(hash_spans(*spans).tolist()) == {7} and len(set(secret_hashes(*spans).tolist())) == 1000


MADE_UP = {
    "of equal low bits": lambda i: i << 44 | 12345,
    "of equal high bits": lambda i: i,
    "in steps": lambda i: i * 0x9E3779B97F4A7C15 & naive.MASK,
    "in steps that undo a factor of XXH64": lambda i: i * pow(naive.P1, -1, 1 << 64) & naive.MASK,
    "in blocks": lambda i: i % 64 << 58 | i // 64,
}


@pytest.mark.parametrize("made_up", MADE_UP.values(), ids=MADE_UP)
def test_made_up_hashes_do_not_crowd_in_a_table(made_up):
    """All look-ups end at a free slot: of 10,000 hashes, no more than some dozens stand in a row."""
    hashes = np.array([made_up(i) for i in range(10_000)], np.uint64)
    index, numbers = HashIndex(), HashMap(hashes, np.arange(10_000, dtype=np.uint64))
    index.add(hashes)
    for table in (index, numbers):
        free = np.flatnonzero(table._slots[hashing._HEAD + 1 :: 2] == 0)
        assert len(free) > 10_000 and np.diff(free).max() < 500


def test_an_index_is_pickled_without_its_secret():
    hashes = mix_integers(np.arange(3000, dtype=np.uint32))
    one, other = HashIndex.of(hashes), HashIndex.of(hashes)
    assert pickle.dumps(one) == pickle.dumps(other) and not np.array_equal(one._slots, other._slots)
    again = pickle.loads(pickle.dumps(one))
    assert again.find(hashes).tolist() == list(range(3000)) and len(again) == 3000


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
