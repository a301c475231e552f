"""Rows as the descent for weights reads them: heads, codes and dense columns, in random orders.

Rows are dealt at random into blocks that memory holds well. An epoch goes over the blocks in a new random
order, and over the rows of each. The content of rows decides all of it, not their numbers, and not whether
they are in memory or in a file (`fitting.stored`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.fitting import descent

Numbers = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]
Sums = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

PART_BITS = 5  # rows are ordered in parts by the top bits of their sums
WORDS = 1 << 22  # of 4 bytes in a block, at most, but for its last row
OF_BLOCKS, DEALING = -1, -2  # in the place of a block, for the seeds of other orders


class Block(NamedTuple):
    """Some rows, as kernels take them."""

    heads: npt.NDArray[np.void]  # of the type `descent.HEAD`
    codes: npt.NDArray[np.uint32]
    dense: npt.NDArray[np.float32]

    def taken(self, rows: Numbers) -> Block:
        """Return some of the rows, with the features that may be in several rows alone."""
        heads = self.heads[rows]
        lengths = heads["several"].astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        codes = np.empty(int(lengths.sum()), np.uint32)
        descent.copy_codes((self.heads, self.codes), rows, starts, codes)
        heads["start"] = starts
        return Block(heads, codes, self.dense[rows])

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """Return the rows of several blocks."""
        heads, codes, dense = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        lengths = [len(block.codes) for block in blocks]
        befores = np.cumsum([0, *lengths[:-1]])
        heads["start"] += np.repeat(befores, [len(block.heads) for block in blocks])
        return cls(heads, codes, dense)


class Visit(NamedTuple):
    """Rows to be visited one after the other."""

    first: int  # the place of the block's first row among those of all blocks
    block: Block
    order: Numbers


class Packed(Protocol):
    """All rows that are used, in blocks."""

    n_rows: int
    n_entries: int  # of features that may be in several rows
    n_places: int  # of rows, those that are not used among them

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield all rows in a random order, a new one for each epoch."""

    def numbers(self) -> Integers:
        """Return the number of the row at each place."""


class Dealt(NamedTuple):
    """Rows in blocks."""

    rows: Numbers  # their numbers, block after block; in each, in the order of their content
    ends: Integers  # of the blocks

    @property
    def firsts(self) -> Integers:
        """The place of each block's first row."""
        return np.concatenate(([0], self.ends[:-1]))

    @classmethod
    def of(cls, order: Numbers, words: Numbers, seed: int) -> Dealt:
        """Deal rows into blocks of about equal size; `words` are those that each row takes, by number."""
        total = int(words[order].sum(dtype=np.int64))
        n_blocks = max(1, -(-total // WORDS))
        ends, dealt = np.zeros(n_blocks, np.int64), np.arange(len(order), dtype=np.uint32)
        descent.shuffle(dealt, seed_of(seed, 0, DEALING))
        most = max(1, -(-total // n_blocks))
        descent.deal((order, words), most, np.empty_like(dealt), (dealt, ends))
        return cls(dealt, ends)


class InMemory:
    """Rows in memory, where they stay in the order in which they came."""

    def __init__(self, block: Block, order: Numbers, seed: int) -> None:
        """Take a block with all rows, and the order of those that play a part by their content."""
        several = block.heads["several"]
        self.n_rows, self.n_places = len(order), len(block.heads)
        self.n_entries = int(several[order].sum(dtype=np.int64))
        self._block, self._seed = block, seed
        self._dealt = Dealt.of(order, words_of(several, block.dense.shape[1]), seed)

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield the rows of each block."""
        rows, firsts, ends = self._dealt.rows, self._dealt.firsts, self._dealt.ends
        for i in blocks_at_random(len(ends), self._seed, epoch):
            order = rows[firsts[i] : ends[i]].copy()
            descent.shuffle(order, seed_of(self._seed, epoch, i))
            yield Visit(0, self._block, order)

    def numbers(self) -> Integers:
        """Return the number of the row at each place."""
        return np.arange(self.n_places)


def words_of(several: Numbers, n_dense: int) -> Numbers:
    """Return how many words of 4 bytes rows with so many features take."""
    return several + np.uint32(descent.HEAD.itemsize // 4 + n_dense)


def blocks_at_random(n_blocks: int, seed: int, epoch: int) -> list[int]:
    """Return the numbers of blocks in the order of an epoch."""
    blocks = np.arange(n_blocks, dtype=np.uint32)
    descent.shuffle(blocks, seed_of(seed, epoch, OF_BLOCKS))
    return [int(i) for i in blocks]


def seed_of(seed: int, epoch: int, block: int) -> np.uint64:
    """Return the seed of the order of a block in an epoch."""
    return np.uint64((seed << 20) + epoch + block * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)


def by_content(
    keys: Sequence[npt.NDArray[np.generic]], sums: Sums, used: Flags, threads: int = 1
) -> Numbers:
    """Return the order of rows by their sums; equal ones by the first of some keys, then by the next.

    Only rows that are used are in it.

    >>> by_content([np.array([2, 0, 1, 3])], np.array([5, 9, 5, 1], np.uint64), np.arange(4) < 3).tolist()
    [2, 0, 1]
    """
    parts = (sums >> np.uint64(64 - PART_BITS)).astype(np.uint8)

    def order_of(part: int) -> Numbers:
        order = np.flatnonzero((parts == part) & used)
        order = order[np.argsort(sums[order])]
        ordered = sums[order]
        same = ordered[1:] == ordered[:-1]
        tied = np.append(same, False) | np.append(False, same) if len(order) else same
        among = order[tied]  # the sum of each tells its place among the ties
        order[tied] = among[np.lexsort((among, *(key[among] for key in reversed(keys)), ordered[tied]))]
        return order.astype(np.uint32)

    return np.concatenate(list(ordered_map(order_of, range(1 << PART_BITS), threads)))
