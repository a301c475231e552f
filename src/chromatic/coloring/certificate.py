"""What a random coloring promises for rows not seen yet.

A feature v that found f of m colors taken drew uniformly among m - f. So a feature that v never met
in training has v's color with probability at most 1/(m - f), over the seeds. Rows drawn alike bring,
by Good and Turing, as many new pairs of known features a row as there are pairs seen just once, of
features seen twice or more. Hence, over seeds and rows,

    E[collisions of a new row]  <~  1/n · sum over v of N_v / (m - f_v)  +  conflicts / n

where N_v counts the pairs seen once whose later-colored end is v. A forced feature found no color free
and has no such bound: it adds the conflicts that it had in training. The estimate fails where rows are
not drawn alike: in time order, new features and new pairs come faster than the past shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic._threads import ordered_map
from chromatic.coloring.coloring import Coloring
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed
from chromatic.errors import InputError

SAMPLE = 50_000
ASSUMES = "an average over seeds, for rows drawn alike; rows in time order bring more new pairs than that"


@dataclass(frozen=True)
class Certificate:
    """The expected collisions of a new row, and the standard error of that estimate."""

    expected: float
    standard_error: float  # from the sample of features; 0 where all were counted
    sampled: int


def certify(
    rows: Rows, transposed: Transposed, coloring: Coloring, sample: int = SAMPLE, threads: int = 1
) -> Certificate:
    """Estimate the collisions of a new row from a seeded sample of the features.

    >>> from chromatic.data import Reader
    >>> from chromatic.coloring import Request, color, transpose
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["b", "c"], ["c"]], dense_threshold=2).rows
    >>> certify(rows, transpose(rows), color(rows, Request("random", 8))).expected > 0
    True
    """
    coloring.check(rows)
    if coloring.strategy != "random":
        raise InputError(f"the coloring is {coloring.strategy}; only a random one has this certificate")
    assert coloring.palette is not None
    n_known = int(np.searchsorted(-transposed.counts, -1))  # features of two rows or more come first
    random = np.random.default_rng(coloring.seed)
    chosen = np.arange(n_known)
    if n_known > sample:
        chosen = np.sort(random.choice(n_known, sample, replace=False))
    shares = [chosen[i::threads] for i in range(threads)]

    def count(share: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        once = np.zeros(len(share), np.int64)
        data = rows.indptr, rows.codes, transposed.indptr, transposed.rows
        _count_pairs_seen_once(data, share, np.zeros(n_known, np.uint32), once)
        return once

    once = np.empty(len(chosen))
    for i, part in enumerate(ordered_map(count, shares, threads)):
        once[i::threads] = part
    free = coloring.palette - coloring.forbidden[chosen]
    bound = np.where(free > 0, 1 / np.maximum(free, 1), 0.0)  # forced features are told by conflicts
    terms = once * bound * n_known / rows.n_rows
    expected = float(terms.mean()) if n_known else 0.0
    error = float(terms.std() / np.sqrt(len(terms))) if n_known > sample else 0.0
    return Certificate(expected + coloring.conflicts / max(1, rows.n_rows), error, len(chosen))


@kernel
def _count_pairs_seen_once(data, features, met, once):  # type: ignore[no-untyped-def]
    """For each feature v, the earlier features (of two rows or more) that share just one row with v."""
    indptr, codes, starts, of_feature = data
    for k in range(len(features)):
        v = features[k]
        for i in range(starts[v], starts[v + 1]):
            row = np.int64(of_feature[i])
            for j in range(indptr[row], indptr[row + 1]):
                if codes[j] < v:
                    met[codes[j]] += np.uint32(1)
        for i in range(starts[v], starts[v + 1]):
            row = np.int64(of_feature[i])
            for j in range(indptr[row], indptr[row + 1]):
                if codes[j] < v:
                    once[k] += met[codes[j]] == 1
                    met[codes[j]] = np.uint32(0)
