"""What the vocabulary of stored batches needs of memory, before any of it is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import Batch
from chromatic.data.counting import Extent, bytes_to_count, bytes_to_count_narrow, is_narrow
from chromatic.data.hashing import mix_integers
from chromatic.data.limit import FOR_KERNELS, Limit
from chromatic.data.source import at_once

if TYPE_CHECKING:
    from chromatic.data.cached import StoredBatches

SAMPLE = 1 << 16  # hashes by which distinct features are estimated, with an error of 0.4 %


class Estimate(NamedTuple):
    """About how many distinct features there are, and the bytes of their names."""

    features: int
    name_bytes: int


def checked_extent(
    batches: StoredBatches, memory: Limit, threads: int, later: Callable[[int], int]
) -> Extent:
    """Look over stored batches before they are counted; refuse what memory will not hold.

    `later` is what the steps after the vocabulary need for so many features.
    """
    blocks = batches.blocks
    extent = Extent(not blocks.total("names"), blocks.largest("largest"), blocks.total("entries"))
    beside = bytes_of_blocks(batches, threads) + 8 * batches.n_rows + FOR_KERNELS
    what = "counting features"
    if extent.integers and is_narrow(extent.largest, extent.entries // 2):
        size = extent.largest + 1
        memory.check(bytes_to_count_narrow(size) + beside, what, 24 * size + later(size) + beside)
        return extent
    most = _most(batches, extent.integers)
    if 2 * bytes_to_count(*most) + beside <= memory.left():
        return extent
    found = estimate(batches, extent.integers)
    # One name may be as long as a block, and the sample may have missed it.
    longest = max(blocks.elements("name_bytes"), default=0)
    name_bytes = min(most.name_bytes, found.name_bytes + longest)
    whole = 24 * found.features + name_bytes + later(found.features) + beside
    memory.check(bytes_to_count(found.features, name_bytes) + beside, what, whole)
    return replace(extent, distinct=found.features)


def _most(batches: StoredBatches, integers: bool) -> Estimate:
    """The features and names that there would be if no two blocks shared any; integers have ten digits."""
    blocks = batches.blocks
    entries = [block["entries"] for block in blocks.index]
    features = [known or most for known, most in zip(blocks.elements("hashes"), entries, strict=True)]
    if integers:
        return Estimate(sum(features), 0)
    names = blocks.elements("name_bytes")
    return Estimate(sum(features), sum(n or 10 * e for n, e in zip(names, entries, strict=True)))


def bytes_of_blocks(batches: StoredBatches, threads: int) -> int:
    """The memory for blocks while rows are coded: as read, as coded, and what tells integers apart."""
    blocks, each = batches.blocks, 0 if batches.blocks.total("names") else 100
    entries = (block["entries"] for block in blocks.index)
    needed = [2 * size + each * n for size, n in zip(blocks.sizes(), entries, strict=True)]
    return sum(sorted(needed)[-at_once(threads) :])


def estimate(batches: Iterable[Batch], integers: bool) -> Estimate:
    """Estimate the distinct features by the smallest of their hashes, which are as good as random.

    Where the k smallest are below a share s of all hashes that there could be, there are about k / s of
    them (Bar-Yossef and others, 2002). Fewer than SAMPLE are counted exactly.
    """
    smallest, lengths = np.empty(0, np.uint64), np.empty(0, np.int64)
    below = np.uint64(0xFFFFFFFFFFFFFFFF)
    for batch in batches:
        hashes, sizes = _hashes(batch, integers)
        few = np.flatnonzero(hashes <= below)
        smallest, first = np.unique(np.concatenate((smallest, hashes[few])), return_index=True)
        smallest, lengths = smallest[:SAMPLE], np.concatenate((lengths, sizes[few]))[first[:SAMPLE]]
        if len(smallest) == SAMPLE:
            below = smallest[-1]
    if len(smallest) < SAMPLE:
        return Estimate(len(smallest), int(lengths.sum()))
    features = int(1.015 * SAMPLE / (int(below) / 2**64))
    return Estimate(features, int(lengths.mean() * features))


def _hashes(batch: Batch, integers: bool) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """The hashes of a batch's features, and the lengths of their names."""
    if integers:
        hashes = mix_integers(batch.ids) if batch.tokens is None else batch.tokens.hashes
        return hashes, np.zeros(len(hashes), np.int64)
    tokens = batch.with_names().tokens
    assert tokens is not None and tokens.names is not None
    return tokens.hashes, np.diff(tokens.names.offsets)
