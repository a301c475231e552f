"""Rows as they came, before any vocabulary: the one form that readers make and writers take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._log import log
from chromatic._numba import RANKED, kernel, sort_slice
from chromatic.data.hashing import HashIndex, draw_secret, mix_integers
from chromatic.data.names import Names
from chromatic.data.schema import Schema
from chromatic.errors import InputError

NO_FIELD = -1


@dataclass(frozen=True)
class Tokens:
    """The distinct features of a batch: their hashes, and their names or their integers."""

    hashes: npt.NDArray[np.uint64]
    names: Names | None = None
    integers: npt.NDArray[np.uint32] | None = None
    fields: npt.NDArray[np.int32] | None = None  # the scalar column each came from, or NO_FIELD

    def take(self, which: npt.NDArray[np.int64]) -> Tokens:
        """Some of them."""
        return Tokens(
            self.hashes[which],
            None if self.names is None else self.names.take(which),
            None if self.integers is None else self.integers[which],
            None if self.fields is None else self.fields[which],
        )

    @classmethod
    def concatenate(cls, tokens: list[Tokens]) -> Tokens:
        """All of several, which know the same of their features."""
        names = [some.names for some in tokens if some.names is not None]
        integers = [some.integers for some in tokens if some.integers is not None]
        fields = [some.fields for some in tokens if some.fields is not None]
        return cls(
            np.concatenate([some.hashes for some in tokens]),
            Names.concatenate(names) if names else None,
            np.concatenate(integers) if integers else None,
            np.concatenate(fields) if fields else None,
        )


@dataclass(frozen=True)
class Batch:
    """Some rows: CSR of features, each at most once in a row.

    `ids` are integer features where `tokens` is None, else positions in `tokens`. Every feature has
    the value 1 but for those at the positions `value_at` of `ids` (ascending), which have `values`.
    `numeric` are the columns of numbers that a table brings. `weights` are the weights of rows: for
    writers, how many equal rows each row stands for.
    """

    indptr: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint32]
    labels: npt.NDArray[np.float64] | None = None
    value_at: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    values: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    tokens: Tokens | None = None
    numeric: npt.NDArray[np.float64] | None = None  # rows × columns
    numeric_names: tuple[bytes, ...] = ()
    field_names: tuple[bytes, ...] = ()
    skipped_lines: int = 0
    ignored: int = 0  # numbers that rows brought and that have no place here: qid, importance
    missing: int = 0  # empty cells of a table's numeric columns that had none at fit
    weights: npt.NDArray[np.float64] | None = None  # None: all are 1
    groups: npt.NDArray[np.uint64] | None = None  # a hash of the group of each row
    schema: Schema | None = None  # what the scalar columns of a table are; None: no table

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_weights(self) -> int:
        """How many rows have a weight other than 1."""
        return 0 if self.weights is None else int((self.weights != 1.0).sum())

    @classmethod
    def of(
        cls,
        indptr: npt.NDArray[np.int64],
        ids: npt.NDArray[np.uint32],
        tokens: Tokens | None,
        all_values: npt.NDArray[np.float64],
    ) -> Batch:
        """Rows without labels, from the value of every feature."""
        value_at = np.flatnonzero(all_values != 1.0)
        return cls(indptr, ids, value_at=value_at, values=all_values[value_at], tokens=tokens)

    def all_values(self) -> npt.NDArray[np.float64]:
        """The value of every feature."""
        values = np.ones(len(self.ids))
        values[self.value_at] = self.values
        return values

    def with_features(
        self,
        indptr: npt.NDArray[np.int64],
        ids: npt.NDArray[np.uint32],
        tokens: Tokens | None,
        all_values: npt.NDArray[np.float64],
    ) -> Batch:
        """The same rows with other features."""
        new = Batch.of(indptr, ids, tokens, all_values)
        return replace(
            self, indptr=indptr, ids=ids, tokens=tokens, value_at=new.value_at, values=new.values
        )

    def take(self, rows: npt.NDArray[np.bool_]) -> Batch:
        """Some of the rows, in their order."""
        lengths = np.diff(self.indptr)
        entries = np.repeat(rows, lengths)
        with_value = entries[self.value_at]
        return replace(
            self,
            indptr=np.concatenate(([0], np.cumsum(lengths[rows]))),
            ids=self.ids[entries],
            labels=None if self.labels is None else self.labels[rows],
            value_at=np.cumsum(entries)[self.value_at[with_value]] - 1,
            values=self.values[with_value],
            numeric=None if self.numeric is None else self.numeric[rows],
            weights=None if self.weights is None else self.weights[rows],
            groups=None if self.groups is None else self.groups[rows],
        )

    def without_columns(self, names: tuple[bytes, ...]) -> Batch:
        """The same rows without some of the numeric columns, where they have these."""
        kept = [i for i, name in enumerate(self.numeric_names) if name not in names]
        if self.numeric is None or len(kept) == len(self.numeric_names):
            return self
        left = tuple(self.numeric_names[i] for i in kept)
        return replace(self, numeric=self.numeric[:, kept], numeric_names=left)

    @property
    def has_names(self) -> bool:
        return self.tokens is not None and self.tokens.names is not None

    def with_names(self) -> Batch:
        """The same batch with string features: an integer's name is its digits."""
        if self.has_names:
            return self
        batch = self.with_tokens()
        names = Names.of_integers(batch.tokens.integers)  # type: ignore[union-attr,arg-type]
        return replace(batch, tokens=Tokens(names.hashes(), names))

    def by_hash(self) -> Batch:
        """The same batch with features of one hash made one, for those who know features by hash alone."""
        assert self.tokens is not None
        ids, first = HashIndex(len(self.tokens.hashes)).add(self.tokens.hashes)
        if len(first) == len(ids):
            return self
        return distinct_per_row(replace(self, ids=ids[self.ids], tokens=self.tokens.take(first)))

    def with_tokens(self) -> Batch:
        """The same batch with its distinct features gathered, be they strings or integers."""
        if self.tokens is not None:
            return self
        hashes = mix_integers(self.ids)
        ids, first = HashIndex().add(hashes)
        return replace(self, ids=ids, tokens=Tokens(hashes[first], integers=self.ids[first]))


@dataclass(frozen=True)
class LeftOut:
    """What reading left out, in all batches."""

    skipped_lines: int = 0
    ignored_numbers: int = 0  # query ids and bases
    missing_numbers: int = 0  # empty cells of numeric columns that had none at fit
    ignored_weights: int = 0  # other than 1, that rows bring and nothing uses

    @classmethod
    def of(cls, batches: list[Batch]) -> LeftOut:
        return cls(
            sum(batch.skipped_lines for batch in batches),
            sum(batch.ignored for batch in batches),
            sum(batch.missing for batch in batches),
            sum(batch.n_weights for batch in batches),
        )

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(
            self.skipped_lines + other.skipped_lines,
            self.ignored_numbers + other.ignored_numbers,
            self.missing_numbers + other.missing_numbers,
            self.ignored_weights + other.ignored_weights,
        )

    def sentences(self) -> list[str]:
        """What to tell of it."""
        told = (
            (self.skipped_lines, "skipped {:,} bad lines"),
            (self.ignored_numbers, "ignored {:,} query ids or bases"),
            (self.ignored_weights, "ignored {:,} importance weights, which are for the fit"),
            (
                self.missing_numbers,
                "read {:,} empty cells of columns that had none at fit as the mean of their column",
            ),
        )
        return [words.format(count) for count, words in told if count]

    def warn(self) -> None:
        """Say it: nothing is dropped in silence."""
        for sentence in self.sentences():
            log.warning(sentence)


def over_rows(parts: list[tuple[int, npt.NDArray[Any] | None]]) -> npt.NDArray[Any] | None:
    """What rows have, from parts of them and how many rows these are: 1 where a part has none.

    None where no part has any.

    >>> over_rows([(2, None), (1, np.array([0.5]))]).tolist()
    [1.0, 1.0, 0.5]
    """
    if all(part is None for _, part in parts):
        return None
    return np.concatenate([np.ones(n_rows) if part is None else part for n_rows, part in parts])


def have_labels(batches: list[Batch]) -> bool:
    """Whether the rows have labels; that some do and some do not is an error."""
    labelled = sum(batch.labels is not None for batch in batches)
    if 0 < labelled < len(batches):
        raise InputError("some rows have a label and some have none; expected all or none")
    return labelled > 0


def check_numeric_columns(names: tuple[bytes, ...], expected: tuple[bytes, ...]) -> None:
    """Refuse rows whose numeric columns are not those of the rows before."""
    if names == expected:
        return
    came, wanted = (b", ".join(some).decode("utf-8", "replace") or "none" for some in (names, expected))
    raise InputError(
        f"the numeric columns are {came}; expected those of the data before: {wanted} (a column of "
        "numbers in one file may be text in another)"
    )


def check_kind(batches: list[Batch], integers: bool | None) -> None:
    """Refuse strings where a model knows integers, and integers where it knows strings; None: neither."""
    if integers is None:
        return
    for batch in batches:
        if len(batch.ids) and batch.has_names == integers:
            kinds = "strings", "integers (or the columns of a matrix)"
            came, before = kinds if integers else kinds[::-1]
            raise InputError(f"the features are {came}, at fit they were {before}; expected the same kind")


def distinct_per_row(batch: Batch) -> Batch:
    """The batch with every feature once per row, where it first stood, with its last value."""
    keys = np.empty(int(np.diff(batch.indptr).max(initial=0)), np.uint64)
    spare = np.empty(RANKED, np.uint64)
    bits = max(4, (2 * len(keys)).bit_length())
    seen, key = np.zeros(1 << bits, np.uint64), np.append(draw_secret(1), np.uint64(64 - bits))
    if not _has_repeats(batch.indptr, batch.ids, seen, key):
        return batch
    values = batch.all_values()
    kept = np.ones(len(batch.ids), np.bool_)
    _merge_repeats((batch.indptr, batch.ids), (keys, spare), values, kept)
    kept_before = np.concatenate(([0], np.cumsum(kept)))
    return batch.with_features(kept_before[batch.indptr], batch.ids[kept], batch.tokens, values[kept])


@kernel
def _sort_row(ids, start, stop, keys, spare):  # type: ignore[no-untyped-def]
    """Put (id, place in the row) of ids[start:stop] into keys, each in one word, and sort them."""
    for i in range(start, stop):
        keys[i - start] = (np.uint64(ids[i]) << np.uint64(32)) | np.uint64(i - start)
    sort_slice(keys, 0, stop - start, spare, True)


@kernel
def _has_repeats(indptr, ids, seen, key):  # type: ignore[no-untyped-def]
    """Whether an id stands twice in a row.

    `seen` is a table with room for twice the longest row: what another row left there counts as nothing.
    """
    secret, shift = key[0], key[1]
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        ascending = True
        for i in range(start + 1, stop):
            ascending &= ids[i - 1] < ids[i]
        if ascending:
            continue
        this_row = np.uint64(row + 1) << np.uint64(32)
        for i in range(start, stop):
            mark = this_row | np.uint64(ids[i])
            at = (np.uint64(ids[i]) * secret) >> shift
            while seen[at] >= this_row:
                if seen[at] == mark:
                    return True
                at = (at + np.uint64(1)) & np.uint64(len(seen) - 1)
            seen[at] = mark
    return False


@kernel
def _merge_repeats(csr, room, values, kept):  # type: ignore[no-untyped-def]
    """Of equal ids in a row keep the first, with the value of the last."""
    (indptr, ids), (keys, spare) = csr, room
    place = np.uint64(0xFFFFFFFF)
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        _sort_row(ids, start, stop, keys, spare)
        first = np.int64(0)
        for k in range(1, stop - start):
            if keys[k] >> np.uint64(32) != keys[first] >> np.uint64(32):
                first = np.int64(k)
            else:
                i = start + np.int64(keys[k] & place)
                kept[i] = False
                values[start + np.int64(keys[first] & place)] = values[i]
