"""One-hot columns that keep the most mutual information with the label.

Per color, the categories are its features and null (no feature of that color in the row). They are put
in order of their smoothed positive rate, or of the mean of a numeric label, and cut into bins, all colors
competing for one budget; each bin but one is a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import inlined, kernel
from chromatic.coloring import Coloring
from chromatic.encoding.encoded import NO_COLUMN, Tables
from chromatic.encoding.price import price_of_column
from chromatic.encoding.quantize import Groups, quantize
from chromatic.encoding.statistics import LOWER_HALF, Floats, Integers, LabelCounts, LabelMoments, packed

RARE = 64
MOST_PLACES = 1 << 22  # of a table of rare categories


@dataclass(frozen=True)
class Codebook:
    """What turns the features of rows into columns.

    The bins of color k are bin_starts[k] to bin_starts[k + 1], by rate; `cuts` are the upper rates of
    all bins but each color's last, which has infinity. `columns` says the column of each bin, or
    NO_COLUMN for the one that is left out.
    """

    prior: float
    smoothing: float
    rates: npt.NDArray[np.float64]  # smoothed, of each feature
    bin_starts: npt.NDArray[np.int64]
    cuts: npt.NDArray[np.float64]
    columns: npt.NDArray[np.int32]  # of each bin
    null_bins: npt.NDArray[np.int64]  # of each color
    null_rates: npt.NDArray[np.float64]
    null_shares: npt.NDArray[np.float64]  # of rows without any feature of the color
    n_columns: int
    spread: float = 0.0  # twice the residual variance of numbers, whose means are the rates; 0: 0 and 1


@dataclass(frozen=True)
class Rated:
    """What a codebook is cut from: the smoothed rates of features, and of the rows without any."""

    prior: float
    smoothing: float
    n_rows: float
    rates: Floats  # of each feature
    null_rates: Floats  # of each color
    null_rows: Floats
    groups: Groups  # the categories of each color, by rate
    group_rates: Floats


@dataclass(frozen=True)
class Categories:
    """The features of each color, those with the same counts as one."""

    colors: Integers
    positives: Integers
    rows: Integers
    times: Integers  # how many features it is


def smoothed(counts: Integers, prior: float, smoothing: float) -> npt.NDArray[np.float64]:
    """(positives + a · prior) / (count + a) of packed counts; the prior where nothing was counted."""
    rates = np.empty(len(counts))
    _find_rates(counts, (float(prior), float(smoothing)), rates)
    return rates


def smoothed_means(moments: Floats, prior: float, smoothing: float) -> Floats:
    """The same from rows and the sums of their labels."""
    below = moments[0] + smoothing
    means = (moments[1] + smoothing * prior) / np.where(below > 0, below, 1.0)
    return np.where(below > 0, means, prior)


def learn_codebook(
    coloring: Coloring,
    totals: Integers,
    of_null: Integers,
    categories: Categories,
    *,
    smoothing: float,
    **cutting: Any,
) -> Codebook:
    """Learn columns from packed counts; what is given by name beside the smoothing is for `cut`."""
    return cut([rated_counts(coloring, totals, of_null, categories, smoothing=smoothing)], **cutting)[0]


def rated_counts(
    coloring: Coloring, totals: Integers, of_null: Integers, categories: Categories, *, smoothing: float
) -> Rated:
    """Return rates from packed counts, those of each feature, of all rows last, and of each color's null.

    `categories` are the features, those with the same counts as one.
    """
    n_rows = int(totals[-1] & LOWER_HALF)
    prior = int(totals[-1] >> 32) / n_rows
    null_rates, null_rows = smoothed(of_null, prior, smoothing), of_null & LOWER_HALF
    groups, group_rates = grouped(
        np.concatenate((categories.colors, np.arange(coloring.n_colors))),
        np.concatenate(
            (smoothed(packed(categories.positives, categories.rows), prior, smoothing), null_rates)
        ),
        np.concatenate((categories.rows * categories.times, null_rows)),
        coloring.n_colors,
    )
    return Rated(
        prior=prior,
        smoothing=smoothing,
        n_rows=n_rows,
        rates=smoothed(totals[:-1], prior, smoothing),
        null_rates=null_rates,
        null_rows=null_rows.astype(np.float64),
        groups=groups,
        group_rates=group_rates,
    )


def rated_moments(
    coloring: Coloring, moments: LabelMoments, prior: float, *, smoothing: float, spread: float = 0.0
) -> Rated:
    """Return rates from sums over rows or, with a `spread`, the means of labels that are numbers."""
    of_features, of_null = moments.totals(), moments.of_null()
    rates, null_rates = (smoothed_means(one, prior, smoothing) for one in (of_features, of_null))
    groups, group_rates = grouped(
        np.concatenate((coloring.colors, np.arange(coloring.n_colors))),
        np.concatenate((rates, null_rates)),
        np.concatenate((of_features[0], of_null[0])),
        coloring.n_colors,
        numbers=(prior, spread),
    )
    return Rated(
        prior=prior,
        smoothing=smoothing,
        n_rows=float(moments.whole[0].sum()),
        rates=rates,
        null_rates=null_rates,
        null_rows=of_null[0],
        groups=groups,
        group_rates=group_rates,
    )


def cut(
    rated: Sequence[Rated],
    *,
    budget: int,
    quantizer: str = "optimal",
    null: str = "drop",
    min_gain: float | None = None,
) -> list[Codebook]:
    """Cut the rates of every color into bins; several codebooks compete for one budget."""
    every = [one.groups for one in rated]
    counts = np.concatenate([np.diff(groups.starts) for groups in every])
    groups = Groups(
        np.concatenate(([0], np.cumsum(counts))),
        np.concatenate([one.rows for one in every]),
        np.concatenate([one.negatives for one in every]),
        every[0].spread,
    )
    extra = groups.n_variables if null == "drop" else 0  # a color's left-out bin costs nothing
    gain = price_of_column(rated[0].n_rows, len(rated)) if min_gain is None else min_gain
    bins = quantize(groups, budget + extra, quantizer, gain)
    books, variable, group = [], 0, 0
    for one in rated:
        starts = bins.starts[variable : variable + one.groups.n_variables + 1]
        books.append(_book(one, starts - starts[0], bins.ends[starts[0] : starts[-1]] - group, null))
        variable, group = variable + one.groups.n_variables, group + len(one.groups.rows)
    return books


def _book(rated: Rated, starts: Integers, ends: Integers, null: str) -> Codebook:
    """Return the codebook of bins that end at these groups, `starts[k]` the first bin of color k."""
    cuts = _cuts(rated.group_rates, starts, ends)
    null_bins = bins_of(np.arange(len(starts) - 1), rated.null_rates, starts, cuts)
    columns = np.zeros(len(ends), np.int32)
    if null == "drop":
        # Where null never occurs, its rate is the prior's, smoothed or not: a row with a feature that
        # training did not have is then like any row.
        columns[null_bins] = NO_COLUMN
    columns[columns == 0] = np.arange(int((columns == 0).sum()))
    return Codebook(
        prior=rated.prior,
        smoothing=rated.smoothing,
        rates=rated.rates,
        bin_starts=starts,
        cuts=cuts,
        columns=columns,
        null_bins=null_bins,
        null_rates=rated.null_rates,
        null_shares=rated.null_rows / rated.n_rows,
        n_columns=int(columns.max(initial=-1)) + 1,
        spread=rated.groups.spread,
    )


def columns_of(
    codebook: Codebook, colors: npt.NDArray[np.int32], rates: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """The column of each feature, by its rate among the cuts of its color."""
    return codebook.columns[bins_of(colors, rates, codebook.bin_starts, codebook.cuts)]


def columns_by_fold(
    codebook: Codebook,
    colors: npt.NDArray[np.int32],
    counted: LabelCounts,
    columns: npt.NDArray[np.int32],
    *,
    null_instead: bool = False,
) -> Tables:
    """Return the column of each feature in each fold, by the rows of the other folds.

    `columns` are those by all rows: where a fold has no row of a feature, they hold. A feature without
    any other row has the prior's column or, with `null_instead`, null's. The other folds have fewer rows
    than all, and so does the prior's weight: else rates out of fold would lie closer to the prior than
    those that other rows are encoded by.
    """
    by_fold = np.empty(counted.several.shape, np.int32)
    nowhere = _nowhere(codebook, null_instead=null_instead)
    bins = codebook.bin_starts, codebook.cuts, codebook.columns
    smoothing = codebook.prior, codebook.smoothing * counted.shares()
    _find_out_of_fold(counted.several, (colors, columns, nowhere), bins, smoothing, by_fold)
    return Tables(by_fold, alone=nowhere[colors[len(by_fold) :]])


def means_by_fold(
    codebook: Codebook,
    colors: npt.NDArray[np.int32],
    moments: LabelMoments,
    columns: npt.NDArray[np.int32],
    *,
    null_instead: bool = False,
) -> Tables:
    """Return the same as `columns_by_fold` from sums over rows: of numbers, or of rows with weights."""
    by_fold = np.empty(moments.of_features.shape[1:], np.int32)
    nowhere = _nowhere(codebook, null_instead=null_instead)[colors]
    for fold, share in enumerate(moments.shares()):
        others = moments.outside(fold)
        rates = smoothed_means(others, codebook.prior, codebook.smoothing * share)
        there = columns_of(codebook, colors, rates)
        here = moments.of_features[0, :, fold] > 0
        by_fold[:, fold] = np.where(here, np.where(others[0] > 0, there, nowhere), columns)
    return Tables(by_fold)


def _nowhere(codebook: Codebook, *, null_instead: bool) -> npt.NDArray[np.int32]:
    """Return, by color, the column of a feature that no row estimates: the prior's, or null's."""
    if null_instead:
        return codebook.columns[codebook.null_bins]
    n_colors = len(codebook.null_bins)
    return columns_of(codebook, np.arange(n_colors, dtype=np.int32), np.full(n_colors, codebook.prior))


def bins_of(
    colors: npt.NDArray[np.integer],
    rates: npt.NDArray[np.float64],
    bin_starts: npt.NDArray[np.int64],
    cuts: npt.NDArray[np.float64],
) -> npt.NDArray[np.int64]:
    """The bin of each rate among its color's; a rate on a cut goes left."""
    bins = np.empty(len(rates), np.int64)
    _find_bins(np.asarray(colors, np.int64), rates, bin_starts, cuts, bins)
    return bins


def merged(coloring: Coloring, totals: Integers) -> Categories:
    """The categories of features with packed counts, all rows last.

    Almost all features are rare, and a table of small numbers merges them much faster than sorting.
    """
    rare = RARE
    while rare > 4 and coloring.n_colors * rare * rare > MOST_PLACES:
        rare //= 2
    table = np.zeros((coloring.n_colors, rare, rare), np.int64)
    large = np.empty(len(coloring.colors), np.int64)
    large = large[: _tally(coloring.colors, totals, table, large)]
    rare_ones = np.nonzero(table)
    return Categories(
        np.concatenate((rare_ones[0], coloring.colors[large])),
        np.concatenate((rare_ones[1], totals[large] >> 32)),
        np.concatenate((rare_ones[2], totals[large] & LOWER_HALF)),
        np.concatenate((table[rare_ones], np.ones(len(large), np.int64))),
    )


def grouped(
    colors: npt.NDArray[np.int64],
    rates: npt.NDArray[np.float64],
    counts: npt.NDArray[Any],
    n_colors: int,
    *,
    numbers: tuple[float, float] = (0.0, 0.0),
) -> tuple[Groups, npt.NDArray[np.float64]]:
    """Categories of one color and of equal rate are one: no cut between them can tell more.

    `numbers` are the mean and the spread of labels that are numbers.
    """
    order = np.lexsort((rates, colors))
    colors, rates, counts = colors[order], rates[order], counts[order]
    new = np.concatenate(([True], (colors[1:] != colors[:-1]) | (rates[1:] != rates[:-1])))[: len(colors)]
    first = np.flatnonzero(new)
    rows = np.add.reduceat(counts.astype(np.float64), first) if len(first) else np.empty(0)
    starts = np.concatenate(([0], np.cumsum(np.bincount(colors[first], minlength=n_colors))))
    mean, spread = numbers
    of_rows = rates[first] - mean if spread else 1.0 - rates[first]
    return Groups(starts, rows, rows * of_rows, spread), rates[first]


def _cuts(rates: Floats, starts: Integers, ends: Integers) -> Floats:
    """Midpoints between the rates of neighboring groups."""
    cuts = np.full(len(ends), np.inf)
    inner = np.ones(len(ends), np.bool_)
    inner[starts[1:] - 1] = False
    at = ends[inner]
    cuts[inner] = (rates[at - 1] + rates[at]) / 2
    return cuts


@kernel
def _tally(colors, totals, table, large):  # type: ignore[no-untyped-def]
    """Count rare features in the table; list the others, and tell how many they are."""
    n_large = np.int64(0)
    for v in range(len(colors)):
        count = totals[v] & LOWER_HALF
        if count < table.shape[1]:
            table[colors[v], totals[v] >> 32, count] += 1
        else:
            large[n_large] = v
            n_large += 1
    return n_large


@inlined
def _rate(counts, smoothing):  # type: ignore[no-untyped-def]
    prior, weight = smoothing
    below = (counts & LOWER_HALF) + weight
    return ((counts >> 32) + weight * prior) / below if below > 0.0 else prior


@kernel
def _find_rates(counts, smoothing, rates):  # type: ignore[no-untyped-def]
    for i in range(len(counts)):
        rates[i] = _rate(counts[i], smoothing)


@inlined
def _bisect(rate, bin_starts, cuts, color):  # type: ignore[no-untyped-def]
    low, high = bin_starts[color], bin_starts[color + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if rate <= cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _find_bins(colors, rates, bin_starts, cuts, bins):  # type: ignore[no-untyped-def]
    for i in range(len(rates)):
        bins[i] = _bisect(rates[i], bin_starts, cuts, colors[i])


@kernel
def _find_out_of_fold(counted, of_features, bins, smoothing, by_fold):  # type: ignore[no-untyped-def]
    colors, columns, nowhere = of_features
    bin_starts, cuts, bin_columns = bins
    prior, weights = smoothing
    for v in range(len(counted)):
        total = np.int64(0)
        for f in range(counted.shape[1]):
            total += counted[v, f]
        for f in range(counted.shape[1]):
            others = total - counted[v, f]
            if counted[v, f] == 0:
                by_fold[v, f] = columns[v]
            elif others == 0:
                by_fold[v, f] = nowhere[colors[v]]
            else:
                rate = _rate(others, (prior, weights[f]))
                by_fold[v, f] = bin_columns[_bisect(rate, bin_starts, cuts, colors[v])]
