"""What a model keeps of its rows, so that later rows, or those of another model, can be added to them.

Statistics are sums: they add up. The weights of linear columns do not; their certainty says how much of
each to take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from chromatic.data.checked import LARGEST, Arrays, CheckedArrays, finite, must
from chromatic.data.extending import Integers, moved
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.protocol import Encoding, parts_of
from chromatic.encoding.statistics import LOWER_HALF, Floats, LabelCounts, LabelMoments, Statistic, packed
from chromatic.errors import InputError
from chromatic.fitting.onward import Certainty

ROUNDED = 1e-9  # by how much of its rows a sum may be off


class Spread(NamedTuple):
    """The labels of some rows. Sums of squares would not do: of large numbers nothing of it is left."""

    rows: float
    mean: float
    variance: float
    residual: float  # the variance that the linear model leaves of labels that are numbers

    def __add__(self, other: object) -> Spread:
        """Return that of both (Chan, Golub and LeVeque 1979)."""
        assert isinstance(other, Spread)
        rows = self.rows + other.rows
        if rows <= 0:
            return self
        share, apart = other.rows / rows, other.mean - self.mean
        variance = (1 - share) * self.variance + share * other.variance + share * (1 - share) * apart**2
        residual = (1 - share) * self.residual + share * other.residual
        return Spread(rows, self.mean + share * apart, variance, residual)


@dataclass(frozen=True)
class KeptPart:
    """What is kept for the labels, or for one of several classes."""

    sums: LabelMoments  # over all rows, in one fold
    spread: Spread
    certainty: Certainty | None  # of the weights of linear columns; None: there are none


@dataclass(frozen=True)
class Kept:
    """The sums over all rows so far, and how long each feature has not been seen."""

    parts: tuple[KeptPart, ...]
    counts: Floats  # the rows that have each feature; earlier ones may count less
    n_rows: float
    unseen_for: npt.NDArray[np.int32]  # of each feature, the updates since a row had it
    weight_unit: float = 1.0  # the weight of a row that counts as one

    @classmethod
    def of(cls, parts: Sequence[KeptPart], vocabulary: Vocabulary, weight_unit: float) -> Self:
        """Keep what a fit has summed."""
        if any((np.abs(array) >= LARGEST).any() for part in parts for array in _arrays_of(part.sums)):
            raise InputError(f"labels have squares of {LARGEST:g} and more; expected smaller ones to keep")
        unseen_for = np.zeros(len(vocabulary), np.int32)
        counts, n_rows = vocabulary.counts.astype(np.float64), float(vocabulary.n_rows)
        return cls(tuple(parts), counts, n_rows, unseen_for, weight_unit)

    @property
    def size(self) -> int:
        """The bytes that it takes in a file."""
        return sum(array.nbytes for array in self.arrays().values())

    def at_places(self, places: Integers) -> Kept:
        """Return it for an extended vocabulary (`places_of`)."""
        parts = []
        for part in self.parts:
            sums, certainty = part.sums, part.certainty
            if certainty is not None:
                certainty = certainty._replace(of_features=moved(certainty.of_features, places))
            sums = LabelMoments(moved(sums.of_features, places, 1), sums.of_colors, sums.whole)
            parts.append(replace(part, sums=sums, certainty=certainty))
        counts, unseen_for = (moved(one, places) for one in (self.counts, self.unseen_for))
        return replace(self, parts=tuple(parts), counts=counts, unseen_for=unseen_for)

    def decayed(self, decay: float) -> Kept:
        """Return it where its rows count less."""
        parts = []
        for part in self.parts:
            certainty = None if part.certainty is None else part.certainty.decayed(decay)
            sums = LabelMoments(*(decay * one for one in _arrays_of(part.sums)))
            spread = part.spread._replace(rows=decay * part.spread.rows)
            parts.append(KeptPart(sums, spread, certainty))
        return replace(self, parts=tuple(parts), counts=decay * self.counts, n_rows=decay * self.n_rows)

    def __add__(self, other: object) -> Kept:
        """Return the sums over the rows of both."""
        assert isinstance(other, Kept)
        parts = []
        for a, b in zip(self.parts, other.parts, strict=True):
            certainty = None
            if a.certainty is not None and b.certainty is not None:
                certainty = a.certainty + b.certainty
            parts.append(KeptPart(added(a.sums, b.sums), a.spread + b.spread, certainty))
        return Kept(
            tuple(parts),
            self.counts + other.counts,
            self.n_rows + other.n_rows,
            np.minimum(self.unseen_for, other.unseen_for),
            self.weight_unit,
        )

    def counted(self, vocabulary: Vocabulary) -> Vocabulary:
        """Return a vocabulary with how many rows each feature is in, rounded."""
        counts = np.rint(self.counts).astype(np.int64)
        return replace(vocabulary, counts=counts, n_rows=round(self.n_rows))

    def facts(self) -> dict[str, Any]:
        """Return the plain values that a file keeps."""
        spreads = [list(part.spread) for part in self.parts]
        return {"spreads": spreads, "n_rows": self.n_rows, "weight_unit": self.weight_unit}

    def arrays(self) -> Arrays:
        """Return the arrays that a file keeps."""
        arrays: Arrays = {"kept.unseen_for": self.unseen_for, "kept.counts": self.counts}
        for number, part in enumerate(self.parts):
            own = _packed(part.sums.cells())
            if part.certainty is not None:
                names = "certainty", "dense_certainty", "dense_centers"
                own |= dict(zip(names, part.certainty, strict=True))
            arrays |= {f"kept.{number}.{name}": array for name, array in own.items()}
        return arrays

    @classmethod
    def of_file(
        cls, told: dict[str, Any], arrays: CheckedArrays, encoding: Encoding, *, binary: bool
    ) -> Self:
        """Return what a file keeps of the rows of its encoding; with `binary`, labels are 0 and 1."""
        encodings, vocabulary = parts_of(encoding), encoding.vocabulary
        spreads = [Spread(*map(float, one)) for one in told["spreads"]]
        must(len(spreads) == len(encodings), "the statistics are of other labels")
        finite(spreads, "the labels' mean and variance")
        must(
            all(min(one.rows, one.variance, one.residual) >= 0 for one in spreads), "a variance is below 0"
        )
        parts = [
            _part_of_file(arrays.part(f"kept.{number}."), one, spread, binary=binary)
            for number, (one, spread) in enumerate(zip(encodings, spreads, strict=True))
        ]
        counts, n_rows = arrays.numbers("kept.counts", len(vocabulary)), float(told["n_rows"])
        unit = float(told["weight_unit"])
        finite([n_rows, unit], "the rows or their unit")
        good = unit > 0 and bool(((counts >= 0) & (counts <= n_rows * (1 + ROUNDED))).all())
        must(good and n_rows < 1 << 62, "features are in more rows than there are")
        unseen_for = arrays.indices("kept.unseen_for", np.int32, len(vocabulary), 0, 1 << 30)
        return cls(tuple(parts), counts, n_rows, unseen_for, unit)


class Living(NamedTuple):
    """An encoding, and what is kept of its rows."""

    encoding: Encoding
    kept: Kept


def _part_of_file(arrays: CheckedArrays, encoding: Encoding, spread: Spread, *, binary: bool) -> KeptPart:
    n_features, n_colors = len(encoding.vocabulary), encoding.coloring.n_colors
    cells = _unpacked(arrays, n_features + n_colors + 1).reshape(3, -1, 1)
    _check_sums(cells, binary=binary)
    certainty = None
    if encoding.linear is not None:
        n_dense = len(encoding.vocabulary.dense_names)
        certainty = Certainty(
            arrays.take("certainty", np.float32, n_features),
            arrays.summable("dense_certainty", n_dense + 1),
            arrays.summable("dense_centers", n_dense),
        )
        every: Floats = np.concatenate(certainty[:2])
        finite(every, "the certainty")
        must(bool((every >= 0).all()), "the certainty is below 0")
    return KeptPart(LabelMoments.of_cells(cells, n_colors), spread, certainty)


def as_moments(statistic: Statistic) -> LabelMoments:
    """Return a statistic as sums over all folds, which may be fractions where rows count less."""
    if isinstance(statistic, LabelMoments):
        return LabelMoments(*(one.sum(axis=-1, keepdims=True) for one in _arrays_of(statistic)))
    assert isinstance(statistic, LabelCounts), "`check_keep` refuses other statistics"
    of_all = statistic.totals()
    return LabelMoments(
        _moments_of(of_all[:-1, None]),
        _moments_of(statistic.of_colors.sum(axis=1, keepdims=True)),
        _moments_of(of_all[-1:]),
    )


def _moments_of(counts: Integers) -> Floats:
    """Return rows, sums and squares from packed counts."""
    out = np.empty((3, *counts.shape))
    out[0] = counts & LOWER_HALF
    out[1] = out[2] = counts >> 32
    return out


def added(first: LabelMoments, second: LabelMoments) -> LabelMoments:
    """Return the sums over the rows of both."""
    return LabelMoments(*(a + b for a, b in zip(_arrays_of(first), _arrays_of(second), strict=True)))


def _arrays_of(moments: LabelMoments) -> tuple[Floats, ...]:
    return moments.of_features, moments.of_colors, moments.whole


def as_learned_from(sums: LabelMoments, kind: type[Encoding]) -> Statistic:
    """Return sums as the encoding learns from them: whole numbers of rows as counts."""
    if kind.statistic is not LabelCounts or not all(map(_are_counts, _arrays_of(sums))):
        return sums
    counts = (packed(one[1].astype(np.int64), one[0].astype(np.int64)) for one in _arrays_of(sums))
    several, of_colors, of_all = counts
    return LabelCounts(several, np.empty(0, np.uint8), of_colors, of_all)


def _are_counts(sums: Floats) -> bool:
    """Whether sums are whole numbers that half a word holds."""
    if sums.min(initial=0) < 0 or sums.max(initial=0) >= 1 << 31:
        return False
    return np.array_equal(sums.astype(np.uint32), sums)


def _packed(cells: Floats) -> Arrays:
    """Return cells as a file keeps them: whole numbers in half the room, equal sums once."""
    if np.array_equal(cells[1], cells[2]):  # labels are 0 and 1
        cells = cells[:2]
    if _are_counts(cells):
        return {"counts": cells.astype(np.uint32).reshape(-1)}
    return {"sums": cells.reshape(-1)}


def _unpacked(arrays: CheckedArrays, n_cells: int) -> Floats:
    """Return what `_packed` was given, 3 × cells."""
    numbers = arrays.take("counts", np.uint32) if "counts" in arrays else arrays.summable("sums")
    must(len(numbers) in (2 * n_cells, 3 * n_cells), "there are more or fewer sums than features")
    cells = numbers.astype(np.float64).reshape(-1, n_cells)
    return np.concatenate((cells, cells[1:])) if len(cells) == 2 else cells


def _check_sums(cells: Floats, *, binary: bool) -> None:
    """Refuse sums that no rows have: some rows are never more than all, which are the last of the cells."""
    rows, sums, squares = cells
    parts = (rows, sums, rows - sums) if binary else (rows, squares)
    good = rows[-1].sum() > 0
    for part in parts:
        good &= (part >= -ROUNDED * rows).all() and (part <= part[-1:] + ROUNDED * rows[-1:]).all()
    must(bool(good), "the sums are not those of rows")
    must(not binary or np.array_equal(sums, squares), "labels are not 0 and 1")
