"""Kernels of dual coordinate descent: an epoch over the rows, for logistic and for ridge regression.

`fitting.weights` says what is solved. Four models go over the rows together, each a lane (`_lanes`) of
every dual variable and weight: what a row holds is read once for all of them, and the weights of a feature
are neighbors. They differ in their penalty, or in which rows they learn from.

A block of rows is a head for each row, their codes, and their dense columns. Features that are in no other
row come last in a row. The weight of such a feature is the dual variable of its row, so it is not kept.
`advance` goes on from weights that earlier rows gave, one model and one number at a time.
"""

from __future__ import annotations

import math

import numpy as np

from chromatic._lanes import LANES, absolute, fill, less, load, log_loss, select, sigmoid, some, store
from chromatic._numba import inlined, kernel, mix, prefetch

NEAR = 0.02  # the last of Newton's steps on the logit; about its square is left
FLUSH = 1024  # rows whose sums are in single precision

# 32 bytes, so that what is told of a row is in one line of the cache.
HEAD = np.dtype(
    [
        ("start", np.int64),  # of its codes
        ("several", np.uint32),  # features that may be in several rows
        ("own", np.uint32),  # features that are in no other row
        ("label", np.float32),  # 1 or -1, or a number
        ("weight", np.float32),
        ("fold", np.int32),
        ("number", np.uint32),  # of the row
    ]
)


@kernel
def shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Shuffle in place (Fisher and Yates), with words of SplitMix64."""
    state = mix(seed)
    for i in range(len(order) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        j = np.int64(((mix(state) >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@kernel
def copy_codes(block, rows, starts, out):  # type: ignore[no-untyped-def]
    """Copy the features of some rows that may be in several, those of each to where it starts."""
    heads, codes = block
    for i in range(len(rows)):
        row = np.int64(rows[i])
        start, to = heads[row]["start"], starts[i]
        for j in range(np.int64(heads[row]["several"])):
            out[to + j] = codes[start + j]


@kernel
def place(rows, n_several, heads):  # type: ignore[no-untyped-def]
    """Write down where each row begins, and where its features that are in no other; codes ascend."""
    indptr, codes = rows
    for row in range(len(heads)):
        end = indptr[row + 1]
        while end > indptr[row] and codes[end - 1] >= n_several:
            end -= 1
        heads[row]["start"] = indptr[row]
        heads[row]["several"] = end - indptr[row]
        heads[row]["own"] = indptr[row + 1] - end


@inlined
def _margins(block, weights, of_dense, row):  # type: ignore[no-untyped-def]
    """Return what the weights say of a row, and the square of its length."""
    heads, codes, dense = block
    n_dense, start = dense.shape[1], heads[row]["start"]
    margins, length = load(of_dense, n_dense * LANES), np.float32(1.0)
    for d in range(n_dense):
        x = dense[row, d]
        margins = margins + x * load(of_dense, d * LANES)
        length += x * x
    for i in range(start, start + np.int64(heads[row]["several"])):
        margins = margins + load(weights, np.int64(codes[i]) * LANES)
    length += np.float32(heads[row]["several"]) + np.float32(heads[row]["own"])
    return margins, length


@inlined
def _move(block, weights, of_dense, row, step):  # type: ignore[no-untyped-def]
    heads, codes, dense = block
    n_dense, start = dense.shape[1], heads[row]["start"]
    store(of_dense, n_dense * LANES, load(of_dense, n_dense * LANES) + step)
    for d in range(n_dense):
        store(of_dense, d * LANES, load(of_dense, d * LANES) + dense[row, d] * step)
    for i in range(start, start + np.int64(heads[row]["several"])):
        at = np.int64(codes[i]) * LANES
        store(weights, at, load(weights, at) + step)


@inlined
def _prefetch(block, order, duals, weights, at):  # type: ignore[no-untyped-def]
    """Ask the cache for what later steps read: a row's head, what it holds, its features' weights."""
    heads, codes, dense = block
    if at + 16 < len(order):
        prefetch(heads, np.int64(order[at + 16]))
        row = np.int64(order[at + 8])
        start = heads[row]["start"]
        prefetch(duals, row * LANES)
        prefetch(codes, start)
        prefetch(codes, start + np.int64(heads[row]["several"]))
        if dense.shape[1]:
            prefetch(dense[row], 0)
            prefetch(dense[row], dense.shape[1] - 1)
        row = np.int64(order[at + 3])
        start = heads[row]["start"]
        for i in range(start, start + min(np.int64(heads[row]["several"]), 32)):
            prefetch(weights, np.int64(codes[i]) * LANES)


@inlined
def _flush(sums, spare, which, lanes):  # type: ignore[no-untyped-def]
    """Add lanes to sums in double precision."""
    store(spare, 0, lanes)
    for lane in range(LANES):
        sums[which, lane] += spare[lane]


@inlined
def _settle_lanes(margin, length, strength, dual, live):  # type: ignore[no-untyped-def]
    """Return the logits t, and z, that make length (z - old) + margin + t zero, from first ones."""
    old, t, p = dual
    one, half, near = np.float32(1.0), np.float32(0.5), fill(np.float32(NEAR))
    none, z, high = fill(np.float32(0.0)), strength * p, length * old - margin
    last = length * strength
    low = high - last
    last, moves = last + last, less(none, fill(one))
    for _ in range(30):
        rest = length * (z - old) + margin + t
        above = less(none, rest)
        high, low = select(above, t, high), select(above, low, t)
        new = t - rest / (one + length * z * (one - p))
        middle = half * (low + high)
        new = select(less(new, low), middle, select(less(high, new), middle, new))
        new = select(less(half * last, absolute(new - t)), middle, new)  # else it may go back and forth
        new = select(moves, new, t)  # else other lanes would decide how near it comes
        last = absolute(new - t)
        moves = less(near, live * last)
        t = new
        p = sigmoid(t)
        z = strength * p
        if not some(moves):
            break
    return t, z


@kernel
def descend(block, problem, solution, sums):  # type: ignore[no-untyped-def]
    """An epoch of four logistic regressions.

    A problem is the order of the rows; of each fold, which lanes learn from it and which are to tell their
    loss; the C and the offset of each lane; room for four numbers; and whether dual variables are 0 yet.
    `sums` are by how much the dual variables were off, over C, and the loss of rows that were held out.

    The dual variable z of a row is between 0 and C, times its weight, and t is its logit, ln(z / (C - z)),
    which is what is kept. A step makes a (z - old) + b + t zero, where b is the row's margin and a its
    squared length: by Newton's method on t within a bracket. At the optimum, t is -b; by how much z is off
    is told by its slope there.
    """
    heads = block[0]
    order, learns, tells, (strengths, offsets), spare, first = problem
    duals, weights, of_dense = solution
    zero, one = np.float32(0.0), np.float32(1.0)
    whole, offset = load(strengths, 0), load(offsets, 0)
    off, lost, none, all_of_it = fill(zero), fill(zero), fill(zero), fill(one)
    for at in range(len(order)):
        row = np.int64(order[at])
        _prefetch(block, order, duals, weights, at)
        fold, sign, weight = np.int64(heads[row]["fold"]), heads[row]["label"], heads[row]["weight"]
        live = load(learns, fold * LANES)
        margin, length = _margins(block, weights, of_dense, row)
        margin = sign * (margin + offset)
        strength = whole * weight
        lost = lost + load(tells, fold * LANES) * weight * log_loss(margin)
        if first:
            old, t = none, none - margin
            p = sigmoid(t)
            off = off + live * p * weight
        else:
            t = load(duals, row * LANES)
            p = sigmoid(t)
            old = strength * p
            margin = margin + np.float32(heads[row]["own"]) * old
            far = absolute(margin + t) * p * (one - p)
            off = off + live * select(less(far, all_of_it), far, all_of_it) * weight
        t, z = _settle_lanes(margin, length, strength, (old, t, p), live)
        store(duals, row * LANES, t)
        _move(block, weights, of_dense, row, sign * live * (z - old))
        if at % FLUSH == FLUSH - 1 or at == len(order) - 1:
            _flush(sums, spare, 0, off)
            _flush(sums, spare, 1, lost)
            off, lost = none, none


@kernel
def descend_squares(block, problem, solution, sums):  # type: ignore[no-untyped-def]
    """An epoch of four ridge regressions; `sums` also has all dual variables, without their signs."""
    heads = block[0]
    order, learns, tells, (strengths, offsets), spare, _ = problem
    duals, weights, of_dense = solution
    zero, one = np.float32(0.0), np.float32(1.0)
    whole, offset, none = load(strengths, 0), load(offsets, 0), fill(zero)
    off, lost, size = fill(zero), fill(zero), fill(zero)
    for at in range(len(order)):
        row = np.int64(order[at])
        _prefetch(block, order, duals, weights, at)
        fold, weight = np.int64(heads[row]["fold"]), heads[row]["weight"]
        live, old = load(learns, fold * LANES), load(duals, row * LANES)
        margin, length = _margins(block, weights, of_dense, row)
        lacking = heads[row]["label"] - offset - margin
        lost = lost + load(tells, fold * LANES) * weight * lacking * lacking
        room = one / (whole * weight)
        lacking = lacking - old * (room + np.float32(heads[row]["own"]))
        off = off + live * weight * absolute(lacking)
        step = live * lacking / (length + room)
        size = size + live * absolute(old + step)
        store(duals, row * LANES, old + step)
        _move(block, weights, of_dense, row, step)
        if at % FLUSH == FLUSH - 1 or at == len(order) - 1:
            _flush(sums, spare, 0, off)
            _flush(sums, spare, 1, lost)
            _flush(sums, spare, 2, size)
            off, lost, size = none, none, none


@inlined
def _settle(margin, length, strength, dual):  # type: ignore[no-untyped-def]
    """Return the dual variable z that makes length (z - old) + margin + t zero, from a first z and t."""
    old, z, t = dual
    low, high = -margin - length * (strength - old), -margin + length * old
    step = 2.0 * (high - low)
    for _ in range(30):
        rest = length * (z - old) + margin + t
        if rest > 0.0:
            high = t
        else:
            low = t
        new = t - rest / (1.0 + length * z * (strength - z) / strength)
        if abs(new - t) > 0.5 * step or not low < new < high:  # else it may go back and forth
            new = 0.5 * (low + high)
        step, t = abs(new - t), new
        z = strength / (1.0 + math.exp(-t))
        if step <= NEAR:
            break
    return z


@kernel
def advance(rows, problem, known, solution):  # type: ignore[no-untyped-def]
    """An epoch over later rows; return by how much all rows' dual variables were off.

    `known` are the margins of rows by the weights that are known, and how far each weight can move: the
    inverse of its certainty. `solution` are dual variables and the moves that follow from them.
    """
    indptr, codes, dense = rows
    labels, order, importance, binary = problem
    margins, room, room_of_dense = known
    duals, moves, of_dense = solution
    n_dense = dense.shape[1]
    off = 0.0
    for at in range(len(order)):
        row = np.int64(order[at])
        weight = importance[row] if len(importance) else 1.0
        margin, length = margins[row] + of_dense[n_dense], room_of_dense[n_dense]
        for d in range(n_dense):
            x = dense[row, d]
            margin += x * of_dense[d]
            length += x * x * room_of_dense[d]
        for i in range(indptr[row], indptr[row + 1]):
            margin += moves[codes[i]]
            length += room[codes[i]]
        old = duals[row]
        if binary:
            sign = 1.0 if labels[row] == 1.0 else -1.0
            margin *= sign
            z, t = weight / (1.0 + math.exp(margin)), -margin
            if old > 0.0:
                z, t = old, math.log(old / (weight - old))
            off += abs(weight / (1.0 + math.exp(margin)) - old)
            z = _settle(margin, length, weight, (old, z, t))
        else:
            sign, lacking = 1.0, labels[row] - margin - old / weight
            off += weight * abs(lacking)
            z = old + lacking / (length + 1.0 / weight)
        duals[row] = z
        step = sign * (z - old)
        of_dense[n_dense] += step * room_of_dense[n_dense]
        for d in range(n_dense):
            of_dense[d] += step * dense[row, d] * room_of_dense[d]
        for i in range(indptr[row], indptr[row + 1]):
            moves[codes[i]] += step * room[codes[i]]
    return off
