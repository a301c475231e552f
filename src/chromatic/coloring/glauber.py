"""Glauber dynamics: a uniform proper coloring of a graph, from any proper coloring of it.

Features take in turn a uniform color that none of their neighbors has, until the start is forgotten.

Parallel. The paper lets P = √v / d random features step at once, of which fewer than one pair are expected
to be neighbors. Here the features are visited in the classes of a greedy proper coloring. No two features
of a class are neighbors, so that all of a class step at once without any contention, and the outcome is
that of one thread.

How long. Two copies of the chain, coupled as well as can be, differ at v after v's step with probability
x_v <= sum of x_u / (m - d_v) over the neighbors u. Let w be positive weights and α < 1 such that the sum
of w_u / (m - d_v) is at most α w_v everywhere. Each sweep over all features then shrinks a bound
x <= C w by α, and ln(Σw / (w_min ε)) / ln(1/α) sweeps bring the chain within ε of uniform. Equal weights
have α = Δ / (m - Δ) and give about the paper's m / (m - 2Δ) · v ln(v/ε) steps; weights that are
larger where the graph is denser, found by power iteration, prove that far fewer do.

Shorter. A feature whose neighbors are all neighbors of each other finds m - d free colors, however those
are colored. So it can be left to the end, and drawn once. That holds for features with one neighbor at
most, again and again, and where k = 1 for the features of one row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, mix
from chromatic._threads import ordered_map
from chromatic.errors import InputError
from chromatic.graph.thinned import Graph

U64 = np.uint64
FEATURES_PER_PIECE = 1 << 13


@dataclass(frozen=True)
class Chain:
    """Colors that Glauber dynamics drew, and how long it ran."""

    colors: npt.NDArray[np.int32]
    core: int  # features that the chain colors; the others are drawn once
    steps: int
    at_once: int  # the most features that step together: the largest class


def sample(
    graph: Graph,
    m: int,
    *,
    seed: int = 0,
    epsilon: float = 0.01,
    last: npt.NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> Chain:
    """Draw a uniform proper coloring of a graph with m > 2Δ colors, within ε of uniform.

    `last` marks features whose neighbors are neighbors of each other: they are drawn after the others.

    >>> edges = np.array([[1, 2, 2], [0, 0, 1], [1, 1, 1]], np.uint32)
    >>> triangle = Graph.of_edges(1, 3, *edges)
    >>> len(set(sample(triangle, 5).colors.tolist()))
    3
    """
    if m <= 2 * graph.max_degree:
        raise InputError(
            f"m is {m} and the largest degree {graph.max_degree:,}; expected {2 * graph.max_degree + 1:,} "
            "colors or more"
        )
    arrays = graph.indptr, graph.neighbors
    n = graph.n_features
    colors, order = np.full(n, -1, np.int32), np.empty(n, np.int64)
    degrees = graph.degrees
    last = np.zeros(n, np.bool_) if last is None else last
    n_last = _peel(arrays, last, degrees, np.zeros(n, np.bool_), order)
    core = np.setdiff1d(np.arange(n), order[:n_last], assume_unique=True)
    degrees[order[:n_last]] = 0  # those left are of the core alone
    classes = _classes(arrays, core, degrees, colors)
    sweeps = _sweeps_needed(arrays, core, degrees, m, epsilon)
    for sweep in range(sweeps):
        for features in classes:
            _step_together(arrays, features, colors, (m, seed, sweep), threads)
    _step(arrays, order[:n_last][::-1].copy(), colors, (m, seed, sweeps))
    return Chain(
        colors=colors,
        core=len(core),
        steps=sweeps * len(core),
        at_once=max((len(features) for features in classes), default=0),
    )


def _step_together(
    arrays: Any,
    features: npt.NDArray[np.int64],
    colors: npt.NDArray[np.int32],
    task: tuple[int, int, int],
    threads: int,
) -> None:
    """Let features step that are no neighbors of each other."""
    if threads == 1 or len(features) <= FEATURES_PER_PIECE:
        _step(arrays, features, colors, task)
        return
    pieces = np.split(features, range(FEATURES_PER_PIECE, len(features), FEATURES_PER_PIECE))
    for _ in ordered_map(lambda piece: _step(arrays, piece, colors, task), pieces, threads):
        pass


def _sweeps_needed(
    arrays: Any, core: npt.NDArray[np.int64], degrees: npt.NDArray[np.int64], m: int, epsilon: float
) -> int:
    """The fewest sweeps that some weights prove to be enough."""
    if not len(core):
        return 0
    weights, sums = np.zeros(len(degrees)), np.zeros(len(degrees))
    weights[core] = 1.0
    fewest, stale = math.inf, 0
    while stale < 4:
        _sum_weights(arrays, core, (degrees, m), weights, sums)
        alpha = float((sums[core] / weights[core]).max())
        spread = float(weights.sum() / weights[core].min())
        sweeps = math.ceil(math.log(spread / epsilon) / -math.log(alpha)) if alpha < 1 else math.inf
        fewest, stale = (sweeps, 0) if sweeps < fewest else (fewest, stale + 1)
        weights[core] = np.maximum(weights[core] + sums[core] / alpha, 1e-6)
        weights /= weights.max()
    return int(fewest)


def _classes(
    arrays: Any, core: npt.NDArray[np.int64], degrees: npt.NDArray[np.int64], colors: npt.NDArray[np.int32]
) -> list[npt.NDArray[np.int64]]:
    """Color the core greedily, in place, largest degree first; the features of each color."""
    by_degree = core[np.argsort(-degrees[core], kind="stable")]
    _first_fit(arrays, by_degree, colors, np.full(int(degrees.max(initial=0)) + 2, -1, np.int64))
    by_color = core[np.argsort(colors[core], kind="stable")]
    return [part for part in np.split(by_color, np.cumsum(np.bincount(colors[core]))) if len(part)]


@kernel
def _peel(graph, last, degrees, gone, order):  # type: ignore[no-untyped-def]
    """Take out the features to be drawn last, then those with one neighbor left, until none is."""
    indptr, neighbors = graph
    n = np.int64(0)
    for v in range(len(last)):
        if last[v]:
            gone[v] = True
            order[n] = v
            n += 1
    for v in range(len(last)):
        if not gone[v]:
            left = np.int64(0)
            for e in range(indptr[v], indptr[v + 1]):
                left += not last[neighbors[e]]
            degrees[v] = left
    for v in range(len(last)):
        if not gone[v] and degrees[v] <= 1:
            gone[v] = True
            order[n] = v
            n += 1
    done = np.int64(0)
    while done < n:
        v = order[done]
        done += 1
        if last[v]:
            continue
        for e in range(indptr[v], indptr[v + 1]):
            u = np.int64(neighbors[e])
            if not gone[u]:
                degrees[u] -= 1
                if degrees[u] <= 1:
                    gone[u] = True
                    order[n] = u
                    n += 1
    return n


@kernel
def _first_fit(graph, features, colors, taken):  # type: ignore[no-untyped-def]
    indptr, neighbors = graph
    for i in range(len(features)):
        v = features[i]
        for e in range(indptr[v], indptr[v + 1]):
            c = colors[neighbors[e]]
            if c >= 0:
                taken[c] = v
        c = np.int64(0)
        while taken[c] == v:
            c += 1
        colors[v] = c


@kernel
def _sum_weights(graph, core, free, weights, sums):  # type: ignore[no-untyped-def]
    """How much a feature's neighbors move it: their weights over m - d, zero outside the core."""
    indptr, neighbors = graph
    degrees, m = free
    for i in range(len(core)):
        v = core[i]
        total = 0.0
        for e in range(indptr[v], indptr[v + 1]):
            total += weights[neighbors[e]]
        sums[v] = total / (m - degrees[v])


@kernel
def _step(graph, features, colors, task):  # type: ignore[no-untyped-def]
    """Each feature takes a uniform color that no neighbor has: draw until one is free.

    More than half of the colors are free, so two draws do on average.
    """
    indptr, neighbors = graph
    m, seed, sweep = task
    key = mix(U64(seed) + U64(0x9E3779B97F4A7C15) * (U64(sweep) + U64(1)))
    for i in range(len(features)):
        v = features[i]
        word = mix(key ^ (U64(v) * U64(0xD1342543DE82EF95)))
        free = False
        choice = np.int32(0)
        while not free:
            choice = np.int32(((word >> U64(32)) * U64(m)) >> U64(32))
            free = True
            for e in range(indptr[v], indptr[v + 1]):
                if colors[neighbors[e]] == choice:
                    free = False
                    break
            word = mix(word + U64(0x9E3779B97F4A7C15))
        colors[v] = choice
