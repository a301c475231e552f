"""From features to codes: counted, split into dense and sparse, in descending count."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import RANKED, kernel, prefetch, rank_into, sort_slice
from chromatic._threads import ordered_map
from chromatic.data.batch import NO_FIELD, Batch, check_numeric_columns, have_labels
from chromatic.data.counting import Counted, Extent, by_descending_count, count, is_narrow
from chromatic.data.hashing import MISSING, HashIndex, hash_bytes, mix_integers
from chromatic.data.names import Names, fields_of, integers_of_spans
from chromatic.data.rows import Rows
from chromatic.data.schema import Schema
from chromatic.data.values import ValueBins, learn_bins
from chromatic.errors import InputError
from chromatic.parameters import DEFAULTS, Settings

log = logging.getLogger("chromatic")

Slots = npt.NDArray[np.uint32]  # codes, then the dense features, or MISSING


@dataclass(frozen=True)
class Vocabulary:
    """The features of a training set.

    A feature's key is its value where features are integers, else its 64-bit hash. `keys`, `counts`,
    `names` and `fields` are of the sparse features in the order of their codes. The dense columns are
    the numeric columns of a table, then the features that are in more than `dense_threshold` of the rows.
    Unused ones are read too and make no column, as the budget has no room for them (`data.dense`).
    """

    integers: bool
    keys: npt.NDArray[Any]  # uint32 values or uint64 hashes
    counts: npt.NDArray[np.int64]
    names: Names | None  # None for integers, and where names were not to be kept
    dense_keys: npt.NDArray[Any]
    dense_names: tuple[bytes, ...]  # of all dense columns, the numeric ones first
    n_rows: int
    dropped_features: int = 0  # in fewer than min_count rows
    fields: npt.NDArray[np.int32] | None = None  # the scalar column of each feature, or NO_FIELD
    field_names: tuple[bytes, ...] = ()
    bins: ValueBins | None = None  # where each value of a sparse feature is a feature of its own
    unused_keys: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, np.uint32))
    unused_names: tuple[bytes, ...] = ()  # of all unused dense columns, the numeric ones first
    schema: Schema | None = None  # what the columns of a table are; None: there was none

    def __len__(self) -> int:
        """The number of sparse features."""
        return len(self.keys)

    @property
    def numeric_names(self) -> tuple[bytes, ...]:
        """The dense columns that were numeric columns of a table."""
        return self.dense_names[: len(self.dense_names) - len(self.dense_keys)]

    @cached_property
    def names_of_dense(self) -> Names:
        """The names of the dense features, without the numeric columns."""
        return Names.pack(self.dense_names[len(self.numeric_names) :])

    @property
    def unused_numeric(self) -> tuple[bytes, ...]:
        """The numeric columns of a table that make no column."""
        return self.unused_names[: len(self.unused_names) - len(self.unused_keys)]

    @property
    def kind_in(self) -> bool | None:
        """Whether rows have integers; None: either, as bins of values are known by names only."""
        return self.integers if self.bins is None else None

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """The 64-bit hashes of the sparse features."""
        return mix_integers(self.keys) if self.integers else self.keys

    def name(self, code: int) -> bytes:
        """What a sparse feature is called; its hash stands in where names were not kept."""
        if self.integers:
            return b"%d" % self.keys[code]
        return self.names[code] if self.names is not None else b"#%016x" % self.keys[code]

    def text(self, code: int) -> str:
        """The name as text, whatever its bytes are."""
        return self.name(code).decode("utf-8", "backslashreplace")

    @cached_property
    def fingerprint(self) -> int:
        """A hash of the sparse features in their order: two vocabularies with one hash code alike."""
        return hash_bytes(self.keys.view(np.uint8))

    def encode(self, batches: list[Batch], threads: int = 1) -> Rows:
        """Code other data by this vocabulary; features that it does not know are counted.

        The list of batches is emptied on the way, and their memory is used again.
        """
        for i, batch in enumerate(batches):
            batch = batches[i] = batch.without_columns(self.unused_numeric)
            check_numeric_columns(batch.numeric_names, self.numeric_names)
            if self.bins is not None:
                batch = self.bins.apply(batch)
            elif not self.integers:
                batch = batch.with_names()
            elif self._table is None:
                batch = batch.with_tokens()
            batches[i] = batch.by_hash() if self.names is None and not self.integers else batch
        slots = list(ordered_map(self._slots, batches, threads))
        return _encode(self, batches, slots.__getitem__, threads)

    def _slots(self, batch: Batch) -> Slots:
        if batch.tokens is None:
            assert self._table is not None
            return self._table
        if self.integers and batch.tokens.names is not None:
            return self.find(batch.tokens.names)
        slots = self._index.find(batch.tokens.hashes)
        return slots if batch.tokens.names is None else self._named(slots, batch.tokens.names)

    def _named(self, slots: Slots, names: Names) -> Slots:
        """Make a name MISSING that only has the hash of a known one, where the known names were kept."""
        if self.names is None:
            return slots
        spans = names.data, names.offsets[:-1], names.offsets[1:]
        same = self.names.are(slots, *spans)
        if len(self.dense_keys):
            same &= self.names_of_dense.are(slots - np.uint32(len(self)), *spans)
        return np.where(same, slots, MISSING)

    def find_keys(self, hashes: npt.NDArray[np.uint64]) -> Slots:
        """The code of each hash of a feature; dense and unused ones come after the codes."""
        return self._index.find(hashes)

    def find(self, names: Names) -> Slots:
        """The code of each name; dense features have the numbers after the codes, unknown ones MISSING."""
        if not self.integers:
            return self._named(self._index.find(names.hashes()), names)
        values, valid = integers_of_spans(names.data, names.offsets[:-1], names.offsets[1:])
        return np.where(valid, self._index.find(mix_integers(values)), MISSING)

    @property
    def _all_keys(self) -> npt.NDArray[Any]:
        return np.concatenate((self.keys, self.dense_keys, self.unused_keys.astype(self.keys.dtype)))

    @cached_property
    def _index(self) -> HashIndex:
        keys = self._all_keys
        return HashIndex.of(mix_integers(keys) if self.integers else keys)

    @cached_property
    def _table(self) -> Slots | None:
        """The slot of every integer up to the largest, where they lie close enough together."""
        keys = self._all_keys
        if not self.integers or not is_narrow(int(keys.max(initial=0)), 8 * len(keys)):
            return None
        table = np.full(int(keys.max(initial=0)) + 1, MISSING, np.uint32)
        table[keys] = np.arange(len(keys), dtype=np.uint32)
        return table


def learn(
    batches: list[Batch],
    *,
    dense_threshold: float = DEFAULTS.dense_threshold,
    min_count: int = DEFAULTS.min_count,
    distinct_values: bool = False,
    keep_names: bool = True,
    keep_fields: bool = False,
    name_fields: bool = False,
    threads: int = 1,
) -> tuple[Vocabulary, Rows]:
    """The vocabulary of some data, and the data coded by it.

    With `distinct_values`, each value of a sparse feature is a feature of its own, else it is elided.
    With `keep_fields`, the values of scalar columns are never dense, and remember their column; with
    `name_fields`, what stands before = in a name is a column too, where there is no other.
    The list of batches is emptied on the way, and their memory is used again.
    """
    check_limits(dense_threshold, min_count)
    n_rows = sum(batch.n_rows for batch in batches)
    if n_rows == 0:
        raise InputError("there are no rows; expected at least one")
    for batch in batches:
        check_numeric_columns(batch.numeric_names, batches[0].numeric_names)
    bins = None
    if distinct_values and any(len(batch.value_at) for batch in batches):
        batches[:] = ordered_map(Batch.with_names, batches, threads)
        bins = learn_bins(batches, dense_threshold, threads)
        batches[:] = ordered_map(bins.apply, batches, threads)
    extent = Extent.of(batches)
    counted = count(batches, threads, extent)
    vocabulary, sparse, dense = of_counts(
        counted,
        integers=extent.integers,
        n_rows=n_rows,
        dense_threshold=dense_threshold,
        min_count=min_count,
        keep_names=keep_names,
        keep_fields=keep_fields,
        name_fields=name_fields,
        numeric_names=batches[0].numeric_names,
        threads=threads,
    )
    vocabulary = replace(
        vocabulary,
        bins=bins,
        field_names=vocabulary.field_names or (batches[0].field_names if keep_fields else ()),
        schema=batches[0].schema,
    )
    slot_of = np.full(len(counted.counts), MISSING, np.uint32)
    slot_of[sparse] = np.arange(len(sparse), dtype=np.uint32)
    slot_of[dense] = np.arange(len(sparse), len(sparse) + len(dense), dtype=np.uint32)
    slots = counted.by_batch(slot_of, threads)
    del counted, sparse, dense  # what only counting needed is not held while coding
    return vocabulary, _encode(vocabulary, batches, slots, threads)


def of_counts(
    counted: Counted,
    *,
    integers: bool,
    n_rows: int,
    dense_threshold: float,
    min_count: int,
    keep_names: bool = True,
    keep_fields: bool = False,
    name_fields: bool = False,
    numeric_names: tuple[bytes, ...] = (),
    threads: int = 1,
) -> tuple[Vocabulary, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The vocabulary of counted features, and which of them are its sparse ones and its dense ones."""
    field_names: tuple[bytes, ...] = ()
    if name_fields and not integers and (counted.fields is None or (counted.fields == NO_FIELD).all()):
        field_names, fields = fields_of(counted.names(np.arange(len(counted.counts)), threads))
        counted = replace(counted, fields=fields if field_names else None)
    sparse, dense, dropped = _split(counted, dense_threshold * n_rows, min_count, keep_fields)
    log.info(
        "vocabulary: %s sparse and %d dense features", f"{len(sparse):,}", len(dense) + len(numeric_names)
    )
    named = sparse if keep_names and not integers else sparse[:0]
    names = counted.names(np.concatenate((named, dense)), threads)
    vocabulary = Vocabulary(
        integers=integers,
        keys=counted.keys[sparse],
        counts=counted.counts[sparse],
        names=names.part(0, len(named)) if keep_names and not integers else None,
        dense_keys=counted.keys[dense],
        dense_names=numeric_names + tuple(names.part(len(named), len(names)).tolist()),
        n_rows=n_rows,
        dropped_features=dropped,
        fields=counted.fields[sparse] if keep_fields and counted.fields is not None else None,
        field_names=field_names,
    )
    return vocabulary, sparse, dense


def limits_of(settings: Settings) -> dict[str, Any]:
    """Return how a vocabulary is learned, by the names that readers and `learn` have for it."""
    return {
        "dense_threshold": settings.dense_threshold,
        "min_count": settings.min_count,
        "keep_names": settings.names,
        "keep_fields": settings.keeps_fields,
        "name_fields": settings.coloring == "fields",
    }


def check_limits(dense_threshold: float, min_count: int) -> None:
    """Refuse limits that no count can be held against."""
    if min_count < 1:
        raise InputError(f"min_count is {min_count}; expected 1 or more")
    if not dense_threshold >= 0:
        raise InputError(f"dense_threshold is {dense_threshold}; expected 0 or more")


def _split(
    counted: Counted, dense_above: float, min_count: int, keep_fields: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """The sparse features and the dense ones, by descending count, and how many are too rare."""
    order = by_descending_count(counted.counts)
    descending = -counted.counts[order]
    n_present = int(np.searchsorted(descending, 0))
    n_kept = int(np.searchsorted(descending, -min_count, side="right"))
    n_frequent = min(n_present, int(np.searchsorted(descending, -dense_above)))
    frequent, sparse = order[:n_frequent], order[n_frequent : max(n_frequent, n_kept)]
    if keep_fields and counted.fields is not None:
        of_field = counted.fields[frequent] != NO_FIELD
        sparse = np.concatenate((frequent[of_field], sparse))
        frequent = frequent[~of_field]
    return sparse, frequent, n_present - len(sparse) - len(frequent)


def _encode(
    vocabulary: Vocabulary, batches: list[Batch], slots: Callable[[int], Slots], threads: int
) -> Rows:
    """Code the batches, each in its own memory; `slots(i)` are those of the ids of the i-th."""
    row_starts = np.cumsum([0] + [batch.n_rows for batch in batches])
    numeric, n_rows = len(vocabulary.numeric_names), row_starts[-1]
    labels = np.empty(n_rows) if have_labels(batches) else None
    codes = np.empty(sum(len(batch.ids) for batch in batches), np.uint32)
    indptr = np.zeros(n_rows + 1, np.int64)
    dense = np.zeros((n_rows, len(vocabulary.dense_names)), _dense_type(batches))
    totals = np.zeros((len(batches), 3), np.int64)
    unseen_by_row = np.zeros(n_rows, np.uint32)

    def encode(i: int) -> tuple[int, npt.NDArray[np.uint32]]:
        batch, rows = batches[i], slice(row_starts[i], row_starts[i + 1])
        batches[i] = None  # type: ignore[call-overload]
        if batch.numeric is not None:
            dense[rows, :numeric] = batch.numeric
        if labels is not None:
            labels[rows] = batch.labels
        ends, block = indptr[1:][rows], dense[rows, numeric:]
        _encode_rows(
            (batch.indptr, batch.ids),
            (batch.value_at, batch.values),
            (slots(i), len(vocabulary)),
            np.empty(RANKED, np.uint32),
            (ends, block, unseen_by_row[rows], totals[i]),
        )
        return i, batch.ids[: totals[i, 0]]

    at = 0
    for i, coded in ordered_map(encode, range(len(batches)), threads):
        codes[at : at + len(coded)] = coded
        indptr[row_starts[i] + 1 : row_starts[i + 1] + 1] += at
        at += len(coded)
    batches.clear()
    codes.resize(at, refcheck=False)
    _, elided, unseen = totals.sum(axis=0)
    return Rows(
        indptr,
        codes,
        labels,
        dense,
        n_features=len(vocabulary),
        vocabulary=vocabulary.fingerprint,
        elided_values=int(elided),
        unseen=int(unseen),
        unseen_by_row=unseen_by_row if unseen else None,
    )


def _dense_type(batches: list[Batch]) -> type[np.float32] | type[np.float64]:
    """Half the memory where float32 holds every value exactly."""
    numbers = [batch.values for batch in batches] + [
        batch.numeric for batch in batches if batch.numeric is not None
    ]
    with np.errstate(over="ignore"):
        exact = all((values.astype(np.float32) == values).all() for values in numbers)
    return np.float32 if exact else np.float64


@kernel
def _encode_rows(csr, valued, slots_of, spare, out):  # type: ignore[no-untyped-def]
    """Overwrite ids by the codes of sparse features, ascending within a row; write values of dense ones.

    There are never more codes than ids read, so none is overwritten before it was read.
    Slots below `n_sparse` are codes. `out`: where rows end, the dense block, the features of each row that
    have no slot, and totals of codes written, values elided and features without a slot.
    """
    (indptr, ids), (value_at, values), (slots, n_sparse) = csr, valued, slots_of
    ends, dense, unseen, totals = out
    at = v = np.int64(0)
    for row in range(len(indptr) - 1):
        start = at
        short = indptr[row + 1] - indptr[row] <= RANKED
        for i in range(indptr[row], indptr[row + 1]):
            if i + 32 < len(ids):
                prefetch(slots, np.int64(ids[i + 32]))
            slot = slots[ids[i]] if ids[i] < len(slots) else MISSING
            value = 1.0
            if v < len(value_at) and value_at[v] == i:
                value = values[v]
                v += 1
            if slot < n_sparse:
                if short:
                    spare[at - start] = slot
                else:
                    ids[at] = slot
                at += 1
                totals[1] += value != 1.0
            elif slot == MISSING:
                unseen[row] += np.uint32(1)
                totals[2] += 1
            elif np.int64(slot) - n_sparse < dense.shape[1]:  # those after them are unused
                dense[row, np.int64(slot) - n_sparse] = value
        if short:
            rank_into(spare, at - start, ids, start)
        else:
            sort_slice(ids, start, at, spare, False)
        ends[row] = at
    totals[0] = at
