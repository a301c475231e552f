"""Where training rows are: in memory or on disk here, on Spark in `chromatic.spark.source`.

A source counts features, codes rows, colors them and accumulates a statistic over them. `fit` says in
which order, and knows nothing of where the rows are.
"""

from __future__ import annotations

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map, thread_count
from chromatic.coloring import Coloring, Request, Size, color, represent
from chromatic.data.batch import Batch, LeftOut, have_labels
from chromatic.data.dense import chosen_for
from chromatic.data.limit import MemoryLimit, limited
from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredDataset, StoredRows, read_stored
from chromatic.data.vocabulary import Vocabulary, learn, limits_of
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.statistics import Extent, Statistic
from chromatic.errors import InputError
from chromatic.fitting.folds import Folds, folds_of_hashes, number_of_folds, row_hashes, row_sums
from chromatic.fitting.labels import LabelFacts, as_numbers, facts_of
from chromatic.fitting.weights import Dense, Weighing, Weights, bytes_to_weigh, weigh
from chromatic.parameters import Settings
from chromatic.registry import encoding_class

log = logging.getLogger("chromatic")

Floats = npt.NDArray[np.float64]


class Source(ABC):
    """Training rows, wherever they are. The methods are called in the order in which they stand here."""

    weighs: ClassVar[bool] = True  # whether it finds the weights of linear columns

    @abstractmethod
    def label_facts(self) -> LabelFacts | None:
        """Look over the labels; None where there are none."""

    @abstractmethod
    def count(self, settings: Settings) -> Vocabulary:
        """Count the features, and code the rows by the vocabulary that this gives."""

    @abstractmethod
    def choose_dense(self, settings: Settings) -> Vocabulary:
        """Choose among dense columns where they leave no room for others (`data.dense`)."""

    @contextlib.contextmanager
    def coded(self, settings: Settings) -> Iterator[None]:
        """Hold the coded rows for the time of the block, in which they are read several times."""
        yield

    @abstractmethod
    def color(self, request: Request) -> Coloring:
        """Color the features."""

    @abstractmethod
    def accumulate(self, kind: type[Encoding], coloring: Coloring, settings: Settings) -> Statistic:
        """Sum the statistic of an encoding over the rows, resolved as the encoding resolves them."""

    def weigh(self, settings: Settings, *, binary: bool) -> Weights:
        """Find the weights of features in a linear model over all of them."""
        raise NotImplementedError

    def label_moments(self, statistic: Statistic) -> tuple[float, float]:
        """Return the mean and the variance of the labels of the rows that estimate."""
        return statistic.label_moments()


class LocalSource(Source):
    """Coded rows on this machine, in memory or in a file, and their labels. It serves one fit.

    `y` are the labels where they do not come with the rows.
    """

    def __init__(
        self,
        data: Dataset | StoredDataset | None = None,
        y: npt.NDArray[Any] | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        self._data = data
        self._given = None if y is None else as_numbers(y)
        self.threads = thread_count(threads)
        self._is_resolved = False
        self.folds: Folds | None = None

    def read(self) -> None:
        """Read what is not read yet; else it is read when it is needed."""

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
        """The labels, 0 and 1 where they are of two kinds."""
        if self._given is None and self._labels_of_rows is not None:
            self._given = as_numbers(self._labels_of_rows)
        return self._given

    @property
    def _labels_of_rows(self) -> Floats | None:
        return self.rows.labels

    def count(self, settings: Settings) -> Vocabulary:
        if self._is_resolved:
            raise RuntimeError("the source has served a fit, whose colors resolved its rows; make another")
        self.data.left_out.warn()
        if self.rows.elided_values:
            log.warning(
                "%s values other than 1 of sparse features count as presence",
                f"{self.rows.elided_values:,}",
            )
        log.info("rows: coded")
        return self.data.vocabulary

    def choose_dense(self, settings: Settings) -> Vocabulary:
        assert self.labels is not None
        sizes = {"budget": settings.budget, "min_count": settings.min_count}
        chosen = chosen_for(self.data.vocabulary, self.rows, self.labels, **sizes)
        if chosen is not None:
            log.info("dense features: %d became sparse, for want of room", len(chosen.binned))
            rows: Any = chosen.recode(self.rows)
            self._data = replace(self.data, rows=rows, vocabulary=chosen.vocabulary)
        return self.data.vocabulary

    def label_facts(self) -> LabelFacts | None:
        if self.labels is None:
            return None
        if self.labels.shape != (self.n_rows,):
            raise InputError(
                f"{self.n_rows:,} rows and labels of shape {self.labels.shape}; expected one label a row"
            )
        return facts_of(self.labels, "y" if self._labels_of_rows is None else "the label")

    def color(self, request: Request) -> Coloring:
        return color(self.rows, request, threads=self.threads)

    def accumulate(self, kind: type[Encoding], coloring: Coloring, settings: Settings) -> Statistic:
        assert self.labels is not None and kind.statistic is not None
        self.folds = self._folds(settings)
        extent = self._extent(number_of_folds(settings), coloring.n_colors)
        if isinstance(self.rows, StoredRows):
            self.rows.memory.check(kind.statistic.bytes_needed(extent), "counting labels")
        sums = kind.statistic.zeros(extent)
        for start, kept in self._resolved(coloring, sums=kind.sums_collisions(settings)):
            here = slice(start, start + kept.n_rows)
            sums.add(kept, self.labels[here], self.folds.of_rows[here], coloring.colors)
        return sums

    def weigh(self, settings: Settings, *, binary: bool) -> Weights:
        assert self.labels is not None and self.folds is not None
        extent, rows = self._extent(number_of_folds(settings)), self.rows
        if isinstance(rows, StoredRows):
            what = "finding the weights of linear columns (--linear 0 does without)"
            rows.memory.check(bytes_to_weigh(Size.of(rows), extent.n_folds, self.threads), what)
            rows = rows.load()
        task = Weighing(
            rows,
            Dense.of(rows),
            self.labels,
            self.folds.of_rows,
            row_sums(rows, self.data.vocabulary.hashes),
            binary=binary,
            seed=settings.seed,
        )
        return weigh(task, extent.n_folds, extent.n_several, self.threads)

    def _extent(self, n_folds: int, n_colors: int = 0) -> Extent:
        """Return how large a statistic is."""
        vocabulary = self.data.vocabulary
        extent = Extent(len(vocabulary), n_folds, len(vocabulary), n_colors)
        # Codes descend with the counts of the vocabulary's own rows, but for the fields of tables.
        if n_folds > 1 and vocabulary.fields is None and vocabulary.n_rows == self.rows.n_rows:
            extent = extent._replace(n_several=int(np.searchsorted(-vocabulary.counts, -1)))
        return extent

    def _folds(self, settings: Settings) -> Folds:
        n_rows = self.rows.n_rows
        if settings.leakage == "none":
            return Folds(np.zeros(n_rows, np.int32), settings)
        sums, keys = np.empty(n_rows, np.uint64), self.data.vocabulary.hashes
        for start, piece in self.rows.pieces():
            sums[start : start + piece.n_rows] = row_sums(piece, keys)
        hashes = row_hashes(sums, settings.seed, self.threads)
        return Folds(folds_of_hashes(hashes, settings), settings)

    def label_moments(self, statistic: Statistic) -> tuple[float, float]:
        assert self.labels is not None and self.folds is not None
        trains = self.folds.trains
        labels = self.labels if trains is None else self.labels[~trains]
        return (float(labels.mean()), float(labels.var())) if len(labels) else (0.0, 0.0)

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
        *,
        threads: int | None = None,
    ) -> None:
        super().__init__(None, y, threads=threads)
        self._batches = batches
        labels = [batch.labels for batch in batches if batch.labels is not None]
        self._labels_read = np.concatenate(labels) if labels and have_labels(batches) else None
        self._n_rows = sum(batch.n_rows for batch in batches)

    @property
    def n_rows(self) -> int:
        return self._n_rows

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
    ) -> None:
        super().__init__(None, y, threads=reader.n_jobs)
        self._read_stored = lambda: read_stored(
            reader,
            paths,
            limit,
            **limits_of(settings),
            distinct_values=settings.values == "distinct",
            later=lambda n_features: _bytes_for_labels(settings, n_features),
        )

    @property
    def data(self) -> Dataset | StoredDataset:
        """The coded rows: labels are among them, so that they are read as soon as one asks for anything."""
        if self._data is None:
            self._data = self._read_stored()
        return self._data

    def read(self) -> None:
        self._data = self.data


def _bytes_for_labels(settings: Settings, n_features: int) -> int:
    """The most memory that counting labels takes, before it is known which features are in one row only."""
    statistic = encoding_class(settings.encoding).statistic
    extent = Extent(n_features, number_of_folds(settings), n_features, 0)
    return 0 if statistic is None else int(statistic.bytes_needed(extent))


@contextlib.contextmanager
def source_of_files(
    reader: Reader, paths: list[str], settings: Settings, y: npt.NDArray[Any] | None = None
) -> Iterator[LocalSource]:
    """Open files as a source: in memory or, with a limit of memory, on disk for the time of the block."""
    if settings.memory is None:
        yield MemorySource(reader.batches(paths), y, threads=reader.n_jobs)
        return
    with limited(settings.memory, settings.cache) as limit:
        yield DiskSource(reader, paths, limit, settings, y)
