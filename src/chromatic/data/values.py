"""`values="distinct"`: each value of a sparse feature becomes a feature of its own.

The paper elides the values of sparse features and names this alternative in a footnote. A feature
with few distinct values becomes `feature=value`; one with more is cut at quantiles, `feature<=edge`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel
from chromatic._threads import ordered_map
from chromatic.data.batch import Batch, Tokens
from chromatic.data.counting import count
from chromatic.data.hashing import MISSING, HashIndex, hash_spans
from chromatic.data.names import Names

MOST_BINS = 16


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
        joined = Tokens(
            np.concatenate((tokens.hashes, self._bin_hashes[used])),
            Names.concatenate([names, self.names.take(used)]),
            fields=fields,
        )
        return batch.with_features(batch.indptr, ids, joined, values)

    @cached_property
    def _index(self) -> HashIndex:
        index = HashIndex(len(self.hashes))
        index.add(self.hashes)
        return index

    @cached_property
    def _bin_hashes(self) -> npt.NDArray[np.uint64]:
        return hash_spans(self.names.data, self.names.offsets[:-1], self.names.offsets[1:])


def learn_bins(batches: list[Batch], dense_threshold: float, threads: int) -> ValueBins:
    """The bins of the sparse features that have a value other than 1 anywhere."""
    batches[:] = ordered_map(Batch.with_names, batches, threads)
    counted = count(batches, threads)
    n_rows = sum(batch.n_rows for batch in batches)
    numbers = np.arange(len(counted.counts), dtype=np.uint32)
    of_batch = [*map(counted.by_batch(numbers), range(len(batches)))]
    valued = np.zeros(len(counted.counts), np.bool_)
    for batch, number in zip(batches, of_batch, strict=True):
        valued[number[batch.ids[batch.value_at]]] = True
    valued &= counted.counts <= dense_threshold * n_rows
    which, values = [], []
    for batch, number in zip(batches, of_batch, strict=True):
        of_ids = number[batch.ids]
        here = valued[of_ids]
        which.append(of_ids[here])
        values.append(batch.all_values()[here])
    features = np.flatnonzero(valued)
    starts, edges, exact = _cut(np.concatenate(which), np.concatenate(values), features)
    return ValueBins(
        counted.keys[features], starts, edges, _bin_names(counted.names(features), starts, edges, exact)
    )


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
