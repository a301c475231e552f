"""Strings to numbers: each distinct string is held once, and known by its number.

A table finds the number by a secret hash, so that nobody can make up strings that crowd in it, and by the
string itself: two strings are never taken for one. A slot has two words side by side: the number + 1, some
bits of the hash and the length, LONG at most; and the string, or the place of a long one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, load64, prefetch, store64
from chromatic.data.batch import Batch, Tokens
from chromatic.data.hashing import draw_secret
from chromatic.data.names import Names

U64 = np.uint64
BLOCK = 256  # strings that are looked up together: they wait for memory together
LONG = 9  # bytes of a string that has no room in a slot
_NUMBER = U64(0xFFFFFFFF)  # the bits of a slot's first word that are a number + 1
_LENGTH = 0xFFFF  # the bits of a long string's second word that are its length, at most

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]


class NameIndex:
    """Numbers distinct strings in the order in which they first come, and holds them.

    >>> index = NameIndex()
    >>> index.add(np.frombuffer(b"abab", np.uint8), np.arange(4), np.arange(1, 5)).tolist()
    [0, 1, 0, 1]
    >>> index.names().tolist()
    [b'a', b'b']
    """

    def __init__(self, expected: int = 0) -> None:
        self._count = 0
        self._offsets, self._names = np.zeros(1, np.int64), np.empty(0, np.uint8)
        self._key, self._slots = np.append(draw_secret(3), U64(0)), np.empty(0, np.uint64)
        self._block = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
        self._make_room(max(expected, BLOCK), 0)

    def __len__(self) -> int:
        return self._count

    def add(self, data: Bytes, starts: Integers, stops: Integers) -> npt.NDArray[np.uint32]:
        """The number of every data[starts[i]:stops[i]]."""
        ids, done = np.empty(len(starts), np.uint32), 0
        while True:
            done, self._count = _add(
                data,
                (starts, stops),
                (self._key, self._slots, self._offsets, self._names),
                (done, self._count, self._block),
                ids,
            )
            if done == len(starts):
                return ids
            these = slice(done, done + BLOCK)
            self._make_room(BLOCK, int((stops[these] - starts[these]).sum()))

    def names(self) -> Names:
        """The strings so far, in the memory of the index."""
        offsets = self._offsets[: self._count + 1]
        return Names(offsets, self._names[: offsets[-1]])

    def _make_room(self, strings: int, size: int) -> None:
        """Make room for some strings more, of so many bytes; the table is at most half full."""
        used = int(self._offsets[self._count])
        if used + size + 8 > len(self._names):  # eight more, as they are copied by words
            self._names = _longer(self._names, used, used + size + 8)
        if self._count + strings < len(self._offsets):
            return
        bits = max(10, (2 * (self._count + strings) - 1).bit_length())
        self._offsets = _longer(self._offsets, self._count + 1, (1 << bits >> 1) + 1)
        self._slots = np.empty(0, np.uint64)  # let go before there is another
        self._slots, self._key[3] = np.zeros(2 << bits, np.uint64), U64(64 - bits)
        known = self._offsets[: self._count + 1], self._names
        _place_again(self._key, self._slots, *known, self._block[0])


class Gathering:
    """Indexes of strings that batches share, one for each thread that reads at the same time.

    Each string is then held and counted once a thread, and not once a batch.
    """

    def __init__(self) -> None:
        self._indexes: list[tuple[NameIndex, Tokens]] = []
        self._free: list[tuple[NameIndex, Tokens]] = []

    def intern(
        self, data: Bytes, starts: Integers, stops: Integers
    ) -> tuple[npt.NDArray[np.uint32], Tokens]:
        """Number strings as `intern` does; the tokens stand for others, until all batches are there."""
        try:
            index, tokens = self._free.pop()
        except IndexError:
            index, tokens = NameIndex(), _tokens(Names.pack([]))
            self._indexes.append((index, tokens))
        ids = index.add(data, starts, stops)
        self._free.append((index, tokens))
        return ids, tokens

    def gathered(self, batches: list[Batch]) -> list[Batch]:
        """All the batches, those of text with the tokens that they share."""
        shared = {id(tokens): _tokens(index.names()) for index, tokens in self._indexes}
        self._indexes.clear()
        self._free.clear()
        return [replace(batch, tokens=shared.get(id(batch.tokens), batch.tokens)) for batch in batches]


def intern(
    data: Bytes, starts: Integers, stops: Integers, fields: npt.NDArray[np.int32] | None = None
) -> tuple[npt.NDArray[np.uint32], Tokens]:
    """Number the distinct strings data[starts[i]:stops[i]]; of equal ones, the first tells the field.

    >>> ids, tokens = intern(np.frombuffer(b"abab", np.uint8), np.arange(4), np.arange(1, 5))
    >>> ids.tolist(), tokens.names.tolist()
    ([0, 1, 0, 1], [b'a', b'b'])
    """
    index = NameIndex(len(starts) // 4)
    ids = index.add(data, starts, stops)
    of_names = None
    if fields is not None:
        of_names = np.empty(len(index), np.int32)
        of_names[ids[::-1]] = fields[::-1]
    return ids, _tokens(index.names(), of_names)


def _tokens(names: Names, fields: npt.NDArray[np.int32] | None = None) -> Tokens:
    return Tokens(names.hashes(), names, fields=fields)


def _longer(array: npt.NDArray[Any], used: int, size: int) -> npt.NDArray[Any]:
    """A copy of what is used, with room; pages that are not written take no memory."""
    longer = np.empty(max(size, 2 * len(array)), array.dtype)
    longer[:used] = array[:used]
    return longer


@inlined
def _word(data, i, stop):  # type: ignore[no-untyped-def]
    """Up to eight bytes of data[i:stop], which is not empty, with zeros after the end."""
    if i + 8 <= len(data):
        beyond = U64(8 * max(i + 8 - stop, 0))
        return load64(data, i) << beyond >> beyond
    word = U64(0)
    for k in range(stop - i):
        word |= U64(data[i + k]) << U64(8 * k)
    return word


@inlined
def _hash(data, span, key):  # type: ignore[no-untyped-def]
    """A secret hash; its top bits are a place in the table."""
    i, stop = span
    z = U64(stop - i) ^ key[0]
    while i < stop:
        word = _word(data, i, stop) * key[1]
        z = (z ^ word ^ (word >> U64(32))) * key[2]
        z ^= z >> U64(32)
        i += 8
    return z * key[2]


@inlined
def _first(z, length):  # type: ignore[no-untyped-def]
    """The first word of a slot, without the number."""
    return (z << U64(36)) | (U64(min(length, LONG)) << U64(32))


@inlined
def _second(data, span, at):  # type: ignore[no-untyped-def]
    """The second word of a slot: a short string, or the length and the place of a long one."""
    length = span[1] - span[0]
    if length >= LONG:
        return (U64(at) << U64(16)) | U64(min(length, _LENGTH))
    return _word(data, span[0], span[1]) if length else U64(0)


@kernel
def _is_long(data, span, names, known):  # type: ignore[no-untyped-def]
    """Whether a long string is the known one, of this second word and this end."""
    (i, stop), (second, end) = span, known
    at, same = np.int64(second >> U64(16)), second & U64(_LENGTH) == U64(min(stop - i, _LENGTH))
    same &= stop - i < _LENGTH or end - at == stop - i
    while same and i < stop:
        same = _word(data, i, stop) == _word(names, at, at + stop - i)
        i += 8
        at += 8
    return same


@kernel
def _add(data, spans, tables, progress, ids):  # type: ignore[no-untyped-def]
    """Number strings from a start on, block by block; stop where there is no room for a block.

    `progress`: the start, how many strings are known, and room for the hashes and the second words of a
    block. Returns where it stopped, and how many are known.
    """
    (starts, stops), (key, slots, offsets, names) = spans, tables
    start, count, (hashes, seconds) = progress
    key = key[0], key[1], key[2], key[3]
    while start < len(starts):
        stop = min(start + BLOCK, len(starts))
        room = len(names) - 8 - offsets[count]
        for i in range(start, stop):
            room -= stops[i] - starts[i]
        if room < 0 or count + BLOCK >= len(offsets):
            break
        for i in range(start, stop):
            span = starts[i], stops[i]
            z = _hash(data, span, key)
            hashes[i - start], seconds[i - start] = z, _second(data, span, 0)
            prefetch(slots, np.int64(z >> key[3] << U64(1)))
        for i in range(start, stop):
            if stops[i] - starts[i] >= LONG:
                prefetch(
                    names, np.int64(slots[(hashes[i - start] >> key[3] << U64(1)) + U64(1)] >> U64(16))
                )
        for i in range(start, stop):
            span = starts[i], stops[i]
            z, second, is_long = hashes[i - start], seconds[i - start], span[1] - span[0] >= LONG
            at, first = z >> key[3] << U64(1), _first(z, span[1] - span[0])
            while slots[at] != U64(0):
                if (slots[at] ^ first) <= _NUMBER:
                    if not is_long and slots[at + U64(1)] == second:
                        break
                    end = offsets[np.int64(slots[at] & _NUMBER)] if is_long else 0
                    if is_long and _is_long(data, span, names, (slots[at + U64(1)], end)):
                        break
                at = (at + U64(2)) & U64(len(slots) - 1)
            if slots[at] == U64(0):
                known = offsets[count]
                slots[at + U64(1)] = _second(data, span, known)
                _copy(data, span, names, known)
                count += 1
                slots[at] = first | U64(count)
                offsets[count] = known + span[1] - span[0]
            ids[i] = np.uint32((slots[at] & _NUMBER) - U64(1))
        start = stop
    return start, count


@inlined
def _copy(data, span, names, at):  # type: ignore[no-untyped-def]
    """Copy data[i:stop] by words; what the last has too much, the next string overwrites."""
    i, stop = span
    while i < stop:
        store64(names, at, _word(data, i, stop))
        i += 8
        at += 8


@kernel
def _place_again(key, slots, offsets, names, hashes):  # type: ignore[no-untyped-def]
    """Fill an empty table by all strings, which are distinct, block by block."""
    for start in range(0, len(offsets) - 1, BLOCK):
        stop = min(start + BLOCK, len(offsets) - 1)
        for i in range(start, stop):
            hashes[i - start] = _hash(names, (offsets[i], offsets[i + 1]), key)
            prefetch(slots, np.int64(hashes[i - start] >> key[3] << U64(1)))
        for i in range(start, stop):
            span, z = (offsets[i], offsets[i + 1]), hashes[i - start]
            at = z >> key[3] << U64(1)
            while slots[at] != U64(0):
                at = (at + U64(2)) & U64(len(slots) - 1)
            slots[at] = _first(z, span[1] - span[0]) | U64(i + 1)
            slots[at + U64(1)] = _second(names, span, span[0])
