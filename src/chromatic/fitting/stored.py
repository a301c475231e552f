"""Rows that memory does not hold, as the descent for weights reads them: in blocks of a file.

Each block is written once. While the descent goes over one, the next is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from chromatic._threads import one_ahead
from chromatic.data.blocks import Blocks
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.fitting import descent
from chromatic.fitting.packed import (
    WORDS,
    Block,
    Dealt,
    Integers,
    Numbers,
    Visit,
    blocks_at_random,
    seed_of,
    words_of,
)

Floats = npt.NDArray[np.float64]

NOWHERE = 0xFFFFFFFF  # the place of a row that plays no part


class Packing(NamedTuple):
    """How rows become what kernels take."""

    block: Callable[[int, Rows], Block]  # of some rows, with the number of the first
    column: Callable[[Block], Floats]  # what tells their dense columns apart
    order: Callable[[Floats], Numbers]  # of the rows that play a part
    seed: int


class OnDisk:
    """Rows in the blocks of a file, each in the order of its content."""

    def __init__(self, blocks: Blocks, firsts: Integers, seed: int) -> None:
        self._blocks, self._firsts, self._seed = blocks, firsts, seed
        self.n_rows = self.n_places = blocks.total("rows")
        self.n_entries = blocks.total("entries")

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield the rows of each block; there are no more than two in memory."""

        def visit(i: int) -> Visit:
            arrays = self._blocks.read(i)
            block = Block(arrays["heads"].view(descent.HEAD), arrays["codes"], arrays["dense"])
            order = np.arange(len(block.heads), dtype=np.uint32)
            descent.shuffle(order, seed_of(self._seed, epoch, i))
            return Visit(int(self._firsts[i]), block, order)

        return one_ahead(visit, blocks_at_random(len(self._blocks), self._seed, epoch))

    def numbers(self) -> Integers:
        """Return the number of the row at each place."""
        numbers = np.empty(self.n_places, np.int64)
        for i, first in enumerate(self._firsts.tolist()):
            heads = self._blocks.read(i, only="heads")["heads"].view(descent.HEAD)
            numbers[first : first + len(heads)] = heads["number"]
        return numbers


def bytes_of_blocks(rows: StoredRows) -> int:
    """Return the memory for two blocks, and for a piece of the rows that they are made from."""
    largest = WORDS + descent.HEAD.itemsize // 4 + rows.largest_nnz + rows.n_dense
    return 2 * 4 * largest + 4 * max(rows.blocks.sizes(), default=0)


def on_disk(rows: StoredRows, packing: Packing) -> OnDisk:
    """Deal rows into blocks, and write these to a file."""
    several, columns = np.empty(rows.n_rows, np.uint32), np.zeros(rows.n_rows if rows.n_dense else 0)
    for start, piece in rows.pieces():
        here, block = slice(start, start + piece.n_rows), packing.block(start, piece)
        several[here] = block.heads["several"]
        if rows.n_dense:
            columns[here] = packing.column(block)
    words = words_of(several, rows.n_dense)
    dealt = Dealt.of(packing.order(columns), words, packing.seed)
    del columns
    blocks = Blocks(rows.memory.scratch / "weights")
    places = np.full(rows.n_rows, NOWHERE, np.uint32)
    places[dealt.rows] = np.arange(len(dealt.rows), dtype=np.uint32)
    first, firsts, ends = 0, dealt.firsts, dealt.ends
    sizes = [4 * int(words[dealt.rows[a:b]].sum(dtype=np.int64)) for a, b in zip(firsts, ends, strict=True)]
    del words
    while first < len(ends):
        # As many blocks in one pass over the rows as half of what is left of memory holds.
        fits = np.cumsum(sizes[first:]) <= rows.memory.left() // 2
        last = first + max(1, int(fits.sum()))
        span = slice(int(firsts[first]), int(ends[last - 1]))
        gathered = _gather(rows, packing, (places, span), several[dealt.rows[span]])
        for i in range(first, last):
            here = slice(int(firsts[i]) - span.start, int(ends[i]) - span.start)
            _append(blocks, gathered, here)
        first = last
    return OnDisk(blocks, firsts, packing.seed)


def _gather(rows: StoredRows, packing: Packing, where: tuple[Numbers, slice], several: Numbers) -> Block:
    """Return the rows whose places are in a span, in the order of these."""
    places, span = where
    starts = np.concatenate(([0], np.cumsum(several, dtype=np.int64)))
    heads = np.empty(len(several), descent.HEAD)
    codes, dense = np.empty(starts[-1], np.uint32), np.empty((len(several), rows.n_dense), np.float32)
    for start, piece in rows.pieces():
        at = places[start : start + piece.n_rows]
        some = np.flatnonzero((at >= span.start) & (at < span.stop)).astype(np.uint32)
        block, to = packing.block(start, piece), at[some].astype(np.int64) - span.start
        descent.copy_codes((block.heads, block.codes), some, starts[to], codes)
        heads[to], dense[to] = block.heads[some], block.dense[some]
    heads["start"] = starts[:-1]
    return Block(heads, codes, dense)


def _append(blocks: Blocks, gathered: Block, here: slice) -> None:
    """Write some of the rows that were gathered as a block."""
    heads = gathered.heads[here].copy()
    start = int(heads["start"][0]) if len(heads) else 0
    heads["start"] -= start
    entries = int(heads["several"].sum(dtype=np.int64))
    codes = gathered.codes[start : start + entries]
    arrays = {"heads": heads, "codes": codes, "dense": gathered.dense[here]}
    blocks.append(arrays, rows=len(heads), entries=entries)
