"""Models of the same features and colors, made one: what they keep of their rows adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from chromatic.encoding.classes import ClassesEncoding
from chromatic.encoding.protocol import Encoding, Task
from chromatic.errors import InputError
from chromatic.fitting.kept import Kept, as_learned_from
from chromatic.fitting.labels import class_names
from chromatic.fitting.onward import merged_weights
from chromatic.parameters import Settings


class Living(NamedTuple):
    """An encoding, and what is kept of its rows."""

    encoding: Encoding
    kept: Kept

    @property
    def parts(self) -> list[Encoding]:
        """The encoding, or that of each of several classes."""
        return [one.part for one in self.encoding.of_classes()] or [self.encoding]


def check_alike(first: Encoding, other: Encoding) -> None:
    """Refuse encodings whose statistics do not speak of the same things."""
    a, b = first.vocabulary, other.vocabulary
    same = a.integers == b.integers and a.dense_names == b.dense_names and np.array_equal(a.keys, b.keys)
    if not same or first.name != other.name:
        raise InputError(
            "the models are of other features or encodings; expected models fitted like each other (--like)"
        )
    if not np.array_equal(first.coloring.colors, other.coloring.colors):
        raise InputError("the models have other colors; expected models fitted like each other (--like)")


def merge(models: Sequence[Living], settings: Settings, classes: tuple[Any, ...] | None) -> Living:
    """Return the model of the rows of all: columns are learned anew, from the sums of all statistics."""
    first = models[0].encoding
    for other in models[1:]:
        check_alike(first, other.encoding)
    kept: Kept = reduce(lambda a, b: a + b, [one.kept for one in models])
    counts = np.sum([one.encoding.vocabulary.counts for one in models], axis=0)
    n_rows = sum(one.encoding.vocabulary.n_rows for one in models)
    vocabulary = replace(first.vocabulary, counts=counts, n_rows=n_rows)
    kind, parts = type(models[0].parts[0]), range(len(models[0].parts))
    linears = [_linear(models, part) for part in parts]
    n_linear = 0 if linears[0] is None else linears[0].n_columns
    task = Task(vocabulary, first.coloring, settings, n_classes=len(parts), n_linear=n_linear)
    task = replace(task, binary=classes is not None)
    statistics = [as_learned_from(one, kind) for one in kept.statistics]
    tasks = []
    for statistic, residual in zip(statistics, kept.residuals, strict=True):
        mean, variance = statistic.label_moments()
        tasks.append(replace(task, mean=mean, variance=variance, residual=residual))
    encodings = [
        replace(encoding, sums=first.sums, linear=linear)
        for encoding, linear in zip(kind.learn_each(tasks, statistics), linears, strict=True)
    ]
    if len(encodings) == 1:
        return Living(encodings[0], kept)
    return Living(ClassesEncoding.of(encodings, class_names(np.array(classes))), kept)


def _linear(models: Sequence[Living], part: int) -> Any:
    """Return the weights of one class by the rows of all models."""
    linear = models[0].parts[part].linear
    if linear is None:
        return None
    certainty = models[0].kept.certainties[part]
    for other in models[1:]:
        of_other = other.parts[part].linear
        assert of_other is not None
        both = certainty, other.kept.certainties[part]
        linear, certainty = merged_weights((linear, of_other), both), both[0] + both[1]
    return linear
