"""Kernels of dual coordinate descent: an epoch over the rows, for logistic and for ridge regression.

`fitting.weights` says what is solved. Rows are CSR with dense columns, as a tuple, and with the place in
each row where the features begin that are in no other row. The weight of such a feature is the dual
variable of its row, so it is not kept. A problem is labels, the order of the rows that are used, and the
weights of rows, an empty array where all are 1. `advance` goes on from weights that earlier rows gave.
"""

from __future__ import annotations

import math

import numpy as np

from chromatic._numba import inlined, kernel, mix, prefetch

NEAR = 0.02  # the last of Newton's steps on the logit; about its square is left


@kernel
def shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Shuffle in place (Fisher and Yates), with words of SplitMix64."""
    state = mix(seed)
    for i in range(len(order) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        j = np.int64(((mix(state) >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@kernel
def several_until(rows, n_several, ends):  # type: ignore[no-untyped-def]
    """Write down where in each row the features begin that are in no other; codes ascend in a row."""
    indptr, codes = rows
    for row in range(len(ends)):
        end = indptr[row + 1]
        while end > indptr[row] and codes[end - 1] >= n_several:
            end -= 1
        ends[row] = end


@inlined
def _margin(rows, solution, row, own):  # type: ignore[no-untyped-def]
    """Return what the weights say of a row, and the square of its length.

    `own` is the weight of features that are in no other row.
    """
    indptr, ends, codes, dense = rows
    weights, of_dense = solution
    margin, length = of_dense[dense.shape[1]], 1.0
    for d in range(dense.shape[1]):
        x = dense[row, d]
        margin += x * of_dense[d]
        length += x * x
    for i in range(indptr[row], ends[row]):
        margin += weights[codes[i]]
    return margin + (indptr[row + 1] - ends[row]) * own, length + (indptr[row + 1] - indptr[row])


@inlined
def _move(rows, solution, row, step):  # type: ignore[no-untyped-def]
    indptr, ends, codes, dense = rows
    weights, of_dense = solution
    of_dense[dense.shape[1]] += step
    for d in range(dense.shape[1]):
        of_dense[d] += step * dense[row, d]
    for i in range(indptr[row], ends[row]):
        weights[codes[i]] += step


@inlined
def _prefetch(rows, labels, order, solution, at):  # type: ignore[no-untyped-def]
    """Ask the cache for what later steps read: where a row begins, what it holds, its features' weights."""
    indptr, ends, codes, dense = rows
    duals, weights, _ = solution
    if at + 16 < len(order):
        row = order[at + 16]
        prefetch(indptr, row)
        prefetch(ends, row)
        row = order[at + 8]
        prefetch(labels, row)
        prefetch(duals, row)
        prefetch(codes, indptr[row])
        prefetch(codes, ends[row])
        if dense.shape[1]:
            prefetch(dense[row], 0)
            prefetch(dense[row], dense.shape[1] - 1)
        row = order[at + 3]
        for i in range(indptr[row], min(ends[row], indptr[row] + 32)):
            prefetch(weights, np.int64(codes[i]))


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
def descend(rows, problem, fixed, solution):  # type: ignore[no-untyped-def]
    """An epoch of logistic regression; return by how much all rows' dual variables were off, over C.

    The dual variable z of a row is between 0 and C, times its weight, and t is its logit, ln(z / (C - z)).
    A step makes a (z - old) + b + t zero, where b is the row's margin and a its squared length: by Newton's
    method on t within a bracket. At the optimum, t is -b; by how much z is off is told by its slope there.
    """
    labels, order, importance = problem
    offset, whole = fixed
    duals, weights, of_dense = solution
    off = 0.0
    for at in range(len(order)):
        row = order[at]
        _prefetch(rows, labels, order, solution, at)
        strength = whole * importance[row] if len(importance) else whole
        sign = 1.0 if labels[row] == 1.0 else -1.0
        old = duals[row]
        margin, length = _margin(rows, (weights, of_dense), row, sign * old)
        margin = sign * (margin + offset)
        if old > 0.0:
            z, t = old, math.log(old / (strength - old))
            off += min(abs(margin + t) * z * (strength - z) / strength, strength)
        else:
            z, t = strength / (1.0 + math.exp(margin)), -margin
            off += z
        z = _settle(margin, length, strength, (old, z, t))
        duals[row] = z
        _move(rows, (weights, of_dense), row, sign * (z - old))
    return off / whole


@kernel
def descend_squares(rows, problem, fixed, solution):  # type: ignore[no-untyped-def]
    """An epoch of ridge regression; return by how much all rows' dual variables were off, over C."""
    labels, order, importance = problem
    offset, strength = fixed
    duals, weights, of_dense = solution
    off = 0.0
    for at in range(len(order)):
        row = order[at]
        _prefetch(rows, labels, order, solution, at)
        weight = importance[row] if len(importance) else 1.0
        margin, length = _margin(rows, (weights, of_dense), row, duals[row])
        lacking = labels[row] - offset - margin - duals[row] / (strength * weight)
        off += weight * abs(lacking)
        step = lacking / (length + 1.0 / (strength * weight))
        duals[row] += step
        _move(rows, (weights, of_dense), row, step)
    return off


@kernel
def advance(rows, problem, known, solution):  # type: ignore[no-untyped-def]
    """An epoch over later rows; return by how much all rows' dual variables were off.

    `known` are the margins of rows by the weights that are known, and how far each weight can move: the
    inverse of its certainty. `solution` are dual variables and the moves that follow from them.
    """
    indptr, _, codes, dense = rows
    labels, order, importance, binary = problem
    margins, room, room_of_dense = known
    duals, moves, of_dense = solution
    n_dense = dense.shape[1]
    off = 0.0
    for at in range(len(order)):
        row = order[at]
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


@kernel
def predict(rows, solution, order, out):  # type: ignore[no-untyped-def]
    """Write down what the weights say of some rows, where those have no features of their own."""
    for at in range(len(order)):
        out[at], _ = _margin(rows, solution, order[at], 0.0)
