"""What is counted before anything is encoded: positives, folds of rows, and how much to smooth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel, prefetch
from chromatic.data.rows import Rows

U64 = np.uint64
LOWER_HALF = np.int64(0xFFFFFFFF)
SMOOTHING_BOUNDS = (0.1, 1000.0)


@dataclass(frozen=True)
class LabelCounts:
    """How many rows of each fold have each feature, and how many of those are positive.

    Both numbers are in one word, the positives in its upper half: a feature's counts are in one place
    of memory, and sums and differences of words are those of both. The last line is of the rows
    themselves, feature or not.
    """

    packed: npt.NDArray[np.int64]  # (features + 1) × folds

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        return self.packed & LOWER_HALF

    @property
    def positives(self) -> npt.NDArray[np.int64]:
        return self.packed >> 32

    def total(self) -> LabelCounts:
        """The counts of all folds together, in one fold."""
        return LabelCounts(self.packed.sum(axis=1, keepdims=True))


def count_labels(
    rows: Rows, positive: npt.NDArray[np.bool_], fold: npt.NDArray[np.int32], n_folds: int
) -> LabelCounts:
    """Count features by label and fold; rows of a negative fold are left out."""
    packed = np.zeros((rows.n_features + 1, n_folds), np.int64)
    _count_labels(rows.indptr, rows.codes, positive, fold, packed)
    return LabelCounts(packed)


def row_hashes(rows: Rows, keys: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """A hash of each row's features (`keys` are theirs), of its number among equal rows, and the seed.

    The features' hashes are added up, so their order plays no part; the label plays none either. Equal
    rows are numbered, so that a feature that determines its row is still spread over all folds.
    """
    sums = np.empty(rows.n_rows, np.uint64)
    _sum_keys(rows.indptr, rows.codes, keys, sums)
    order = np.argsort(sums, kind="stable")
    new = np.concatenate(([True], sums[order][1:] != sums[order][:-1]))[: len(order)]
    begin = np.flatnonzero(new)
    number = np.empty(len(order), np.uint64)
    number[order] = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
    out = np.empty(rows.n_rows, np.uint64)
    _mix_rows(sums, number, U64(seed & 0xFFFFFFFFFFFFFFFF), out)
    return out


def folds_of(hashes: npt.NDArray[np.uint64], n_folds: int) -> npt.NDArray[np.int32]:
    """The fold of each row, from the upper half of its hash."""
    return (((hashes >> U64(32)) * U64(n_folds)) >> U64(32)).astype(np.int32)


def estimating_half(hashes: npt.NDArray[np.uint64], rate: int) -> npt.NDArray[np.bool_]:
    """Which rows estimate when 2**-rate of them do and the others train (the paper's split)."""
    return np.asarray(hashes >> U64(64 - rate) == 0)


def smoothing_of(positives: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], prior: float) -> float:
    """The pseudo-count of the prior by empirical Bayes.

    Each feature's rate is drawn from a beta distribution with the prior as mean and this weight; the
    weight that makes the counts likeliest is sought between 0.1 and 1000, by golden section on its
    logarithm.
    """
    from scipy.special import gammaln

    if not 0 < prior < 1 or len(counts) == 0:
        return 1.0
    pairs, weights = np.unique(counts * (int(counts.max()) + 1) + positives, return_counts=True)
    c, p = np.divmod(pairs, int(counts.max()) + 1)

    def unlikelihood(log_a: float) -> float:
        a = np.exp(log_a)
        terms = gammaln(p + a * prior) + gammaln(c - p + a * (1 - prior)) - gammaln(c + a)
        constant = gammaln(a) - gammaln(a * prior) - gammaln(a * (1 - prior))
        return -float((weights * (terms + constant)).sum())

    low, high = np.log(SMOOTHING_BOUNDS)
    ratio = (np.sqrt(5) - 1) / 2
    while high - low > 1e-4:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if unlikelihood(left) < unlikelihood(right):
            high = right
        else:
            low = left
    return float(np.exp((low + high) / 2))


@kernel
def _count_labels(indptr, codes, positive, fold, packed):  # type: ignore[no-untyped-def]
    everything = len(packed) - 1
    n_folds = packed.shape[1]
    flat = packed.reshape(-1)
    for row in range(len(indptr) - 1):
        f = fold[row]
        if f < 0:
            continue
        one = np.int64(1) + (np.int64(positive[row]) << 32)
        packed[everything, f] += one
        for i in range(indptr[row], indptr[row + 1]):
            if i + 16 < len(codes):
                prefetch(flat, np.int64(codes[i + 16]) * n_folds)
            packed[codes[i], f] += one


@inlined
def _mix(z):  # type: ignore[no-untyped-def]
    """The finalizer of SplitMix64."""
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    return z ^ (z >> U64(31))


@kernel
def _sum_keys(indptr, codes, keys, sums):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        total = U64(0)
        for i in range(indptr[row], indptr[row + 1]):
            total += _mix(keys[codes[i]])
        sums[row] = total


@kernel
def _mix_rows(sums, number, seed, out):  # type: ignore[no-untyped-def]
    for row in range(len(sums)):
        z = sums[row] + _mix(number[row] + U64(0x9E3779B97F4A7C15)) + _mix(seed + U64(0xD1B54A32D192ED03))
        out[row] = _mix(z)
