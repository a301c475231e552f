"""Kernels of dual coordinate descent: an epoch over the rows, for logistic and for ridge regression.

`fitting.weights` says what is solved. Rows are CSR with dense columns, as a tuple; a problem is labels, the
rows that are used, their order, and the weights of rows, an empty array where all are 1.
"""

from __future__ import annotations

import math

import numpy as np

from chromatic._numba import inlined, kernel, mix, prefetch


@kernel
def shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Shuffle in place (Fisher and Yates), with words of SplitMix64."""
    state = mix(seed)
    for i in range(len(order) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        j = np.int64(((mix(state) >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@inlined
def _margin(rows, scaling, solution, row, offset):  # type: ignore[no-untyped-def]
    """Return what the weights say of a row, and the square of its length."""
    indptr, codes, dense = rows
    centers, factors = scaling
    weights, of_dense = solution
    margin, length = offset + of_dense[len(centers)], 1.0
    for d in range(len(centers)):
        x = (dense[row, d] - centers[d]) * factors[d]
        margin += x * of_dense[d]
        length += x * x
    for i in range(indptr[row], indptr[row + 1]):
        margin += weights[codes[i]]
    return margin, length + (indptr[row + 1] - indptr[row])


@inlined
def _move(rows, scaling, solution, row, step):  # type: ignore[no-untyped-def]
    indptr, codes, dense = rows
    centers, factors = scaling
    weights, of_dense = solution
    of_dense[len(centers)] += step
    for d in range(len(centers)):
        of_dense[d] += step * (dense[row, d] - centers[d]) * factors[d]
    for i in range(indptr[row], indptr[row + 1]):
        weights[codes[i]] += step


@inlined
def _prefetch_row(rows, weights, order, at):  # type: ignore[no-untyped-def]
    """Ask the cache for what the next steps read: where a row starts, its features, their weights."""
    indptr, codes, _ = rows
    if at + 12 < len(order):
        prefetch(indptr, order[at + 12])
        prefetch(codes, indptr[order[at + 8]])
        row = order[at + 2]
        for i in range(indptr[row], min(indptr[row + 1], indptr[row] + 32)):
            prefetch(weights, np.int64(codes[i]))


@kernel
def descend(rows, scaling, problem, fixed, solution):  # type: ignore[no-untyped-def]
    """An epoch of logistic regression; return by how much all rows' dual variables were off, over C.

    The dual variable z of a row is between 0 and C, times its weight. Its step makes
    a (z - old) + b + ln(z / (C - z)) zero, where b is the row's margin and a its squared length: by
    Newton's method within a bracket.
    """
    labels, used, order, importance = problem
    offset, whole = fixed
    duals, weights, of_dense = solution
    off = 0.0
    for at in range(len(order)):
        row = order[at]
        _prefetch_row(rows, weights, order, at)
        if not used[row]:
            continue
        strength = whole * importance[row] if len(importance) else whole
        sign = 1.0 if labels[row] == 1.0 else -1.0
        margin, length = _margin(rows, scaling, (weights, of_dense), row, offset)
        margin *= sign
        old = duals[row]
        target = strength / (1.0 + math.exp(margin))  # at the optimum z is this
        off += abs(old - target)
        low, high = 0.0, strength
        z = old if old > 0.0 else min(max(target, 1e-9 * strength), 0.5 * strength)
        for _ in range(30):
            slope = length * (z - old) + margin + math.log(z / (strength - z))
            if slope > 0.0:
                high = z
            else:
                low = z
            new = z - slope / (length + strength / (z * (strength - z)))
            if new <= low:
                new = 0.5 * (z + low)
            elif new >= high:
                new = 0.5 * (z + high)
            done = abs(new - z) <= 1e-7 * strength
            z = new
            if done:
                break
        duals[row] = z
        _move(rows, scaling, (weights, of_dense), row, sign * (z - old))
    return off / whole


@kernel
def descend_squares(rows, scaling, problem, fixed, solution):  # type: ignore[no-untyped-def]
    """An epoch of ridge regression; return by how much all rows' dual variables were off, over C."""
    labels, used, order, importance = problem
    offset, strength = fixed
    duals, weights, of_dense = solution
    off = 0.0
    for at in range(len(order)):
        row = order[at]
        _prefetch_row(rows, weights, order, at)
        if not used[row]:
            continue
        weight = importance[row] if len(importance) else 1.0
        margin, length = _margin(rows, scaling, (weights, of_dense), row, offset)
        lacking = labels[row] - margin - duals[row] / (strength * weight)
        off += weight * abs(lacking)
        step = lacking / (length + 1.0 / (strength * weight))
        duals[row] += step
        _move(rows, scaling, (weights, of_dense), row, step)
    return off


@kernel
def predict(rows, scaling, solution, offset, out):  # type: ignore[no-untyped-def]
    """Write down what the weights say of each row."""
    for row in range(len(out)):
        out[row], _ = _margin(rows, scaling, solution, row, offset)
