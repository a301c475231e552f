"""Many byte strings in two arrays: no Python object per feature."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, load64, prefetch, store64
from chromatic.data.hashing import hash_spans

POWERS = 10.0 ** np.arange(23)  # that float64 holds exactly
LONGEST = 24  # bytes of a number that is written without an exponent


class Names:
    """Byte strings, packed: the i-th is data[offsets[i]:offsets[i + 1]].

    >>> names = Names.pack([b"red", b"", b"blue"])
    >>> len(names), names[2], names.take(np.array([2, 0])).tolist()
    (3, b'blue', [b'blue', b'red'])
    """

    def __init__(self, offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> None:
        self.offsets = offsets
        self.data = data

    @classmethod
    def pack(cls, strings: Iterable[bytes]) -> Names:
        strings = list(strings)
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        return cls(_ends(lengths), np.frombuffer(b"".join(strings), np.uint8))

    @classmethod
    def of_integers(cls, values: npt.NDArray[np.integer]) -> Names:
        """The decimal digits of every value."""
        fixed = values.astype("S20")  # numpy pads with NUL, which no digit is
        cells = fixed.view(np.uint8).reshape(len(values), 20)
        return cls(_ends((cells != 0).sum(axis=1)), cells[cells != 0])

    @classmethod
    def of_numbers(cls, values: npt.NDArray[np.float64]) -> Names:
        """The shortest text that reads back as each value; no point where there is no fraction.

        >>> Names.of_numbers(np.array([-1, 0.1, 1e300])).tolist()
        [b'-1', b'0.1', b'1e+300']
        """
        if (np.abs(values) < 1 << 53).all() and (values == np.trunc(values)).all():
            return cls.of_integers(values.astype(np.int64))
        offsets, data = np.zeros(len(values) + 1, np.int64), np.empty(LONGEST * len(values), np.uint8)
        _write_numbers(values, offsets, data)
        written = cls(offsets, data[: offsets[-1]])
        left = np.flatnonzero(np.diff(offsets) == 0)
        if not len(left):
            return written
        import pyarrow as pa

        texts = cls.of_arrow(pa.array(values[left]).cast(pa.large_string()).cast(pa.large_binary()))
        which = np.arange(len(values))
        which[left] = len(values) + np.arange(len(left))
        return cls.concatenate([written, texts]).take(which)

    @classmethod
    def of_arrow(cls, strings: Any) -> Names:
        """The strings of a large_binary array without nulls."""
        _, offsets, data = strings.buffers()
        ends = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        return cls(ends - ends[:1], bytes_[ends[0] : ends[-1]].copy())

    def to_arrow(self) -> Any:
        """A large_binary array that shares the memory."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    @classmethod
    def of_spans(
        cls,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        stops: npt.NDArray[np.int64],
    ) -> Names:
        offsets = _ends(stops - starts)
        out = np.empty(offsets[-1] + 8, np.uint8)  # room for whole words
        _copy_spans(data, starts, stops, out)
        return cls(offsets, out[:-8])

    @classmethod
    def concatenate(cls, parts: list[Names]) -> Names:
        bases = np.cumsum([0] + [len(part.data) for part in parts])
        offsets = [part.offsets[:-1] + base for part, base in zip(parts, bases, strict=False)]
        data = np.concatenate([part.data for part in parts])
        return cls(np.concatenate([*offsets, bases[-1:]]), data)

    def part(self, start: int, stop: int) -> Names:
        """Those from start to stop, in the same memory where start is 0."""
        offsets = self.offsets[start : stop + 1]
        return Names(offsets - offsets[0] if start else offsets, self.data[offsets[0] : offsets[-1]])

    def hashes(self) -> npt.NDArray[np.uint64]:
        """The hash of every name."""
        return hash_spans(self.data, self.offsets[:-1], self.offsets[1:])

    def take(self, order: npt.NDArray[np.integer]) -> Names:
        return Names.of_spans(self.data, self.offsets[order], self.offsets[order + 1])

    def are(
        self,
        which: npt.NDArray[np.integer],
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        stops: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.bool_]:
        """Whether data[starts[i]:stops[i]] is the name which[i]; True where there is no such name.

        >>> text = np.frombuffer(b"redblue", np.uint8)
        >>> both = np.array([0, 3]), np.array([3, 7])
        >>> Names.pack([b"red", b"blau"]).are(np.array([0, 1], np.uint32), text, *both).tolist()
        [True, False]
        """
        same = np.empty(len(which), np.bool_)
        _compare_spans((self.offsets, self.data), which, data, (starts, stops), same)
        return same

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> bytes:
        return bytes(self.data[self.offsets[i] : self.offsets[i + 1]])

    def tolist(self) -> list[bytes]:
        return [self[i] for i in range(len(self))]


def with_twelve_digits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return numbers whose text has twelve digits at most, or no fraction: those nearest to these.

    >>> Names.of_numbers(with_twelve_digits(np.array([2 / 3, 1e15 / 7, 0.25]))).tolist()
    [b'0.666666666667', b'1.42857142857143e+14', b'0.25']
    """
    rounded = np.empty_like(values)
    _round(values, rounded)
    return rounded


def integers_of_spans(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]:
    """Strings as integers, and which of them are: digits without leading zeros, below 2**32.

    >>> names = Names.pack([b"7", b"007", b"seven"])
    >>> values, valid = integers_of_spans(names.data, names.offsets[:-1], names.offsets[1:])
    >>> values[valid].tolist(), valid.tolist()
    ([7], [True, False, False])
    """
    values, valid = np.empty(len(starts), np.uint32), np.empty(len(starts), np.bool_)
    _integers_of_spans(data, starts, stops, values, valid)
    return values, valid


def empty_names(lengths: npt.NDArray[np.integer]) -> Names:
    """Names of these lengths, to be placed."""
    offsets = _ends(lengths)
    return Names(offsets, np.empty(int(offsets[-1]), np.uint8))


def place_names(
    names: Names, places: npt.NDArray[np.uint32], missing: npt.NDArray[np.bool_], out: Names
) -> None:
    """Copy each name to its place in `out`, if it has one that is missing its name.

    >>> out, missing = empty_names(np.array([4, 3])), np.ones(2, np.bool_)
    >>> place_names(Names.pack([b"red", b"blue", b"RED"]), np.array([1, 0, 1], np.uint32), missing, out)
    >>> out.tolist(), missing.tolist()
    ([b'blue', b'red'], [False, False])
    """
    _place_names((names.offsets, names.data), places, missing, (out.offsets, out.data))


def _ends(lengths: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@kernel
def _round(values, out):  # type: ignore[no-untyped-def]
    """Round numbers to twelve digits, or to the whole number where that has more."""
    for i in range(len(values)):
        size = abs(values[i])
        if np.rint(size) == size or not size < 1e12:
            out[i] = np.rint(values[i])
        else:
            p = _places(size, 12)
            out[i] = np.rint(values[i] * POWERS[p]) / POWERS[p]


@kernel
def _write_numbers(values, offsets, data):  # type: ignore[no-untyped-def]
    """Write numbers with 15 digits at most that need no exponent; no text for the others."""
    at = np.int64(0)
    for i in range(len(values)):
        size = abs(values[i])
        if size == 0.0 and math.copysign(1.0, values[i]) > 0.0:
            data[at] = 48  # 0
            at += 1
        if size >= 1e-6 and size < 1e10:
            p = _places(size, 12)
            k = np.rint(size * POWERS[p])
            if k / POWERS[p] != size:
                p = _places(size, 15)
                k = np.rint(size * POWERS[p])
            if k / POWERS[p] == size:
                if values[i] < 0:
                    data[at] = 45  # -
                    at += 1
                at = _write_decimal(data, at, np.uint64(k), p)
        offsets[i + 1] = at


@inlined
def _places(size, digits):  # type: ignore[no-untyped-def]
    """Return after how many places a number has so many digits."""
    p, most = digits - 1, POWERS[digits]
    while p > 0 and size * POWERS[p] >= most:
        p -= 1
    while p < 21 and size * POWERS[p + 1] < most:
        p += 1
    return p


@inlined
def _write_decimal(data, at, k, p):  # type: ignore[no-untyped-def]
    """Write k / 10**p without zeros at its end; return where the text ends."""
    ten = np.uint64(10)
    tens = k // ten
    while p > 0 and tens * ten == k:
        k, tens = tens, tens // ten
        p -= 1
    n = p + 1
    while n < 16 and k >= np.uint64(POWERS[n]):
        n += 1
    end = at + n + (p > 0)
    j = end - 1
    for digit in range(n):
        if digit == p and p > 0:
            data[j] = 46  # .
            j -= 1
        tens = k // ten
        data[j] = 48 + (k - tens * ten)
        k = tens
        j -= 1
    return end


@kernel
def _copy_spans(data, starts, stops, out):  # type: ignore[no-untyped-def]
    """Copy by words of eight bytes; what a last word has too much, the next span overwrites."""
    at = np.int64(0)
    for i in range(len(starts)):
        if i + 8 < len(starts):
            prefetch(data, starts[i + 8])
        j, stop = starts[i], stops[i]
        end = at + stop - j
        while at < end and j + 8 <= len(data):
            store64(out, at, load64(data, j))
            at += 8
            j += 8
        while at < end:
            out[at] = data[j]
            at += 1
            j += 1
        at = end


@kernel
def _place_names(names, places, missing, out):  # type: ignore[no-untyped-def]
    (offsets, data), (out_offsets, out_data) = names, out
    for i in range(len(places)):
        place = np.int64(places[i])
        if place >= len(missing) or not missing[place]:
            continue
        missing[place] = False
        start, at = offsets[i], out_offsets[place]
        for k in range(min(offsets[i + 1] - start, out_offsets[place + 1] - at)):
            out_data[at + k] = data[start + k]


@kernel
def _compare_spans(names, which, data, spans, same):  # type: ignore[no-untyped-def]
    """Compare by words of eight bytes; of a last word, only the bytes that belong to both."""
    (offsets, named), (starts, stops) = names, spans
    for i in range(len(which)):
        if i + 32 < len(which):
            prefetch(offsets, np.int64(which[i + 32]))
            if which[i + 16] < len(offsets) - 1:
                prefetch(named, offsets[which[i + 16]])
        same[i] = True
        if which[i] >= len(offsets) - 1:
            continue
        j, at, stop = starts[i], offsets[which[i]], stops[i]
        equal = stop - j == offsets[which[i] + 1] - at
        while equal and j < stop:
            if j + 8 <= len(data) and at + 8 <= len(named):
                beyond = np.uint64(8 * max(j + 8 - stop, 0))
                equal = (load64(data, j) ^ load64(named, at)) << beyond == np.uint64(0)
                j += 8
                at += 8
            else:
                equal = data[j] == named[at]
                j += 1
                at += 1
        same[i] = equal


@kernel
def _integers_of_spans(data, starts, stops, values, valid):  # type: ignore[no-untyped-def]
    for k in range(len(starts)):
        start, stop = starts[k], stops[k]
        good = stop > start and stop - start <= 10 and not (data[start] == 48 and stop - start > 1)
        value = np.uint64(0)
        if good:
            for i in range(start, stop):
                good &= data[i] >= 48 and data[i] <= 57
                value = value * np.uint64(10) + np.uint64(data[i] & 15)
        valid[k] = good and value <= np.uint64(0xFFFFFFFF)
        values[k] = np.uint32(value)


def fields_of(names: Names) -> tuple[tuple[bytes, ...], npt.NDArray[np.int32]]:
    """What stands before = in names, in the order of text, and the place there of each name, or -1.

    >>> fields_of(Names.pack([b"shop=3", b"paid", b"city=Rome", b"shop=a=b"]))
    ((b'city', b'shop'), array([ 1, -1,  0,  1], dtype=int32))
    """
    parts = [name.partition(b"=") for name in names.tolist()]
    fields = sorted({before for before, sign, _ in parts if sign})
    place = {name: i for i, name in enumerate(fields)}
    of_names = [place[before] if sign else -1 for before, sign, _ in parts]
    return tuple(fields), np.array(of_names, np.int32)
