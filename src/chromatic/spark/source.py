"""A frame as training rows: what grows with rows stays on the workers, the rest is on the driver."""

from __future__ import annotations

import contextlib
import copy
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic._threads import thread_count
from chromatic.coloring import Coloring, Request, Size
from chromatic.data.beside import Beside
from chromatic.data.dense import choose, has_room
from chromatic.data.rows import Rows
from chromatic.data.schema import Schema
from chromatic.data.vocabulary import Vocabulary, check_limits
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.statistics import Statistic
from chromatic.errors import InputError
from chromatic.fitting import Source
from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.labels import LabelFacts, classes_of
from chromatic.fitting.onward import with_certainty
from chromatic.fitting.weights import Weights, bytes_to_weigh, weigh
from chromatic.parameters import Settings
from chromatic.spark.coding import DRAW, Numbering, code
from chromatic.spark.colors import BYS, Coded, color_frame
from chromatic.spark.columns import TABLE, quoted
from chromatic.spark.counting import learn_vocabulary
from chromatic.spark.dense import DenseRows
from chromatic.spark.frames import fetch, fetch_rows, rows_of_table
from chromatic.spark.rounds import Far
from chromatic.spark.sums import OfRows, Summing, accumulate
from chromatic.spark.tables import look, with_table
from chromatic.spark.told import (
    Checked,
    Groups,
    SettledLabels,
    check,
    settled,
    weight_in_units,
    weight_unit,
)
from chromatic.spark.weighing import weighing

log = logging.getLogger("chromatic")


@dataclass(frozen=True)
class Place:
    """Where a frame has its features and labels, and the memory that may be used."""

    features: str
    label: str
    order: str | None = None  # the column that numbers identical rows
    columns: tuple[str, ...] = ()  # those of a table, where features are not in one column
    driver_bytes: int = 8 << 30
    broadcast_bytes: int = 1 << 30
    color_by: str | None = None  # where the rows do not fit the driver: one of `colors.BYS`

    def __post_init__(self) -> None:
        if self.color_by not in (None, *BYS):
            raise InputError(f"colorBy is {self.color_by!r}; expected {' or '.join(BYS)}, or none")


class SparkSource(Source):
    """The rows of a frame; with `by_fold`, statistics are summed by fold, which a fit does not need."""

    def __init__(
        self,
        frame: DataFrame,
        place: Place,
        settings: Settings,
        *,
        uses_labels: bool = True,
        by_fold: bool = False,
    ) -> None:
        self.frame, self.place, self.settings = frame, place, settings
        self.uses_labels, self.by_fold = uses_labels, by_fold
        told_by = [one for one in self.beside if one in (*place.columns, place.features)]
        if told_by:
            raise InputError(
                f"the column {told_by[0]!r} is named as input, and as the label, weight or group of rows; "
                "expected other columns as input"
            )
        if place.columns:
            self.frame = with_table(frame, list(place.columns))
            self.place = replace(place, features=TABLE)
        self.threads = thread_count(settings.threads)
        self._counted: Vocabulary | None = None  # before a budget has chosen its dense columns
        self._vocabulary: Vocabulary | None = None
        self._labels: SettledLabels | None = None
        self._coded: DataFrame | None = None
        self._fetched: pa.Table | None = None
        self._size: Size | None = None
        self.weight_unit = 1.0  # the weight of a row that counts as one, once rows are coded

    @property
    def beside(self) -> Beside:
        """The columns that tell of rows, as far as the fit asks for them."""
        settings = self.settings
        return Beside(self.place.label, settings.weight, settings.group) if self.uses_labels else Beside()

    @property
    def has_weights(self) -> bool:  # type: ignore[override]
        return self.beside.weight is not None

    @cached_property
    def checked(self) -> Checked:
        """What a look over the frame told."""
        return check(self.frame, self.place.features, self.beside)

    @cached_property
    def schema(self) -> Schema | None:
        """What the columns of a table are, and its labels; None: there is neither a table nor a text."""
        texts = () if self._labels is None else self._labels.texts
        if self.place.columns:
            return replace(look(self.frame, self.settings.categorical), classes=texts)
        return Schema((), texts) if texts else None

    def count(self, settings: Settings) -> Vocabulary:
        if settings.values == "distinct":
            raise InputError(
                "values is 'distinct', which Spark does not serve; expected 'elide', or a local fit"
            )
        if settings.leakage == "crossfit" and settings.folds == "consecutive":
            raise InputError(
                "folds is 'consecutive' and the rows of a frame have no order; expected a number of folds, "
                "or a local fit"
            )
        check_limits(settings.dense_threshold, settings.min_count)
        if self._counted is None:
            n_rows, features = self.checked.n_rows, self.place.features
            self._counted = learn_vocabulary(self.frame, features, n_rows, settings, self.schema)
        self._vocabulary = self._counted
        return self._vocabulary

    def again(self, settings: Settings) -> SparkSource:
        """Return the same rows for a fit with other settings, which need not count their features again."""
        source = copy.copy(self)
        source.settings, source._vocabulary, source._size = settings, None, None
        return source

    def choose_dense(self, settings: Settings) -> Vocabulary:
        assert self._vocabulary is not None
        if has_room(self._vocabulary, settings.budget):
            return self._vocabulary
        assert self._labels is not None
        features = F.col(quoted(self.place.features)).alias("features")
        rows = DenseRows(
            self.frame.select(features, self._labels.column.alias("label")),
            self._vocabulary,
            tuple(classes_of(self._labels.classes)),
        )
        sizes = {"budget": settings.budget, "min_count": settings.min_count}
        self._vocabulary = choose(self._vocabulary, rows.facts(), rows.telling, **sizes).vocabulary
        return self._vocabulary

    def label_facts(self) -> LabelFacts | None:
        return self.checked.labels

    def settle_labels(self, kind: str) -> npt.NDArray[Any] | None:
        assert self.checked.labels is not None
        self._labels = settled(self.frame, self.place.label, kind, self.checked.labels)
        return self._labels.classes

    @contextlib.contextmanager
    def coded(self, settings: Settings) -> Iterator[None]:
        """Let the workers hold the coded rows."""
        assert self._vocabulary is not None
        with self.coded_by(self._vocabulary):
            yield

    @contextlib.contextmanager
    def coded_by(self, vocabulary: Vocabulary) -> Iterator[None]:
        """Let the workers hold the rows as a vocabulary codes them."""
        self._vocabulary = vocabulary
        self._coded = self._code(vocabulary).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            self._coded.unpersist()
            self._fetched = None

    def numbering(self) -> Numbering:
        """Return how rows get their folds."""
        group = self.beside.group
        groups = None if group is None else Groups.of(self.frame, group, self.settings)
        return Numbering(self.settings, self.place.order, groups)

    @property
    def _weighs(self) -> bool:
        """Whether there may be linear columns."""
        settings = self.settings
        return self.uses_labels and settings.linear != 0 and settings.collisions == "sum"

    def _code(self, vocabulary: Vocabulary) -> DataFrame:
        """Return the frame of coded rows, with what is told of rows, folds and dense columns as needed."""
        beside = [F.lit(0.0).alias("label")]
        if self.uses_labels:
            assert self._labels is not None
            beside = [self._labels.column.alias("label")]
        weight = self.beside.weight
        if weight is not None:
            self.weight_unit = weight_unit(self.frame, weight)
            beside.append(weight_in_units(weight, self.weight_unit).alias("weight"))
        numbered = self.uses_labels and (self.by_fold or self._weighs or self.settings.leakage == "split")
        return code(
            self.frame,
            self.place.features,
            vocabulary,
            beside=beside,
            numbering=self.numbering() if numbered else None,
            dense=self._weighs,
            most_broadcast=self.place.broadcast_bytes,
        )

    def color(self, request: Request) -> Coloring:
        assert self._coded is not None and self._vocabulary is not None
        coded = Coded(self._coded, self._vocabulary, self._measure(), self._rows)
        most, by = self.place.driver_bytes, self.place.color_by
        return color_frame(coded, request, by=by, most_bytes=most, threads=self.threads)

    def _rows(self) -> Rows:
        """Fetch the coded rows: with all that weights need of them, or the codes alone."""
        assert self._coded is not None and self._vocabulary is not None
        if self._weighs and self._bytes_to_weigh() <= self.place.driver_bytes:
            return self._fetched_rows()
        return fetch_rows(self._coded, self._measure(), self._vocabulary.fingerprint)

    def _fetched_rows(self) -> Rows:
        """Fetch the coded rows, and all that is told of them, once."""
        assert self._coded is not None and self._vocabulary is not None
        if self._fetched is None:
            self._fetched = fetch(self._coded.drop(DRAW))
        n_features, fingerprint = len(self._vocabulary), self._vocabulary.fingerprint
        return rows_of_table(self._fetched, n_features, fingerprint)

    def _measure(self) -> Size:
        """Return how large the coded rows are."""
        assert self._coded is not None and self._vocabulary is not None
        if self._size is None:
            size = F.size("codes")
            asked = F.sum(size.cast("long")).alias("entries"), F.max(size).alias("largest")
            told: Any = self._coded.agg(*asked).first()
            n_dense = len(self._vocabulary.dense_names) if "dense" in self._coded.columns else 0
            of_rows = int(told["entries"] or 0), int(told["largest"] or 0)
            self._size = Size(self.checked.n_rows, len(self._vocabulary), *of_rows, n_dense)
        return self._size

    def accumulate(
        self, kind: type[Encoding], coloring: Coloring, settings: Settings, of_class: int | None = None
    ) -> Statistic:
        assert self._coded is not None
        statistic = kind.weighted if self.has_weights else kind.statistic
        n_folds = number_of_folds(settings) if self.by_fold else 1
        summing = Summing(statistic, n_folds, kind.sums_collisions(settings), of_class)
        return accumulate(self._coded, coloring, summing)

    def _bytes_to_weigh(self) -> int:
        """Return the bytes to find weights on the driver, with the table that the rows are fetched as."""
        size = self._measure()
        fetched = 4 * size.n_entries + size.n_rows * (24 + 8 * size.n_dense)
        return fetched + bytes_to_weigh(size, number_of_folds(self.settings))

    def weigh(self, settings: Settings, of_class: int | None = None, *, binary: bool) -> Weights:
        """Find weights on the driver where the rows fit it, as a local fit does, else on the workers."""
        assert self._coded is not None and self._vocabulary is not None
        n_folds, size = number_of_folds(settings), self._measure()
        vocabulary, most = self._vocabulary, self.place.driver_bytes
        needed = self._bytes_to_weigh()
        fits = needed <= most and size.n_rows < 1 << 32
        log.info(
            "spark: %s rows need %s MB on the driver for weights: found on %s",
            f"{size.n_rows:,}",
            f"{needed >> 20:,}",
            "the driver" if fits else "the workers",
        )
        if fits:
            rows, told = self._fetched_rows(), OfRows.of(self._fetched, of_class)
            task = weighing(rows, told, vocabulary, settings, binary=binary)
            found = weigh(task, n_folds, self.threads)
            return found if settings.keep is None else with_certainty(found, task)
        if settings.keep is not None:
            raise InputError(
                f"keep is {settings.keep!r} and the weights of linear columns need {needed >> 20:,} MB on "
                "the driver; expected so much driverMemoryInMB, or linear=0, or no keep"
            )
        return Far(
            vocabulary,
            settings,
            size.n_rows,
            binary=binary,
            coded=self._coded,
            size=size,
            of_class=of_class,
        ).weigh()
