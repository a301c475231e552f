"""Text to batches: whole lines are scanned by a kernel, on threads, chunk by chunk."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.data import scan
from chromatic.data.batch import Batch, Tokens, distinct_per_row
from chromatic.data.interning import Gathering, intern
from chromatic.data.names import integers_of_spans
from chromatic.errors import InputError, in_file

_KINDS = {"svmlight": scan.SVMLIGHT, "tokens": scan.TOKENS, "vw": scan.VW}
TEXT_FORMATS = tuple(_KINDS)

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

_EXPECTED = {
    scan.LABEL: "expected a finite number as the label (or name the format, if it is another)",
    scan.FEATURE: "expected a feature before the colon",
    scan.VALUE: "expected a finite number as the value of a feature",
    scan.INTEGER: "expected an integer feature from 0 to 4294967295, without sign or leading zeros",
    scan.NO_BAR: "expected a | before the features, as in Vowpal Wabbit text",
    scan.NAMESPACE: "expected a namespace of at most 255 bytes and without a scale: put it into the values",
}


class Buffers:
    """Buffers that are used again: the pages of a fresh one cost the system a fault each."""

    def __init__(self) -> None:
        self._free: list[Bytes] = []

    def take(self, size: int) -> Bytes:
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = np.empty(0, np.uint8)
        return buffer if len(buffer) >= size else np.empty(size, np.uint8)

    def give(self, buffer: Bytes) -> None:
        self._free.append(buffer)


@dataclass(frozen=True)
class Chunk:
    """Whole lines of one file, the last with its newline, and scan.PADDING bytes of padding."""

    path: str
    text: Bytes
    buffer: Bytes | None = None  # what the text lies in, to be given back when it was read
    buffers: Buffers | None = None

    def release(self) -> None:
        if self.buffers is not None and self.buffer is not None:
            self.buffers.give(self.buffer)


@dataclass
class TextReader:
    """How text is read: its format, the kind of its features, what becomes of bad lines.

    `features` "auto" takes the lines of a chunk as integers where all their features are canonical
    integers, else as strings. Once strings were seen, integers are not tried again: that saves time
    and changes nothing, for where one chunk has strings, the integers of others become their digits.
    """

    format: str
    features: str = "auto"  # "auto" | "integer" | "string"
    on_bad_line: str = "raise"  # "raise" | "skip"
    gathering: Gathering | None = None  # None: batches share no tokens

    def __post_init__(self) -> None:
        if self.features == "integer" and self.format != "svmlight":
            raise InputError(
                f"integer features were asked for in {self.format} text, where features are tokens; "
                "leave the kind of features open, or convert to svmlight first"
            )

    def batches(self, chunks: Iterable[Chunk], threads: int) -> Iterator[Batch]:
        path, lines = "", 0
        for scanned in ordered_map(self._scan, chunks, threads):
            if scanned.path != path:
                path, lines = scanned.path, 0
            if scanned.problem and self.on_bad_line == "raise":
                raise in_file(path, lines + int(scanned.tally[scan.BAD_LINE]), scanned.problem)
            lines += int(scanned.tally[scan.LINES])
            yield _without_missing_labels(scanned.batch, path)

    def _scan(self, chunk: Chunk) -> _Scanned:
        scratch = _Scratch.for_text(chunk.text)
        ids, tokens = self._features(chunk.text, scratch)
        batch = scratch.batch(chunk.text, ids, tokens, weighted=self.format == "vw")
        scanned = _Scanned(chunk.path, scratch.tally.copy(), batch, _problem(chunk.text, scratch.tally))
        chunk.release()
        return scanned

    def _features(self, text: Bytes, scratch: _Scratch) -> tuple[npt.NDArray[np.uint32], Tokens | None]:
        """Scan the text; its features as integers, or as positions in tokens."""
        if self.format == "svmlight" and self.features != "string":
            if scan.scan_integers(text, self.features == "integer", scratch.ids, scratch.arrays):
                return _kept(scratch.ids[: scratch.tally[scan.FEATURES]]), None
            self.features = "string"
            scratch.clear()
        room = 2 * len(text) if self.format == "vw" else 0
        while True:
            copy = np.empty(room, np.uint8)
            if scan.scan_strings(text, _KINDS[self.format], scratch.spans, copy, scratch.arrays):
                break
            room *= 2
            scratch.clear()
        starts, stops = (array[: scratch.tally[scan.FEATURES]] for array in scratch.spans)
        return self._number(copy if room else text, starts, stops)

    def _number(
        self, text: Bytes, starts: Integers, stops: Integers
    ) -> tuple[npt.NDArray[np.uint32], Tokens | None]:
        """Text has no types: features that are all canonical integers are integers."""
        if self.features != "string":
            ids, valid = integers_of_spans(text, starts, stops)
            if valid.all():
                return ids, None
            self.features = "string"
        return (intern if self.gathering is None else self.gathering.intern)(text, starts, stops)


@dataclass(frozen=True)
class _Scanned:
    path: str
    tally: Integers
    batch: Batch
    problem: str | None  # of the first bad line


class _Scratch:
    """The arrays that a scanner fills, with room for all that text of a size can hold.

    The system gives memory only to the pages that are written. Each thread uses its own again.
    """

    _of_thread = threading.local()

    def __init__(self, size: int) -> None:
        self.size = size
        self.tally = np.zeros(10, np.int64)
        self.indptr = np.zeros(size // 2 + 2, np.int64)  # the shortest row has two bytes
        self.labels, self.weights = np.empty(size // 2 + 1), np.ones(size // 2 + 1)
        self.value_at = np.empty(size // 2 + 1, np.int64)
        self.values = np.empty(size // 2 + 1)
        self.hard = np.empty((size // 5 + 1, 3), np.int64)  # the shortest hard number is 1e23
        self.ids = np.empty(size // 2 + 1, np.uint32)
        self.spans = np.empty(size // 2 + 1, np.int64), np.empty(size // 2 + 1, np.int64)

    @classmethod
    def for_text(cls, text: Bytes) -> _Scratch:
        scratch: _Scratch | None = getattr(cls._of_thread, "scratch", None)
        if scratch is None or scratch.size < len(text):
            scratch = cls._of_thread.scratch = cls(len(text))
        scratch.clear()
        return scratch

    def clear(self) -> None:
        self.tally[:] = 0

    @property
    def arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        return self.tally, self.indptr, self.labels, self.value_at, self.values, self.hard, self.weights

    def batch(
        self, text: Bytes, ids: npt.NDArray[np.uint32], tokens: Tokens | None, *, weighted: bool
    ) -> Batch:
        """Cut the arrays to what was scanned, and convert the numbers that were left to numpy."""
        rows, n_values = int(self.tally[scan.ROWS]), int(self.tally[scan.VALUES])
        labels, weights = _kept(self.labels[:rows]), self.weights[:rows].copy() if weighted else None
        value_at, values = self.value_at[:n_values].copy(), self.values[:n_values].copy()
        if self.tally[scan.HARDS]:
            owner, starts, stops = self.hard[: self.tally[scan.HARDS]].T
            numbers = _convert(text, starts, stops)
            of_weight = owner <= scan.WEIGHT
            of_label, of_value = (owner < 0) & ~of_weight, owner >= 0
            if weights is not None:
                weights[scan.WEIGHT - owner[of_weight]] = numbers[of_weight]
            labels[-1 - owner[of_label]] = numbers[of_label]
            values[owner[of_value]] = numbers[of_value]
            value_at, values = value_at[values != 1.0], values[values != 1.0]
        batch = Batch(
            _kept(self.indptr[: rows + 1]),
            ids,
            labels,
            value_at=value_at,
            values=values,
            tokens=tokens,
            skipped_lines=int(self.tally[scan.BAD_LINES]),
            ignored=int(self.tally[scan.IGNORED]),
            weights=None if weights is None or (weights == 1.0).all() else weights,
        )
        return distinct_per_row(batch)


def _kept(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy in pages of its own, which go back to the system as soon as it is not needed any more.

    From the allocator's heap they would not, and a read would take twice the memory.
    """
    if len(array) == 0:
        return array.copy()
    # All pages at once, where the system can: that is much faster than one by one.
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0)
    pages = np.frombuffer(mmap.mmap(-1, array.nbytes, flags=private), array.dtype)
    pages[:] = array
    return pages


def _convert(text: Bytes, starts: Integers, stops: Integers) -> npt.NDArray[np.float64]:
    """Numbers of any length, correctly rounded; those of equal length together."""
    numbers = np.empty(len(starts))
    lengths = stops - starts
    for length in np.unique(lengths):
        which = np.flatnonzero(lengths == length)
        cells = text[starts[which, None] + np.arange(length)]
        numbers[which] = cells.view(f"S{length}").ravel().astype(np.float64)
    return numbers


def _without_missing_labels(batch: Batch, path: str) -> Batch:
    """Only Vowpal Wabbit text may leave labels out, and then all of them."""
    missing = np.isnan(batch.labels) if batch.labels is not None else np.zeros(1, np.bool_)
    if not missing.any():
        return batch
    if not missing.all():
        raise in_file(path, None, "some rows have a label and some have none; expected all or none")
    return replace(batch, labels=None)


def _problem(text: Bytes, tally: Integers) -> str | None:
    """Put the first bad line into words: what came, and what was expected."""
    if not tally[scan.BAD_LINES]:
        return None
    start = int(tally[scan.BAD_AT])
    words = bytes(text[start : start + 60]).split(b"\n")[0].split(maxsplit=1)[:1]
    shown = repr(words[0].decode("utf-8", "replace")) if words else "the end of the line"
    return f"found {shown}; {_EXPECTED[int(tally[scan.BAD_KIND])]}"
