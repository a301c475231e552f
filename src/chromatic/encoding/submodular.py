"""One-hot columns that keep the most mutual information with a binary label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring
from chromatic.data.checked import Arrays, CheckedArrays, finite, must, within
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.codebook import (
    Codebook,
    Rated,
    columns_by_fold,
    columns_of,
    cut,
    means_by_fold,
    merged,
    rated_counts,
    rated_moments,
)
from chromatic.encoding.encoded import Tables
from chromatic.encoding.information import Information, information
from chromatic.encoding.naming import figure
from chromatic.encoding.protocol import ColumnFacts, Encoding, Floats, Integers, Task, Words
from chromatic.encoding.smoothing import chosen_smoothing, unsmoothed
from chromatic.encoding.statistics import LabelCounts, LabelMoments
from chromatic.parameters import Settings

SUMMED = 32  # colors, where features of a row may share one: few are best, as each has more bins


@dataclass(frozen=True)
class SubmodularEncoding(Encoding):
    """The bins of each color by the rate of positives; each bin but one is a column."""

    name = "submodular"
    statistic = LabelCounts
    weighted = LabelMoments
    of_numbers = "means"
    measure_key = "rate"
    words = Words(
        columns="A column holds how many of its features a row has: features of one color with about "
        "the same rate of positives. The bar runs from the overall rate to the column's.",
        measure="rate",
        first="tells most",
        extremes="rate",
    )

    codebook: Codebook
    columns: npt.NDArray[np.int32]  # of each feature
    null: str  # "drop", or "emit" a column for an absent color

    @classmethod
    def palette(cls, settings: Settings, room: int) -> int:
        most = SUMMED if settings.collisions == "sum" else max(64, settings.budget // 8)
        suits = min(most, max(1, settings.budget // 2))
        return suits if settings.null == "drop" else min(suits, max(1, room))

    @classmethod
    def costs_columns(cls, settings: Settings) -> bool:
        return settings.null == "emit"

    @classmethod
    def learn(cls, task: Task, statistic: LabelCounts | LabelMoments) -> Self:
        return cls.learn_each([task], [statistic])[0]

    @classmethod
    def learn_each(cls, tasks: Sequence[Task], statistics: Sequence[Any]) -> list[Self]:
        settings = tasks[0].settings
        books = cut(
            [cls.rated(task, statistic) for task, statistic in zip(tasks, statistics, strict=True)],
            budget=tasks[0].room,
            quantizer=settings.quantizer,
            null=settings.null,
            min_gain=settings.min_gain,
        )
        return [cls._of_book(*each) for each in zip(tasks, statistics, books, strict=True)]

    @classmethod
    def rated(cls, task: Task, statistic: LabelCounts | LabelMoments) -> Rated:
        """Return the smoothed rate of each feature, and of the rows without any of a color."""
        if isinstance(statistic, LabelMoments):
            rows, positives, _ = statistic.totals()
            smoothing = chosen_smoothing(task.settings, positives, rows, task.mean)
            return rated_moments(task.coloring, statistic, task.mean, smoothing=smoothing)
        totals = statistic.totals()
        categories = merged(task.coloring, totals)
        counts = categories.positives, categories.rows
        smoothing = chosen_smoothing(task.settings, *counts, task.mean, categories.times)
        return rated_counts(task.coloring, totals, statistic.of_null(), categories, smoothing=smoothing)

    @classmethod
    def _of_book(cls, task: Task, statistic: LabelCounts | LabelMoments, codebook: Codebook) -> Self:
        colors, settings = task.coloring.colors, task.settings
        columns = columns_of(codebook, colors, codebook.rates)
        if settings.unestimated == "null":
            of_null = codebook.columns[codebook.null_bins]
            columns = np.where(statistic.seen(), columns, of_null[colors])
        return cls(task.vocabulary, task.coloring, codebook, columns, settings.null)

    def updated(self, task: Task, statistic: LabelCounts | LabelMoments) -> Self:
        rated = self.rated(task, statistic)
        book = replace(
            self.codebook,
            prior=rated.prior,
            smoothing=rated.smoothing,
            rates=rated.rates,
            null_rates=rated.null_rates,
            null_shares=rated.null_rows / rated.n_rows,
        )
        return replace(self._of_book(task, statistic, book), sums=self.sums, linear=self.linear)

    def by_fold(self, task: Task, statistic: LabelCounts | LabelMoments) -> Tables:
        fixed = self.codebook, self.coloring.colors
        null_instead = task.settings.unestimated == "null"
        if isinstance(statistic, LabelMoments):
            return means_by_fold(*fixed, statistic, self.columns, null_instead=null_instead)
        return columns_by_fold(*fixed, statistic, self.columns, null_instead=null_instead)

    @property
    def n_own_columns(self) -> int:
        return self.codebook.n_columns

    @property
    def tables(self) -> Tables:
        return Tables(self.columns[:, None])

    @property
    def absent(self) -> npt.NDArray[np.int32] | None:
        return self.codebook.columns[self.codebook.null_bins] if self.null == "emit" else None

    @property
    def column_colors(self) -> Integers:
        book = self.codebook
        of_bins = np.repeat(np.arange(self.coloring.n_colors), np.diff(book.bin_starts))
        made = np.flatnonzero(book.columns >= 0)
        return of_bins[made[np.argsort(book.columns[made])]]

    @property
    def plain_names(self) -> list[str]:
        starts, columns = self.codebook.bin_starts, self.codebook.columns
        bins = np.flatnonzero(columns >= 0)
        return [
            f"color{color}_bin{bin_ - starts[color]}"
            for color, bin_ in zip(self.column_colors, bins, strict=True)
        ]

    def column_details(self) -> list[str]:
        return [f"{self.measure_key}={figure(rate)}" for rate in self.column_facts().measure.tolist()]

    @property
    def measure(self) -> Floats:
        return self.codebook.rates

    @property
    def observed(self) -> Floats:
        book = self.codebook
        return unsmoothed(book.rates, self.vocabulary.counts, book.prior, book.smoothing)

    @property
    def smoothing(self) -> float:
        return self.codebook.smoothing

    @property
    def prior(self) -> float:
        return self.codebook.prior

    @property
    def absent_measure(self) -> Floats:
        return self.codebook.null_rates

    def column_facts(self) -> ColumnFacts:
        facts, prior = super().column_facts(), self.codebook.prior
        rates = np.where(facts.rows > 0, facts.measure, prior)
        return replace(facts, measure=rates, strength=facts.rows * _divergence(rates, prior))

    def information(self) -> Information:
        counts, n_rows = self.vocabulary.counts, self.vocabulary.n_rows
        return information(self.codebook, self.coloring, counts, n_rows, null=self.null)

    @property
    def absent_rows(self) -> Integers:
        return np.rint(self.codebook.null_shares * self.vocabulary.n_rows).astype(np.int64)

    def facts(self) -> dict[str, Any]:
        book = self.codebook
        return {
            "null": self.null,
            "prior": book.prior,
            "smoothing": book.smoothing,
            "n_columns": book.n_columns,
        }

    def arrays(self) -> Arrays:
        book = self.codebook
        names = "rates", "bin_starts", "cuts", "null_bins", "null_rates", "null_shares"
        of_book = {name: getattr(book, name) for name in names}
        return {"columns": self.columns, "bin_columns": book.columns, **of_book}

    @classmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        null = str(facts["null"])
        must(null in ("drop", "emit"), f"null is {null!r}")
        of_rates = cls.measure_key == "rate"
        book = _codebook_of_file(vocabulary, coloring, facts, arrays, of_rates=of_rates)
        lowest = -1 if null == "drop" else 0
        columns = arrays.indices("columns", np.int32, len(vocabulary), lowest, book.n_columns)
        encoding = cls(vocabulary, coloring, book, columns, null)
        color_of = np.append(encoding.column_colors, -1)  # the last is no column's
        own = (columns < 0) | (color_of[columns] == coloring.colors)
        must(bool(own.all()), "columns are of other colors than their features")
        return encoding

    def without_explanations(self) -> Self:
        book = replace(self.codebook, rates=np.empty(0))
        return replace(super().without_explanations(), codebook=book)


def _divergence(rates: Floats, prior: float) -> Floats:
    """Return what a row with this rate tells of its label beyond the overall rate, in nats."""
    r = np.clip(rates, 1e-12, 1 - 1e-12)
    divergence: Floats = r * np.log(r / prior) + (1 - r) * np.log((1 - r) / (1 - prior))
    return divergence


def _null_shares(vocabulary: Vocabulary, coloring: Coloring, arrays: CheckedArrays) -> Floats:
    """Return the share of rows without any feature of each color; files of version 2 do not say it."""
    if "null_shares" in arrays:
        return arrays.take("null_shares", np.float64, coloring.n_colors)
    mass = np.bincount(coloring.colors, vocabulary.counts, coloring.n_colors)
    return np.maximum(1.0 - mass / max(vocabulary.n_rows, 1), 0.0)


def _codebook_of_file(
    vocabulary: Vocabulary,
    coloring: Coloring,
    facts: dict[str, Any],
    arrays: CheckedArrays,
    *,
    of_rates: bool,
) -> Codebook:
    """Return the codebook that a file keeps; rates and shares are between 0 and 1, means need not be."""
    n_features, n_colors = len(vocabulary), coloring.n_colors
    cuts = arrays.take("cuts", np.float64)
    starts = arrays.starts("bin_starts", n_colors + 1, len(cuts))
    must(bool((np.diff(starts) > 0).all()), "bin_starts leave a color without bins")
    is_last = np.zeros(len(cuts), np.bool_)
    is_last[starts[1:] - 1] = True
    ascend = np.append(cuts[:-1] <= cuts[1:], True)[: len(cuts)]
    must(bool((is_last | (ascend & np.isfinite(cuts))).all()), "cuts do not ascend")
    null_bins = arrays.take("null_bins", np.int64, n_colors)
    own = (starts[:-1] <= null_bins) & (null_bins < starts[1:])
    must(bool(own.all()), "null_bins are of other colors")
    rates = arrays.take("rates", np.float64, n_features)
    null_rates = arrays.take("null_rates", np.float64, n_colors)
    null_shares = _null_shares(vocabulary, coloring, arrays)
    shares = np.concatenate((rates, null_rates, null_shares) if of_rates else (null_shares,))
    must(bool(((shares >= 0) & (shares < 1 + 1e-9)).all()), "rates are not between 0 and 1")
    finite(np.concatenate((rates, null_rates)), "the rates")
    prior, smoothing = float(facts["prior"]), float(facts["smoothing"])
    finite([prior, smoothing], "the prior or the smoothing")
    good = smoothing >= 0 and (0 < prior < 1 or not of_rates)
    must(good, "the prior or the smoothing is out of bounds")
    return Codebook(
        prior=prior,
        smoothing=smoothing,
        rates=rates,
        bin_starts=starts,
        cuts=cuts,
        columns=_columns_of_bins(starts, facts, arrays),
        null_bins=null_bins,
        null_rates=null_rates,
        null_shares=null_shares,
        n_columns=int(facts["n_columns"]),
    )


def _columns_of_bins(
    starts: Integers, facts: dict[str, Any], arrays: CheckedArrays
) -> npt.NDArray[np.int32]:
    """Return the column of each bin: every number once, in order, and of each color as many left out."""
    n_columns, n_colors = int(facts["n_columns"]), len(starts) - 1
    columns = arrays.take("bin_columns", np.int32, int(starts[-1]))
    made = columns[columns >= 0]
    good = len(made) == n_columns and np.array_equal(np.sort(made), np.arange(n_columns))
    must(good, "bin_columns skip or repeat")
    within(columns, -1, n_columns, "bin_columns")
    left_out = np.bincount(np.repeat(np.arange(n_colors), np.diff(starts))[columns < 0], minlength=n_colors)
    expected = 1 if facts["null"] == "drop" else 0
    must(bool((left_out == expected).all()), "bin_columns leave out other bins than one a color")
    return columns
