"""Greedy coloring of the co-occurrence graph: features take a free color, one after the other.

Two features are neighbors where they share a row. To color feature v greedily one needs only the
colors already used in v's rows, so each row keeps a bitset of its colors: the bitsets of v's rows are
joined, a free color is taken, and its bit is set in those rows. The colors are exactly those of a
greedy coloring of the graph in the same order, and no edge is ever made. (The literature calls it
partial distance-2 coloring.)

Where there is a graph, the colors of v's neighbors are joined instead. How a free color is chosen is the
same for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from chromatic._numba import count_ones, inlined, kernel, mix, prefetch, trailing_zeros
from chromatic._threads import ordered_map
from chromatic.coloring.coloring import Coloring, coloring_of
from chromatic.coloring.request import MOST_COLORS, Request
from chromatic.data.batch import NO_FIELD
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.errors import InputError

if TYPE_CHECKING:
    from chromatic.graph.thinned import Graph

PIECE = 1 << 22  # entries colored at a time

U64 = np.uint64
_FIRST, _LEAST, _RANDOM = 0, 1, 2
_RULES = {"first-fit": _FIRST, "balanced": _LEAST, "random": _RANDOM}
_COLOR_BITS = 20  # the low bits of a key; the mass stands above them
_CLOSED = np.int64(1) << 62  # the key of a color that is not open
_TAKEN = np.int64(1) << 61  # joined to the key of a color that is not free
# The slots of `state`.
_OPEN, _FORCED, _CONFLICTS = 0, 1, 2
_NO_LINKS = np.empty(0, np.int64)


class Greedy:
    """A coloring under way: some features after the other, in the order given."""

    def __init__(self, features: npt.NDArray[np.int64], request: Request) -> None:
        self.request = request
        self.rule = _RULES[request.strategy]
        self.colors = np.zeros(len(features), np.int32)
        self.forbidden = np.zeros(len(features), np.int32)
        self.state = np.zeros(3, np.int64)
        self.used = np.empty((0, 1), np.uint64)
        self.keys = np.empty(0, np.int64)
        self.features = features  # to be colored
        self.first = request.n_fields  # color of those
        if request.fields is not None:
            self.features = features[request.fields[features] == NO_FIELD]
        self.palette = MOST_COLORS
        if not isinstance(request.palette, str):
            self.palette = request.palette - self.first
        if self.palette < 1 and len(self.features):
            raise InputError(f"max_colors is {request.palette}; expected more than the {self.first} fields")

    def make_bitsets(self, number: int, words: int = 1) -> None:
        """Make a bitset of colors for each row. It begins narrow: few data need the whole palette."""
        if self.rule == _RANDOM:
            words = (self.palette + 63) // 64
        self.used = np.zeros((number, words), np.uint64)
        if not len(self.keys):
            self._make_keys(words)

    def _make_keys(self, words: int) -> None:
        self.keys = np.full(64 * words, _CLOSED)
        if self.rule == _RANDOM:  # all colors are open
            self.state[_OPEN] = self.palette
            self.keys[: self.palette] = np.arange(self.palette)

    def go_on(
        self,
        rows: Rows,
        colors: npt.NDArray[np.int32],
        masses: npt.NDArray[np.int64],
        n_colors: int,
    ) -> None:
        """Begin with features that have colors; those of -1 have none yet."""
        words = (n_colors + 63) // 64
        self.make_bitsets(rows.n_rows, words)
        _mark((rows.indptr, rows.codes), colors, self.used)
        some = colors >= 0
        mass = np.bincount(colors[some], masses[some], n_colors).astype(np.int64)
        self.keys[:n_colors] = np.arange(n_colors) + (mass << _COLOR_BITS)
        self.state[_OPEN] = n_colors

    @property
    def forced(self) -> int:
        """How many features found no free color."""
        return int(self.state[_FORCED])

    @property
    def conflicts(self) -> int:
        """In how many rows these met their color."""
        return int(self.state[_CONFLICTS])

    def coloring(self, lower_bound: int, vocabulary: int) -> Coloring:
        """Return the coloring, when all features are colored."""
        self.colors[self.features] += self.first
        fields = self.request.fields
        if fields is not None:
            self.colors[fields != NO_FIELD] = fields[fields != NO_FIELD]
        return coloring_of(
            self.request,
            self.colors,
            self.first + (int(self.state[_OPEN]) if len(self.features) else 0),
            lower_bound=lower_bound,
            vocabulary=vocabulary,
            forced=self.forced,
            conflicts=self.conflicts,
            forbidden=self.forbidden,
        )

    def run(
        self,
        transposed: Transposed,
        features: npt.NDArray[np.int64],
        links: npt.NDArray[np.int64] | None = None,
    ) -> bool:
        """Color the features in order, in pieces short enough to be interrupted between.

        The bitsets are of rows; or, with `links`, of the entries of the transposed rows, and each is handed
        on to the entry that it links to. These are not widened: False tells that more words are needed.
        """
        entries = np.cumsum(transposed.indptr[features + 1] - transposed.indptr[features])
        cuts = np.searchsorted(entries, np.arange(PIECE, entries[-1] if len(entries) else 0, PIECE))
        pieces = np.split(features, cuts)
        return all(ordered_map(lambda piece: self._color(transposed, piece, links), pieces, 1))

    def _color(
        self,
        transposed: Transposed,
        features: npt.NDArray[np.int64],
        links: npt.NDArray[np.int64] | None,
    ) -> bool:
        done = 0
        while done < len(features):
            taken = np.empty(self.used.shape[1], np.uint64)
            conflicts = np.zeros(len(self.keys), np.int64)
            done += _color_by_bitsets(
                (
                    transposed.indptr,
                    transposed.rows,
                    transposed.base,
                    _NO_LINKS if links is None else links,
                ),
                features[done:],
                (self.rule, self.palette, self.request.seed),
                (self.used, taken, self.keys, conflicts, self.state),
                (self.colors, self.forbidden),
            )
            if done < len(features):
                if links is not None:
                    return False
                self._widen()
        return True

    def _widen(self) -> None:
        n_rows, words = self.used.shape
        wider = np.zeros((n_rows, words + max(1, words // 2)), np.uint64)
        wider[:, :words] = self.used
        self.used = wider
        keys = np.full(64 * wider.shape[1], _CLOSED)
        keys[: 64 * words] = self.keys
        self.keys = keys

    def run_along(self, graph: Graph, counts: npt.NDArray[np.int64]) -> None:
        """Color all features in order along a graph; `counts` are their masses."""
        most = self.palette
        if self.rule != _RANDOM:
            most = min(most, graph.max_degree + 1)  # a greedy coloring never needs more
        words = (most + 63) // 64
        self._make_keys(words)
        self.colors[:] = -1
        _color_by_graph(
            (graph.indptr, graph.neighbors, graph.counts, counts),
            self.features,
            (self.rule, self.palette, self.request.seed),
            (np.zeros(words, np.uint64), self.keys, np.zeros(64 * words, np.int64), self.state),
            (self.colors, self.forbidden),
        )


@kernel
def _mark(rows, colors, used):  # type: ignore[no-untyped-def]
    """Set the bits of the colors that the features of each row have, where they have one."""
    indptr, codes = rows
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            color = np.int64(colors[codes[i]])
            if color >= 0:
                used[row, color >> 6] |= U64(1) << U64(color & 63)


@kernel
def _color_by_bitsets(transposed, features, options, work, out):  # type: ignore[no-untyped-def]
    """Color features in order; how many were colored before the bitsets became too narrow."""
    indptr, rows, base, links = transposed
    used, taken, keys, conflicts, state = work
    palette = options[1]
    colors, forbidden = out
    words, linked = len(taken), len(links) > 0
    for k in range(len(features)):
        v = features[k]
        start, stop = indptr[v] - base, indptr[v + 1] - base
        for w in range(words):
            taken[w] = U64(0)
        for i in range(start, stop):
            if i + 8 < len(rows):
                prefetch(used, np.int64(rows[i + 8]) * words)
            at = i if linked else np.int64(rows[i])
            for w in range(words):
                taken[w] |= used[at, w]
        choice = _free_color(options, v, (taken, words), (keys, state), forbidden)
        if choice < 0 or choice >= palette:
            for c in range(state[_OPEN]):
                conflicts[c] = 0
            _count_conflicts((start, stop, linked), rows, used, conflicts, state[_OPEN])
            choice = _fewest_conflicts(conflicts, keys, state)
        elif choice >= 64 * words:
            return k
        _take(choice, stop - start, keys, state)
        colors[v] = choice
        word, bit = choice >> 6, U64(1) << U64(choice & 63)
        if linked:
            _hand_on((start, stop), (word, bit), links, base, used)
        else:
            for i in range(start, stop):
                used[np.int64(rows[i]), word] |= bit
    return len(features)


@kernel
def _color_by_graph(graph, features, options, work, out):  # type: ignore[no-untyped-def]
    """Color features in order, whose neighbors with a color of 0 or more are colored."""
    indptr, neighbors, counts, mass = graph
    taken, keys, conflicts, state = work
    palette = options[1]
    colors, forbidden = out
    for k in range(len(features)):
        v = features[k]
        words = min(np.int64(len(taken)), (state[_OPEN] >> 6) + 1)  # one color more than are open
        for w in range(words):
            taken[w] = U64(0)
        for e in range(indptr[v], indptr[v + 1]):
            c = np.int64(colors[neighbors[e]])
            if c >= 0:
                taken[c >> 6] |= U64(1) << U64(c & 63)
        choice = _free_color(options, v, (taken, words), (keys, state), forbidden)
        if choice < 0 or choice >= palette:
            for each in range(state[_OPEN]):
                conflicts[each] = 0
            for e in range(indptr[v], indptr[v + 1]):
                c = np.int64(colors[neighbors[e]])
                if c >= 0:
                    conflicts[c] += np.int64(counts[e])
            choice = _fewest_conflicts(conflicts, keys, state)
        _take(choice, mass[v], keys, state)
        colors[v] = choice


@kernel
def _hand_on(span, color, links, base, used):  # type: ignore[no-untyped-def]
    """Set a color in entries, and copy their bitsets to those that they link to among these."""
    start, stop = span
    word, bit = color
    for i in range(start, stop):
        used[i, word] |= bit
        to = links[i] - base
        if to >= 0 and to < len(links):
            for w in range(used.shape[1]):
                used[to, w] = used[i, w]


@inlined
def _free_color(options, v, bitset, colors, forbidden):  # type: ignore[no-untyped-def]
    """A free color for v, or the next to be opened; -1 where there is none."""
    rule, palette, seed = options
    taken, words = bitset
    keys, state = colors
    if rule == _FIRST:
        choice = _lowest_free(taken, words)
    elif rule == _LEAST:
        choice = _lightest_free(taken, words, keys)
    else:
        choice = _random_free((taken, words), palette, seed, v, forbidden)
    if choice < 0 and state[_OPEN] < palette:
        choice = state[_OPEN]
    return choice


@inlined
def _lowest_free(taken, words):  # type: ignore[no-untyped-def]
    w = np.int64(0)
    while w < words and ~taken[w] == U64(0):
        w += 1
    lowest = w * 64
    if w < words:
        lowest += np.int64(trailing_zeros(~taken[w]))
    return lowest


@inlined
def _lightest_free(taken, words, keys):  # type: ignore[no-untyped-def]
    """The open free color with the smallest key, -1 where there is none.

    A key is mass and color in one integer, so that a plain minimum finds the least mass and, among
    equals, the lowest color; it runs over whole words, without a branch, as vectors do.
    """
    best = _CLOSED
    for w in range(words):
        word = taken[w]
        for b in range(64):
            in_use = np.int64((word >> U64(b)) & U64(1)) << 61
            best = min(best, keys[64 * w + b] | in_use)
    return best & ((1 << _COLOR_BITS) - 1) if best < _TAKEN else np.int64(-1)


@inlined
def _random_free(bitset, palette, seed, v, forbidden):  # type: ignore[no-untyped-def]
    """A uniform free color of the palette, -1 where there is none: a hash of seed and v draws it."""
    taken, words = bitset
    free = np.int64(0)
    for w in range(words):
        if palette - 64 * w < 64:  # what lies beyond the palette is not free
            taken[w] |= ~((U64(1) << U64(palette - 64 * w)) - U64(1))
        free += np.int64(count_ones(~taken[w]))
    forbidden[v] = palette - free
    z = mix((U64(seed) ^ (U64(v) * U64(0xD1342543DE82EF95))) + U64(0x9E3779B97F4A7C15))
    left = np.int64(((z >> U64(32)) * U64(free)) >> U64(32))
    choice = np.int64(-1)
    if free > 0:
        at = np.int64(0)
        while left >= np.int64(count_ones(~taken[at])):
            left -= np.int64(count_ones(~taken[at]))
            at += 1
        word = ~taken[at]
        for _ in range(left):
            word &= word - U64(1)
        choice = 64 * at + np.int64(trailing_zeros(word))
    return choice


@inlined
def _take(choice, mass, keys, state):  # type: ignore[no-untyped-def]
    """Open a color if it is new, and add to its mass."""
    if choice >= state[_OPEN]:
        keys[choice] = choice
        state[_OPEN] = choice + 1
    keys[choice] += mass << _COLOR_BITS


@kernel
def _count_conflicts(span, rows, used, conflicts, n_open):  # type: ignore[no-untyped-def]
    """Count the rows of a feature that use each color; those that use all of them are counted at once."""
    start, stop, linked = span
    full = np.int64(0)
    for i in range(start, stop):
        at = i if linked else np.int64(rows[i])
        if _uses_all(used, at, n_open):
            full += 1
            continue
        for w in range(used.shape[1]):
            word = used[at, w]
            while word != U64(0):
                conflicts[64 * w + np.int64(trailing_zeros(word))] += 1
                word &= word - U64(1)
    for c in range(n_open):
        conflicts[c] += full


@inlined
def _uses_all(used, at, n_open):  # type: ignore[no-untyped-def]
    """Whether a bitset has all open colors."""
    for w in range((n_open + 63) // 64):
        n_here = min(n_open - 64 * w, 64)
        if ~used[at, w] << U64(64 - n_here) != U64(0):
            return False
    return True


@kernel
def _fewest_conflicts(conflicts, keys, state):  # type: ignore[no-untyped-def]
    """The open color with the fewest conflicts, then the lightest; counts what is forced."""
    best = np.int64(0)
    for c in range(1, state[_OPEN]):
        if conflicts[c] < conflicts[best] or (conflicts[c] == conflicts[best] and keys[c] < keys[best]):
            best = np.int64(c)
    state[_FORCED] += 1
    state[_CONFLICTS] += conflicts[best]
    return best
