"""How many rows have each feature: counted over batches, on threads, the same for any of them.

Integers that lie close together are counted in an array over their values. All other features are
dealt by the top bits of their order to PARTS tables, small enough for a cache, which threads fill
independently; joined, the parts are in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, prefetch
from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, Tokens
from chromatic.data.hashing import HashIndex, secret_hashes
from chromatic.data.names import Names, empty_names, place_names
from chromatic.errors import InputError

PARTS = 16


@dataclass(frozen=True)
class Counted:
    """The distinct features of some batches, numbered in the order that breaks ties of counts."""

    keys: npt.NDArray[Any]  # uint32 values or uint64 hashes
    counts: npt.NDArray[np.int64]
    all_names: Names | None = None  # of all batches, one after the other
    name_at: npt.NDArray[np.int64] | None = None  # the name of each feature in `all_names`
    fields: npt.NDArray[np.int32] | None = None
    dealt: list[_Dealt] | None = None  # None: the ids of batches are the numbers
    share_of: tuple[int, ...] = ()  # of each batch, which of `dealt` has its tokens
    batches: Iterable[Batch] | None = None  # that are read again for the names
    lengths: npt.NDArray[np.uint32] | None = None  # of the names that are read again

    def names(self, of: npt.NDArray[np.int64], threads: int = 1) -> Names:
        """The names of some features."""
        if self.batches is not None and self.lengths is not None:
            return _read_names(self.batches, self.keys[of], self.lengths[of])
        if self.all_names is None or self.name_at is None:
            return Names.of_integers(self.keys[of])
        pieces = np.array_split(self.name_at[of], 4 * threads)
        return Names.concatenate(list(ordered_map(self.all_names.take, pieces, threads)))

    def by_batch(
        self, slot_of: npt.NDArray[np.uint32], threads: int = 1
    ) -> Callable[[int], npt.NDArray[np.uint32]]:
        """From the slots of all features, a function that gives those of the ids of the i-th batch.

        It keeps only what it needs: the counts can be let go.
        """
        if self.dealt is None:
            return lambda i: slot_of

        def slots_of(dealt: _Dealt) -> npt.NDArray[np.uint32]:
            slots = np.empty(len(dealt.order), np.uint32)
            slots[dealt.order] = slot_of[dealt.numbers]
            return slots

        slots, share_of = list(ordered_map(slots_of, self.dealt, threads)), self.share_of
        return lambda i: slots[share_of[i]]


@dataclass(frozen=True)
class Extent:
    """What must be known of batches before they are counted."""

    integers: bool  # whether no feature has a name
    largest: int  # of the integers
    entries: int  # features of all rows
    distinct: int = 0  # about how many features there are, where that was looked for

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
    return _count_one_by_one(batches, extent)


def by_descending_count(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A stable order: a counting sort, with the few large counts sorted by comparison."""
    limit = 1 << 16
    order = np.empty(len(counts), np.int64)
    n_large = _counting_sort(counts, np.zeros(limit + 2, np.int64), order)
    large = order[:n_large]
    order[:n_large] = large[np.argsort(-counts[large], kind="stable")]
    return order


def one_hash(name: bytes, other: bytes) -> InputError:
    """The error for two names with one hash: chance does not make such names, but people can."""
    both = " and ".join(repr(some.decode("utf-8", "backslashreplace")) for some in (name, other))
    return InputError(
        f"the features {both} have one 64-bit hash, by which features are known; expected names with "
        "different ones: rename a feature, or leave out its rows if it was made up"
    )


def bytes_to_count(n_features: int, name_bytes: int) -> int:
    """The memory for a vocabulary of so many features while it is counted, and while it codes rows."""
    return HashIndex.size(n_features) + 50 * n_features + name_bytes


def bytes_to_count_narrow(size: int) -> int:
    """The same where integers lie close together, from 0 to the size."""
    return 40 * size


def _name_of(batches: Iterable[Batch], wanted: np.uint64) -> bytes:
    """The first name with this hash."""
    for batch in batches:
        tokens = batch.with_names().tokens
        assert tokens is not None and tokens.names is not None
        for i in np.flatnonzero(tokens.hashes == wanted):
            return tokens.names[int(i)]
    raise AssertionError("no name has this hash")


def _count_one_by_one(batches: Iterable[Batch], extent: Extent) -> Counted:
    """Count without the names: they are as large as all else, and few of them may be wanted."""
    size = max(extent.distinct, 1 << 10)
    index, counts, checks = HashIndex(extent.distinct), np.zeros(size, np.int64), np.zeros(size, np.uint64)
    new: list[Tokens] = []
    new_lengths: list[npt.NDArray[np.uint32]] = []
    for batch in batches:
        batch = batch.with_tokens() if extent.integers else batch.with_names()
        assert batch.tokens is not None
        numbers, first = index.add(batch.tokens.hashes)
        if batch.tokens.names is not None:
            new_lengths.append(np.diff(batch.tokens.names.offsets)[first].astype(np.uint32))
        new.append(replace(batch.tokens, names=None).take(first))
        if len(index) > len(counts):
            counts.resize(2 * len(index), refcheck=False)
            checks.resize(2 * len(index), refcheck=False)
        if batch.tokens.names is not None:
            names = batch.tokens.names
            of_names = secret_hashes(names.data, names.offsets[:-1], names.offsets[1:])
            checks[numbers[first]] = of_names[first]
            others = np.flatnonzero(checks[numbers] != of_names)
            if len(others):
                known = _name_of(batches, batch.tokens.hashes[others[0]])
                raise one_hash(known, names[others[0]])
        of_batch = np.zeros(len(numbers), np.int64)
        _add_counts(batch.ids, of_batch)
        counts[numbers] += of_batch
    del index
    tokens = Tokens.concatenate(new)
    new.clear()
    order = np.argsort(_ties(tokens.hashes, tokens.integers))
    return Counted(
        (tokens.hashes if tokens.integers is None else tokens.integers)[order],
        counts[order],
        fields=None if tokens.fields is None else tokens.fields[order],
        batches=batches,
        lengths=np.concatenate(new_lengths)[order] if new_lengths else None,
    )


def _read_names(
    batches: Iterable[Batch], hashes: npt.NDArray[np.uint64], lengths: npt.NDArray[np.uint32]
) -> Names:
    """The names with these hashes and lengths in batches; of several with one hash, the first."""
    names, missing = empty_names(lengths), np.ones(len(hashes), np.bool_)
    if len(hashes):
        index = HashIndex(len(hashes))
        index.add(hashes)
        for batch in batches:
            tokens = batch.with_names().tokens
            assert tokens is not None and tokens.names is not None
            place_names(tokens.names, index.find(tokens.hashes), missing, names)
    return names


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
    """The tokens of a batch, or of batches that share them, dealt to the parts."""

    hashes: npt.NDArray[np.uint64]  # part by part, as the counts and numbers
    counts: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]  # where each stands among the tokens
    ends: npt.NDArray[np.int64]  # of the parts
    numbers: npt.NDArray[np.int64]  # filled in by the parts


def _ties(hashes: npt.NDArray[np.uint64], integers: npt.NDArray[np.uint32] | None) -> Any:
    """What orders features of equal count: integers by value, strings by the hash's signed view.

    Spark has no unsigned 64-bit integers.
    """
    if integers is not None:
        return integers.astype(np.uint64) << np.uint64(32)
    return hashes ^ np.uint64(1 << 63)


def _deal(tokens: Tokens, batches: list[Batch]) -> _Dealt:
    counts = np.zeros(len(tokens.hashes), np.int64)
    for batch in batches:
        _add_counts(batch.ids, counts)
    order, ends = np.empty(len(counts), np.int64), np.zeros(PARTS + 1, np.int64)
    _deal_parts(_ties(tokens.hashes, tokens.integers), order, ends)
    return _Dealt(tokens.hashes[order], counts[order], order, ends, np.empty(len(counts), np.int64))


def _count_dealt(batches: list[Batch], threads: int) -> Counted:
    shares: dict[int, tuple[Tokens, list[Batch]]] = {}
    for batch in batches:
        assert batch.tokens is not None
        shares.setdefault(id(batch.tokens), (batch.tokens, []))[1].append(batch)
    all_tokens = [tokens for tokens, _ in shares.values()]
    dealt = list(ordered_map(lambda share: _deal(*share), shares.values(), threads))
    parts = list(ordered_map(lambda part: _count_part(all_tokens, dealt, part), range(PARTS), threads))
    bases = np.cumsum([0] + [len(counts) for counts, _ in parts])
    for of_share in dealt:
        of_share.numbers[:] += np.repeat(bases[:-1], np.diff(of_share.ends))
    counts = np.concatenate([counts for counts, _ in parts])
    first = np.concatenate([first for _, first in parts])
    tokens = Tokens.concatenate(all_tokens)
    if tokens.names is not None:
        _check_names(tokens.names, first, dealt, threads)
    places = {key: place for place, key in enumerate(shares)}
    return Counted(
        (tokens.hashes if tokens.integers is None else tokens.integers)[first],
        counts,
        tokens.names,
        first,
        fields=None if tokens.fields is None else tokens.fields[first],
        dealt=dealt,
        share_of=tuple(places[id(batch.tokens)] for batch in batches),
    )


def _check_names(names: Names, first: npt.NDArray[np.int64], dealt: list[_Dealt], threads: int) -> None:
    """Refuse features that share a number, and so a hash, but not a name."""
    bases = np.cumsum([0] + [len(of_share.order) for of_share in dealt])

    def differing(i: int) -> npt.NDArray[np.int64]:
        numbers = dealt[i].numbers
        here, known = bases[i] + dealt[i].order, first[numbers]
        again = here != known
        here, known = here[again], known[again]
        same = names.are(known, names.data, names.offsets[here], names.offsets[here + 1])
        wrong: npt.NDArray[np.int64] = numbers[again][~same]
        return wrong

    wrong = np.concatenate(list(ordered_map(differing, range(len(dealt)), threads)))
    if len(wrong):  # the same two are told, whoever read which of them first
        places = [
            base + of.order[of.numbers == wrong.min()] for base, of in zip(bases, dealt, strict=False)
        ]
        raise one_hash(*sorted({names[place] for place in np.concatenate(places)})[:2])


def _count_part(
    all_tokens: list[Tokens], dealt: list[_Dealt], part: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Merge the features of one part: their counts, and where each first stands in all tokens."""
    slices = [slice(of_share.ends[part], of_share.ends[part + 1]) for of_share in dealt]
    index = HashIndex(sum(here.stop - here.start for here in slices) // 2)
    numbers, firsts, ties, before = [], [], [], 0
    for tokens, of_share, here in zip(all_tokens, dealt, slices, strict=True):
        number, first = index.add(of_share.hashes[here])
        at = of_share.order[here][first]
        numbers.append(number)
        firsts.append(at + before)
        integers = tokens.integers
        ties.append(_ties(tokens.hashes[at], None if integers is None else integers[at]))
        before += len(of_share.order)
    counts = np.zeros(len(index), np.int64)
    order = np.argsort(np.concatenate(ties))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    for of_share, here, number in zip(dealt, slices, numbers, strict=True):
        of_share.numbers[here] = rank[number]
        counts[of_share.numbers[here]] += of_share.counts[here]
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


@kernel
def _counting_sort(counts, places, order):  # type: ignore[no-untyped-def]
    """Positions by descending min(count, limit), equal ones in their order; how many reach it."""
    limit = len(places) - 2
    for i in range(len(counts)):
        places[limit - min(counts[i], limit) + 1] += 1
    for j in range(1, len(places)):
        places[j] += places[j - 1]
    for i in range(len(counts)):
        j = limit - min(counts[i], limit)
        order[places[j]] = i
        places[j] += 1
    return places[0]
