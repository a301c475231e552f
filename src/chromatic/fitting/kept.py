"""What a model keeps of its rows, so that later rows, or those of another model, can be added to them.

Statistics are sums: they add up. The weights of linear columns do not; their certainty says how much of
each to take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from chromatic.data.checked import Arrays, CheckedArrays, finite, must
from chromatic.data.extending import moved
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.statistics import LOWER_HALF, LabelCounts, LabelMoments, Statistic, packed
from chromatic.errors import InputError
from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.onward import Certainty
from chromatic.parameters import Settings

Integers = npt.NDArray[np.int64]

ROUNDED = 1e-9  # by how much of its rows a sum may be off


@dataclass(frozen=True)
class Kept:
    """The sums over all rows so far, and how long each feature has not been seen."""

    statistics: tuple[LabelMoments, ...]  # of the label, or of each of several classes
    certainties: tuple[Certainty, ...]  # of the linear columns of each; empty where there are none
    unseen_for: npt.NDArray[np.int32]  # of each feature, the updates since a row had it
    residuals: tuple[float, ...]  # the variance that is left of labels that are numbers, of each statistic

    @classmethod
    def of(cls, statistics: list[Statistic], certainties: list[Certainty], residuals: list[float]) -> Self:
        """Keep what a fit has summed."""
        moments = tuple(as_moments(one) for one in statistics)
        unseen_for = np.zeros(moments[0].of_features.shape[1], np.int32)
        return cls(moments, tuple(certainties), unseen_for, tuple(residuals))

    @property
    def n_rows(self) -> float:
        """The rows behind it, by their weights."""
        return float(self.statistics[0].whole[0].sum())

    @property
    def size(self) -> int:
        """The bytes that it takes in a file."""
        return sum(array.nbytes for array in self.arrays().values())

    def moved(self, places: Integers, decay: float = 1.0) -> Kept:
        """Return it for an extended vocabulary (`places_of`), where earlier rows count less."""
        statistics = tuple(
            LabelMoments(
                decay * moved(one.of_features, places, 1), decay * one.of_colors, decay * one.whole
            )
            for one in self.statistics
        )
        certainties = tuple(
            Certainty(moved(one.of_features, places), one.of_dense).decayed(decay)
            for one in self.certainties
        )
        unseen_for = moved(self.unseen_for, places)
        return Kept(statistics, certainties, unseen_for, self.residuals)

    def __add__(self, other: object) -> Kept:
        """Return the sums over the rows of both."""
        assert isinstance(other, Kept)
        statistics = zip(self.statistics, other.statistics, strict=True)
        certainties = zip(self.certainties, other.certainties, strict=True)
        share = self.n_rows / max(self.n_rows + other.n_rows, 1.0)
        residuals = zip(self.residuals, other.residuals, strict=True)
        return Kept(
            tuple(added(a, b) for a, b in statistics),
            tuple(a + b for a, b in certainties),
            np.minimum(self.unseen_for, other.unseen_for),
            tuple(share * a + (1.0 - share) * b for a, b in residuals),
        )

    def facts(self) -> dict[str, Any]:
        """Return the plain values that a file keeps."""
        return {"residuals": list(self.residuals), "folds": int(self.statistics[0].whole.shape[1])}

    def arrays(self) -> Arrays:
        """Return the arrays that a file keeps."""
        arrays: Arrays = {"kept.unseen_for": self.unseen_for}
        for number, statistic in enumerate(self.statistics):
            arrays |= {f"kept.{number}.{name}": sums for name, sums in _packed(statistic.cells()).items()}
        for number, certainty in enumerate(self.certainties):
            arrays[f"kept.{number}.certainty"] = certainty.of_features
            arrays[f"kept.{number}.dense_certainty"] = certainty.of_dense
        return arrays

    @classmethod
    def of_file(
        cls,
        told: dict[str, Any],
        arrays: CheckedArrays,
        encoding: Encoding,
        settings: Settings,
        *,
        binary: bool,
    ) -> Self:
        """Return what a file keeps of the rows of its encoding; with `binary`, labels are 0 and 1."""
        n_features, n_colors = len(encoding.vocabulary), encoding.coloring.n_colors
        parts = [one.part for one in encoding.of_classes()] or [encoding]
        n_folds = number_of_folds(settings)
        must(settings.keep is not None and told["folds"] == n_folds, "nothing was kept in these folds")
        residuals = tuple(float(one) for one in told["residuals"])
        must(len(residuals) == len(parts), "the statistics are of other labels")
        finite(residuals, "the residual variance")
        statistics, certainties = [], []
        for number, part in enumerate(parts):
            own = arrays.part(f"kept.{number}.")
            cells = _unpacked(own, (n_features + n_colors + 1) * n_folds)
            cells = cells.reshape(3, -1, n_folds)
            _check_sums(cells, binary=binary)
            statistics.append(LabelMoments.of_cells(cells, n_colors))
            if part.linear is not None:
                n_dense = len(encoding.vocabulary.dense_names)
                certainty = Certainty(
                    own.take("certainty", np.float32, n_features),
                    own.take("dense_certainty", np.float64, n_dense + 1),
                )
                every: npt.NDArray[np.float64] = np.concatenate(certainty)
                finite(every, "the certainty")
                must(bool((every >= 0).all()), "the certainty is below 0")
                certainties.append(certainty)
        unseen_for = arrays.take("kept.unseen_for", np.int32, n_features)
        return cls(tuple(statistics), tuple(certainties), unseen_for, residuals)


def as_moments(statistic: Statistic) -> LabelMoments:
    """Return a statistic as sums that may be fractions, as rows that count less make them."""
    if isinstance(statistic, LabelMoments):
        return statistic
    if not isinstance(statistic, LabelCounts) or len(statistic.alone):
        raise InputError(
            f"the statistic {type(statistic).__name__} cannot be kept; expected an encoding of labels, and "
            "keep=None for this one"
        )
    return LabelMoments(*map(_moments_of, (statistic.several, statistic.of_colors, statistic.whole)))


def _moments_of(counts: Integers) -> npt.NDArray[np.float64]:
    """Return rows, sums and squares from packed counts."""
    out = np.empty((3, *counts.shape))
    out[0] = counts & LOWER_HALF
    out[1] = out[2] = counts >> 32
    return out


def added(first: LabelMoments, second: LabelMoments) -> LabelMoments:
    """Return the sums over the rows of both."""
    return LabelMoments(*(a + b for a, b in zip(_arrays_of(first), _arrays_of(second), strict=True)))


def _arrays_of(moments: LabelMoments) -> tuple[npt.NDArray[np.float64], ...]:
    return moments.of_features, moments.of_colors, moments.whole


def as_learned_from(statistic: Statistic | None, kind: type[Encoding]) -> Statistic:
    """Return sums as the encoding learns from them: whole numbers of rows as counts."""
    assert isinstance(statistic, LabelMoments)
    if kind.statistic is not LabelCounts or not all(map(_are_counts, _arrays_of(statistic))):
        return statistic
    counts = (packed(one[1].astype(np.int64), one[0].astype(np.int64)) for one in _arrays_of(statistic))
    several, of_colors, of_all = counts
    return LabelCounts(several, np.empty(0, np.uint8), of_colors, of_all)


def _are_counts(sums: npt.NDArray[np.float64]) -> bool:
    """Whether sums are whole numbers that half a word holds."""
    if sums.min(initial=0) < 0 or sums.max(initial=0) >= 1 << 31:
        return False
    return np.array_equal(sums.astype(np.uint32), sums)


def _packed(cells: npt.NDArray[np.float64]) -> Arrays:
    """Return cells as a file keeps them: whole numbers in half the room, equal sums once."""
    if np.array_equal(cells[1], cells[2]):  # labels are 0 and 1
        cells = cells[:2]
    if _are_counts(cells):
        return {"counts": cells.astype(np.uint32).reshape(-1)}
    return {"sums": cells.reshape(-1)}


def _unpacked(arrays: CheckedArrays, n_cells: int) -> npt.NDArray[np.float64]:
    """Return what `_packed` was given, 3 × cells."""
    numbers = arrays.take("counts", np.uint32) if "counts" in arrays else arrays.summable("sums")
    must(len(numbers) in (2 * n_cells, 3 * n_cells), "there are more or fewer sums than features")
    cells = numbers.astype(np.float64).reshape(-1, n_cells)
    return np.concatenate((cells, cells[1:])) if len(cells) == 2 else cells


def _check_sums(cells: npt.NDArray[np.float64], *, binary: bool) -> None:
    """Refuse sums that no rows have: some rows are never more than all, which are the last of the cells."""
    rows, sums, squares = cells
    parts = (rows, sums, rows - sums) if binary else (rows, squares)
    good = rows[-1].sum() > 0
    for part in parts:
        good &= (part >= -ROUNDED * rows).all() and (part <= part[-1:] + ROUNDED * rows[-1:]).all()
    must(bool(good), "the sums are not those of rows")
    must(not binary or np.array_equal(sums, squares), "labels are not 0 and 1")
