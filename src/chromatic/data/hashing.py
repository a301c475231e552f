"""64-bit hashes of features, and tables from hashes to numbers.

A string's hash is XXH64 of its bytes with seed 0; an integer's is a fixed mix of its value. Model
files, Spark and other languages rely on both: docs/file-formats.md writes them down.

Anyone can make up strings with hashes of their choice. So where a table puts a hash depends on numbers
that are drawn anew for each table, and no order of slots is ever seen outside; and `secret_hashes` are
hashes of strings whose like cannot be made up.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, load64, mix, mix_words, prefetch, specialized

U64 = np.uint64
_PRIMES = (
    U64(0x9E3779B185EBCA87),
    U64(0xC2B2AE3D27D4EB4F),
    U64(0x165667B19E3779F9),
    U64(0x85EBCA77C2B2AE63),
    U64(0x27D4EB2F165667C5),
)
_STEP = U64(0x9E3779B97F4A7C15)  # of SplitMix64

# The head of a table: three secret numbers, how far a product is shifted to become a slot, and the primes
# of the hash of strings. Slots of two words follow.
_SHIFT, _OF_STRINGS, _HEAD = 3, 4, 10

MISSING = np.uint32(0xFFFFFFFF)
NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
SEPARATOR = 0  # a byte that features hardly have; the strings of a row that do are not joined


def hash_spans(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """XXH64 (seed 0) of every data[starts[i]:stops[i]].

    >>> text = np.frombuffer(b"chromatic", np.uint8)
    >>> hex(hash_spans(text, np.array([0]), np.array([9]))[0])
    '0x569bd8c07ac76038'
    """
    out = np.empty(len(starts), np.uint64)
    _hash_spans(data, starts, stops, out)
    return out


def draw_secret(count: int) -> npt.NDArray[np.uint64]:
    """Odd numbers that nobody can foresee; no result depends on them."""
    return np.frombuffer(os.urandom(8 * count), np.uint64) | U64(1)


_SECRET = draw_secret(5)


def secret_hashes(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """Hashes that are the same within a process and differ for different strings, made up or not.

    They are XXH64 with secret numbers for its primes.
    """
    out = np.empty(len(starts), np.uint64)
    _secret_spans(data, starts, stops, _SECRET, out)
    return out


def hash_bytes(data: npt.NDArray[np.uint8]) -> int:
    """XXH64 (seed 0) of all the bytes."""
    return int(hash_spans(data, np.array([0]), np.array([len(data)]))[0])


def mix_integers(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """The hash of an integer feature: the finalizer of SplitMix64 over value + 0x9E3779B97F4A7C15.

    >>> hex(mix_integers(np.array([7], np.uint32))[0])
    '0x63cbe1e459320dd7'
    """
    mixed: npt.NDArray[np.uint64] = mix_words(values.astype(np.uint64) + _STEP)
    return mixed


class HashIndex:
    """Numbers distinct 64-bit hashes in the order in which they first come.

    >>> index = HashIndex()
    >>> ids, first = index.add(np.array([5, 9, 5], np.uint64))
    >>> ids.tolist(), first.tolist(), len(index)
    ([0, 1, 0], [0, 1], 2)
    >>> index.find(np.array([9, 4], np.uint64)).tolist() == [1, int(MISSING)]
    True
    """

    def __init__(self, expected: int = 0) -> None:
        self._slots = _table(expected)
        self._count = 0

    @classmethod
    def of(cls, hashes: npt.NDArray[np.uint64]) -> HashIndex:
        """An index of these."""
        index = cls(len(hashes))
        index.add(hashes)
        return index

    @staticmethod
    def size(expected: int) -> int:
        """The bytes of a table for so many hashes."""
        return 16 << max(10, (2 * expected).bit_length())

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> Any:
        """Pickle the hashes in their order; another process draws numbers of its own."""
        hashes, numbers = self._slots[_HEAD::2], self._slots[_HEAD + 1 :: 2]
        used = np.flatnonzero(numbers)
        return HashIndex.of, (hashes[used[np.argsort(numbers[used])]],)

    def add(self, hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The number of every hash, and the position of the first one of each new number."""
        ids = np.empty(len(hashes), np.uint32)
        first = np.empty(len(hashes), np.int64)
        done, before = 0, self._count
        while True:
            done, self._count = _add(self._slots, hashes, (done, self._count, before), ids, first)
            if done == len(hashes):
                return ids, first[: self._count - before].copy()
            grown = _table(self._count)
            grown[:_SHIFT] = self._slots[:_SHIFT]  # so that they move in order, which is much faster
            _move(self._slots, grown)
            self._slots = grown

    def find(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
        """The number of every hash, MISSING for those that were never added."""
        ids = np.empty(len(hashes), np.uint32)
        _find(self._slots, hashes, ids)
        return ids


class HashMap:
    """From hashes to numbers below 2**64 - 1, for the look-ups of one row at a time.

    >>> numbers = HashMap(np.array([5, 9], np.uint64), np.array([70, 71], np.uint64))
    >>> numbers.find(np.array([9, 4], np.uint64)).tolist() == [71, int(NOTHING)]
    True
    """

    def __init__(
        self, hashes: npt.NDArray[np.uint64], contents: npt.NDArray[np.uint64], *, secret: bool = False
    ) -> None:
        """`secret`: the hashes are `secret_hashes` of strings."""
        self._slots = _table(len(hashes))
        if secret:
            self._slots[_OF_STRINGS : _OF_STRINGS + 5] = _SECRET
        _fill(self._slots, hashes, contents)

    def find(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The number of each hash, NOTHING where there is none."""
        contents = np.empty(len(hashes), np.uint64)
        _find_contents(self._slots, hashes, contents)
        return contents

    def find_integers(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64] | None:
        """The numbers of integers by their mix; None where one is not in 0 to 2**32 - 1."""
        both = np.empty((2, len(values)), np.uint64)
        return both[1] if _find_integers(self._slots, values, both[0], both[1]) else None

    def find_joined(self, data: bytes, expected: int) -> npt.NDArray[np.uint64] | None:
        """The numbers of strings joined by SEPARATOR; None where there are not as many as expected."""
        both = np.empty((2, expected), np.uint64)
        count = _joined_finder()(self._slots, np.frombuffer(data, np.uint8), both[0], both[1])
        return both[1] if count == expected else None


def _table(expected: int) -> npt.NDArray[np.uint64]:
    """An empty table that `expected` hashes fill a half of at most.

    A slot is two words side by side, the hash and its number + 1: one cache line a look-up, and no value
    of a hash is reserved to mean empty.
    """
    bits = max(10, (2 * int(expected)).bit_length())
    table = np.zeros(_HEAD + (2 << bits), np.uint64)
    table[:_SHIFT] = draw_secret(_SHIFT)
    table[_SHIFT] = 64 - bits
    table[_OF_STRINGS : _OF_STRINGS + 5] = _PRIMES
    return table


@inlined
def _rotate(x, bits):  # type: ignore[no-untyped-def]
    return (x << U64(bits)) | (x >> U64(64 - bits))


@inlined
def _round(lane, word, primes):  # type: ignore[no-untyped-def]
    return _rotate(lane + word * primes[1], 31) * primes[0]


@inlined
def _merge(h, lane, primes):  # type: ignore[no-untyped-def]
    return (h ^ _round(U64(0), lane, primes)) * primes[0] + primes[3]


@inlined
def _xxh64(data, start, stop, primes):  # type: ignore[no-untyped-def]
    i = np.int64(start)
    stop = np.int64(stop)
    length = U64(stop - i)
    if stop - i >= 32:
        a, b, c, d = primes[0] + primes[1], primes[1], U64(0), U64(0) - primes[0]
        while i + 32 <= stop:
            a = _round(a, load64(data, i), primes)
            b = _round(b, load64(data, i + 8), primes)
            c = _round(c, load64(data, i + 16), primes)
            d = _round(d, load64(data, i + 24), primes)
            i += 32
        h = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        h = _merge(_merge(h, a, primes), b, primes)
        h = _merge(_merge(h, c, primes), d, primes)
    else:
        h = primes[4]
    h += length
    while i + 8 <= stop:
        h = _rotate(h ^ _round(U64(0), load64(data, i), primes), 27) * primes[0] + primes[3]
        i += 8
    if i + 4 <= stop:
        word = U64(0)
        for k in range(4):
            word |= U64(data[i + k]) << U64(8 * k)
        h = _rotate(h ^ (word * primes[0]), 23) * primes[1] + primes[2]
        i += 4
    while i < stop:
        h = _rotate(h ^ (U64(data[i]) * primes[4]), 11) * primes[0]
        i += 1
    h = (h ^ (h >> U64(33))) * primes[1]
    h = (h ^ (h >> U64(29))) * primes[2]
    return h ^ (h >> U64(32))


@kernel
def _hash_spans(data, starts, stops, out):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        out[i] = _xxh64(data, starts[i], stops[i], _PRIMES)


@kernel
def _secret_spans(data, starts, stops, secret, out):  # type: ignore[no-untyped-def]
    primes = secret[0], secret[1], secret[2], secret[3], secret[4]
    for i in range(len(starts)):
        out[i] = _xxh64(data, starts[i], stops[i], primes)


@inlined
def _key(slots):  # type: ignore[no-untyped-def]
    """The secret numbers and the shift, for a loop to hold."""
    return slots[0], slots[1], slots[2], slots[_SHIFT]


@inlined
def _place(key, h):  # type: ignore[no-untyped-def]
    """Where the search for h begins.

    Two hashes share a slot as rarely as two random ones, whoever chose them: the last product is
    universal, as its factor is secret (Dietzfelbinger et al. 1997); what comes before breaks up
    progressions, on which linear probing would be slow even so.
    """
    z = (h ^ key[0]) * key[1]
    z = (z ^ (z >> U64(32))) * key[2]
    return U64(_HEAD) + U64(2) * (z >> key[3])


@inlined
def _seek(slots, key, h):  # type: ignore[no-untyped-def]
    """The slot that holds h, or the empty one where it belongs."""
    at = _place(key, h)  # unsigned, as negative indices would count from the end
    while slots[at + U64(1)] != U64(0) and slots[at] != h:
        at += U64(2)
        if at == U64(len(slots)):
            at = U64(_HEAD)
    return at


@inlined
def _ahead(slots, key, hashes, i):  # type: ignore[no-untyped-def]
    """Fetch the slot that the loop will want in sixteen steps: the table outgrows every cache."""
    if i + 16 < len(hashes):
        prefetch(slots, np.int64(_place(key, hashes[i + 16])))


@kernel
def _add(slots, hashes, progress, ids, first):  # type: ignore[no-untyped-def]
    """Number hashes from a start on; stop when the table is half full, for the caller to grow it.

    `progress`: the start, how many distinct hashes there are, and how many there were before this call.
    """
    start, count, before = progress
    room, key = (len(slots) - _HEAD) // 4, _key(slots)
    for i in range(start, len(hashes)):
        if count >= room:
            return i, count
        _ahead(slots, key, hashes, i)
        at = _seek(slots, key, hashes[i])
        if slots[at + U64(1)] == U64(0):
            slots[at] = hashes[i]
            count += 1
            slots[at + U64(1)] = U64(count)
            first[count - 1 - before] = i
        ids[i] = np.uint32(slots[at + U64(1)] - U64(1))
    return len(hashes), count


@kernel
def _move(old, new):  # type: ignore[no-untyped-def]
    key = _key(new)
    for at in range(_HEAD, len(old), 2):
        if old[at + 1] != U64(0):
            to = _seek(new, key, old[at])
            new[to] = old[at]
            new[to + U64(1)] = old[at + 1]


@kernel
def _find(slots, hashes, ids):  # type: ignore[no-untyped-def]
    key = _key(slots)
    for i in range(len(hashes)):
        _ahead(slots, key, hashes, i)
        at = _seek(slots, key, hashes[i])
        ids[i] = np.uint32(slots[at + U64(1)] - U64(1)) if slots[at + U64(1)] != U64(0) else MISSING


@kernel
def _fill(slots, hashes, contents):  # type: ignore[no-untyped-def]
    key = _key(slots)
    for i in range(len(hashes)):
        at = _seek(slots, key, hashes[i])
        slots[at] = hashes[i]
        slots[at + U64(1)] = contents[i] + U64(1)


@kernel
def _find_contents(slots, hashes, contents):  # type: ignore[no-untyped-def]
    """All slots are asked for before the first is read: a row's few look-ups wait together."""
    key = _key(slots)
    for i in range(len(hashes)):
        prefetch(slots, np.int64(_place(key, hashes[i])))
    for i in range(len(hashes)):
        contents[i] = slots[_seek(slots, key, hashes[i]) + U64(1)] - U64(1)


@kernel
def _find_integers(slots, values, hashes, contents):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        if values[i] < 0 or values[i] > 0xFFFFFFFF:
            return False
        hashes[i] = mix(U64(values[i]) + _STEP)
    _find_contents(slots, hashes, contents)
    return True


@cache
def _joined_finder() -> Callable[..., int]:
    words = np.empty(2, np.uint64)
    return specialized(_find_joined, words, np.frombuffer(b" ", np.uint8), words, words)


@kernel
def _find_joined(slots, data, hashes, contents):  # type: ignore[no-untyped-def]
    """Look up the strings that SEPARATOR separates; how many there are, which may be too many."""
    at = _OF_STRINGS
    primes = slots[at], slots[at + 1], slots[at + 2], slots[at + 3], slots[at + 4]
    count, start = np.int64(0), np.int64(0)
    for i in range(len(data) + 1):
        if i == len(data) or data[i] == np.uint8(SEPARATOR):
            if count == len(hashes):
                return count + 1
            hashes[count] = _xxh64(data, start, i, primes)
            count += 1
            start = np.int64(i + 1)
    _find_contents(slots, hashes[:count], contents)
    return count
