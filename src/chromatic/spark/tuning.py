"""Settings chosen by a frame for validation: fits on Spark, judged by encoded rows that the driver fetches.

The search and the judge are those of `chromatic.learn.tuning`.
"""

from __future__ import annotations

import contextlib
import logging
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic._log import told
from chromatic._threads import thread_count
from chromatic.data.beside import Beside
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError, InputWarning
from chromatic.fitting.labels import LabelFacts, as_in_training, plain_classes
from chromatic.learn import tuning
from chromatic.learn.splits import Pair
from chromatic.learn.targets import Target, target_of
from chromatic.learn.tuning import Trial, Tuner, best_first, check_judged, check_kinds
from chromatic.parameters import Settings
from chromatic.registry import encoding_class
from chromatic.spark.arrays import encoded_of
from chromatic.spark.coding import NUMBER, number_among
from chromatic.spark.columns import TABLE, check_at_rest, check_features, quoted
from chromatic.spark.frames import errors_of_workers, fetch
from chromatic.spark.source import Place, SparkSource
from chromatic.spark.tables import with_table
from chromatic.spark.told import check, kinds_of_labels

if TYPE_CHECKING:
    from chromatic.spark.estimator import ChromaticEstimator, ChromaticModel

log = logging.getLogger("chromatic")

Floats = npt.NDArray[np.float64]

# Columns for the time of a search, beside those of the user.
ROW, LOT, LABEL, SAME = (f"_chromatic_{name}" for name in ("row", "lot", "label", "same"))
ALL = 1 << 63  # lots
VALIDATION = "the rows for validation"


@dataclass(frozen=True)
class Tuned:
    """What `ChromaticEstimator.tune` found.

    Attributes
    ----------
    model : ChromaticModel
        A model with the best settings, fitted to the training frame.
    trials : list of Trial
        What was tried, best first.
    """

    model: ChromaticModel
    trials: list[Trial]


def tune(estimator: ChromaticEstimator, train: DataFrame, validation: DataFrame) -> Tuned:
    """Choose settings by a frame for validation, and fit with them."""
    with tuner_of(estimator, train, validation) as tuner:
        trials = best_first(list(tuner.trials()))
    return Tuned(estimator._with_settings(trials[0].settings).fit(train), trials)


@contextlib.contextmanager
def tuner_of(estimator: ChromaticEstimator, train: DataFrame, validation: DataFrame) -> Iterator[Tuner]:
    """Give what tries settings; for the time of the block, Spark holds what it needs of both frames."""
    settings, place = estimator._settings, estimator._place
    check_judged(settings)
    beside = [name for name in (settings.weight, settings.group) if name is not None]
    order = [] if place.order is None else [place.order]
    _check_columns(train, place, beside + order, "the training rows")
    _check_columns(validation, place, [], VALIDATION)
    _features(train, place)
    with contextlib.ExitStack() as held, errors_of_workers(), told(settings.verbose):
        rows = held.enter_context(_with_lots(train, place, settings, beside))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # the fit to all rows tells what matters
            source = SparkSource(rows, replace(place, order=ROW), settings)
            facts = source.checked.labels
            assert facts is not None
            kind = facts.kind(encoding_class(settings.encoding), settings)
            classes = plain_classes(source.settle_labels(kind))
            vocabulary = source.count(settings)
        n_others = _check_validation(validation, place, facts, classes)
        others = held.enter_context(_with_lots(validation, place, settings, []))
        labels = _Labels(place.label, facts.text, classes)
        by = [[ROW, LOT] if place.order in frame.columns else [LOT] for frame in (train, validation)]
        learned = Judging(rows, source.checked.n_rows, labels, by[0]).chosen("training rows")
        judged = Judging(others, n_others, labels, by[1]).chosen("held-out rows")
        split = FrameSplit(estimator, source, vocabulary, learned, judged)
        yield Tuner(split, settings, learned.n_rows, thread_count(settings.threads))


def _check_columns(frame: DataFrame, place: Place, beside: list[str], where: str) -> None:
    """Refuse a stream, and a frame that lacks a column."""
    check_at_rest(frame, "settings are chosen")
    for name in (*(place.columns or (place.features,)), place.label, *beside):
        if name not in frame.columns:
            raise InputError(
                f"{where} have no column {name!r}; their columns are {', '.join(frame.columns)}"
            )


def _features(frame: DataFrame, place: Place) -> tuple[DataFrame, str]:
    """Return a frame with all features in one column, and its name; refuse columns of other types."""
    if place.columns:
        return with_table(frame, list(place.columns)), TABLE
    check_features(frame, place.features)
    return frame, place.features


@contextlib.contextmanager
def _with_lots(
    frame: DataFrame, place: Place, settings: Settings, beside: list[str]
) -> Iterator[DataFrame]:
    """Let Spark hold the columns of a frame that a search needs, with a number and a lot for each row.

    A lot follows from the seed, the row's features and label, and its number among rows that have the
    same ones: however a frame is partitioned, the same rows have low lots.
    """
    content = [*(place.columns or (place.features,)), place.label]
    order = place.order if place.order in frame.columns else None
    number = F.monotonically_increasing_id() if order is None else F.col(quoted(order))
    slim = frame.select(*map(quoted, dict.fromkeys(content + beside)), number.alias(ROW))
    same = F.xxhash64(*(_hashable(frame, name) for name in content))
    numbered = slim.withColumn(SAME, same).withColumn(NUMBER, number_among(SAME, ROW))
    lot = F.shiftrightunsigned(F.xxhash64(SAME, NUMBER, F.lit(settings.seed).cast("long")), 1)
    held = numbered.withColumn(LOT, lot).drop(SAME, NUMBER).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield held
    finally:
        held.unpersist()


def _hashable(frame: DataFrame, name: str) -> Column:
    column = F.col(quoted(name))
    return F.map_entries(column) if isinstance(frame.schema[name].dataType, T.MapType) else column


def _check_validation(
    frame: DataFrame, place: Place, training: LabelFacts, classes: tuple[Any, ...] | None
) -> int:
    """Refuse a frame that cannot judge; return the number of its rows."""
    try:
        checked = check(*_features(frame, place), Beside(place.label))
        facts = checked.labels
        assert facts is not None
        facts.check_told()
        if facts.text != training.text:
            kinds = [("texts" if one.text else "numbers") for one in (facts, training)]
            raise InputError(f"{facts.where} has {kinds[0]} and training {kinds[1]}; expected the same")
        if classes is not None:
            column = F.col(quoted(place.label))
            known = kinds_of_labels(frame, place.label, column if facts.text else column.cast("double"))
            as_in_training(np.array([one for one, _ in known]), classes)
    except InputError as error:
        raise InputError(f"{VALIDATION}: {error}") from error
    check_kinds(np.array([facts.low, facts.high]), VALIDATION)
    return checked.n_rows


@dataclass(frozen=True)
class _Labels:
    """Where frames have their labels, and what these are."""

    name: str
    text: bool
    classes: tuple[Any, ...] | None  # None: they are numbers

    @property
    def column(self) -> Column:
        column = F.col(quoted(self.name))
        return (column if self.text else column.cast("double")).alias(LABEL)

    def numbers(self, table: pa.Table) -> Floats:
        """Return fetched labels as the numbers that are predicted."""
        return as_in_training(table.column(LABEL).to_numpy(), self.classes)


@dataclass(frozen=True)
class Judging:
    """The rows of a frame that a learner learns from, or that it is judged on."""

    frame: DataFrame
    n_rows: int
    labels: _Labels
    sorted_by: list[str]
    end: int = ALL  # rows of lower lots judge
    y: Floats = field(default_factory=lambda: np.empty(0))  # the labels of these

    def chosen(self, what: str) -> Judging:
        """Take all rows or, where they are more than MOST_JUDGED, as many of those with the lowest lots."""
        most = tuning.MOST_JUDGED
        if self.n_rows <= most:
            return replace(self, y=self.labels.numbers(self._fetch(self.frame)))
        share = (most + 10 * math.isqrt(most)) / self.n_rows  # some more, to find the last lot
        more = replace(self, end=min(ALL - 1, int(share * ALL)))._fetch(self.frame)
        lots = more.column(LOT).to_numpy()
        end = int(np.sort(lots)[:most][-1]) + 1
        log.info("spark: a sample of %s of %s %s judges", f"{most:,}", f"{self.n_rows:,}", what)
        return replace(self, end=end, y=self.labels.numbers(more.filter(pa.array(lots < end))))

    def rows(self, frame: DataFrame) -> DataFrame:
        """Return those rows of a frame with lots."""
        return frame if self.end == ALL else frame.filter(F.col(LOT) < self.end)

    def _fetch(self, frame: DataFrame, *columns: str) -> pa.Table:
        """Fetch those rows of a frame, in an order that no partition changes."""
        wanted = [F.col(quoted(name)) for name in (ROW, LOT, *columns)]
        table = fetch(self.rows(frame).select(*wanted, self.labels.column))
        return table.sort_by([(name, "ascending") for name in self.sorted_by])

    def encoded(self, frame: DataFrame, model: ChromaticModel) -> tuple[Encoded, Floats]:
        """Fetch those rows of a frame that a model encoded, with their labels."""
        output = model.getOutputCol()
        table = self._fetch(frame, output)
        vectors = table.column(output).combine_chunks()
        vectors = pa.concat_arrays(vectors.chunks) if isinstance(vectors, pa.ChunkedArray) else vectors
        return encoded_of(vectors, model.encoding_), self.labels.numbers(table)


@dataclass(frozen=True)
class FrameSplit:
    """A frame to learn from and one for validation, as a search asks for them."""

    estimator: ChromaticEstimator
    source: SparkSource  # the training rows
    vocabulary: Vocabulary
    learned: Judging
    judged: Judging

    @property
    def target(self) -> Target:
        classes = self.learned.labels.classes
        return target_of(None if classes is None else np.array(classes))

    @property
    def sizes(self) -> tuple[int, int]:
        return self.learned.n_rows, self.judged.n_rows

    @cached_property
    def base_loss(self) -> float:
        """The loss of a model that knows the labels of the rows that are learned from."""
        return self.target.base_loss(self.learned.y, self.judged.y)

    def fitted(self, settings: Settings, threads: int = 1) -> Pair:
        """Fit on Spark to all training rows, and fetch the encoded rows that judge.

        As in a local search, weights and groups of rows have a say in the fit with the best settings alone.
        """
        settings = replace(settings, weight=None, group=None)
        estimator = self.estimator._with_settings(settings).setOrderCol(ROW)
        with errors_of_workers():
            model = estimator._learned(self.source.again(settings))
            model.setParams(handleUnknown="ignore")
            train = self.learned.encoded(model.transformTraining(self.learned.frame), model)
            test = self.judged.encoded(model.transform(self.judged.rows(self.judged.frame)), model)
        return Pair(*train, *test, target=self.target)
