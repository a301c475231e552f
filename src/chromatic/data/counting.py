"""How many rows have each feature: counted over batches, on threads, the same for any of them.

Integers that lie close together are counted in an array over their values. All other features are
dealt by the top bits of their order to PARTS tables, small enough for a cache, which threads fill
independently; joined, the parts are in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, prefetch
from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, Tokens
from chromatic.data.hashing import HashIndex
from chromatic.data.names import Names

PARTS = 16


@dataclass(frozen=True)
class Counted:
    """The distinct features of some batches, numbered in the order that breaks ties of counts."""

    keys: npt.NDArray[Any]  # uint32 values or uint64 hashes
    counts: npt.NDArray[np.int64]
    all_names: Names | None = None  # of all batches, one after the other
    name_at: npt.NDArray[np.int64] | None = None  # the name of each feature in `all_names`
    fields: npt.NDArray[np.int32] | None = None
    dealt: list[_Dealt] | None = None  # of each batch; None: the ids of batches are the numbers

    def names(self, of: npt.NDArray[np.int64], threads: int = 1) -> Names:
        if self.all_names is None or self.name_at is None:
            return Names.of_integers(self.keys[of])
        pieces = np.array_split(self.name_at[of], 4 * threads)
        return Names.concatenate(list(ordered_map(self.all_names.take, pieces, threads)))

    def by_batch(self, slot_of: npt.NDArray[np.uint32]) -> Callable[[int], npt.NDArray[np.uint32]]:
        """From the slots of all features, a function that gives those of the ids of the i-th batch.

        It keeps only what it needs: the counts can be let go.
        """
        if self.dealt is None:
            return lambda i: slot_of
        dealt = self.dealt

        def slots_of(i: int) -> npt.NDArray[np.uint32]:
            slots = np.empty(len(dealt[i].order), np.uint32)
            slots[dealt[i].order] = slot_of[dealt[i].numbers]
            return slots

        return slots_of


@dataclass(frozen=True)
class Extent:
    """What must be known of batches before they are counted."""

    integers: bool  # whether no feature has a name
    largest: int  # of the integers
    entries: int  # features of all rows

    @classmethod
    def of(cls, batches: list[Batch]) -> Extent:
        """Look at batches in memory."""
        # the ids of integers that were gathered are no integers themselves: take them to be large
        ends = (int(batch.ids.max(initial=0)) if batch.tokens is None else 1 << 32 for batch in batches)
        integers = not any(batch.has_names for batch in batches)
        return cls(integers, max(ends), sum(len(batch.ids) for batch in batches))


def count(batches: Iterable[Batch], threads: int = 1, extent: Extent | None = None) -> Counted:
    """Count in how many rows each feature of batches is.

    A list is counted on threads. Its batches are replaced by batches with tokens where these were needed,
    and the numbers of each batch's features are kept. Other batches whose extent is known are counted one
    by one, and none is held.
    """
    if extent is None:
        batches = batches if isinstance(batches, list) else list(batches)
        extent = Extent.of(batches)
    narrow = extent.integers and is_narrow(extent.largest, extent.entries // 2)
    if isinstance(batches, list):
        if narrow:
            shares = [batches[i::threads] for i in range(min(threads, len(batches)))]
            return _count_narrow(shares, extent.largest + 1, threads)
        gather = Batch.with_tokens if extent.integers else Batch.with_names
        batches[:] = ordered_map(gather, batches, threads)
        return _count_dealt(batches, threads)
    if narrow:
        return _count_narrow([batches], extent.largest + 1, 1)
    return _count_one_by_one(batches, extent.integers)


def _count_one_by_one(batches: Iterable[Batch], integers: bool) -> Counted:
    index, counts = HashIndex(), np.zeros(1 << 10, np.int64)
    new: list[Tokens] = []
    for batch in batches:
        batch = batch.with_tokens() if integers else batch.with_names()
        assert batch.tokens is not None
        numbers, first = index.add(batch.tokens.hashes)
        new.append(batch.tokens.take(first))
        if len(index) > len(counts):
            counts.resize(2 * len(index), refcheck=False)
        of_batch = np.zeros(len(numbers), np.int64)
        _add_counts(batch.ids, of_batch)
        counts[numbers] += of_batch
    tokens = Tokens.concatenate(new)
    order = np.argsort(_ties(tokens.hashes, tokens.integers))
    keys = tokens.hashes if tokens.integers is None else tokens.integers
    fields = None if tokens.fields is None else tokens.fields[order]
    return Counted(keys[order], counts[order], tokens.names, order, fields)


def is_narrow(largest: int, enough: int) -> bool:
    """Whether an array over all integers up to the largest is of reasonable size."""
    return largest < max(1 << 22, enough)


def _count_narrow(shares: Sequence[Iterable[Batch]], size: int, threads: int) -> Counted:
    def count_share(share: Iterable[Batch]) -> npt.NDArray[np.int64]:
        counts = np.zeros(size, np.int64)
        for batch in share:
            _add_counts(batch.ids, counts)
        return counts

    counts, *others = ordered_map(count_share, shares, threads)
    for more in others:
        counts += more
    return Counted(np.arange(size, dtype=np.uint32), counts)


@dataclass(frozen=True)
class _Dealt:
    """The features of one batch, dealt to the parts."""

    hashes: npt.NDArray[np.uint64]  # part by part, as the counts and numbers
    counts: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]  # where each stands in the batch
    ends: npt.NDArray[np.int64]  # of the parts
    numbers: npt.NDArray[np.int64]  # filled in by the parts


def _ties(hashes: npt.NDArray[np.uint64], integers: npt.NDArray[np.uint32] | None) -> Any:
    """What orders features of equal count: integers by value, strings by the hash's signed view.

    Spark has no unsigned 64-bit integers.
    """
    if integers is not None:
        return integers.astype(np.uint64) << np.uint64(32)
    return hashes ^ np.uint64(1 << 63)


def _deal(batch: Batch) -> _Dealt:
    assert batch.tokens is not None
    hashes = batch.tokens.hashes
    counts = np.zeros(len(hashes), np.int64)
    _add_counts(batch.ids, counts)
    order, ends = np.empty(len(hashes), np.int64), np.zeros(PARTS + 1, np.int64)
    _deal_parts(_ties(hashes, batch.tokens.integers), order, ends)
    return _Dealt(hashes[order], counts[order], order, ends, np.empty(len(hashes), np.int64))


def _count_dealt(batches: list[Batch], threads: int) -> Counted:
    dealt = list(ordered_map(_deal, batches, threads))
    parts = list(ordered_map(lambda part: _count_part(batches, dealt, part), range(PARTS), threads))
    bases = np.cumsum([0] + [len(counts) for counts, _ in parts])
    for of_batch in dealt:
        of_batch.numbers[:] += np.repeat(bases[:-1], np.diff(of_batch.ends))
    counts = np.concatenate([counts for counts, _ in parts])
    first = np.concatenate([first for _, first in parts])
    tokens = Tokens.concatenate([batch.tokens for batch in batches if batch.tokens is not None])
    keys = tokens.hashes if tokens.integers is None else tokens.integers
    fields = None if tokens.fields is None else tokens.fields[first]
    return Counted(keys[first], counts, tokens.names, first, fields=fields, dealt=dealt)


def _count_part(
    batches: list[Batch], dealt: list[_Dealt], part: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Merge the features of one part: their counts, and where each first stands in all batches."""
    slices = [slice(of_batch.ends[part], of_batch.ends[part + 1]) for of_batch in dealt]
    index = HashIndex(sum(here.stop - here.start for here in slices) // 2)
    numbers, firsts, ties, before = [], [], [], 0
    for batch, of_batch, here in zip(batches, dealt, slices, strict=True):
        assert batch.tokens is not None
        number, first = index.add(of_batch.hashes[here])
        at = of_batch.order[here][first]
        numbers.append(number)
        firsts.append(at + before)
        integers = batch.tokens.integers
        ties.append(_ties(batch.tokens.hashes[at], None if integers is None else integers[at]))
        before += len(of_batch.order)
    counts = np.zeros(len(index), np.int64)
    order = np.argsort(np.concatenate(ties))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    for of_batch, here, number in zip(dealt, slices, numbers, strict=True):
        of_batch.numbers[here] = rank[number]
        counts[of_batch.numbers[here]] += of_batch.counts[here]
    return counts, np.concatenate(firsts)[order]


@kernel
def _add_counts(ids, counts):  # type: ignore[no-untyped-def]
    for i in range(len(ids)):
        if i + 16 < len(ids):
            prefetch(counts, np.int64(ids[i + 16]))
        counts[ids[i]] += 1


@kernel
def _deal_parts(ties, order, ends):  # type: ignore[no-untyped-def]
    """Positions of ties by their top six bits, in their order; where each part ends."""
    shift = np.uint64(60)
    for i in range(len(ties)):
        ends[np.int64(ties[i] >> shift) + 1] += 1
    for part in range(PARTS):
        ends[part + 1] += ends[part]
    for i in range(len(ties) - 1, -1, -1):  # backwards, so that each end becomes its part's start
        after = np.int64(ties[i] >> shift) + 1
        ends[after] -= 1
        order[ends[after]] = i
    for part in range(PARTS):
        ends[part] = ends[part + 1]
    ends[PARTS] = len(ties)
