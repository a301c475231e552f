"""Rows that come after a fit: coded and colored as a model has it, and added to what it keeps."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.coloring import Coloring, Request, extend
from chromatic.data.batch import Batch, LeftOut
from chromatic.data.extending import Integers, extended, found_in, moved, places_of
from chromatic.data.reader import Dataset
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.statistics import Extent, Statistic
from chromatic.errors import InputError
from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.kept import Kept, added, as_moments
from chromatic.fitting.labels import NOTHING_TOLD, Labels, OfRows, as_in_training
from chromatic.fitting.onward import decayed, go_on
from chromatic.fitting.sources import MemorySource
from chromatic.fitting.weights import Weights
from chromatic.parameters import Settings

log = logging.getLogger("chromatic")


class LikeSource(MemorySource):
    """Rows by the vocabulary and the colors of a model, so that what both learn can be merged."""

    def __init__(
        self,
        encoding: Encoding,
        batches: list[Batch],
        y: npt.NDArray[Any] | None = None,
        told: OfRows = NOTHING_TOLD,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(batches, y, told, threads=threads)
        self.like = encoding

    def count(self, settings: Settings) -> Vocabulary:
        left_out, bins = LeftOut.of(self._batches), self.like.vocabulary.bins
        if bins is not None:
            self._batches[:] = ordered_map(bins.apply, self._batches, self.threads)
        vocabulary = self._vocabulary(settings)
        rows = replace(vocabulary, bins=None).encode(self._batches, self.threads)
        times = np.bincount(rows.codes, minlength=len(vocabulary))
        self._data, self._labels_read = Dataset(rows, self._counted(vocabulary, times), left_out), None
        return self.coded_vocabulary()

    def _vocabulary(self, settings: Settings) -> Vocabulary:
        """Return the vocabulary that codes the rows."""
        return self.like.vocabulary

    def _counted(self, vocabulary: Vocabulary, times: Integers) -> Vocabulary:
        """Return the vocabulary with how many rows each feature is in; `times` are those of the rows."""
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
        super().__init__(encoding, batches, y, told, threads=threads)
        self.past, self.decay, self.drop_after = checked_past(kept), decay, drop_after
        check_update(decay, drop_after)
        self.parts = [one.part for one in encoding.of_classes()] or [encoding]
        self.unseen_for = self.past.unseen_for
        self._places: Integers = np.arange(len(encoding.vocabulary))

    def settle_as(self, classes: tuple[Any, ...] | None) -> None:
        """Take the labels as those of the model's rows; `classes` is None where these are numbers."""
        labels = self._labels_as_given
        if labels is None:
            raise InputError(
                "the rows have no labels, which a model is updated by; expected y, or their column"
            )
        if labels.shape != (self.n_rows,):
            raise InputError(
                f"{self.n_rows:,} rows and labels of shape {labels.shape}; expected one label a row"
            )
        numbers = as_in_training(labels, classes, coded=bool(self._classes))
        self._labels = Labels(numbers, None if classes is None else np.array(classes))

    def _vocabulary(self, settings: Settings) -> Vocabulary:
        old = self.like.vocabulary
        found = found_in(self._batches, old, settings.min_count, self.threads)
        if not self.like.coloring.n_colors:  # there is no color that a new feature could take
            found = found._replace(new=found.new[:0])
        unseen_for = np.where(found.seen, 0, self.past.unseen_for + 1).astype(np.int32)
        most = unseen_for.max(initial=0) + 1 if self.drop_after is None else self.drop_after
        stays = np.flatnonzero(unseen_for < most)
        self._places = places_of(stays, found)
        self.unseen_for = moved(unseen_for, self._places)
        self.past = self.past.moved(self._places, self.decay)
        log.info(
            "features: %s new ones, %s dropped, %s in all",
            f"{len(found.new):,}",
            f"{len(old) - len(stays):,}",
            f"{len(self._places):,}",
        )
        return extended(old, stays, found)

    def _counted(self, vocabulary: Vocabulary, times: Integers) -> Vocabulary:
        old = self.like.vocabulary
        before = np.rint(self.decay * moved(old.counts, self._places)).astype(np.int64)
        n_rows = round(self.decay * old.n_rows) + self.n_rows
        return replace(vocabulary, counts=before + times, n_rows=n_rows)

    def color(self, request: Request) -> Coloring:
        coloring, stay = self.like.coloring, self._places[self._places >= 0]
        vocabulary, rows = self.data.vocabulary, self.rows
        assert isinstance(rows, Rows)
        known = replace(coloring, colors=coloring.colors[stay])
        return extend(known, rows, masses=vocabulary.counts, fields=vocabulary.fields, threads=self.threads)

    def accumulate(
        self, kind: type[Encoding], coloring: Coloring, settings: Settings, of_class: int | None = None
    ) -> Statistic:
        more = as_moments(super().accumulate(kind, coloring, settings, of_class))
        return added(self.past.statistics[of_class or 0], more)

    def weigh(self, settings: Settings, of_class: int | None = None, *, binary: bool) -> Weights:
        linear, certainty = self.parts[of_class or 0].linear, self.past.certainties[of_class or 0]
        assert linear is not None
        known = replace(linear, weights=moved(linear.weights, self._places))
        extent = self._extent(number_of_folds(settings))
        task = self._weighing(settings, of_class, extent, binary=binary)
        return go_on(task, decayed(known, certainty, self.decay), certainty, extent.n_folds, self.threads)

    def label_moments(self, statistic: Statistic, of_class: int | None = None) -> tuple[float, float]:
        return statistic.label_moments()


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
    if not 0.0 < decay <= 1.0:
        raise InputError(f"decay is {decay:g}; expected a number above 0 and up to 1")
    if drop_after is not None and drop_after < 1:
        raise InputError(f"drop_after is {drop_after}; expected 1 update or more")
