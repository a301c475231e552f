"""64-bit hashes of features, and a table from hashes to consecutive numbers.

A string's hash is XXH64 of its bytes with seed 0; an integer's is a fixed mix of its value. Model
files, Spark and other languages rely on both: docs/file-formats.md writes them down.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, load64, mix_words, prefetch

U64 = np.uint64
_P1 = U64(0x9E3779B185EBCA87)
_P2 = U64(0xC2B2AE3D27D4EB4F)
_P3 = U64(0x165667B19E3779F9)
_P4 = U64(0x85EBCA77C2B2AE63)
_P5 = U64(0x27D4EB2F165667C5)

MISSING = np.uint32(0xFFFFFFFF)
NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)


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


def hash_bytes(data: npt.NDArray[np.uint8]) -> int:
    """XXH64 (seed 0) of all the bytes."""
    return int(hash_spans(data, np.array([0]), np.array([len(data)]))[0])


def mix_integers(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """The hash of an integer feature: the finalizer of SplitMix64 over value + 0x9E3779B97F4A7C15.

    >>> hex(mix_integers(np.array([7], np.uint32))[0])
    '0x63cbe1e459320dd7'
    """
    mixed: npt.NDArray[np.uint64] = mix_words(values.astype(np.uint64) + U64(0x9E3779B97F4A7C15))
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
        capacity = 1 << max(10, (2 * int(expected)).bit_length())
        # A slot is two words side by side, the hash and its number + 1: one cache line a look-up,
        # and no value of a hash is reserved to mean empty.
        self._slots = np.zeros(2 * capacity, np.uint64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The number of every hash, and the position of the first one of each new number."""
        ids = np.empty(len(hashes), np.uint32)
        first = np.empty(len(hashes), np.int64)
        done, before = 0, self._count
        while True:
            done, self._count = _add(self._slots, hashes, (done, self._count, before), ids, first)
            if done == len(hashes):
                return ids, first[: self._count - before].copy()
            grown = np.zeros(2 * len(self._slots), np.uint64)
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

    def __init__(self, hashes: npt.NDArray[np.uint64], contents: npt.NDArray[np.uint64]) -> None:
        self._slots = np.zeros(2 << max(10, (2 * len(hashes)).bit_length()), np.uint64)
        _fill(self._slots, hashes, contents)

    def find(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The number of each hash, NOTHING where there is none."""
        contents = np.empty(len(hashes), np.uint64)
        _find_contents(self._slots, hashes, contents)
        return contents

    def find_joined(self, data: bytes, expected: int) -> npt.NDArray[np.uint64] | None:
        """The numbers of strings joined by the byte 0xFF; None where there are not as many as expected."""
        both = np.empty((2, expected), np.uint64)
        count = _find_joined(self._slots, np.frombuffer(data, np.uint8), both[0], both[1])
        return both[1] if count == expected else None


@inlined
def _rotate(x, bits):  # type: ignore[no-untyped-def]
    return (x << U64(bits)) | (x >> U64(64 - bits))


@inlined
def _round(lane, word):  # type: ignore[no-untyped-def]
    return _rotate(lane + word * _P2, 31) * _P1


@inlined
def _merge(h, lane):  # type: ignore[no-untyped-def]
    return (h ^ _round(U64(0), lane)) * _P1 + _P4


@inlined
def _xxh64(data, start, stop):  # type: ignore[no-untyped-def]
    i = np.int64(start)
    stop = np.int64(stop)
    length = U64(stop - i)
    if stop - i >= 32:
        a, b, c, d = _P1 + _P2, _P2, U64(0), U64(0) - _P1
        while i + 32 <= stop:
            a = _round(a, load64(data, i))
            b = _round(b, load64(data, i + 8))
            c = _round(c, load64(data, i + 16))
            d = _round(d, load64(data, i + 24))
            i += 32
        h = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        h = _merge(_merge(_merge(_merge(h, a), b), c), d)
    else:
        h = _P5
    h += length
    while i + 8 <= stop:
        h = _rotate(h ^ _round(U64(0), load64(data, i)), 27) * _P1 + _P4
        i += 8
    if i + 4 <= stop:
        word = U64(0)
        for k in range(4):
            word |= U64(data[i + k]) << U64(8 * k)
        h = _rotate(h ^ (word * _P1), 23) * _P2 + _P3
        i += 4
    while i < stop:
        h = _rotate(h ^ (U64(data[i]) * _P5), 11) * _P1
        i += 1
    h = (h ^ (h >> U64(33))) * _P2
    h = (h ^ (h >> U64(29))) * _P3
    return h ^ (h >> U64(32))


@kernel
def _hash_spans(data, starts, stops, out):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        out[i] = _xxh64(data, starts[i], stops[i])


@inlined
def _seek(slots, h):  # type: ignore[no-untyped-def]
    """The slot that holds h, or the empty one where it belongs."""
    mask = U64(len(slots) // 2 - 1)
    at = h & mask
    while slots[U64(2) * at + U64(1)] != U64(0) and slots[U64(2) * at] != h:
        at = (at + U64(1)) & mask
    return np.int64(U64(2) * at)


@inlined
def _ahead(slots, hashes, i):  # type: ignore[no-untyped-def]
    """Fetch the slot that the loop will want in sixteen steps: the table outgrows every cache."""
    if i + 16 < len(hashes):
        mask = U64(len(slots) // 2 - 1)
        prefetch(slots, np.int64(U64(2) * (hashes[i + 16] & mask)))


@kernel
def _add(slots, hashes, progress, ids, first):  # type: ignore[no-untyped-def]
    """Number hashes from a start on; stop when the table is half full, for the caller to grow it.

    `progress`: the start, how many distinct hashes there are, and how many there were before this call.
    """
    start, count, before = progress
    room = len(slots) // 4
    for i in range(start, len(hashes)):
        if count >= room:
            return i, count
        _ahead(slots, hashes, i)
        at = _seek(slots, hashes[i])
        if slots[at + 1] == U64(0):
            slots[at] = hashes[i]
            count += 1
            slots[at + 1] = U64(count)
            first[count - 1 - before] = i
        ids[i] = np.uint32(slots[at + 1] - U64(1))
    return len(hashes), count


@kernel
def _move(old, new):  # type: ignore[no-untyped-def]
    for at in range(0, len(old), 2):
        if old[at + 1] != U64(0):
            to = _seek(new, old[at])
            new[to] = old[at]
            new[to + 1] = old[at + 1]


@kernel
def _find(slots, hashes, ids):  # type: ignore[no-untyped-def]
    for i in range(len(hashes)):
        _ahead(slots, hashes, i)
        at = _seek(slots, hashes[i])
        ids[i] = np.uint32(slots[at + 1] - U64(1)) if slots[at + 1] != U64(0) else MISSING


@kernel
def _fill(slots, hashes, contents):  # type: ignore[no-untyped-def]
    for i in range(len(hashes)):
        at = _seek(slots, hashes[i])
        slots[at] = hashes[i]
        slots[at + 1] = contents[i] + U64(1)


@kernel
def _find_contents(slots, hashes, contents):  # type: ignore[no-untyped-def]
    """All slots are asked for before the first is read: a row's few look-ups wait together."""
    mask = U64(len(slots) // 2 - 1)
    for i in range(len(hashes)):
        prefetch(slots, np.int64(U64(2) * (hashes[i] & mask)))
    for i in range(len(hashes)):
        contents[i] = slots[_seek(slots, hashes[i]) + 1] - U64(1)


@kernel
def _find_joined(slots, data, hashes, contents):  # type: ignore[no-untyped-def]
    """Look up the strings that the byte 0xFF separates; how many there are, which may be too many."""
    count, start = np.int64(0), np.int64(0)
    for i in range(len(data) + 1):
        if i == len(data) or data[i] == np.uint8(0xFF):
            if count == len(hashes):
                return count + 1
            hashes[count] = _xxh64(data, start, i)
            count += 1
            start = np.int64(i + 1)
    _find_contents(slots, hashes[:count], contents)
    return count
