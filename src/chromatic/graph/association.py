"""Pairs of features that share more rows than chance would have it.

Were two features with a and b rows spread over n rows at random, the rows that have both would follow the
hypergeometric distribution. Its tail, the chance of as many rows as were seen or more, is the p-value of
Fisher's exact test; it is multiplied by the number of all pairs of features (Bonferroni), of which these
were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, log_gamma
from chromatic.data.vocabulary import Vocabulary
from chromatic.errors import InputError
from chromatic.graph.walk import Edges


@dataclass(frozen=True)
class Pair:
    """Two features, the more frequent one first, and how far they are from meeting by chance."""

    feature: int
    other: int
    rows: int  # that have both
    lift: float  # times as many as by chance
    log_p: float  # of so many rows or more by chance, times the number of pairs: its natural logarithm

    def told(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """The figures that people are told."""
        return {
            "feature": vocabulary.text(self.feature),
            "other": vocabulary.text(self.other),
            "rows": self.rows,
            "lift": self.lift,
            "p_value": min(1.0, math.exp(min(0.0, self.log_p))),
            "log10_p_value": min(0.0, self.log_p / math.log(10)),
        }


def check_pairs(most: int) -> None:
    """Refuse a number of pairs that cannot be shown."""
    if most < 1:
        raise InputError(f"pairs is {most}; expected 1 or more")


def above_chance(
    blocks: Iterable[Edges], counts: npt.NDArray[np.int64], n_rows: int, most: int
) -> list[Pair]:
    """The pairs that are least likely by chance, of edges in blocks that ascend; no more than `most`.

    >>> edges = np.array([[1, 2], [0, 0], [4, 1]], np.uint32)
    >>> [pair] = above_chance([tuple(edges)], np.array([5, 4, 2]), 10, 9)
    >>> pair.feature, pair.other, pair.lift, round(math.exp(pair.log_p), 4)
    (0, 1, 2.0, 0.0714)
    """
    check_pairs(most)
    best: Edges = (np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.uint32))
    of_best, worst, least = np.zeros(0), math.inf, 1
    for block in blocks:
        often = block[2] >= least
        later, earlier, seen = (part[often] for part in block)
        log_p = np.empty(len(later))
        _log_tails((later, earlier, seen), counts, n_rows, worst, log_p)
        some = np.isfinite(log_p)
        best = tuple(map(np.concatenate, zip(best, (later[some], earlier[some], seen[some]), strict=True)))  # type: ignore[assignment]
        of_best = np.concatenate((of_best, log_p[some]))
        order = np.lexsort((best[1], best[0], of_best))[:most]
        best, of_best = (best[0][order], best[1][order], best[2][order]), of_best[order]
        if len(of_best) == most:
            worst = float(of_best[-1])
            least = _fewest_rows(n_rows, worst, least)
    tests = math.log(max(1, len(counts) * (len(counts) - 1) // 2))
    return [
        Pair(u, v, both, both * n_rows / (int(counts[u]) * int(counts[v])), log_p + tests)
        for v, u, both, log_p in zip(*(part.tolist() for part in (*best, of_best)), strict=True)
    ]


def _fewest_rows(n: int, worst: float, least: int) -> int:
    """The fewest rows that a pair with a p-value below `worst` has.

    Of all features that share c rows, those that have no other rows do so by the least chance, 1 / C(n, c).
    """
    while least < n // 2 and -_log_choose(n, least) > worst:
        least += 1
    return least


@inlined
def _log_choose(n, k):  # type: ignore[no-untyped-def]
    return log_gamma(n + 1.0) - log_gamma(k + 1.0) - log_gamma(n - k + 1.0)


@kernel
def _log_tails(edges, counts, n, worst, out):  # type: ignore[no-untyped-def]
    """The logarithm of each pair's tail; infinite where it is not above chance, or not below `worst`."""
    later, earlier, seen = edges
    for i in range(len(later)):
        a, b, c = np.int64(counts[later[i]]), np.int64(counts[earlier[i]]), np.int64(seen[i])
        out[i] = np.inf
        if c * n <= a * b:
            continue
        mass = _log_choose(b, c) + _log_choose(n - b, a - c) - _log_choose(n, a)
        if mass >= worst:
            continue
        term, total, x = 1.0, 1.0, c
        while x < a and x < b and term > 1e-17 * total:
            term *= float(a - x) * float(b - x) / (float(x + 1) * float(n - a - b + x + 1))
            total += term
            x += 1
        tail = mass + math.log(total)
        if tail < worst:
            out[i] = min(tail, 0.0)
