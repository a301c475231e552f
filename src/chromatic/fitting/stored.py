"""Rows that memory does not hold, as the descent for weights reads them: from a file, in the same orders.

An epoch's order is cut into chunks that memory holds. The rows of a chunk are anywhere in the file: a pass
over it gathers them, while the descent goes over the chunk before.
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
from chromatic.fitting.packed import Block, Numbers, Visit, shuffled

Floats = npt.NDArray[np.float64]

LEAST = 1 << 24  # bytes of a chunk


class Packing(NamedTuple):
    """How rows become what kernels take."""

    block: Callable[[int, Rows], Block]  # of some rows, with the number of the first
    column: Callable[[Block], Floats]  # what tells their dense columns apart
    order: Callable[[Floats], Numbers]  # of the rows that are used, by their content
    seed: int


class OnDisk:
    """Rows in a file, in the order in which they came."""

    def __init__(self, rows: StoredRows, packing: Packing) -> None:
        """Write the rows to a file of their own, as kernels take them."""
        self.n_rows, self._seed, self._limit = rows.n_rows, packing.seed, rows.memory
        self._blocks, self._n_dense = Blocks(rows.memory.scratch / "weights"), rows.n_dense
        self._several = np.empty(rows.n_rows, np.uint32)
        columns = np.zeros(rows.n_rows if rows.n_dense else 0)
        for start, piece in rows.pieces():
            here, block = slice(start, start + piece.n_rows), packing.block(start, piece)
            block = block.taken(np.arange(piece.n_rows, dtype=np.uint32))
            self._several[here] = block.heads["several"]
            if rows.n_dense:
                columns[here] = packing.column(block)
            self._blocks.append(block._asdict(), rows=piece.n_rows)
        self._order = packing.order(columns)
        self.n_used, self.n_entries = len(self._order), int(self._several[self._order].sum(dtype=np.int64))

    def visits(self, epoch: int) -> Iterator[Visit]:
        """Yield chunks of the rows; there are no more than two in memory.

        Where they are cut changes nothing: kernels add up their sums after so many rows.
        """
        order, places = shuffled(self._order, self._seed, epoch), np.empty(self.n_rows, np.uint32)
        places[:] = self.n_rows  # where a row is not used
        places[order] = np.arange(len(order), dtype=np.uint32)
        each = descent.HEAD.itemsize + 4 * self._n_dense + 4 * self.n_entries // max(self.n_used, 1)
        fits = max(self._limit.left() // 4, LEAST) // each
        step = max(1, fits // descent.FLUSH) * descent.FLUSH

        def gathered(start: int) -> Visit:
            numbers = order[start : start + step]
            block = self._gather(places, start, self._several[numbers])
            return Visit(block, np.arange(len(numbers), dtype=np.uint32), numbers)

        return one_ahead(gathered, range(0, max(len(order), 1), step))

    def _gather(self, places: Numbers, first: int, several: Numbers) -> Block:
        """Return the rows whose places begin with the first, in the order of these."""
        starts = np.concatenate(([0], np.cumsum(several, dtype=np.int64)))
        heads = np.empty(len(several), descent.HEAD)
        codes, dense = np.empty(starts[-1], np.uint32), np.empty((len(several), self._n_dense), np.float32)
        start = 0
        for i in range(len(self._blocks)):
            arrays = self._blocks.read(i)
            read = Block(arrays["heads"].view(descent.HEAD), arrays["codes"], arrays["dense"])
            at = places[start : start + len(read.heads)]
            some = np.flatnonzero((at >= first) & (at < first + len(several))).astype(np.uint32)
            to = at[some].astype(np.int64) - first
            descent.copy_codes((read.heads, read.codes), some, starts[to], codes)
            heads[to], dense[to] = read.heads[some], read.dense[some]
            start += len(read.heads)
        heads["start"] = starts[:-1]
        return Block(heads, codes, dense)


def bytes_of_chunks(rows: StoredRows) -> int:
    """Return the memory for two chunks with their dual variables, and for a piece of the rows."""
    long = descent.FLUSH * (rows.largest_nnz if rows.largest_nnz > 64 * rows.average_nnz else 0)
    return 3 * LEAST + 4 * long + 4 * max(rows.blocks.sizes(), default=0)
