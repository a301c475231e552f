"""A vocabulary that grows: the features of later rows come after those that it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.data.batch import NO_FIELD, Batch
from chromatic.data.counting import Extent, count
from chromatic.data.hashing import MISSING
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary, of_counts
from chromatic.errors import InputError

Integers = npt.NDArray[np.int64]

NONE_IS_DENSE = float("inf")  # a threshold that no feature reaches
NO_PLACE = -1


class Found(NamedTuple):
    """The features of later rows, beside those that a vocabulary has."""

    every: Vocabulary  # of the later rows alone, all sparse
    seen: npt.NDArray[np.bool_]  # which of the vocabulary's features they have
    new: Integers  # which of theirs it does not have


def found_in(batches: list[Batch], vocabulary: Vocabulary, min_count: int, threads: int = 1) -> Found:
    """Count the features of later rows; new ones are in `min_count` of them at least."""
    if vocabulary.integers and any(batch.has_names for batch in batches):
        raise InputError(
            "the features of the rows are names and those of the model are whole numbers; expected whole "
            "numbers, or a model of names"
        )
    if not vocabulary.integers:
        batches[:] = ordered_map(Batch.with_names, batches, threads)
    counted = count(batches, threads, Extent.of(batches))
    every, _, _ = of_counts(
        counted,
        integers=vocabulary.integers,
        n_rows=sum(batch.n_rows for batch in batches),
        dense_threshold=NONE_IS_DENSE,
        min_count=1,
        keep_names=vocabulary.names is not None,
        keep_fields=vocabulary.fields is not None,
        name_fields=vocabulary.fields is not None and vocabulary.schema is None,
        threads=threads,
    )
    if not every.field_names and batches:
        every = replace(every, field_names=batches[0].field_names)
    slots, seen = vocabulary.find_keys(every.hashes), np.zeros(len(vocabulary), np.bool_)
    seen[slots[slots < len(vocabulary)]] = True
    return Found(every, seen, np.flatnonzero((slots == MISSING) & (every.counts >= min_count)))


def extended(old: Vocabulary, stays: Integers, found: Found) -> Vocabulary:
    """Return a vocabulary with those features that stay, and after them the new ones."""
    more, new = found.every, found.new
    names, fields, field_names = old.names, old.fields, old.field_names
    if names is not None:
        assert more.names is not None
        names = Names.concatenate([names.take(stays), more.names.take(new)])
    if fields is not None:
        known = {name: number for number, name in enumerate(field_names)}
        of_new = np.full(len(new), NO_FIELD, np.int32)
        if more.fields is not None:
            numbers = [known.setdefault(name, len(known)) for name in more.field_names]
            of_new = np.append(numbers, NO_FIELD).astype(np.int32)[more.fields[new]]
        fields, field_names = np.concatenate((fields[stays], of_new)), tuple(known)
    return replace(
        old,
        keys=np.concatenate((old.keys[stays], more.keys[new])),
        counts=np.concatenate((old.counts[stays], more.counts[new])),
        names=names,
        fields=fields,
        field_names=field_names,
    )


def places_of(stays: Integers, found: Found) -> Integers:
    """Return where each feature of the extended vocabulary was before, NO_PLACE for the new ones."""
    return np.concatenate((stays, np.full(len(found.new), NO_PLACE)))


def moved(numbers: npt.NDArray[Any], places: Integers, axis: int = 0) -> npt.NDArray[Any]:
    """Return numbers of features at their places in the extended vocabulary; those of new ones are 0.

    Those that stay come first.
    """
    stay, at = places[places != NO_PLACE], (slice(None),) * axis
    out = np.zeros((*numbers.shape[:axis], len(places), *numbers.shape[axis + 1 :]), numbers.dtype)
    same = len(stay) == numbers.shape[axis]
    out[(*at, slice(len(stay)))] = numbers if same else numbers[(*at, stay)]
    return out
