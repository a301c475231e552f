"""How much rates are smoothed: the weight of the prior, by empirical Bayes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, log_gamma
from chromatic.encoding.statistics import Floats, Integers
from chromatic.parameters import Settings

SMOOTHING_BOUNDS = (0.1, 1000.0)


def chosen_smoothing(
    settings: Settings,
    positives: npt.NDArray[Any],
    counts: npt.NDArray[Any],
    prior: float,
    times: Integers | None = None,
) -> float:
    """Return the pseudo-count that the settings name or, for auto, the one by empirical Bayes."""
    if settings.smoothing == "auto":
        return smoothing_of(positives, counts, prior, times)
    return float(settings.smoothing)


def smoothing_of(
    positives: npt.NDArray[Any],
    counts: npt.NDArray[Any],
    prior: float,
    times: npt.NDArray[np.int64] | None = None,
) -> float:
    """The pseudo-count of the prior by empirical Bayes; `times` tells how many features have the counts.

    Counts of rows with weights need not be whole numbers.

    Each feature's rate is drawn from a beta distribution with the prior as mean and this weight; the
    weight that makes the counts likeliest is sought between 0.1 and 1000.
    """
    if not 0 < prior < 1 or len(counts) == 0:
        return 1.0
    if counts.dtype.kind == "f":
        pairs, many = np.unique(counts + 1j * positives, return_counts=True)
        c, p, weights = pairs.real.copy(), pairs.imag.copy(), many.astype(np.float64)
    else:
        pairs, place = np.unique(counts * (int(counts.max()) + 1) + positives, return_inverse=True)
        c, p = np.divmod(pairs, int(counts.max()) + 1)
        weights = np.bincount(place, times).astype(np.float64)
    return _likeliest(lambda a: float(_log_likelihood(c, p, weights, a, prior)))


def smoothing_of_means(moments: Floats, mean: float, variance: float) -> float:
    """The pseudo-count of the mean of numeric labels by empirical Bayes, from 3 × features.

    The labels of a feature's rows are normal around the feature's mean, and these means around that of
    all labels. The variance within features is pooled; the weight is its ratio to that between them.
    """
    rows, sums, squares = moments[:, moments[0] > 0]
    if not len(rows) or variance <= 0:
        return 1.0
    freedom = float(np.maximum(rows - 1.0, 0.0).sum())
    left = float(np.maximum(squares - sums * sums / rows, 0.0).sum())
    within = max(left / freedom if freedom > 0 else variance, 1e-9 * variance)
    off = (sums / rows - mean) ** 2 / within

    def log_likelihood(a: float) -> float:
        spread = 1.0 / rows + 1.0 / a
        return -float((np.log(spread) + off / spread).sum())

    return _likeliest(log_likelihood)


def _likeliest(log_likelihood: Callable[[float], float]) -> float:
    """Return the weight within bounds with the largest likelihood, by golden section on its logarithm."""
    low, high = np.log(SMOOTHING_BOUNDS)
    ratio = (np.sqrt(5) - 1) / 2
    while high - low > 1e-4:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if log_likelihood(np.exp(left)) > log_likelihood(np.exp(right)):
            high = right
        else:
            low = left
    return float(np.exp((low + high) / 2))


@kernel
def _log_likelihood(counts, positives, weights, a, prior):  # type: ignore[no-untyped-def]
    """Of beta-binomial counts whose rates have the prior as mean, and `a` as weight."""
    constant = log_gamma(a) - log_gamma(a * prior) - log_gamma(a * (1 - prior))
    total = 0.0
    for i in range(len(counts)):
        c, p = counts[i], positives[i]
        of_rows = log_gamma(p + a * prior) + log_gamma(c - p + a * (1 - prior)) - log_gamma(c + a)
        total += weights[i] * (of_rows + constant)
    return total


def unsmoothed(rates: Floats, rows: Integers, prior: float, smoothing: float) -> Floats:
    """Return the rates that `smoothed` was given, as far as they can be told; NaN where they cannot.

    They can where the rates were estimated on all rows of each feature: then every rate stands for a whole
    number of positives. With a part of the rows, by a split or as collisions were dropped, some do not.

    >>> unsmoothed(np.array([0.375, 0.25]), np.array([3, 1]), prior=0.5, smoothing=1.0).round(3).tolist()
    [0.333, 0.0]
    """
    positives = rates * (rows + smoothing) - smoothing * prior
    whole = np.rint(positives)
    exact = np.abs(positives - whole) <= 1e-6 + 1e-12 * rows
    if exact.all() and ((whole >= 0) & (whole <= rows)).all():
        return np.where(rows > 0, whole / np.maximum(rows, 1), np.nan)
    # Nothing was smoothed; a feature that no row estimated has the prior.
    return np.where(rates == prior, np.nan, rates) if smoothing == 0 else np.full(len(rates), np.nan)
