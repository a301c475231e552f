"""What features become in the rows that a model was fitted on: out of fold, by the labels of other rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.encoding.classes import tables_of_classes
from chromatic.encoding.encoded import Tables
from chromatic.encoding.protocol import Encoding, Task, parts_of
from chromatic.errors import InputError
from chromatic.fitting.labels import classes_of
from chromatic.spark.source import SparkSource

ByFold = Sequence[npt.NDArray[np.float32] | None]


def tables_by_fold(
    source: SparkSource, encoding: Encoding, classes: tuple[Any, ...] | None, weights: ByFold | None
) -> Tables:
    """Return what features become in each fold of the frame that an encoding was learned from.

    `weights` are those of the linear columns of each part, by fold; None: they are to be found again.
    """
    parts, settings = parts_of(encoding), source.settings
    kind, found_classes = _settled(source, encoding, classes)
    each, binary = classes_of(found_classes), kind != "numbers"
    tables = []
    with source.coded_by(encoding.vocabulary):
        for number, (part, of_class) in enumerate(zip(parts, each, strict=True)):
            statistic = source.accumulate(type(part), part.coloring, settings, of_class)
            moments = statistic.label_moments()
            task = Task(part.vocabulary, part.coloring, settings, binary, *moments, n_classes=len(parts))
            found = None if weights is None else weights[number]
            if part.linear is not None and found is None:
                found = source.weigh(settings, of_class, binary=binary).by_fold
            tables.append(part.with_weights(part.by_fold(task, statistic), found))
    return tables[0] if len(tables) == 1 else tables_of_classes(tables)


def _settled(
    source: SparkSource, encoding: Encoding, classes: tuple[Any, ...] | None
) -> tuple[str, npt.NDArray[Any] | None]:
    """Take the labels of the frame as the model took them; refuse others. Return their kind and classes."""
    facts, first = source.label_facts(), parts_of(encoding)[0]
    assert facts is not None
    kind = facts.kind(type(first), source.settings)
    if kind == "numbers" and first.of_numbers != first.name:
        raise InputError(f"{facts.where} has numbers and the model learned from classes; expected those")
    found = source.settle_labels(kind)
    if classes is not None and found is not None and tuple(found.tolist()) != tuple(classes):
        raise InputError(f"{facts.where} has other classes than the model; expected the frame of the fit")
    return kind, found
