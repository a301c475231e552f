"""Rows as the descent for weights reads them: heads, codes and dense columns, in random orders.

The content of rows decides their order, not their numbers, and not whether they are in memory or in a file
(`fitting.stored`). An epoch goes over all of them in one random order: where it went over one block of them
and then over another, however random these are, weights that hardly settled were worse.
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

    block: Block
    order: Numbers
    numbers: Numbers | None = None  # of the block's rows; None: they are all rows, as they are numbered


class Packed(Protocol):
    """All rows, of which some may not be used."""

    n_rows: int  # all of them
    n_used: int
    n_entries: int  # of those that are used and of features that may be in several rows

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield the rows that are used in a random order, a new one for each epoch."""


class InMemory:
    """All rows in one block."""

    def __init__(self, block: Block, order: Numbers, seed: int) -> None:
        """Take all rows, and the order of those that are used by their content."""
        self.n_rows, self.n_used = len(block.heads), len(order)
        self.n_entries = int(block.heads["several"][order].sum(dtype=np.int64))
        self._block, self._order, self._seed = block, order, seed

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield the one block."""
        yield Visit(self._block, shuffled(self._order, self._seed, epoch))


def shuffled(order: Numbers, seed: int, epoch: int) -> Numbers:
    """Return rows in the order of an epoch."""
    order = order.copy()
    descent.shuffle(order, np.uint64((seed << 20) + epoch & 0xFFFFFFFFFFFFFFFF))
    return order


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
