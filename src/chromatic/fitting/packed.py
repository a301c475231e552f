"""Rows as the descent for weights reads them: blocks of heads, codes and dense columns, in random orders.

The content of rows decides their order, not their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from chromatic.fitting import descent

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]


class Block(NamedTuple):
    """Some rows, as kernels take them."""

    heads: npt.NDArray[np.void]  # of the type `descent.HEAD`
    codes: npt.NDArray[np.uint32]
    dense: npt.NDArray[np.float32]

    def taken(self, rows: Integers | Numbers) -> Block:
        """Return some of the rows, with the features that may be in several rows alone."""
        heads = self.heads[rows]
        lengths = heads["several"].astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        entries = np.repeat(heads["start"] - starts, lengths) + np.arange(lengths.sum())
        heads["start"] = starts
        return Block(heads, self.codes[entries], self.dense[rows])


class Visit(NamedTuple):
    """Rows to be visited one after the other."""

    first: int  # the place of the block's first row among those of all blocks
    block: Block
    order: Numbers


class Packed(Protocol):
    """All rows that are used, in blocks."""

    n_rows: int

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield all rows in a random order, a new one for each epoch."""

    def some(self) -> tuple[Block, Numbers]:
        """Return rows at random, and a random order of them."""

    def numbers(self) -> Integers:
        """Return the number of the row at each place."""


class InMemory:
    """All rows in one block."""

    def __init__(self, block: Block, order: Integers, seed: int) -> None:
        self.n_rows, self._block, self._seed = len(block.heads), block, seed
        self._order = order.astype(np.uint32)

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield the one block."""
        order = self._order.copy()
        descent.shuffle(order, seed_of(self._seed, epoch))
        yield Visit(0, self._block, order)

    def some(self) -> tuple[Block, Numbers]:
        """Return all rows."""
        _, block, order = next(self.visits(0))
        return block, order

    def numbers(self) -> Integers:
        """Return the number of the row at each place."""
        return np.arange(self.n_rows)


def seed_of(seed: int, epoch: int) -> np.uint64:
    """Return the seed of the order of an epoch."""
    return np.uint64((seed << 20) + epoch & 0xFFFFFFFFFFFFFFFF)


def by_content(keys: tuple[npt.NDArray[np.generic], ...], sums: npt.NDArray[np.uint64]) -> Integers:
    """Return the order of rows by their sums; equal ones by the first of some keys, then by the next.

    >>> by_content((np.array([2, 0, 1]),), np.array([5, 9, 5], np.uint64)).tolist()
    [2, 0, 1]
    """
    order = np.argsort(sums)
    ordered = sums[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.append(same, False) | np.append(False, same)
    among = order[tied]  # the sum of each tells its place among the ties
    order[tied] = among[np.lexsort((among, *(key[among] for key in reversed(keys)), sums[among]))]
    return order
