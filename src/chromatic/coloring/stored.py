"""The greedy coloring of rows that memory does not hold: the same colors, from passes over a file.

Where a bitset for each row fits, the columns of a range of features are made at a time, as many as
fit beside the bitsets, and colored as ever.

Where it does not, no bitset of a row is kept at all. The features of a row are colored one after the
other, so the row's bitset is needed at its next feature only: it travels there. A range of features has
a bitset for each of its entries (feature, row) and a link to the row's next entry; a colored entry hands
its bitset on along the link, within the range in memory, and to later ranges through a file for each.
(The literature calls it time-forward processing.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.coloring.greedy import Coloring, Greedy, check_options
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Columns, transpose_range

log = logging.getLogger("chromatic")

SPARE = 24 << 20  # bytes for blocks that are read, and what else is small
SENT_AT_ONCE = 1 << 16  # bitsets on their way to a file
Integers = npt.NDArray[np.int64]


def color_stored(
    rows: StoredRows,
    counts: Integers,
    fit: str = "balanced",
    max_colors: int | str = "proper",
    *,
    seed: int = 0,
    fields: npt.NDArray[np.int32] | None = None,
) -> Coloring:
    """The colors that `color` finds in the same rows; `counts` tells in how many rows each feature is."""
    check_options(fit, max_colors, seed)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    work = Greedy(np.arange(rows.n_features), fit, max_colors, seed, fields)
    words = work.most_words
    if isinstance(max_colors, str):  # more are rarely needed than the largest row has features
        words = min(words, rows.largest_nnz // 32 + 2)
    room = rows.memory.left() - SPARE
    most = int(counts.max(initial=0))  # a feature is colored at once
    bitsets = 8 * rows.n_rows * words * (1 if words == 1 else 2)  # two while they are widened
    if room - bitsets >= 4 * most:
        color_by_bitsets(rows, indptr, work, (room - bitsets) // 4)
        return work.coloring(rows.largest_nnz, rows.vocabulary)
    if fields is not None:
        rows.memory.check(SPARE + bitsets + 4 * most, "coloring beside fields")
    room -= 8 * len(indptr)
    while True:
        each, sent = 8 * words + 8, SENT_AT_ONCE * (8 * words + 24)
        rows.memory.check(SPARE + 8 * len(indptr) + each * most + sent, "coloring")
        if color_by_links(rows, indptr, work, words, (room - sent) // each):
            return work.coloring(rows.largest_nnz, rows.vocabulary)
        words *= 2
        work = Greedy(work.features, fit, max_colors, seed)


def color_by_bitsets(rows: StoredRows, indptr: Integers, work: Greedy, entries: int) -> None:
    """Color with a bitset for each row, and the columns of so many entries at a time."""
    ranges = _ranges(indptr, entries)
    log.info("colors: a bitset for each row, passes: %d", len(ranges))
    work.make_bitsets(rows.n_rows)
    for first, stop in ranges:
        columns = transpose_range(rows.pieces(), indptr, first, stop)
        work.run(columns, _within(work.features, first, stop))


def color_by_links(rows: StoredRows, indptr: Integers, work: Greedy, words: int, entries: int) -> bool:
    """Color with bitsets of so many entries at a time; False where they have too few words."""
    ranges = _ranges(indptr, entries)
    log.info("colors: a bitset for each entry, passes: %d", len(ranges))
    ends = indptr[[stop for _, stop in ranges]]
    post = [rows.memory.scratch / f"bitsets-{words}-{k}" for k in range(len(ranges))]
    for k, (first, stop) in enumerate(ranges):
        base, end = indptr[first], indptr[stop]
        links = np.full(end - base, -1, np.int64)
        places = indptr[:-1].copy()
        for _, piece in rows.pieces():
            _link(piece.indptr, piece.codes, first, stop, places, base, links)
        del places
        work.make_bitsets(len(links), words)
        for sent in _received(post[k], words):
            work.used[sent[:, 0].astype(np.int64) - base] = sent[:, 1:]
        columns = Columns(indptr, np.empty(0, np.uint32), int(base))
        if not work.run(columns, _within(work.features, first, stop), links):
            return False
        _send(links, work.used, end, ends, post)
    return True


def _ranges(indptr: Integers, entries: int) -> list[tuple[int, int]]:
    """Ranges of features of at most so many entries each."""
    found, first, n_features = [], 0, len(indptr) - 1
    while first < n_features:
        stop = int(np.searchsorted(indptr, indptr[first] + entries, side="right")) - 1
        stop = max(stop, first + 1)
        found.append((first, stop))
        first = stop
    return found


def _within(features: Integers, first: int, stop: int) -> Integers:
    """The features of a range; they ascend."""
    low, high = np.searchsorted(features, (first, stop))
    return features[low:high]


def _send(
    links: Integers, used: npt.NDArray[np.uint64], end: int, ends: Integers, post: list[Path]
) -> None:
    """Add the bitsets of entries that link beyond their range to the files of the others."""
    for at in range(0, len(links), SENT_AT_ONCE):
        some = np.flatnonzero(links[at : at + SENT_AT_ONCE] >= end) + at
        to = np.searchsorted(ends, links[some], side="right")
        for k in np.unique(to):
            chosen = some[to == k]
            with open(post[k], "ab") as file:
                np.column_stack((links[chosen].view(np.uint64), used[chosen])).tofile(file)


def _received(path: Path, words: int) -> Iterator[npt.NDArray[np.uint64]]:
    """The bitsets of a file, each after the entry that it is for; then the file goes."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        while True:
            sent = np.fromfile(file, np.uint64, SENT_AT_ONCE * (1 + words))
            if not len(sent):
                break
            yield sent.reshape(-1, 1 + words)
    path.unlink()


@kernel
def _link(indptr, codes, first, stop, places, base, links):  # type: ignore[no-untyped-def]
    """Where the entries of a range link to: the place of the row's next entry among those of all."""
    for row in range(len(indptr) - 1):
        before = np.int64(-1)
        for i in range(indptr[row], indptr[row + 1]):
            code = np.int64(codes[i])
            at = places[code]
            places[code] += 1
            if before >= 0:
                links[before - base] = at
            before = at if code >= first and code < stop else np.int64(-1)
