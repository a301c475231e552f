"""Models of the same features and colors, made one: what they keep of their rows adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from chromatic.encoding.classes import together
from chromatic.encoding.linear import Linear
from chromatic.encoding.protocol import Encoding, Task, parts_of
from chromatic.errors import InputError
from chromatic.fitting.kept import Kept, Living, as_learned_from
from chromatic.fitting.labels import class_names
from chromatic.fitting.onward import merged_weights
from chromatic.parameters import Settings


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
        if other.kept.weight_unit != models[0].kept.weight_unit:
            raise InputError(
                "the models have other units of weights; expected models fitted like each other (--like)"
            )
    kept: Kept = reduce(lambda a, b: a + b, [one.kept for one in models])
    vocabulary, kind = kept.counted(first.vocabulary), type(parts_of(first)[0])
    linears = [_linear(models, part) for part in range(len(kept.parts))]
    n_linear = 0 if linears[0] is None else linears[0].n_columns
    tasks = [
        Task(
            vocabulary,
            first.coloring,
            settings,
            binary=classes is not None,
            mean=part.spread.mean,
            variance=part.spread.variance,
            residual=part.spread.residual,
            n_linear=n_linear,
            n_classes=len(kept.parts),
        )
        for part in kept.parts
    ]
    learned = kind.learn_each(tasks, [as_learned_from(part.sums, kind) for part in kept.parts])
    encodings = [
        replace(one, sums=first.sums, linear=linear) for one, linear in zip(learned, linears, strict=True)
    ]
    labels = [] if classes is None else class_names(np.array(classes))
    return Living(together(encodings, labels), kept)


def _linear(models: Sequence[Living], number: int) -> Linear | None:
    """Return the weights of one class by the rows of all models."""
    linears = [parts_of(one.encoding)[number].linear for one in models]
    certainties = [one.kept.parts[number].certainty for one in models]
    known = [one for one in linears if one is not None], [one for one in certainties if one is not None]
    return merged_weights(*known) if known[0] else None
