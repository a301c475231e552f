"""What is counted before anything is encoded: positives, folds of rows, and how much to smooth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, mix, prefetch
from chromatic._threads import ordered_map
from chromatic.data.rows import Rows

U64 = np.uint64
LOWER_HALF = np.int64(0xFFFFFFFF)
PART_BITS = 5  # rows are numbered in parts by the top bits of their sums
SMOOTHING_BOUNDS = (0.1, 1000.0)


def packed(positives: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rows and how many of them are positive in one word: sums and differences are those of both."""
    return rows + (positives << 32)


@dataclass(frozen=True)
class LabelCounts:
    """How many rows of each fold have each feature, and how many of those are positive, `packed`.

    Most features are in one row only. They come after those of several, as codes descend with counts,
    and a byte tells all of one: 0 for none, 1 for a row, 3 for a positive row.
    """

    several: npt.NDArray[np.int64]  # features of several rows × folds
    alone: npt.NDArray[np.uint8]  # the features after them
    whole: npt.NDArray[np.int64]  # all rows of each fold

    @classmethod
    def zeros(cls, n_several: int, n_alone: int, n_folds: int) -> LabelCounts:
        return cls(
            np.zeros((n_several, n_folds), np.int64),
            np.zeros(n_alone, np.uint8),
            np.zeros(n_folds, np.int64),
        )

    def add(self, rows: Rows, positive: npt.NDArray[np.bool_], fold: npt.NDArray[np.int32]) -> None:
        """Count some rows; those of a negative fold are left out."""
        _count_labels(rows.indptr, rows.codes, positive, fold, self.several, self.alone, self.whole)

    def totals(self) -> npt.NDArray[np.int64]:
        """The counts of each feature in all folds, and those of all rows as the last element."""
        out = np.empty(len(self.several) + len(self.alone) + 1, np.int64)
        _add_folds(self.several, self.alone, out)
        out[-1] = self.whole.sum()
        return out


def row_hashes(sums: npt.NDArray[np.uint64], seed: int, threads: int = 1) -> npt.NDArray[np.uint64]:
    """A hash of each row's sum of features, of its number among equal rows, and of the seed.

    The label plays no part. Equal rows are numbered, so that a feature that determines its row is still
    spread over all folds.
    """
    number = np.empty(len(sums), np.uint32)
    parts = (sums >> U64(64 - PART_BITS)).astype(np.uint8)

    def number_part(part: int) -> None:
        here = np.flatnonzero(parts == part)
        here = here[np.argsort(sums[here], kind="stable")]
        _number_runs(sums, here, number)

    for _ in ordered_map(number_part, range(1 << PART_BITS), threads):
        pass
    return hashes_of_sums(sums, number, seed)


def row_sums(rows: Rows, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """What tells rows apart: the sum of their features' mixed hashes, whatever their order."""
    sums = np.empty(rows.n_rows, np.uint64)
    _sum_keys(rows.indptr, rows.codes, keys, sums)
    return sums


def hashes_of_sums(
    sums: npt.NDArray[np.uint64], number: npt.NDArray[np.uint32], seed: int
) -> npt.NDArray[np.uint64]:
    """The hash of each row from its sum and from its number among the rows with that sum."""
    out = np.empty(len(sums), np.uint64)
    _mix_rows(sums, number, U64(seed & 0xFFFFFFFFFFFFFFFF), out)
    return out


def folds_of(hashes: npt.NDArray[np.uint64], n_folds: int) -> npt.NDArray[np.int32]:
    """The fold of each row, from the upper half of its hash."""
    return (((hashes >> U64(32)) * U64(n_folds)) >> U64(32)).astype(np.int32)


def estimating_half(hashes: npt.NDArray[np.uint64], rate: int) -> npt.NDArray[np.bool_]:
    """Which rows estimate when 2**-rate of them do and the others train (the paper's split)."""
    return np.asarray(hashes >> U64(64 - rate) == 0)


def smoothing_of(
    positives: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    prior: float,
    times: npt.NDArray[np.int64] | None = None,
) -> float:
    """The pseudo-count of the prior by empirical Bayes; `times` tells how many features have the counts.

    Each feature's rate is drawn from a beta distribution with the prior as mean and this weight; the
    weight that makes the counts likeliest is sought between 0.1 and 1000, by golden section on its
    logarithm.
    """
    if not 0 < prior < 1 or len(counts) == 0:
        return 1.0
    pairs, place = np.unique(counts * (int(counts.max()) + 1) + positives, return_inverse=True)
    weights = np.bincount(place, times)
    c, p = np.divmod(pairs, int(counts.max()) + 1)

    weights = weights.astype(np.float64)
    low, high = np.log(SMOOTHING_BOUNDS)
    ratio = (np.sqrt(5) - 1) / 2
    while high - low > 1e-4:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if _log_likelihood(c, p, weights, np.exp(left), prior) > _log_likelihood(
            c, p, weights, np.exp(right), prior
        ):
            high = right
        else:
            low = left
    return float(np.exp((low + high) / 2))


@kernel
def _log_likelihood(counts, positives, weights, a, prior):  # type: ignore[no-untyped-def]
    """Of beta-binomial counts whose rates have the prior as mean, and `a` as weight."""
    constant = math.lgamma(a) - math.lgamma(a * prior) - math.lgamma(a * (1 - prior))
    total = 0.0
    for i in range(len(counts)):
        c, p = counts[i], positives[i]
        of_rows = math.lgamma(p + a * prior) + math.lgamma(c - p + a * (1 - prior)) - math.lgamma(c + a)
        total += weights[i] * (of_rows + constant)
    return total


@kernel
def _count_labels(indptr, codes, positive, fold, several, alone, whole):  # type: ignore[no-untyped-def]
    n_several, n_folds = several.shape
    flat = several.reshape(-1)
    for row in range(len(indptr) - 1):
        f = fold[row]
        if f < 0:
            continue
        one = np.int64(1) + (np.int64(positive[row]) << 32)
        whole[f] += one
        for i in range(indptr[row], indptr[row + 1]):
            if i + 16 < len(codes):
                prefetch(flat, np.int64(codes[i + 16]) * n_folds)
            code = np.int64(codes[i])
            if code < n_several:
                several[code, f] += one
            else:
                alone[code - n_several] = 3 if positive[row] else 1


@kernel
def _add_folds(several, alone, out):  # type: ignore[no-untyped-def]
    n_several, n_folds = several.shape
    for v in range(n_several):
        total = np.int64(0)
        for f in range(n_folds):
            total += several[v, f]
        out[v] = total
    for v in range(len(alone)):
        out[n_several + v] = np.int64(alone[v] & 1) + (np.int64(alone[v] >> 1) << 32)


@kernel
def _number_runs(sums, order, number):  # type: ignore[no-untyped-def]
    """Number the rows of one sum from 0, in their order."""
    for k in range(len(order)):
        same = k > 0 and sums[order[k]] == sums[order[k - 1]]
        number[order[k]] = number[order[k - 1]] + np.uint32(1) if same else np.uint32(0)


@kernel
def _sum_keys(indptr, codes, keys, sums):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        total = U64(0)
        for i in range(indptr[row], indptr[row + 1]):
            total += mix(keys[codes[i]])
        sums[row] = total


@kernel
def _mix_rows(sums, number, seed, out):  # type: ignore[no-untyped-def]
    for row in range(len(sums)):
        z = (
            sums[row]
            + mix(U64(number[row]) + U64(0x9E3779B97F4A7C15))
            + mix(seed + U64(0xD1B54A32D192ED03))
        )
        out[row] = mix(z)
