"""Rows in the shape of the paper's data sets, as many as asked for, as svmlight text.

Row t depends on the seed and on t alone, so any piece can be made without the others, and more rows are
a continuation. Nothing is kept in a growing table: names are *cells of time*. Cut time into cells of
2**l rows, and let each cell be a name of level l. A draw takes a level by chance, and the cell of a
moment up to now. Levels that are equally likely give Zipf's law, since the next level has half as many
names, each met twice as often; and new names come as long as rows do.

A row belongs to a *context* (a student at a task, a user and an ad), which is such a draw. The context's
features are draws too, seeded by its name and made at its time: the same context has the same features
whenever it is met. So features meet those of their contexts again and again, others seldom, and the
co-occurrence graph stays sparse. Some features are the row's own. The label is drawn by the sum of a
weight for each feature of the row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._files import replacing
from chromatic._numba import RANKED, inlined, kernel, mix, sort_slice
from chromatic._threads import ordered_map
from chromatic.data.source import Progress
from chromatic.errors import InputError
from chromatic.lab.datasets.shapes import LEVELS, RARE, SHAPES, SHARES, SIZES, Shape

ROWS_PER_PIECE = 1 << 11
MOST_ROWS = 1 << 29  # the numbers of features stay below 2**32

U64 = np.uint64
_EPOCH_BITS = LEVELS - 1
_EPOCH = 1 << _EPOCH_BITS  # rows; features are numbered epoch by epoch
_RECENT = U64(16)  # of 256 draws, how many are of the last _EPOCH rows
_NOISE = 1 << 16  # chances of noise are told in steps of 1 / _NOISE
_BYTES_PER_FEATURE = 16  # " 2147483647:0.123" at most
# Odd numbers that keep the draws of one key apart.
_ROW, _CONTEXT = U64(0x9E3779B97F4A7C15), U64(0xC2B2AE3D27D4EB4F)
_FIELD, _VALUE = U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)
_SIZE, _LABEL = U64(0xD6E8FEB86659FD93), U64(0xA0761D6478BD642F)
_DENSE, _WEIGHT = U64(0xE7037ED1A0B428DB), U64(0x8EBC6AF09C88C6E3)


def shape_of(name: str) -> Shape:
    """Return a shape by name.

    >>> shape_of("kdda").paper.colors
    103
    """
    if name not in SHAPES:
        raise InputError(f"there is no shape {name!r}; expected one of {', '.join(SHAPES)}")
    return SHAPES[name]


def make(
    shape: Shape,
    path: str | os.PathLike[str],
    rows: int,
    first: int = 0,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Write rows first to first + rows of a shape to an svmlight file."""
    with replacing(path) as file:
        for piece in text(shape, rows, first, seed, threads):
            file.write(piece)
            if progress is not None:
                progress(len(piece))


def text(
    shape: Shape,
    rows: int,
    first: int = 0,
    seed: int = 0,
    threads: int = 1,
    piece: int = ROWS_PER_PIECE,
) -> Iterator[memoryview]:
    """Yield rows first to first + rows as svmlight text, in pieces of whole lines.

    >>> b"".join(text(shape_of("kdd12"), 1)).split()[0]
    b'0'
    """
    check_rows(rows, first, seed)
    tables = Tables.of(shape)

    def write(start: int) -> memoryview:
        stop = min(start + piece, first + rows)
        out = np.empty((stop - start) * (2 + _BYTES_PER_FEATURE * tables.longest), np.uint8)
        features, spare = np.empty(tables.longest, np.int64), np.empty(RANKED, np.int64)
        drawn_by = tables.drawing, tables.dense, tables.label
        size = _write_rows((start, stop), np.uint64(seed), drawn_by, (features, spare), out)
        return out[:size].data

    yield from ordered_map(write, range(first, first + rows, piece), threads)


def check_rows(rows: int, first: int = 0, seed: int = 0) -> None:
    """Refuse rows that cannot be made."""
    if rows < 1 or first < 0 or first + rows > MOST_ROWS:
        raise InputError(f"{rows} rows from row {first} on are asked for; expected 1 to {MOST_ROWS} in all")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"the seed is {seed}; expected 0 to 2**63 - 1")


def expected_bytes(shape: Shape, rows: int, first: int = 0, seed: int = 0) -> int:
    """Estimate how long the text of rows is, from a few in the middle."""
    sample = min(rows, 200)
    return rows * sum(map(len, text(shape, sample, first + (rows - sample) // 2, seed))) // sample


@dataclass(frozen=True)
class Tables:
    """A shape as the arrays that the kernel looks up."""

    contexts: npt.NDArray[np.int64]  # SHARES levels
    values: npt.NDArray[np.int64]  # field × SHARES: a level, or minus a fixed feature
    sizes: npt.NDArray[np.uint16]  # field × SIZES
    odds: npt.NDArray[np.int64]  # field × (noise, spread)
    slots: npt.NDArray[np.int64]  # field × LEVELS: where in an epoch the features of a level begin
    numbers: npt.NDArray[np.int64]  # the first feature that is not fixed, and the features of an epoch
    dense: npt.NDArray[np.uint64]  # chances, of 2**32
    label: npt.NDArray[np.float64]  # bias and strength

    @classmethod
    @cache
    def of(cls, shape: Shape) -> Tables:
        """Make the tables of a shape; dense features have the first numbers, fixed ones the next."""
        n = len(shape.fields)
        values, slots = np.empty((n, SHARES), np.int64), np.zeros((n, LEVELS), np.int64)
        sizes = np.ones((n, SIZES), np.uint16)
        feature, per_epoch = len(shape.dense) + 1, 0
        for f, field in enumerate(shape.fields):
            if field.sizes is not None:
                sizes[f] = field.sizes.table()
            ends = np.rint(np.cumsum((0, *field.fixed)) * SHARES).astype(np.int64)
            n_fixed = len(field.fixed)
            values[f, : ends[-1]] = -np.repeat(np.arange(feature, feature + n_fixed), np.diff(ends))
            values[f, ends[-1] :] = _levels(field.lowest, field.highest, SHARES - ends[-1])
            feature += n_fixed
            for level in range(field.lowest, field.highest + 1):
                slots[f, level] = per_epoch
                per_epoch += _EPOCH >> level
        odds = [(round(field.noise * _NOISE), field.spread) for field in shape.fields]
        return cls(
            contexts=_levels(*shape.contexts, SHARES),
            values=values,
            sizes=sizes,
            odds=np.array(odds, np.int64),
            slots=slots,
            numbers=np.array([feature, per_epoch], np.int64),
            dense=np.array([round(chance * (1 << 32)) for chance in shape.dense], np.uint64),
            label=np.array([shape.bias, shape.strength]),
        )

    @property
    def longest(self) -> int:
        """The most features that a row can have."""
        return len(self.dense) + int(self.sizes.max(axis=1).astype(np.int64).sum())

    @property
    def drawing(self) -> tuple[Any, ...]:
        """What sparse features are drawn by."""
        return self.contexts, self.values, self.sizes, self.odds, self.slots, self.numbers


def _levels(lowest: int, highest: int, n: int) -> npt.NDArray[np.int64]:
    """Return n levels from the lowest to the highest, each as often as another."""
    return lowest + np.arange(n) * (highest + 1 - lowest) // n


@kernel
def _write_rows(span, seed, drawn_by, scratch, out):  # type: ignore[no-untyped-def]
    """Write the rows from start to stop as text; return the number of bytes."""
    start, stop = span
    drawing, dense, label = drawn_by
    features, spare = scratch
    at = np.int64(0)
    for t in range(start, stop):
        row = mix(mix(seed) + U64(t) * _ROW)
        n = _draw_features(row, np.int64(t), seed, drawing, features)
        sort_slice(features, 0, n, spare, False)
        line = at
        at, score = _write_dense(row, dense, label, out, at + 1)
        previous = np.int64(0)
        for i in range(n):
            if features[i] != previous:  # a set may have drawn a feature twice
                previous = features[i]
                out[at] = 32
                at = _write_number(previous, out, at + 1)
                out[at] = 58
                out[at + 1] = 49
                at += 2
                score += label[1] * _weight(previous)
        out[at] = 10
        at += 1
        chance = np.float64(mix(row + _LABEL) >> U64(11)) * 2.0**-53
        out[line] = 49 if chance * (1.0 + np.exp(-score)) < 1.0 else 48
    return at


@kernel
def _draw_features(row, time, seed, drawing, features):  # type: ignore[no-untyped-def]
    """Draw the sparse features of a row, unsorted, some perhaps twice; return how many."""
    contexts, values, sizes, odds, slots, numbers = drawing
    chance = mix(row + _CONTEXT)
    level = contexts[np.int64(chance & U64(SHARES - 1))]
    cell = _moment(time, chance) >> level
    context = mix(mix(seed + U64(level) * _CONTEXT) + U64(cell) * _ROW)
    n = np.int64(0)
    for f in range(len(values)):
        field = U64(f + 1) * _FIELD
        rank = np.int64(mix(row + field + _SIZE) & U64(SIZES - 1))
        if rank < SIZES - RARE:
            rank = np.int64(mix(context + field + _SIZE) & U64(SIZES - 1))
            rank = min(rank, np.int64(SIZES - RARE - 1))
        for j in range(sizes[f, rank]):
            value = field + U64(j + 1) * _VALUE
            own = mix(row + value)
            if np.int64(own & U64(_NOISE - 1)) < odds[f, 0]:
                when = _moment(time, own)
                chance = mix(own + _SIZE)
            else:
                when = cell << level
                chance = mix(context + value)
            drawn = values[f, np.int64(chance & U64(SHARES - 1))]
            if drawn < 0:
                features[n] = -drawn
            else:
                lag = np.int64((chance >> U64(16)) & U64(0xFFFFFF)) * odds[f, 1]
                moment = abs(when - ((lag << drawn) >> 24))
                epoch, row_of_epoch = moment >> _EPOCH_BITS, moment & (_EPOCH - 1)
                features[n] = numbers[0] + epoch * numbers[1] + slots[f, drawn] + (row_of_epoch >> drawn)
            n += 1
    return n


@inlined
def _moment(time, chance):  # type: ignore[no-untyped-def]
    """Return a moment up to a time: any, or now and then a recent one."""
    if (chance >> U64(56)) < _RECENT:
        lag = np.int64((chance >> U64(16)) & U64(_EPOCH - 1))
        return abs(time - (lag >> np.int64((chance >> U64(48)) & U64(15))))
    return (time * np.int64((chance >> U64(16)) & U64(0xFFFFFFFF))) >> 32


@kernel
def _write_dense(row, dense, label, out, at):  # type: ignore[no-untyped-def]
    """Write the dense features of a row; return where they end and what they add to the label's score."""
    score = label[0]
    for i in range(len(dense)):
        chance = mix(row + U64(i + 1) * _DENSE)
        if (chance >> U64(32)) < dense[i]:
            out[at] = 32
            at = _write_number(np.int64(i + 1), out, at + 1)
            out[at] = 58
            thousandths = np.int64(1000)
            if i % 3:
                thousandths = np.int64((chance & U64(0xFFFF)) % U64(999)) + 1
                out[at + 1] = 48
                out[at + 2] = 46
                out[at + 3] = 48 + thousandths // 100
                out[at + 4] = 48 + thousandths // 10 % 10
                out[at + 5] = 48 + thousandths % 10
                at += 6
            else:
                out[at + 1] = 49
                at += 2
            score += label[1] * _weight(np.int64(i + 1)) * thousandths / 1000
    return at, score


@kernel
def _write_number(number, out, at):  # type: ignore[no-untyped-def]
    """Write the decimal digits of a number; return where they end."""
    end = at + 1
    limit = np.int64(10)
    while number >= limit:
        limit *= 10
        end += 1
    for i in range(end - 1, at - 1, -1):
        out[i] = 48 + number % 10
        number //= 10
    return end


@inlined
def _weight(feature):  # type: ignore[no-untyped-def]
    """Return a feature's weight, uniform from -1 to 1."""
    return np.float64(mix(U64(feature) * _WEIGHT) >> U64(11)) * 2.0**-52 - 1.0
