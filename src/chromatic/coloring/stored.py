"""The engine for rows on disk: the same greedy colors, from passes over a file.

Where a bitset for each row fits, a range of features is transposed at a time, as many as fit beside the
bitsets, and colored as in memory.

Where it does not, no bitset of a row is kept at all. The features of a row are colored one after the
other, so the row's bitset is needed at its next feature only: it travels there. A range of features has
a bitset for each of its entries (feature, row) and a link to the row's next entry; a colored entry hands
its bitset on along the link, within the range in memory, and to later ranges through a file for each.
(The literature calls it time-forward processing.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.coloring.coloring import Coloring
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.request import Request
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed, transpose_range
from chromatic.graph.degrees import stream_degrees
from chromatic.graph.order import by_degree, check_without_rows

log = logging.getLogger("chromatic")

SPARE = 32 << 20  # bytes for blocks that are read, kernels that are loaded, and what else is small
SENT_AT_ONCE = 1 << 16  # bitsets on their way to a file
Integers = npt.NDArray[np.int64]


def bytes_needed(rows: StoredRows, request: Request) -> int:
    """Return the fewest bytes with which stored rows can be colored."""
    words = request.words(rows.largest_nnz)
    if request.fields is not None:
        return _bytes_by_bitsets(rows, words)
    return min(_bytes_by_bitsets(rows, words), _bytes_by_links(rows, words))


def color(rows: StoredRows, request: Request) -> Coloring:
    """Color rows in a file; the colors are those that `bitsets` finds in the same rows."""
    if request.order == "count":
        return request.met_by(lambda request: _color(rows, request))
    check_without_rows(request.order)
    ranked = rows.in_order(by_degree(stream_degrees(rows)))
    coloring = request.met_by(lambda request: _color(ranked, request))
    ranks = ranked.ranks
    return replace(coloring, colors=coloring.colors[ranks], forbidden=coloring.forbidden[ranks])


def _color(rows: StoredRows, request: Request) -> Coloring:
    indptr = np.concatenate(([0], np.cumsum(rows.counts)))
    greedy = Greedy(np.arange(rows.n_features), request)
    words = request.words(rows.largest_nnz)
    left, most = rows.memory.left(), _most_rows(rows)
    beyond = left - _bytes_by_bitsets(rows, words)
    if beyond >= 0:
        color_by_bitsets(rows, indptr, greedy, most + beyond // 4)
        return greedy.coloring(rows.largest_nnz, rows.vocabulary)
    what = "coloring" if request.fields is None else "coloring beside fields"
    rows.memory.check(bytes_needed(rows, request), what)
    while True:
        rows.memory.check(_bytes_by_links(rows, words), what)
        entries = most + (left - _bytes_by_links(rows, words)) // _bytes_of_entry(words)
        if color_by_links(rows, indptr, greedy, words, entries):
            return greedy.coloring(rows.largest_nnz, rows.vocabulary)
        words *= 2
        greedy = Greedy(greedy.features, request)


def _most_rows(rows: StoredRows) -> int:
    return int(rows.counts.max(initial=0))  # of one feature, which is colored at once


def _bytes_by_bitsets(rows: StoredRows, words: int) -> int:
    """A bitset a row, two while they are widened, and one transposed feature."""
    return SPARE + 8 * rows.n_rows * words * (1 if words == 1 else 2) + 4 * _most_rows(rows)


def _bytes_by_links(rows: StoredRows, words: int) -> int:
    """Where features begin, bitsets on their way to a file, and the entries of one feature."""
    sent = SENT_AT_ONCE * (8 * words + 24)
    return SPARE + 8 * (rows.n_features + 1) + sent + _bytes_of_entry(words) * _most_rows(rows)


def _bytes_of_entry(words: int) -> int:
    return 8 * words + 8  # a bitset and a link


def color_by_bitsets(rows: StoredRows, indptr: Integers, greedy: Greedy, entries: int) -> None:
    """Color with a bitset for each row, and so many entries of the transposed rows at a time."""
    ranges = _ranges(indptr, entries)
    log.info("colors: a bitset for each row, passes: %d", len(ranges))
    greedy.make_bitsets(rows.n_rows)
    for first, stop in ranges:
        transposed = transpose_range(rows.pieces(), indptr, first, stop)
        greedy.run(transposed, _within(greedy.features, first, stop))


def color_by_links(rows: StoredRows, indptr: Integers, greedy: Greedy, words: int, entries: int) -> bool:
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
            _link((piece.indptr, piece.codes), (first, stop), places, base, links)
        del places
        greedy.make_bitsets(len(links), words)
        for sent in _received(post[k], words):
            greedy.used[sent[:, 0].astype(np.int64) - base] = sent[:, 1:]
        transposed = Transposed(indptr, np.empty(0, np.uint32), int(base))
        if not greedy.run(transposed, _within(greedy.features, first, stop), links):
            return False
        _send(links, greedy.used, end, ends, post)
    return True


def _ranges(indptr: Integers, entries: int) -> list[tuple[int, int]]:
    """Ranges of features of at most so many entries each."""
    ranges, first, n_features = [], 0, len(indptr) - 1
    while first < n_features:
        stop = int(np.searchsorted(indptr, indptr[first] + entries, side="right")) - 1
        stop = max(stop, first + 1)
        ranges.append((first, stop))
        first = stop
    return ranges


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
def _link(rows, features, places, base, links):  # type: ignore[no-untyped-def]
    """Link the entries of a range of features to the row's next entry, by its place among all entries."""
    indptr, codes = rows
    first, stop = features
    for row in range(len(indptr) - 1):
        before = np.int64(-1)
        for i in range(indptr[row], indptr[row + 1]):
            code = np.int64(codes[i])
            at = places[code]
            places[code] += 1
            if before >= 0:
                links[before - base] = at
            before = at if code >= first and code < stop else np.int64(-1)
