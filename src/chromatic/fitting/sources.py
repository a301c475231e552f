"""Training rows on this machine, in memory or on disk; those of Spark are in `chromatic.spark.source`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map, thread_count
from chromatic.coloring import Coloring, Request, color, represent
from chromatic.data.batch import Batch, LeftOut, have_labels, over_rows
from chromatic.data.dense import chosen_for
from chromatic.data.limit import MemoryLimit, limited
from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.schema import Schema
from chromatic.data.stored import StoredDataset, StoredRows, read_stored
from chromatic.data.transpose import Transposed, transpose
from chromatic.data.vocabulary import Vocabulary, learn, limits_of
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.statistics import Extent, Statistic
from chromatic.fitting.folds import Folds, folds_of_rows, number_of_folds, sums_of_rows
from chromatic.fitting.labels import (
    NOTHING_TOLD,
    LabelFacts,
    Labels,
    OfRows,
    check_one_a_row,
    checked,
    checked_weights,
    facts_of,
    in_units,
    mean_weight,
    moments_of,
    settled,
)
from chromatic.fitting.onward import with_certainty
from chromatic.fitting.source import Source, n_several
from chromatic.fitting.weighing import Dense, Weighing
from chromatic.fitting.weights import Weights, check_weighing, to_weigh, weigh
from chromatic.parameters import Settings
from chromatic.registry import encoding_class

log = logging.getLogger("chromatic")

Floats = npt.NDArray[np.float64]


class LocalSource(Source):
    """Coded rows on this machine, in memory or in a file, and their labels. It serves one fit.

    `y` are the labels where they do not come with the rows, `rows` the weights and the groups of the rows.
    """

    def __init__(
        self,
        data: Dataset | StoredDataset | None = None,
        y: npt.NDArray[Any] | None = None,
        told: OfRows = NOTHING_TOLD,
        *,
        threads: int | None = None,
    ) -> None:
        self._data, self._told = data, told
        self._given = None if y is None else checked(y)
        self._labels: Labels | None = None
        self.threads = thread_count(threads)
        self._is_resolved = False
        self._transposed: Transposed | None = None
        self.folds: Folds | None = None

    def read(self) -> None:
        """Read what is not read yet; else it is read when it is needed."""

    @property
    def told(self) -> OfRows:
        """The weights and groups of the rows, given apart or with them."""
        return self._told

    @property
    def has_weights(self) -> bool:  # type: ignore[override] # known as soon as rows are read
        return self.told.weights is not None

    @property
    def data(self) -> Dataset | StoredDataset:
        assert self._data is not None, "the rows are not coded yet"
        return self._data

    @property
    def rows(self) -> Rows | StoredRows:
        """The coded rows."""
        return self.data.rows

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def labels(self) -> Floats | None:
        """The labels as they were settled: 0 and 1 where they are of two kinds."""
        return None if self._labels is None else self._labels.numbers

    def _labels_of(self, of_class: int | None) -> Floats:
        """Return the labels, or whether each row is of a class."""
        assert self.labels is not None
        return self.labels if of_class is None else (self.labels == of_class).astype(np.float64)

    @property
    def _labels_of_rows(self) -> Floats | None:
        return self.rows.labels

    def count(self, settings: Settings) -> Vocabulary:
        if self._is_resolved:
            raise RuntimeError("the source has served a fit, whose colors resolved its rows; make another")
        return self.coded_vocabulary()

    def coded_vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the coded rows; tell what was left out of them."""
        _ = self._weights  # they are checked where nothing is learned from labels, too
        replace(self.data.left_out, ignored_weights=0).warn()
        if self.rows.elided_values:
            log.warning(
                "%s values other than 1 of sparse features count as presence",
                f"{self.rows.elided_values:,}",
            )
        log.info("rows: coded")
        return self.data.vocabulary

    def choose_dense(self, settings: Settings) -> Vocabulary:
        assert self._labels is not None
        sizes = {"budget": settings.budget, "min_count": settings.min_count}
        chosen = chosen_for(
            self.data.vocabulary, self.rows, [self._labels_of(one) for one in self._labels.each], **sizes
        )
        if chosen is not None:
            log.info("dense features: %d became sparse, for want of room", len(chosen.binned))
            rows: Any = chosen.recode(self.rows)
            self._data = replace(self.data, rows=rows, vocabulary=chosen.vocabulary)
        return self.data.vocabulary

    @cached_property
    def _weights(self) -> Floats | None:
        """The weights of the rows, in units of one that counts as a row."""
        given = self.told.weights
        if given is None:
            return None
        return in_units(checked_weights(given, self.n_rows), self.weight_unit)

    @property
    def weight_unit(self) -> float:
        """The weight of a row that counts as one: the mean of those that are not 0."""
        given = self.told.weights
        return 1.0 if given is None else mean_weight(checked_weights(given, self.n_rows))

    @property
    def _labels_as_given(self) -> npt.NDArray[Any] | None:
        return self._labels_of_rows if self._given is None else self._given

    @property
    def _schema(self) -> Schema | None:
        return self.data.vocabulary.schema

    @property
    def _classes(self) -> tuple[str, ...]:
        """The classes of labels that came with the rows as texts."""
        return () if self._given is not None or self._schema is None else self._schema.classes

    def label_facts(self) -> LabelFacts | None:
        labels = self._labels_as_given
        if labels is None:
            return None
        check_one_a_row(labels, self.n_rows)
        return facts_of(labels, "y" if self._labels_of_rows is None else "the label", self._classes)

    def settle_labels(self, kind: str) -> npt.NDArray[Any] | None:
        assert self._labels_as_given is not None
        self._labels = settled(self._labels_as_given, kind, self._classes)
        return self._labels.classes

    @contextlib.contextmanager
    def coded(self, settings: Settings) -> Iterator[None]:
        try:
            yield
        finally:
            self._transposed = None

    def color(self, request: Request) -> Coloring:
        if isinstance(self.rows, Rows):
            self._transposed = transpose(self.rows, self.threads)  # labels are counted by it, too
        return color(self.rows, request, transposed=self._transposed, threads=self.threads)

    def accumulate(
        self, kind: type[Encoding], coloring: Coloring, settings: Settings, of_class: int | None = None
    ) -> Statistic:
        assert self._labels is not None and kind.statistic is not None
        weights, statistic = self._weights, kind.statistic if self._weights is None else kind.weighted
        assert statistic is not None
        if self.folds is None:
            keys = self.data.vocabulary.hashes
            self.folds = folds_of_rows(self.rows, keys, self.told.groups, settings, threads=self.threads)
        extent = self._extent(number_of_folds(settings), coloring.n_colors)
        if isinstance(self.rows, StoredRows):
            needed = len(self._labels.each) * statistic.bytes_needed(extent)
            self.rows.memory.check(needed, "counting labels")
        sums: Any = statistic.zeros(extent)
        labels, summed = self._labels_of(of_class), kind.sums_collisions(settings)
        transposed = self._transposed if summed and weights is None else None
        if of_class is None:
            self._transposed = None  # its memory is free for what follows
        of_rows = labels, self.folds.of_rows, coloring.colors
        if transposed is not None and sums.add_transposed(self.rows, transposed, of_rows, self.threads):
            return sums  # type: ignore[no-any-return]
        for start, kept in self._resolved(coloring, sums=summed):
            here = slice(start, start + kept.n_rows)
            told = {} if weights is None else {"weights": weights[here]}
            sums.add(kept, labels[here], self.folds.of_rows[here], coloring.colors, **told)
        return sums  # type: ignore[no-any-return]

    def weigh(self, settings: Settings, of_class: int | None = None, *, binary: bool) -> Weights:
        extent = self._extent(number_of_folds(settings))
        task = self._weighing(settings, of_class, extent, binary=binary)
        found = weigh(task, extent.n_folds, self.threads)
        return found if settings.keep is None else with_certainty(found, task)

    def _weighing(
        self, settings: Settings, of_class: int | None, extent: Extent, *, binary: bool
    ) -> Weighing:
        """Return what the weights of features are found from."""
        assert self.folds is not None
        rows = to_weigh(self.rows, extent, in_memory=settings.keep is not None)
        return Weighing(
            rows,
            Dense.of(rows, self._weights, self.threads),
            self._labels_of(of_class),
            self.folds.of_rows,
            sums_of_rows(rows, self.data.vocabulary.hashes, self.threads),
            n_several=extent.n_several,
            binary=binary,
            seed=settings.seed,
            importance=self._weights,
        )

    def _extent(self, n_folds: int, n_colors: int = 0) -> Extent:
        """Return how large a statistic is."""
        vocabulary = self.data.vocabulary
        own_rows = vocabulary.n_rows == self.rows.n_rows
        several = n_several(vocabulary, n_folds) if own_rows else len(vocabulary)
        return Extent(len(vocabulary), n_folds, several, n_colors)

    def label_moments(self, statistic: Statistic, of_class: int | None = None) -> tuple[float, float]:
        assert self.folds is not None
        labels, weights, trains = self._labels_of(of_class), self._weights, self.folds.trains
        if trains is not None:
            labels, weights = labels[~trains], None if weights is None else weights[~trains]
        return moments_of(labels, weights)

    def resolved(self, encoding: Encoding) -> Iterator[tuple[int, Rows]]:
        """Yield the rows as the encoding resolves them, some at a time, each with its first row."""
        return self._resolved(encoding.coloring, sums=encoding.sums)

    def _resolved(self, coloring: Coloring, *, sums: bool) -> Iterator[tuple[int, Rows]]:
        """Yield the rows with all features or, where these are not summed, with one of a color.

        In memory they are resolved once, for the statistic and for the training columns alike.
        """
        if sums:
            yield from self.rows.pieces()
            return
        if isinstance(self.rows, StoredRows):
            yield from ordered_map(
                lambda piece: (piece[0], represent(piece[1], coloring)[0]), self.rows.pieces(), self.threads
            )
            return
        if not self._is_resolved:
            kept, _ = represent(self.rows, coloring, self.threads)
            self._data, self._is_resolved = replace(self.data, rows=kept), True  # type: ignore[arg-type]
        yield from self.rows.pieces()


class MemorySource(LocalSource):
    """Batches as they were read, to be counted and coded in memory. The list of batches is emptied."""

    def __init__(
        self,
        batches: list[Batch],
        y: npt.NDArray[Any] | None = None,
        told: OfRows = NOTHING_TOLD,
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(None, y, told, threads=threads)
        self._batches, self._schema_read = batches, batches[0].schema if batches else None
        self._told = told.or_of_data(
            over_rows([(batch.n_rows, batch.weights) for batch in batches]),
            over_rows([(batch.n_rows, batch.groups) for batch in batches]),
        )
        labels = [batch.labels for batch in batches if batch.labels is not None]
        self._labels_read = np.concatenate(labels) if labels and have_labels(batches) else None
        self._n_rows = sum(batch.n_rows for batch in batches)

    @property
    def n_rows(self) -> int:
        return self._n_rows

    @property
    def _schema(self) -> Schema | None:
        return self._schema_read

    @property
    def _labels_of_rows(self) -> Floats | None:
        return self._labels_read if self._data is None else self._data.rows.labels

    def count(self, settings: Settings) -> Vocabulary:
        left_out = LeftOut.of(self._batches)
        vocabulary, rows = learn(
            self._batches,
            **limits_of(settings),
            distinct_values=settings.values == "distinct",
            threads=self.threads,
        )
        self._data, self._labels_read = Dataset(rows, vocabulary, left_out), None
        return super().count(settings)


class DiskSource(LocalSource):
    """Files that are parsed into a cache on disk and coded from there, within a limit of memory."""

    def __init__(
        self,
        reader: Reader,
        paths: list[str],
        limit: MemoryLimit,
        settings: Settings,
        y: npt.NDArray[Any] | None = None,
        told: OfRows = NOTHING_TOLD,
    ) -> None:
        super().__init__(None, y, told, threads=reader.n_jobs)
        self._read_stored = lambda: read_stored(
            reader,
            paths,
            limit,
            **limits_of(settings),
            distinct_values=settings.values == "distinct",
            later=lambda n: _bytes_for_labels(settings, Extent(n, number_of_folds(settings), n, 0)),
        )

    @property
    def data(self) -> Dataset | StoredDataset:
        """The coded rows, with labels: they are read as soon as one asks for anything."""
        if self._data is None:
            self._data = self._read_stored()
            self._told = self._told.or_of_data(self._data.weights, self._data.groups)
        return self._data

    @property
    def told(self) -> OfRows:
        _ = self.data
        return self._told

    def read(self) -> None:
        self._data = self.data

    @contextlib.contextmanager
    def coded(self, settings: Settings) -> Iterator[None]:
        """Refuse now, before rows are colored, what will not fit when weights are looked for."""
        if self._labels is not None and settings.linear != 0 and settings.collisions == "sum":
            extent = self._extent(number_of_folds(settings))
            labels = len(self._labels.each) * _bytes_for_labels(settings, extent)
            check_weighing(self.rows, extent, labels, in_memory=settings.keep is not None)
        with super().coded(settings):
            yield


def _bytes_for_labels(settings: Settings, extent: Extent) -> int:
    """The most memory that counting labels takes."""
    statistic = encoding_class(settings.encoding).statistic
    return 0 if statistic is None else int(statistic.bytes_needed(extent))


@contextlib.contextmanager
def source_of_files(
    reader: Reader,
    paths: list[str],
    settings: Settings,
    y: npt.NDArray[Any] | None = None,
    told: OfRows = NOTHING_TOLD,
) -> Iterator[LocalSource]:
    """Open files as a source: in memory or, with a limit of memory, on disk for the time of the block."""
    if settings.memory is None:
        batches = reader.batches(paths, gathered=settings.values == "elide")
        yield MemorySource(batches, y, told, threads=reader.n_jobs)
        return
    with limited(settings.memory, settings.cache) as limit:
        yield DiskSource(reader, paths, limit, settings, y=y, told=told)
