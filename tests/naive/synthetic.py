"""Rows in the shape of a data set, drawn one at a time."""

import math
from functools import cache

from naive.hashing import MASK, mix


def synthetic_draw(key, *numbers):
    """A draw of 64 bits: a key, and (odd number, factor) pairs to add to it."""
    return mix((key + sum(odd * factor for odd, factor in numbers)) & MASK)


def synthetic_moment(time, chance):
    """A moment up to a time: one in sixteen is of the last 1024 rows."""
    if chance >> 56 < 16:
        return abs(time - ((chance >> 16) % 1024 >> (chance >> 48) % 16))
    return time * ((chance >> 16) % 2**32) >> 32


@cache
def synthetic_sizes(sizes):
    return sizes.table().tolist()


def synthetic_row(shape, t, seed):
    """(label, sorted features with their values) of row t of a shape."""
    row = synthetic_draw(mix(seed), (0x9E3779B97F4A7C15, t))
    chance = synthetic_draw(row, (0xC2B2AE3D27D4EB4F, 1))
    low, high = shape.contexts
    level = low + chance % 4096 * (high + 1 - low) // 4096
    cell = synthetic_moment(t, chance) >> level
    context = synthetic_draw(synthetic_draw(seed, (0xC2B2AE3D27D4EB4F, level)), (0x9E3779B97F4A7C15, cell))
    found = {}
    for i, odds in enumerate(shape.dense):
        chance = synthetic_draw(row, (0xE7037ED1A0B428DB, i + 1))
        if chance >> 32 < round(odds * 2**32):
            found[i + 1] = (chance % 65536 % 999 + 1) / 1000 if i % 3 else 1.0
    fixed = len(shape.dense) + 1
    first = fixed + sum(len(field.fixed) for field in shape.fields)
    per_epoch = sum(1024 >> k for field in shape.fields for k in range(field.lowest, field.highest + 1))
    slot = 0
    for f, field in enumerate(shape.fields):
        place = (0xBF58476D1CE4E5B9, f + 1)
        size = 1
        if field.sizes is not None:
            sizes = synthetic_sizes(field.sizes)
            rank = synthetic_draw(row, place, (0xD6E8FEB86659FD93, 1)) % 16384
            if rank < 16380:
                rank = min(synthetic_draw(context, place, (0xD6E8FEB86659FD93, 1)) % 16384, 16379)
            size = sizes[rank]
        ends = [round(sum(field.fixed[: i + 1]) * 4096) for i in range(len(field.fixed))]
        start = ends[-1] if ends else 0
        for j in range(size):
            value = (0x94D049BB133111EB, j + 1)
            own = synthetic_draw(row, place, value)
            if own % 65536 < round(field.noise * 65536):
                when, chance = synthetic_moment(t, own), synthetic_draw(own, (0xD6E8FEB86659FD93, 1))
            else:
                when, chance = cell << level, synthetic_draw(context, place, value)
            share = chance % 4096
            if share < start:
                feature = fixed + next(i for i, end in enumerate(ends) if share < end)
            else:
                names = field.highest + 1 - field.lowest
                drawn = field.lowest + (share - start) * names // (4096 - start)
                moment = abs(when - ((chance >> 16) % 2**24 * field.spread * 2**drawn >> 24))
                before = sum(1024 >> k for k in range(field.lowest, drawn))
                feature = first + moment // 1024 * per_epoch + slot + before + (moment % 1024 >> drawn)
            found[feature] = 1.0
        fixed += len(field.fixed)
        slot += sum(1024 >> k for k in range(field.lowest, field.highest + 1))
    weights = {f: (synthetic_draw(0, (0x8EBC6AF09C88C6E3, f)) >> 11) * 2.0**-52 - 1 for f in found}
    score = shape.bias + shape.strength * sum(weights[f] * found[f] for f in found)
    chance = (synthetic_draw(row, (0xA0761D6478BD642F, 1)) >> 11) * 2.0**-53
    return int(chance < 1 / (1 + math.exp(-score))), sorted(found.items())
