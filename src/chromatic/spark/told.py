"""What columns of a frame tell of its rows: labels, weights and groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from chromatic.data.beside import MOST_CLASSES, Beside
from chromatic.data.cells import hashes_of_groups
from chromatic.errors import InputError
from chromatic.fitting.folds import folds_of_groups
from chromatic.fitting.labels import STEPS, Hashed, LabelFacts, checked_classes, sum_of
from chromatic.parameters import Settings
from chromatic.spark.columns import INFINITE, check_features, quoted, type_of, wrong_features
from chromatic.spark.frames import Batches, fetch, given_back

Floats = npt.NDArray[np.float64]


def asked_of_label(frame: DataFrame, label: str) -> list[Column]:
    """Return what one look over the rows asks of labels, which are numbers or texts."""
    kind, column = type_of(frame, label), F.col(quoted(label))
    if isinstance(kind, T.StringType):
        return [F.count_if(column.isNull() | (column == "")).alias("null")]
    if not isinstance(kind, (T.NumericType, T.BooleanType)):
        raise InputError(
            f"the label column {label!r} of {frame.count():,} rows is of type {kind.simpleString()}; "
            "expected numbers or texts"
        )
    number = column.cast("double")
    return [
        F.count_if(number.isNull()).alias("null"),
        F.count_if(F.isnan(number) | number.isin(*INFINITE)).alias("infinite"),
        F.min(number).alias("low"),
        F.max(number).alias("high"),
    ]


def label_facts(frame: DataFrame, label: str, told: Any) -> LabelFacts:
    """Return what a look over the labels told."""
    where, n_rows, null = f"the label column {label!r}", told["rows"], told["null"]
    if isinstance(type_of(frame, label), T.StringType):
        if null:
            return LabelFacts(where, n_rows, "", "", False, null=null, text=True)
        kinds = [kind for kind, _ in kinds_of_labels(frame, label, F.col(quoted(label)))]
        return LabelFacts(where, n_rows, kinds[0], kinds[-1], len(kinds) <= 2, text=True)
    number, low, high = F.col(quoted(label)).cast("double"), told["low"], told["high"]
    known = low is not None and not null and not told["infinite"]
    two_kinds = known and frame.filter(~number.isin(low, high)).isEmpty()
    return LabelFacts(
        where=where,
        n_rows=n_rows,
        low=low if known else 0.0,
        high=high if known else 0.0,
        two_kinds=two_kinds,
        null=null,
        infinite=told["infinite"],
        fractions=known and not two_kinds and not frame.filter(number != F.floor(number)).isEmpty(),
    )


@dataclass(frozen=True)
class Checked:
    """What one look over a frame told."""

    n_rows: int
    labels: LabelFacts | None = None


def check(frame: DataFrame, features: str, beside: Beside) -> Checked:
    """Look over the features and what is told of rows, in one job; refuse what no fit can take."""
    kind, (label, weight, group) = check_features(frame, features), beside
    beside.checked(frame.columns)
    wrong = wrong_features(kind, F.col(quoted(features)))
    asked = [F.count(F.lit(1)).alias("rows")]
    asked += [F.count_if(condition).alias(f"wrong{i}") for i, (condition, _) in enumerate(wrong)]
    asked += [] if label is None else asked_of_label(frame, label)
    asked += [] if weight is None else asked_of_weight(frame, weight)
    if group is not None:
        asked.append(F.count_if(F.col(quoted(group)).isNull()).alias("no_group"))
    told: Any = frame.agg(*asked).first()
    for i, (_, what) in enumerate(wrong):
        if told[f"wrong{i}"]:
            raise InputError(
                f"the column {features!r} {what} in {told[f'wrong{i}']:,} of {told['rows']:,} rows; "
                "filter or mend those rows"
            )
    if not told["rows"]:
        raise InputError(f"the frame of column {features!r} has 0 rows; expected at least one")
    if weight is not None:
        check_weights(weight, told)
    if group is not None and told["no_group"]:
        raise InputError(
            f"the group column {group!r} is null in {told['no_group']:,} of {told['rows']:,} rows; "
            "expected a group for every row"
        )
    return Checked(told["rows"], None if label is None else label_facts(frame, label, told))


@dataclass(frozen=True)
class SettledLabels:
    """Labels as a fit takes them: 0 and 1, the numbers of classes, or themselves."""

    column: Column
    classes: npt.NDArray[Any] | None  # None: they are numbers
    texts: tuple[str, ...] = ()  # the classes, where they are texts


def settled(frame: DataFrame, label: str, kind: str, facts: LabelFacts) -> SettledLabels:
    """Take labels as what they are."""
    column = F.col(quoted(label))
    number = column if facts.text else column.cast("double")
    if kind == "numbers":
        return SettledLabels(number, None)
    if kind == "binary":
        classes = np.array([facts.low, facts.high])
        return SettledLabels((number == F.lit(facts.high)).cast("double"), classes, _texts(classes))
    kinds, counts = zip(*kinds_of_labels(frame, label, number), strict=True)
    classes = checked_classes(np.array(kinds), np.array(counts))
    place = F.array_position(F.array(*(F.lit(one) for one in kinds)), number).cast("double") - 1.0
    return SettledLabels(place, classes, _texts(classes))


def _texts(classes: npt.NDArray[Any]) -> tuple[str, ...]:
    return tuple(classes.tolist()) if classes.dtype.kind == "U" else ()


def kinds_of_labels(frame: DataFrame, label: str, column: Column) -> list[tuple[Any, int]]:
    """Return the distinct labels, ascending, each with its rows."""
    counted = frame.groupBy(column.alias("kind")).count().limit(MOST_CLASSES + 1).collect()
    if len(counted) > MOST_CLASSES:
        raise InputError(
            f"the label column {label!r} has more than {MOST_CLASSES:,} kinds of labels; expected classes"
        )
    return sorted((row["kind"], row["count"]) for row in counted)


def asked_of_weight(frame: DataFrame, weight: str) -> list[Column]:
    """Return what one look over the rows asks of their weights."""
    kind = type_of(frame, weight)
    if not isinstance(kind, T.NumericType):
        raise InputError(
            f"the weight column {weight!r} is of type {kind.simpleString()}; expected numbers from 0"
        )
    number = F.col(quoted(weight)).cast("double")
    bad = number.isNull() | F.isnan(number) | number.isin(*INFINITE)
    return [
        F.count_if(bad).alias("bad_weights"),
        F.count_if(number < 0).alias("negative_weights"),
        F.count_if(number > 0).alias("some_weights"),
    ]


def check_weights(weight: str, told: Any) -> None:
    """Refuse weights that no row can have."""
    for key, what in (("bad_weights", "null, NaN or infinite"), ("negative_weights", "negative")):
        if told[key]:
            raise InputError(
                f"the weight column {weight!r} is {what} in {told[key]:,} of {told['rows']:,} rows; "
                "expected numbers from 0"
            )
    if not told["some_weights"]:
        raise InputError(f"the weights of all {told['rows']:,} rows are zero; expected some above 0")


def weight_unit(frame: DataFrame, weight: str) -> float:
    """Return the mean of the weights that are not 0; sums are exact, so that their order plays no part."""

    def summed(batches: Batches) -> Iterator[pa.RecordBatch]:
        total, number = Fraction(0), 0
        for batch in batches:
            weights = batch.column(0).to_numpy(zero_copy_only=False)
            total, number = total + sum_of(weights[weights > 0]), number + int((weights > 0).sum())
        arrays = [pa.array([str(total)]), pa.array([number], pa.int64())]
        yield pa.RecordBatch.from_arrays(arrays, ["total", "number"])

    given = frame.select(F.col(quoted(weight)).cast("double"))
    parts = given.mapInArrow(summed, "total string, number long").collect()
    total, number = Fraction(0), 0
    for part in parts:
        total, number = total + Fraction(part["total"]), number + part["number"]
    return float(total / number)


def weight_in_units(weight: str, unit: float) -> Column:
    """Return the weights of rows as `in_units` does it."""
    given = F.col(quoted(weight)).cast("double")
    steps = F.greatest(F.rint(given / F.lit(unit) * F.lit(float(STEPS))), F.lit(1.0))
    return F.when(given > 0, steps).otherwise(F.lit(0.0)) / F.lit(float(STEPS))


@dataclass(frozen=True)
class Groups:
    """The fold of each group of rows, by the hashes of groups."""

    name: str
    hashes: npt.NDArray[np.uint64]  # ascending
    folds: npt.NDArray[np.int32]

    @classmethod
    def of(cls, frame: DataFrame, name: str, settings: Settings) -> Groups:
        """Fetch the distinct groups, and deal them into folds as a local fit does."""
        type_of(frame, name)

        def hashed(batches: Batches) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                hashes = np.unique(hashes_of_groups(name, batch.column(0)))
                yield from given_back({"group": hashes.view(np.int64)})

        table = fetch(frame.select(quoted(name)).mapInArrow(hashed, "group long").distinct())
        kinds = np.sort(table.column("group").to_numpy().view(np.uint64))
        return cls(name, kinds, folds_of_groups(Hashed(kinds), len(kinds), settings))

    def folds_of(self, cells: pa.Array) -> npt.NDArray[np.int32]:
        """Return the fold of each row, from its group."""
        hashes = hashes_of_groups(self.name, cells)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        if (self.hashes[places] != hashes).any():
            raise InputError(
                f"the group column {self.name!r} has groups that the rows before did not have; expected "
                "the frame of the fit"
            )
        return self.folds[places]
