"""Data larger than memory: parsed once into a file of batches (`data.cached`), coded into a file of rows.

The coded rows are there for one run. Memory holds the vocabulary, the labels, and one block of either file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, LeftOut
from chromatic.data.blocks import Blocks
from chromatic.data.cached import StoredBatches, parse
from chromatic.data.counting import Extent, count
from chromatic.data.limit import MemoryLimit
from chromatic.data.needed import checked_extent
from chromatic.data.packing import indptr_of
from chromatic.data.reader import Reader
from chromatic.data.rows import Rows
from chromatic.data.values import ValueBins, learn_bins
from chromatic.data.vocabulary import Vocabulary, check_limits, of_counts
from chromatic.parameters import DEFAULTS


@dataclass(frozen=True)
class StoredRows:
    """Coded rows in a file: the other form of `Rows`, where memory does not hold them."""

    blocks: Blocks
    labels: npt.NDArray[np.float64] | None
    counts: npt.NDArray[np.int64]  # how many rows each feature has
    n_dense: int
    vocabulary: int  # the fingerprint of the vocabulary that codes the rows
    memory: MemoryLimit
    ranks: npt.NDArray[np.uint32] | None = None  # of features in another order, to be their codes

    def in_order(self, features: npt.NDArray[np.int64]) -> StoredRows:
        """The rows with features coded by their place in this order; each pass codes them anew."""
        ranks = np.empty(self.n_features, np.uint32)
        ranks[features] = np.arange(self.n_features, dtype=np.uint32)
        return replace(self, counts=self.counts[features], ranks=ranks)

    @property
    def n_features(self) -> int:
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        return self.blocks.total("rows")

    @property
    def n_entries(self) -> int:
        return self.blocks.total("entries")

    @property
    def largest_nnz(self) -> int:
        return self.blocks.largest("largest")

    @property
    def average_nnz(self) -> float:
        """Sparse features per row."""
        return self.n_entries / self.n_rows if self.n_rows else 0.0

    @property
    def pairs_per_row(self) -> float:
        """Pairs of sparse features that share a row, a row."""
        pairs = sum(piece.pairs_per_row * piece.n_rows for _, piece in self.pieces())
        return pairs / self.n_rows if self.n_rows else 0.0

    @property
    def elided_values(self) -> int:
        return self.blocks.total("elided")

    def pieces(self) -> Iterator[tuple[int, Rows]]:
        """The rows a block at a time, each with the number of its first row."""
        start = 0
        for i in range(len(self.blocks)):
            arrays = self.blocks.read(i)
            stop = start + len(arrays["lengths"])
            rows = Rows(
                indptr=indptr_of(arrays["lengths"]),
                codes=arrays["codes"],
                labels=None if self.labels is None else self.labels[start:stop],
                dense=arrays["dense"],
                n_features=self.n_features,
                vocabulary=self.vocabulary,
                elided_values=self.blocks.index[i]["elided"],
            )
            yield start, rows if self.ranks is None else rows.recoded(self.ranks)
            start = stop

    def dense_columns(self) -> Iterator[npt.NDArray[np.floating]]:
        """The dense columns, one after the other; a pass over the file reads as many as memory holds."""
        step = max(1, self.memory.left() // 4 // max(8 * self.n_rows, 1))
        for first in range(0, self.n_dense, step):
            some, start = slice(first, min(first + step, self.n_dense)), 0
            columns = np.empty((some.stop - first, self.n_rows), self._dense_type)
            for i in range(len(self.blocks)):
                dense = self.blocks.read(i, only="dense")["dense"]
                columns[:, start : start + len(dense)] = dense[:, some].T
                start += len(dense)
            yield from columns

    @property
    def _dense_type(self) -> type[np.floating]:
        wide = any(block["arrays"]["dense"][0] == "<f8" for block in self.blocks.index)
        return np.float64 if wide else np.float32

    def load(self) -> Rows:
        """All of them in memory."""
        lengths = np.empty(self.n_rows, np.uint32)
        codes = np.empty(self.n_entries, np.uint32)
        dense = np.empty((self.n_rows, self.n_dense), self._dense_type)
        at = 0
        for start, piece in self.pieces():
            here = slice(start, start + piece.n_rows)
            lengths[here], dense[here] = np.diff(piece.indptr), piece.dense
            codes[at : at + len(piece.codes)] = piece.codes
            at += len(piece.codes)
        return Rows(
            indptr=indptr_of(lengths),
            codes=codes,
            labels=self.labels,
            dense=dense,
            n_features=self.n_features,
            vocabulary=self.vocabulary,
            elided_values=self.elided_values,
        )


@dataclass(frozen=True)
class StoredDataset:
    """Coded rows in a file, the vocabulary that codes them, and what reading left out."""

    rows: StoredRows
    vocabulary: Vocabulary
    left_out: LeftOut
    weights: npt.NDArray[np.float64] | None = None  # that rows bring themselves
    groups: npt.NDArray[np.uint64] | None = None


def read_stored(
    reader: Reader,
    paths: list[str],
    memory: MemoryLimit,
    *,
    dense_threshold: float = DEFAULTS.dense_threshold,
    min_count: int = DEFAULTS.min_count,
    distinct_values: bool = False,
    keep_names: bool = True,
    keep_fields: bool = False,
    name_fields: bool = False,
    later: Callable[[int], int] = lambda n_features: 0,
) -> StoredDataset:
    """Read and code files as `Reader.read` does, from disk to disk.

    `later` tells what the steps after this one need for so many features, beside the vocabulary.
    """
    check_limits(dense_threshold, min_count)
    return learn_stored(
        parse(replace(reader, memory=memory), paths, memory.cache),
        memory,
        later=later,
        dense_threshold=dense_threshold,
        min_count=min_count,
        distinct_values=distinct_values,
        keep_names=keep_names,
        keep_fields=keep_fields,
        name_fields=name_fields,
        threads=reader.threads,
    )


def learn_stored(
    batches: StoredBatches,
    memory: MemoryLimit,
    *,
    dense_threshold: float = DEFAULTS.dense_threshold,
    min_count: int = DEFAULTS.min_count,
    distinct_values: bool = False,
    later: Callable[[int], int] = lambda n_features: 0,
    threads: int = 1,
    **options: Any,
) -> StoredDataset:
    """The vocabulary of stored batches and the rows that it codes, as `learn` finds them."""
    extent, bins = checked_extent(batches, memory, threads, later), None
    if distinct_values and batches.have_values:
        bins = learn_bins(batches, dense_threshold, memory=memory)
        extent = replace(extent, integers=False)  # a value and its feature have a name
    options |= {"dense_threshold": dense_threshold, "min_count": min_count, "threads": threads}
    vocabulary = _learn(batches, bins, extent=extent, **options)
    rows = code(batches, vocabulary, memory, threads)
    without_tables = replace(vocabulary)  # that coding made, and that will be made anew if need be
    weights, groups = (batches.of_rows(name) for name in ("weights", "groups"))
    return StoredDataset(rows, without_tables, batches.left_out, weights, groups)


@dataclass(frozen=True)
class _Binned:
    """Batches whose values are features, as often as one goes over them."""

    batches: StoredBatches
    bins: ValueBins

    def __iter__(self) -> Iterator[Batch]:
        return map(self.bins.apply, self.batches)


def _learn(
    batches: StoredBatches,
    bins: ValueBins | None,
    *,
    extent: Extent,
    keep_fields: bool = False,
    **options: Any,
) -> Vocabulary:
    """The vocabulary of batches; with bins, values are features of their own."""
    vocabulary, _, _ = of_counts(
        count(batches if bins is None else _Binned(batches, bins), extent=extent),
        integers=extent.integers,
        n_rows=batches.n_rows,
        keep_fields=keep_fields,
        numeric_names=batches.numeric_names,
        **options,
    )
    field_names = batches.field_names if keep_fields else ()
    field_names = vocabulary.field_names or field_names
    return replace(vocabulary, bins=bins, field_names=field_names, schema=batches.schema)


def code(
    batches: StoredBatches, vocabulary: Vocabulary, memory: MemoryLimit, threads: int, name: str = "rows"
) -> StoredRows:
    """The rows of batches by a vocabulary, in a file of that name in the scratch folder."""
    pieces = ordered_map(lambda batch: vocabulary.encode([batch]), batches, threads)
    return store_rows(pieces, batches.n_rows, vocabulary, memory, memory.scratch / name)


def store_rows(
    pieces: Iterable[Rows], n_rows: int, vocabulary: Vocabulary, memory: MemoryLimit, path: str | Path
) -> StoredRows:
    """Write rows that a vocabulary codes to a file, some at a time."""
    coded, labels, start, labelled = Blocks(path), np.empty(n_rows), 0, False
    for rows in pieces:
        lengths = np.diff(rows.indptr).astype(np.uint32)
        coded.append(
            {"lengths": lengths, "codes": rows.codes, "dense": rows.dense},
            rows=rows.n_rows,
            entries=len(rows.codes),
            largest=rows.largest_nnz,
            elided=rows.elided_values,
        )
        if rows.labels is not None:
            labelled = True
            labels[start : start + rows.n_rows] = rows.labels
        start += rows.n_rows
    return StoredRows(
        blocks=coded,
        labels=labels if labelled else None,
        counts=vocabulary.counts,
        n_dense=len(vocabulary.dense_names),
        vocabulary=vocabulary.fingerprint,
        memory=memory,
    )
