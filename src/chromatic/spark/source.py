"""A frame as training rows: what grows with rows stays on the workers, the rest is on the driver."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Coloring, Request, Size, represent
from chromatic.data.dense import Integers, choose, has_room
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary, check_limits
from chromatic.encoding.encoded import Tables
from chromatic.encoding.protocol import Encoding, Task
from chromatic.encoding.statistics import Extent, Floats, Statistic
from chromatic.errors import InputError
from chromatic.fitting import Source
from chromatic.fitting.folds import number_of_folds
from chromatic.fitting.labels import LabelFacts
from chromatic.parameters import Settings
from chromatic.spark.coding import Numbering, code, dense_facts, learn_vocabulary
from chromatic.spark.colors import BYS, Coded, color_frame
from chromatic.spark.columns import Checked, check
from chromatic.spark.frames import Batches, coded_chunks, fetch_rows
from chromatic.spark.shuffle import add_up, merged

log = logging.getLogger("chromatic")


@dataclass(frozen=True)
class Place:
    """Where a frame has its features and labels, and the memory that may be used."""

    features: str
    label: str
    order: str | None = None  # the column that numbers identical rows
    driver_bytes: int = 8 << 30
    broadcast_bytes: int = 1 << 30
    color_by: str | None = None  # where the rows do not fit the driver: one of `colors.BYS`

    def __post_init__(self) -> None:
        if self.color_by not in (None, *BYS):
            raise InputError(f"colorBy is {self.color_by!r}; expected {' or '.join(BYS)}, or none")


class SparkSource(Source):
    """The rows of a frame; with `by_fold`, coded rows know their fold, which a fit does not need."""

    weighs = keeps = False

    def __init__(
        self,
        frame: DataFrame,
        place: Place,
        *,
        uses_labels: bool,
        by_fold: bool = False,
        threads: int = 1,
    ) -> None:
        self.frame, self.place, self.by_fold, self.threads = frame, place, by_fold, threads
        self.uses_labels = uses_labels
        self._checked: Checked | None = None
        self._vocabulary: Vocabulary | None = None
        self._coded: DataFrame | None = None
        self._label_kind = "binary"

    @property
    def checked(self) -> Checked:
        """What a look over the frame told."""
        if self._checked is None:
            label = self.place.label if self.uses_labels else None
            self._checked = check(self.frame, self.place.features, label)
        return self._checked

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
        n_rows = self.checked.n_rows
        self._vocabulary = learn_vocabulary(self.frame, self.place.features, n_rows, settings)
        return self._vocabulary

    def choose_dense(self, settings: Settings) -> Vocabulary:
        assert self._vocabulary is not None
        if has_room(self._vocabulary, settings.budget):
            return self._vocabulary

        def refuse(numbers: Integers) -> Floats:
            raise InputError(
                f"the budget is {settings.budget} and {len(numbers):,} dense features have values other "
                "than 1, among which Spark does not choose; expected a larger budget, or a local fit"
            )

        facts = dense_facts(self.frame, self.place.features, self._vocabulary)
        sizes = {"budget": settings.budget, "min_count": settings.min_count}
        self._vocabulary = choose(self._vocabulary, facts, refuse, **sizes).vocabulary
        return self._vocabulary

    def label_facts(self) -> LabelFacts | None:
        return self.checked.labels

    def settle_labels(self, kind: str) -> npt.NDArray[Any] | None:
        facts = self.checked.labels
        assert facts is not None
        if kind == "classes":
            raise InputError(
                f"{facts.where} has several classes, which Spark does not fit yet; expected labels of two "
                "kinds or numbers, or a local fit"
            )
        self._label_kind = kind
        return np.array([facts.low, facts.high]) if kind == "binary" else None

    @contextlib.contextmanager
    def coded(self, settings: Settings) -> Iterator[None]:
        """Let the workers hold the coded rows."""
        assert self._vocabulary is not None
        coded = self.code(self._vocabulary, settings)
        self._coded = coded.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield
        finally:
            self._coded.unpersist()

    def code(self, vocabulary: Vocabulary, settings: Settings) -> DataFrame:
        """Return the frame of coded rows, with labels and, where statistics need them, folds."""
        label = numbering = None
        if self.uses_labels:
            label = self.checked.label(self.place.label, self._label_kind)
            if self.by_fold or settings.leakage == "split":
                numbering = Numbering(settings, self.place.order)
        return code(
            self.frame,
            self.place.features,
            vocabulary,
            label=label,
            numbering=numbering,
            most_broadcast=self.place.broadcast_bytes,
        )

    def color(self, request: Request) -> Coloring:
        assert self._coded is not None and self._vocabulary is not None
        coded, vocabulary, size = self._coded, self._vocabulary, self._measure()

        def rows() -> Rows:
            return fetch_rows(coded, size, vocabulary.fingerprint)

        return color_frame(
            Coded(coded, vocabulary, size, rows),
            request,
            by=self.place.color_by,
            most_bytes=self.place.driver_bytes,
            threads=self.threads,
        )

    def _measure(self) -> Size:
        """Return how large the coded rows are."""
        assert self._coded is not None and self._vocabulary is not None
        size = F.size("codes")
        asked = F.sum(size.cast("long")).alias("entries"), F.max(size).alias("largest")
        told: Any = self._coded.agg(*asked).first()
        return Size(self.checked.n_rows, len(self._vocabulary), int(told["entries"]), int(told["largest"]))

    def accumulate(
        self, kind: type[Encoding], coloring: Coloring, settings: Settings, of_class: int | None = None
    ) -> Statistic:
        assert self._coded is not None
        sums = kind.sums_collisions(settings)
        return accumulate(self._coded, kind, coloring, 1, sums=sums)  # by fold only for training rows


def tables_by_fold(frame: DataFrame, place: Place, settings: Settings, encoding: Encoding) -> Tables:
    """Return what features become in each fold of the frame that an encoding was learned from."""
    assert encoding.statistic is not None
    source = SparkSource(frame, place, uses_labels=True, by_fold=True)
    facts = source.label_facts()
    assert facts is not None
    kind = facts.kind(type(encoding), settings)
    if kind == "numbers" and encoding.of_numbers != encoding.name:
        raise InputError(f"{facts.where} has numbers and the model learned from two kinds; expected those")
    source.settle_labels(kind)
    coded = source.code(encoding.vocabulary, settings)
    n_folds = number_of_folds(settings)
    statistic = accumulate(coded, type(encoding), encoding.coloring, n_folds, sums=encoding.sums)
    moments = statistic.label_moments()
    task = Task(encoding.vocabulary, encoding.coloring, settings, kind == "binary", *moments)
    return encoding.by_fold(task, statistic)


def accumulate(
    coded: DataFrame, kind: type[Encoding], coloring: Coloring, n_folds: int, *, sums: bool
) -> Statistic:
    """Sum the statistic of an encoding over coded rows: counted on the workers, added up by Spark.

    A slot f + folds · v is of feature v in fold f. After the features come the colors, then all rows.
    Without `sums`, a row counts for the rarest of its features of a color only.
    """
    assert kind.statistic is not None
    # The workers need colors only; what each feature found taken is as large again.
    light = replace(coloring, forbidden=np.empty(0, np.int32))
    shared = coded.sparkSession.sparkContext.broadcast(light)
    n_features, fingerprint = len(coloring.colors), coloring.vocabulary
    statistic = kind.statistic
    measures = statistic.measures

    def counted(batches: Batches) -> Iterator[pa.Table]:
        for rows, table in coded_chunks(batches, n_features, fingerprint):
            fold = np.zeros(rows.n_rows, np.int32)
            if "fold" in table.column_names:
                fold = table.column("fold").to_numpy().astype(np.int32)
            labels = np.array(table.column("label").to_numpy(), np.float64)
            kept = rows if sums else represent(rows, shared.value)[0]
            part = statistic, shared.value, n_folds
            yield pa.table(_cells(kept, labels, fold, part))

    n_places = n_features + coloring.n_colors + 1
    cells = np.zeros((len(measures), n_places * n_folds))
    for table in merged(coded, counted, add_up):
        slots = table.column("key").to_numpy()
        for place, measure in enumerate(measures):
            cells[place, slots] = table.column(measure).to_numpy()
    shared.unpersist()
    return statistic.of_cells(cells.reshape(len(measures), n_places, n_folds), coloring.n_colors)


def _cells(
    rows: Rows,
    labels: Floats,
    fold: npt.NDArray[np.int32],
    part: tuple[type[Statistic], Coloring, int],
) -> dict[str, Any]:
    """Return the cells of some rows that are not empty, with their slots."""
    statistic, coloring, n_folds = part
    codes, number = np.unique(rows.codes, return_inverse=True)
    compact = replace(rows, codes=number.astype(np.uint32), n_features=len(codes))
    sums = statistic.zeros(Extent(len(codes), n_folds, len(codes), coloring.n_colors))
    sums.add(compact, labels, fold, coloring.colors[codes])
    cells = sums.cells().reshape(len(statistic.measures), -1)
    after = np.arange(rows.n_features, rows.n_features + coloring.n_colors + 1)
    slots = (np.append(codes.astype(np.int64), after)[:, None] * n_folds + np.arange(n_folds)).ravel()
    some = np.flatnonzero(cells[0])
    return {"key": slots[some], **dict(zip(statistic.measures, cells[:, some], strict=True))}
