"""Weights of linear models by dual coordinate descent, one row and one bisection at a time."""

import math

from naive.hashing import MASK, mix


def shuffled(items, seed):
    """Fisher and Yates, with words of SplitMix64."""
    items, state = list(items), mix(seed & MASK)
    for i in range(len(items) - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        j = ((mix(state) >> 32) * (i + 1)) >> 32
        items[i], items[j] = items[j], items[i]
    return items


def several(rows, n_several):
    """How many features of each row are among the first `n_several`."""
    return [sum(code < n_several for code in row) for row in rows]


def how_far(z, margin, strength):
    """By how much a dual variable differs from what the margin says, judged by the slope where it is."""
    if z == 0:
        return strength / (1 + math.exp(margin))
    return min(strength, abs(margin + math.log(z / (strength - z))) * z * (strength - z) / strength)


def descend(rows, dense, labels, order, solution, *, learns, tells, told):
    """One epoch; `weights` are those of features by number, of dense columns by ("dense", d), and None's.

    It learns from some rows, and tells its loss of some. Returns by how much the dual variables were off
    before their steps, over C, that loss, and the dual variables without their signs.
    """
    offset, whole, binary, importance = told
    duals, weights = solution
    off, lost, size = 0.0, 0.0, 0.0
    for i in order:
        weight = 1.0 if importance is None else importance[i]
        strength = whole * weight
        xs = dict.fromkeys(rows[i], 1.0) | {("dense", d): x for d, x in enumerate(dense[i])} | {None: 1.0}
        margin = offset + sum(x * weights[v] for v, x in xs.items())
        length = sum(x * x for x in xs.values())
        sign = 1.0 if labels[i] == 1 else -1.0
        if i in tells:
            loss = math.log1p(math.exp(-sign * margin)) if binary else (labels[i] - margin) ** 2
            lost += weight * loss
        if i not in learns:
            continue
        if binary:
            off += how_far(duals[i], sign * margin, strength) / whole
            low, high = 0.0, strength  # the slope of the dual grows from one end to the other
            for _ in range(200):
                z = (low + high) / 2
                slope = length * (z - duals[i]) + sign * margin + math.log(z / (strength - z))
                low, high = (low, z) if slope > 0 else (z, high)
            step, duals[i] = sign * (z - duals[i]), z
        else:
            lacking = labels[i] - margin - duals[i] / strength
            off += weight * abs(lacking)
            step = lacking / (length + 1 / strength)
            duals[i] += step
            size += abs(duals[i])
        for v, x in xs.items():
            weights[v] += step * x
    return off, lost, size


def advance(rows, dense, labels, order, solution, *, margins, room, binary, importance=None):
    """One epoch over later rows; `room` says of each weight, as `descend` calls it, how far it can move.

    Returns by how much the dual variables were off before their steps.
    """
    duals, moves = solution
    off = 0.0
    for i in order:
        weight = 1.0 if importance is None else importance[i]
        xs = dict.fromkeys(rows[i], 1.0) | {("dense", d): x for d, x in enumerate(dense[i])} | {None: 1.0}
        margin = margins[i] + sum(x * moves[v] for v, x in xs.items())
        length = sum(x * x * room[v] for v, x in xs.items())
        if binary:
            sign = 1.0 if labels[i] == 1 else -1.0
            off += abs(weight / (1 + math.exp(sign * margin)) - duals[i])
            low, high = 0.0, weight
            for _ in range(200):
                z = (low + high) / 2
                slope = length * (z - duals[i]) + sign * margin + math.log(z / (weight - z))
                low, high = (low, z) if slope > 0 else (z, high)
            step, duals[i] = sign * (z - duals[i]), z
        else:
            lacking = labels[i] - margin - duals[i] / weight
            off += weight * abs(lacking)
            step = lacking / (length + 1 / weight)
            duals[i] += step
        for v, x in xs.items():
            moves[v] += step * x * room[v]
    return off


def taken_rows(rows, which, n_several):
    """Some rows, with the features alone that may be in several rows."""
    return [sorted(code for code in rows[i] if code < n_several) for i in which]
