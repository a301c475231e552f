"""One-hot columns for labels that are numbers: `submodular`, with means in the place of rates.

The bins of a color are cut by the squared error that they leave over twice the residual variance, which is
in nats as mutual information is: a column costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from chromatic.coloring import Coloring
from chromatic.data.checked import CheckedArrays, finite, must
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.codebook import Rated, rated_moments
from chromatic.encoding.protocol import ColumnFacts, Encoding, Task, Words
from chromatic.encoding.smoothing import smoothing_of_means
from chromatic.encoding.statistics import LabelCounts, LabelMoments
from chromatic.encoding.submodular import SubmodularEncoding


@dataclass(frozen=True)
class MeansEncoding(SubmodularEncoding):
    """The bins of each color by the mean of the label; each bin but one is a column."""

    name = "means"
    statistic = LabelMoments  # type: ignore[assignment]
    measure_key = "mean"
    words = Words(
        columns="A column holds how many of its features a row has: features of one color with about "
        "the same mean of the label. The bar runs from the overall mean to the column's.",
        measure="mean",
        first="tells most",
        extremes="mean",
    )

    @classmethod
    def rated(cls, task: Task, statistic: LabelCounts | LabelMoments) -> Rated:
        assert isinstance(statistic, LabelMoments)
        smoothing = task.settings.smoothing
        if smoothing == "auto":
            smoothing = smoothing_of_means(statistic.totals(), task.mean, task.variance)
        return rated_moments(
            task.coloring, statistic, task.mean, smoothing=float(smoothing), spread=2.0 * task.residual
        )

    def column_details(self) -> list[str]:
        return [f"mean={mean:.3g}" for mean in self.column_facts().measure.tolist()]

    @property
    def observed(self) -> None:  # type: ignore[override]
        """The model does not keep the sums of labels."""

    def column_facts(self) -> ColumnFacts:
        facts = Encoding.column_facts(self)
        off = facts.measure - self.codebook.prior
        return replace(facts, strength=facts.rows * off * off / self.codebook.spread)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "spread": self.codebook.spread}

    @classmethod
    def of_file(
        cls, vocabulary: Vocabulary, coloring: Coloring, facts: dict[str, Any], arrays: CheckedArrays
    ) -> Self:
        encoding = super().of_file(vocabulary, coloring, facts, arrays)
        spread = float(facts["spread"])
        finite(spread, "the spread")
        must(spread > 0, "the spread is out of bounds")
        return replace(encoding, codebook=replace(encoding.codebook, spread=spread))
