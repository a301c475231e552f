"""Greedy coloring of the co-occurrence graph without the graph.

Two features are neighbors where they share a row. To color feature v greedily one needs only the
colors already used in v's rows, so each row keeps a bitset of its colors: the bitsets of v's rows are
joined, a free color is taken, and its bit is set in those rows. The colors are exactly those of a
greedy coloring of the graph in the same order, and no edge is ever made. (The literature calls it
partial distance-2 coloring.)
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt

from chromatic._numba import count_ones, inlined, kernel, prefetch, trailing_zeros
from chromatic._threads import ordered_map
from chromatic.data.batch import NO_FIELD
from chromatic.data.rows import Rows
from chromatic.data.transpose import Columns, transpose
from chromatic.errors import InputError

FITS = ("balanced", "first-fit", "random")
MOST_COLORS = 1 << 20
PIECE = 1 << 22  # entries colored at a time

U64 = np.uint64
_FIRST, _LEAST, _RANDOM = 0, 1, 2
_COLOR_BITS = 20  # the low bits of a key; the mass stands above them
_CLOSED = np.int64(1) << 62  # the key of a color that is not open
_TAKEN = np.int64(1) << 61  # joined to the key of a color that is not free
# The slots of `state`.
_OPEN, _FORCED, _CONFLICTS = 0, 1, 2
_NO_LINKS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Coloring:
    """A color for each sparse feature of a vocabulary."""

    colors: npt.NDArray[np.int32]
    n_colors: int
    fit: str
    palette: int | None  # the most colors that were allowed
    seed: int
    forced: int  # features that found no free color
    conflicts: int  # rows in which a forced feature met its color
    lower_bound: int  # no proper coloring has fewer colors: the largest row
    vocabulary: int  # the fingerprint of the vocabulary
    forbidden: npt.NDArray[np.int32]  # how many colors each feature found taken

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many features have each color."""
        return np.bincount(self.colors, minlength=self.n_colors)

    def check(self, rows: Rows) -> None:
        """Refuse rows that another vocabulary codes."""
        if rows.vocabulary != self.vocabulary:
            raise InputError(
                "the rows are coded by another vocabulary than the coloring's; expected rows read with "
                "the vocabulary of the data that was colored"
            )


def color(
    rows: Rows,
    fit: str = "balanced",
    max_colors: int | str = "proper",
    *,
    seed: int = 0,
    fields: npt.NDArray[np.int32] | None = None,
    order: str = "count",
    columns: Columns | None = None,
    threads: int = 1,
) -> Coloring:
    """Color the features of rows, the most frequent first unless `order` says otherwise.

    `fit`: "first-fit" takes the lowest free color, "balanced" the open one with the least mass (sum of
    counts), opening another only when none is free, "random" a uniform free one of the palette.
    `max_colors` is the palette; "proper" gives as many as no collision needs. Where no color is free,
    the one with the fewest conflicting rows is taken, then the least mass. With `fields`, features of a
    field have its color, and the others get colors of their own after those. `order`: "count", or for
    study "degree", "largest-first" and "smallest-last", which count the graph's edges first.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["d"]], dense_threshold=2).rows
    >>> coloring = color(rows)
    >>> coloring.n_colors, coloring.lower_bound, coloring.forced
    (2, 2, 0)
    """
    check_options(fit, max_colors, seed)
    columns = columns or transpose(rows, threads)
    features = np.arange(rows.n_features)
    if order != "count":
        from chromatic.graph.order import ordered

        features = ordered(rows, order, columns=columns, threads=threads)
    work = Greedy(features, fit, max_colors, seed, fields)
    work.make_bitsets(rows.n_rows)
    work.run(columns, work.features)
    return work.coloring(rows.largest_nnz, rows.vocabulary)


def check_options(fit: str, max_colors: int | str, seed: int) -> None:
    """Refuse options of a greedy coloring that make no sense."""
    if fit not in FITS:
        raise InputError(f"the fit is {fit!r}; expected one of {', '.join(FITS)}")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"the seed is {seed}; expected 0 to 2**63 - 1")
    if isinstance(max_colors, str):
        if max_colors != "proper":
            raise InputError(f"max_colors is {max_colors!r}; expected a number, or 'proper'")
        if fit == "random":
            raise InputError("max_colors is 'proper'; a random coloring needs a number of colors")
    elif not isinstance(max_colors, Integral) or not 1 <= max_colors <= MOST_COLORS:
        raise InputError(f"max_colors is {max_colors}; expected 1 to {MOST_COLORS}, or 'proper'")


class Greedy:
    """A coloring under way: some features after the other, in the order given."""

    def __init__(
        self,
        features: npt.NDArray[np.int64],
        fit: str,
        max_colors: int | str,
        seed: int,
        fields: npt.NDArray[np.int32] | None = None,
    ) -> None:
        self.fit, self.max_colors, self.seed, self.fields = fit, max_colors, seed, fields
        self.colors = np.zeros(len(features), np.int32)
        self.forbidden = np.zeros(len(features), np.int32)
        self.state = np.zeros(3, np.int64)
        self.used = np.empty((0, 1), np.uint64)
        self.keys = np.empty(0, np.int64)
        self.features = features  # to be colored
        self.first = 0  # color of those
        if fields is not None:
            self.first = int(fields.max(initial=NO_FIELD)) + 1
            self.features = features[fields[features] == NO_FIELD]
        self.palette = MOST_COLORS if isinstance(max_colors, str) else max_colors - self.first
        if self.palette < 1 and len(self.features):
            raise InputError(f"max_colors is {max_colors}; expected more than the {self.first} fields")

    @property
    def most_words(self) -> int:
        """The words of a bitset of the whole palette."""
        return (self.palette + 63) // 64

    def make_bitsets(self, number: int, words: int = 1) -> None:
        """A bitset of colors for each row. It begins narrow: most data never needs the whole palette."""
        if self.fit == "random":
            words = self.most_words
        self.used = np.zeros((number, words), np.uint64)
        if not len(self.keys):
            self.keys = np.full(64 * words, _CLOSED)
            if self.fit == "random":
                self.state[_OPEN] = self.palette
                self.keys[: self.palette] = np.arange(self.palette)

    def coloring(self, lower_bound: int, vocabulary: int) -> Coloring:
        """What was found, when all features are colored."""
        self.colors[self.features] += self.first
        if self.fields is not None:
            self.colors[self.fields != NO_FIELD] = self.fields[self.fields != NO_FIELD]
        return Coloring(
            self.colors,
            self.first + (int(self.state[_OPEN]) if len(self.features) else 0),
            self.fit if self.fields is None else "fields",
            None if isinstance(self.max_colors, str) else self.max_colors,
            self.seed,
            int(self.state[_FORCED]),
            int(self.state[_CONFLICTS]),
            lower_bound,
            vocabulary,
            self.forbidden,
        )

    def run(
        self,
        columns: Columns,
        features: npt.NDArray[np.int64],
        links: npt.NDArray[np.int64] | None = None,
    ) -> bool:
        """Color the features in order, in pieces short enough to be interrupted between.

        The bitsets are of rows; or, with `links`, of the entries of columns, and each is handed on to
        the entry that it links to. These are not widened: False tells that more words are needed.
        """
        entries = np.cumsum(columns.indptr[features + 1] - columns.indptr[features])
        cuts = np.searchsorted(entries, np.arange(PIECE, entries[-1] if len(entries) else 0, PIECE))
        pieces = np.split(features, cuts)
        return all(ordered_map(lambda piece: self._color(columns, piece, links), pieces, 1))

    def _color(
        self, columns: Columns, features: npt.NDArray[np.int64], links: npt.NDArray[np.int64] | None
    ) -> bool:
        fit = {"first-fit": _FIRST, "balanced": _LEAST, "random": _RANDOM}[self.fit]
        done = 0
        while done < len(features):
            done += _color(
                (columns.indptr, columns.rows, columns.base, _NO_LINKS if links is None else links),
                features[done:],
                (fit, self.palette, self.seed),
                self.used,
                np.empty(self.used.shape[1], np.uint64),
                self.keys,
                np.zeros(self.keys.shape[0], np.int64),
                self.state,
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


@kernel
def _color(columns, features, options, used, taken, keys, conflicts, state, out):  # type: ignore[no-untyped-def]
    """Color features in order; how many were colored before the bitsets became too narrow."""
    indptr, rows, base, links = columns
    fit, palette, seed = options
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
        if fit == _FIRST:
            choice = _lowest_free(taken)
        elif fit == _LEAST:
            choice = _lightest_free(taken, keys)
        else:
            choice = _random_free(taken, palette, seed, v, forbidden)
        if choice < 0 and state[_OPEN] < palette:
            choice = state[_OPEN]
        if choice < 0 or choice >= palette:
            choice = _fewest_conflicts(start, stop, rows, linked, used, keys, conflicts, state)
        elif choice >= 64 * words:
            return k
        if choice >= state[_OPEN]:
            keys[choice] = choice
            state[_OPEN] = choice + 1
        keys[choice] += (stop - start) << _COLOR_BITS
        colors[v] = choice
        word, bit = choice >> 6, U64(1) << U64(choice & 63)
        if linked:
            _hand_on(start, stop, word, bit, links, base, used)
        else:
            for i in range(start, stop):
                used[np.int64(rows[i]), word] |= bit
    return len(features)


@kernel
def _hand_on(start, stop, word, bit, links, base, used):  # type: ignore[no-untyped-def]
    """Set a color in entries, and copy their bitsets to those that they link to among these."""
    for i in range(start, stop):
        used[i, word] |= bit
        to = links[i] - base
        if to >= 0 and to < len(links):
            for w in range(used.shape[1]):
                used[to, w] = used[i, w]


@inlined
def _lowest_free(taken):  # type: ignore[no-untyped-def]
    w = np.int64(0)
    while w < len(taken) and ~taken[w] == U64(0):
        w += 1
    found = w * 64
    if w < len(taken):
        found += np.int64(trailing_zeros(~taken[w]))
    return found


@inlined
def _lightest_free(taken, keys):  # type: ignore[no-untyped-def]
    """The open free color with the smallest key, -1 where there is none.

    A key is mass and color in one integer, so that a plain minimum finds the least mass and, among
    equals, the lowest color; it runs over whole words, without a branch, as vectors do.
    """
    best = _CLOSED
    for w in range(len(taken)):
        word = taken[w]
        for b in range(64):
            in_use = np.int64((word >> U64(b)) & U64(1)) << 61
            best = min(best, keys[64 * w + b] | in_use)
    return best & ((1 << _COLOR_BITS) - 1) if best < _TAKEN else np.int64(-1)


@inlined
def _random_free(taken, palette, seed, v, forbidden):  # type: ignore[no-untyped-def]
    """A uniform free color of the palette, -1 where there is none: a hash of seed and v draws it."""
    free = np.int64(0)
    for w in range(len(taken)):
        if palette - 64 * w < 64:  # what lies beyond the palette is not free
            taken[w] |= ~((U64(1) << U64(palette - 64 * w)) - U64(1))
        free += np.int64(count_ones(~taken[w]))
    forbidden[v] = palette - free
    z = (U64(seed) ^ (U64(v) * U64(0xD1342543DE82EF95))) + U64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    z = z ^ (z >> U64(31))
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


@kernel
def _fewest_conflicts(start, stop, rows, linked, used, keys, conflicts, state):  # type: ignore[no-untyped-def]
    """The color that the fewest of a feature's rows use, then the lightest; counts what is forced."""
    n_open = state[_OPEN]
    for c in range(n_open):
        conflicts[c] = 0
    for i in range(start, stop):
        at = i if linked else np.int64(rows[i])
        for w in range(used.shape[1]):
            word = used[at, w]
            while word != U64(0):
                conflicts[64 * w + np.int64(trailing_zeros(word))] += 1
                word &= word - U64(1)
    best = np.int64(0)
    for c in range(1, n_open):
        if conflicts[c] < conflicts[best] or (conflicts[c] == conflicts[best] and keys[c] < keys[best]):
            best = np.int64(c)
    state[_FORCED] += 1
    state[_CONFLICTS] += conflicts[best]
    return best
