"""One number a color: how the label behaves where the feature is, against where none of its color is.

For a binary label it is the log-odds of the smoothed rate, minus those of null; for a numeric one, and
where nothing is smoothed, the mean minus null's. So an absent color is 0, and the output is sparse.
With smoothing 0 and leakage "none" it is the paper's target encoding: the plain mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from chromatic.coloring import Coloring
from chromatic.data.checked import Arrays, CheckedArrays, finite, must
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Tables
from chromatic.encoding.protocol import Floats, Task, Words
from chromatic.encoding.smoothing import chosen_smoothing, unsmoothed
from chromatic.encoding.statistics import LabelMoments
from chromatic.encoding.values import ValueEncoding


@dataclass(frozen=True)
class TargetEncoding(ValueEncoding):
    """How the label behaves where a feature is."""

    name = "target"
    statistic = weighted = LabelMoments
    of_numbers = "target"
    words = Words(
        columns="A column is a color. A row has in it the value of its feature of that color, 0 without "
        "one: how the label behaves there, against rows without any. Shown is the mean over training.",
        measure="mean value",
        first="strongest",
        extremes="mean",
    )

    weight: float | None = None  # the pseudo-count of the mean; None: by the ratio of variances
    of_null: Floats | None = None  # what values stand against, by color; None: an older file does not say
    log_odds: bool = False  # whether values are differences of log-odds

    @classmethod
    def learn(cls, task: Task, statistic: LabelMoments) -> Self:
        weight = None
        if task.binary or task.settings.smoothing != "auto":
            rows, sums, _ = statistic.totals()
            if (rows == np.floor(rows)).all() and (sums == np.floor(sums)).all():  # else rows have weights
                rows, sums = rows.astype(np.int64), sums.astype(np.int64)
            weight = chosen_smoothing(task.settings, sums, rows, task.mean)
        if weight == 0 and task.settings.leakage == "none":
            of_null = np.zeros(task.coloring.n_colors)
            values = _means(task, statistic.totals(), weight)
        else:
            of_null = _null_means(task, statistic, weight)
            values = _values(task, statistic.totals(), of_null, weight)
        shared = task.vocabulary, task.coloring, values, task.mean
        return cls(*shared, weight=weight, of_null=of_null, log_odds=task.binary and weight != 0)

    def by_fold(self, task: Task, statistic: LabelMoments) -> Tables:
        of_null = _null_means(task, statistic, self.weight)
        values = [
            _values(task, statistic.outside(fold), of_null, self.weight, share)
            for fold, share in enumerate(statistic.shares())
        ]
        return self.tables._replace(values=np.stack(values, axis=1))

    @property
    def smoothing(self) -> float | None:
        return self.weight

    @property
    def smoothed(self) -> Floats | None:
        if self.of_null is None:
            return None
        of_null = self.of_null[self.coloring.colors]
        if not self.log_odds:
            return self.values + of_null
        return np.asarray(1 / (1 + (1 - of_null) / of_null * np.exp(-self.values)))

    @property
    def observed(self) -> Floats | None:
        if self.smoothed is None or self.weight is None:
            return None
        return unsmoothed(self.smoothed, self.vocabulary.counts, self.mean, self.weight)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "smoothing": self.weight, "log_odds": self.log_odds}

    def arrays(self) -> Arrays:
        return super().arrays() | ({} if self.of_null is None else {"of_null": self.of_null})

    @classmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        weight = facts["smoothing"]
        finite(weight or 0.0, "the smoothing")
        encoding = super().of_file(vocabulary, coloring, facts, arrays)
        of_null, log_odds = None, bool(facts.get("log_odds", False))
        if "of_null" in arrays:  # older files have none
            of_null = arrays.summable("of_null", coloring.n_colors)
            must(
                not log_odds or bool(((of_null > 0) & (of_null < 1)).all()), "rates are not between 0 and 1"
            )
        weight = None if weight is None else float(weight)
        return replace(encoding, weight=weight, of_null=of_null, log_odds=log_odds)


def _values(
    task: Task, moments: Floats, of_null: Floats, weight: float | None, share: float = 1.0
) -> Floats:
    """Return the value of each feature against null, from the moments of its rows.

    Moments of a share of all rows are smoothed with that share of the weight: else they would lie closer
    to the mean than those of all rows.
    """
    means = _means(task, moments, weight, share)
    if task.binary and weight != 0:
        means, of_null = (np.log(m / (1 - m)) for m in (means, of_null))
    return means - of_null[task.coloring.colors]


def _null_means(task: Task, statistic: LabelMoments, weight: float | None) -> Floats:
    """Return the mean of each color's null: of the rows without any of its features."""
    return _means(task, statistic.of_null(), weight)


def _means(task: Task, moments: Floats, weight: float | None, share: float = 1.0) -> Floats:
    """Return smoothed means from rows, sums and sums of squares; the prior where there are no rows.

    Without a weight, it is scikit-learn's ratio: the variance within the rows over that of all labels.
    """
    rows, sums, squares = moments
    some = np.where(rows > 0, rows, 1.0)
    if weight is None:
        within = np.maximum(squares / some - (sums / some) ** 2, 0.0)
        weights = within / task.variance if task.variance > 0 else np.ones_like(within)
    else:
        weights = np.full(len(rows), weight)
    weights *= share
    below = rows + weights
    means = (sums + weights * task.mean) / np.where(below > 0, below, 1.0)
    return np.where((rows > 0) & (below > 0), means, task.mean)
