"""Rows that come after a fit: coded and colored as a model has it, and added to what it keeps."""

from __future__ import annotations

import logging
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.coloring import Coloring, Request, extend
from chromatic.data.batch import NO_FIELD, Batch, LeftOut
from chromatic.data.extending import Integers, extended, found_in, moved, places_of
from chromatic.data.reader import Dataset
from chromatic.data.rows import Rows
from chromatic.data.unseen import Unseen, check_known
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.protocol import Encoding, parts_of
from chromatic.encoding.statistics import Extent, Statistic
from chromatic.errors import InputError
from chromatic.fitting.kept import Kept, Spread, added, as_moments
from chromatic.fitting.labels import (
    NOTHING_TOLD,
    Labels,
    OfRows,
    as_in_training,
    check_one_a_row,
    moments_of,
)
from chromatic.fitting.onward import go_on, shrunk
from chromatic.fitting.sources import MemorySource
from chromatic.fitting.weights import Weights
from chromatic.parameters import Settings

log = logging.getLogger("chromatic")


class LikeSource(MemorySource):
    """Rows by the vocabulary and the colors of a model, so that what both learn can be merged."""

    def __init__(
        self,
        encoding: Encoding,
        kept: Kept | None,
        batches: list[Batch],
        y: npt.NDArray[Any] | None = None,
        told: OfRows = NOTHING_TOLD,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(batches, y, told, threads=threads)
        self.like, self.past = encoding, checked_past(kept)

    @property
    def weight_unit(self) -> float:
        return self.past.weight_unit

    def count(self, settings: Settings) -> Vocabulary:
        if not self.n_rows:
            raise InputError("there are no rows; expected at least one")
        left_out, bins = LeftOut.of(self._batches), self.like.vocabulary.bins
        if bins is not None:
            self._batches[:] = ordered_map(bins.apply, self._batches, self.threads)
        vocabulary = self._vocabulary(settings)
        rows = replace(vocabulary, bins=None).encode(self._batches, self.threads)
        times = np.bincount(rows.codes, minlength=len(vocabulary))
        vocabulary = self._counted(vocabulary, rows, times, settings)
        self._data, self._labels_read = Dataset(rows, vocabulary, left_out), None
        return self.coded_vocabulary()

    def _vocabulary(self, settings: Settings) -> Vocabulary:
        """Return the vocabulary that codes the rows."""
        return self.like.vocabulary

    def _counted(
        self, vocabulary: Vocabulary, rows: Rows, times: Integers, settings: Settings
    ) -> Vocabulary:
        """Return the vocabulary with how many rows each feature is in; `times` are those of the rows."""
        check_known(rows, settings.handle_unknown)
        Unseen.of(rows, len(vocabulary.numeric_names)).warn()
        return replace(vocabulary, counts=times, n_rows=self.n_rows)

    def choose_dense(self, settings: Settings) -> Vocabulary:
        return self.data.vocabulary

    def color(self, request: Request) -> Coloring:
        return self.like.coloring

    def _extent(self, n_folds: int, n_colors: int = 0) -> Extent:
        n_features = len(self.data.vocabulary)  # whose counts need not descend
        return Extent(n_features, n_folds, n_features, n_colors)


class MoreSource(LikeSource):
    """Rows that are added to those of a model, which count `decay` times as much as they did.

    Features that were in no row of `drop_after` updates are dropped; new ones come after the others.
    """

    def __init__(
        self,
        encoding: Encoding,
        kept: Kept | None,
        batches: list[Batch],
        y: npt.NDArray[Any] | None = None,
        told: OfRows = NOTHING_TOLD,
        *,
        decay: float = 1.0,
        drop_after: int | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(encoding, kept, batches, y, told, threads=threads)
        check_update(decay, drop_after)
        self.decay, self.drop_after, self.parts = decay, drop_after, parts_of(encoding)
        self.kept = self.past  # as the updated model has it, but for the sums over labels
        self._places: Integers = np.arange(len(encoding.vocabulary))

    def settle_as(self, classes: tuple[Any, ...] | None) -> None:
        """Take the labels as those of the model's rows; `classes` is None where these are numbers."""
        labels = self._labels_as_given
        if labels is None and self.n_rows:
            raise InputError(
                "the rows have no labels, which a model is updated by; expected y, or their column"
            )
        given = np.empty(0) if labels is None else labels
        check_one_a_row(given, self.n_rows)
        numbers = as_in_training(given, classes, coded=bool(self._classes))
        self._labels = Labels(numbers, None if classes is None else np.array(classes))

    def _vocabulary(self, settings: Settings) -> Vocabulary:
        old, past = self.like.vocabulary, self.past
        found = found_in(self._batches, old, settings.min_count, self.threads)
        if not self.like.coloring.n_colors and len(found.new):
            log.warning("the model has no color that %s new features could take", f"{len(found.new):,}")
            found = found._replace(new=found.new[:0])
        unseen_for = np.where(found.seen, 0, past.unseen_for + 1).astype(np.int32)
        most = unseen_for.max(initial=0) + 1 if self.drop_after is None else self.drop_after
        stays = np.flatnonzero(unseen_for < most)
        self._places = places_of(stays, found)
        self.past = replace(past, unseen_for=unseen_for).at_places(self._places)
        log.info(
            "features: %s new ones, %s dropped, %s in all",
            f"{len(found.new):,}",
            f"{len(old) - len(stays):,}",
            f"{len(self._places):,}",
        )
        return extended(old, stays, found)

    def _counted(
        self, vocabulary: Vocabulary, rows: Rows, times: Integers, settings: Settings
    ) -> Vocabulary:
        before = self.past.decayed(self.decay)
        self.kept = replace(before, counts=before.counts + times, n_rows=before.n_rows + self.n_rows)
        return self.kept.counted(vocabulary)

    def color(self, request: Request) -> Coloring:
        coloring, stay = self.like.coloring, self._places[self._places >= 0]
        vocabulary, old, rows = self.data.vocabulary, self.like.vocabulary.fields, self.rows
        assert isinstance(rows, Rows)
        return extend(
            replace(coloring, colors=coloring.colors[stay]),
            rows,
            masses=vocabulary.counts,
            fields=vocabulary.fields,
            n_fields=0 if old is None else int(old.max(initial=NO_FIELD)) + 1,
            threads=self.threads,
        )

    def accumulate(
        self, kind: type[Encoding], coloring: Coloring, settings: Settings, of_class: int | None = None
    ) -> Statistic:
        more = as_moments(super().accumulate(kind, coloring, settings, of_class))
        return added(self.kept.parts[of_class or 0].sums, more)

    def weigh(self, settings: Settings, of_class: int | None = None, *, binary: bool) -> Weights:
        number = of_class or 0
        linear, past, now = self.parts[number].linear, self.past.parts[number], self.kept.parts[number]
        assert linear is not None and past.certainty is not None and now.certainty is not None
        known = replace(linear, weights=moved(linear.weights, self._places))
        known = shrunk(known, past.certainty, self.decay)
        task = self._weighing(settings, of_class, self._extent(1), binary=binary)
        return go_on(task, known, now.certainty, past.spread.residual)

    def label_moments(self, statistic: Statistic, of_class: int | None = None) -> tuple[float, float]:
        labels, weights = self._labels_of(of_class), self._weights
        rows = float(self.n_rows if weights is None else weights.sum())
        both = self.kept.parts[of_class or 0].spread + Spread(rows, *moments_of(labels, weights), 0.0)
        return both.mean, both.variance


def checked_past(kept: Kept | None) -> Kept:
    """Return what a model keeps; refuse one that keeps nothing."""
    if kept is None:
        raise InputError(
            "the model keeps no statistics, to which others could be added; expected one fitted with "
            "keep='statistics' (--keep-statistics)"
        )
    return kept


def check_update(decay: float, drop_after: int | None) -> None:
    """Refuse a decay and an age that make no sense."""
    if not isinstance(decay, Real) or not 0.0 < decay <= 1.0:
        raise InputError(f"decay is {decay!r}; expected a number above 0 and up to 1")
    whole = isinstance(drop_after, Integral) and not isinstance(drop_after, bool)
    if drop_after is not None and not (whole and drop_after >= 1):
        raise InputError(f"drop_after is {drop_after!r}; expected 1 update or more")
