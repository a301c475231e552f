"""`values="distinct"`: each value of a sparse feature becomes a feature of its own.

The paper elides the values of sparse features and names this alternative in a footnote. A feature
with few distinct values becomes `feature=value`; one with more is cut at quantiles, `feature<=edge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic.data.batch import Batch, distinct_per_row
from chromatic.data.counting import Extent, count
from chromatic.data.hashing import MISSING, HashIndex
from chromatic.data.interning import intern
from chromatic.data.limit import MemoryLimit
from chromatic.data.names import Names

MOST_BINS = 16
BYTES_PER_VALUE = 64  # with what sorting them takes
EXTENT = Extent(integers=False, largest=0, entries=0)  # of batches whose features have names


@dataclass(frozen=True)
class ValueBins:
    """The features that have values, and the bins of each.

    The bins of feature i are starts[i] to starts[i + 1]. A bin holds the values up to its edge and
    above the edge before; a feature's last bin has no upper bound.
    """

    hashes: npt.NDArray[np.uint64]  # of the features
    starts: npt.NDArray[np.int64]
    edges: npt.NDArray[np.float64]
    names: Names  # of the bins

    def apply(self, batch: Batch) -> Batch:
        """The batch with every value of these features made a feature with the value 1."""
        batch = batch.with_names()
        assert batch.tokens is not None and batch.tokens.names is not None
        tokens, names = batch.tokens, batch.tokens.names
        bins = np.full(len(batch.ids), -1, np.int64)
        values = batch.all_values()
        features = self._index.find(tokens.hashes)
        _find_bins(batch.ids, values, features, (self.starts, self.edges), bins)
        binned = bins >= 0
        used, position = np.unique(bins[binned], return_inverse=True)
        ids = batch.ids.copy()
        ids[binned] = (len(tokens.hashes) + position).astype(np.uint32)
        values[binned] = 1.0
        fields = tokens.fields
        if fields is not None:
            of_token = np.empty(len(used), np.int32)
            of_token[position] = fields[batch.ids[binned]]
            fields = np.concatenate((fields, of_token))
        joined = Names.concatenate([names, self.names.take(used)])
        # what a row calls `feature=value` itself is the same feature
        numbers, distinct = intern(joined.data, joined.offsets[:-1], joined.offsets[1:], fields)
        return distinct_per_row(batch.with_features(batch.indptr, numbers[ids], distinct, values))

    @cached_property
    def _index(self) -> HashIndex:
        return HashIndex.of(self.hashes)


def learn_bins(
    batches: Iterable[Batch], dense_threshold: float, threads: int = 1, memory: MemoryLimit | None = None
) -> ValueBins:
    """The bins of the sparse features that have a value other than 1 anywhere.

    Batches are read several times. With a limit of memory, values are cut some features at a time: each
    time another pass over the batches collects them.
    """
    counted = count(batches, threads, EXTENT)
    index = HashIndex(len(counted.keys))
    index.add(counted.keys)
    n_rows, valued = 0, np.zeros(len(counted.counts), np.bool_)
    for batch, number in _numbered(batches, index):
        n_rows += batch.n_rows
        valued[number[batch.ids[batch.value_at]]] = True
    valued &= counted.counts <= dense_threshold * n_rows
    features = np.flatnonzero(valued)
    ends, edges, exact = [np.zeros(1, np.int64)], [], []
    for some in _parts(counted.counts[features], memory):
        cut = _cut(*_values_of(batches, index, features[some]), features[some])
        ends.append(cut[0][1:] + ends[-1][-1])
        edges.append(cut[1])
        exact.append(cut[2])
    starts, cuts = np.concatenate(ends), np.concatenate([np.empty(0), *edges])
    names = _bin_names(
        counted.names(features), starts, cuts, np.concatenate([np.empty(0, np.bool_), *exact])
    )
    return ValueBins(counted.keys[features], starts, cuts, names)


def _numbered(batches: Iterable[Batch], index: HashIndex) -> Iterator[tuple[Batch, Any]]:
    """Yield batches, each with the numbers of its features."""
    for batch in batches:
        batch = batch.with_names()
        assert batch.tokens is not None
        yield batch, index.find(batch.tokens.hashes)


def _parts(counts: Any, memory: MemoryLimit | None) -> Iterator[slice]:
    """Yield slices of features whose values fit the memory that is left."""
    if memory is None:
        yield slice(0, len(counts))
        return
    sums, start = np.concatenate(([0], np.cumsum(counts))), 0
    while start < len(counts):
        room = max(memory.left() // 2, 0) // BYTES_PER_VALUE
        stop = int(np.searchsorted(sums, sums[start] + room, side="right")) - 1
        if stop <= start:
            memory.check(2 * BYTES_PER_VALUE * int(counts[start]), "cutting the values of a feature")
            stop = start + 1
        yield slice(start, stop)
        start = stop


def _values_of(batches: Iterable[Batch], index: HashIndex, features: Any) -> tuple[Any, Any]:
    """Return all values of some features, and the features that they are of."""
    wanted = np.zeros(len(index), np.bool_)
    wanted[features] = True
    which, values = [np.empty(0, np.uint32)], [np.empty(0)]
    for batch, number in _numbered(batches, index):
        of_ids = number[batch.ids]
        here = wanted[of_ids]
        which.append(of_ids[here])
        values.append(batch.all_values()[here])
    return np.concatenate(which), np.concatenate(values)


def _cut(which: Any, values: Any, features: Any) -> tuple[Any, Any, Any]:
    """Bins of (feature, value) pairs: all values where they are few, else their quantiles."""
    order = np.lexsort((values, which))
    which, values = which[order], values[order]
    is_last = np.append((which[1:] != which[:-1]) | (values[1:] != values[:-1]), True)[: len(which)]
    last = np.flatnonzero(is_last)  # of each run of equal pairs
    begins = np.searchsorted(which, features)
    n_values = np.searchsorted(which, features, side="right") - begins
    owner = np.searchsorted(features, which[last])
    n_distinct = np.bincount(owner, minlength=len(features))
    exact = n_distinct <= MOST_BINS
    # The quantile in which a run of equal values ends; the last run of each quantile is an edge.
    share = (last + 1 - begins[owner]) * MOST_BINS // n_values[owner]
    changes = np.append((owner[1:] != owner[:-1]) | (share[1:] != share[:-1]), True)[: len(last)]
    kept = exact[owner] | changes
    starts = np.concatenate(([0], np.cumsum(np.bincount(owner[kept], minlength=len(features)))))
    return starts.astype(np.int64), values[last[kept]], exact


def _bin_names(features: Names, starts: Any, edges: Any, exact: Any) -> Names:
    import pyarrow as pa
    import pyarrow.compute as pc

    owner = np.repeat(np.arange(len(features)), np.diff(starts))
    relation = pa.array([b"<=", b"="], pa.large_binary()).take(pa.array(exact[owner].astype(np.int8)))
    pieces = features.take(owner).to_arrow(), relation, Names.of_numbers(edges).to_arrow()
    return Names.of_arrow(pc.binary_join_element_wise(*pieces, pa.scalar(b"", pa.large_binary())))


@kernel
def _find_bins(ids, values, features, edges_of, bins):  # type: ignore[no-untyped-def]
    """Put down the bin of each value whose feature has bins, by a binary search over its edges."""
    starts, edges = edges_of
    for i in range(len(ids)):
        feature = features[ids[i]]
        if feature != MISSING:
            low, high = starts[feature], starts[feature + 1] - 1
            while low < high:
                middle = (low + high) // 2
                if values[i] <= edges[middle]:
                    high = middle
                else:
                    low = middle + 1
            bins[i] = low
