"""Which rows a row's columns may be learned from: folds, or the half that estimates.

A row's hash decides, never its label: the hash of its features, of its number among equal rows, and of
the seed; or that of its group, so that rows of one group are together; or the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, mix
from chromatic._threads import ordered_map
from chromatic.data.names import Names
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.errors import InputError
from chromatic.fitting.labels import Hashed, check_one_a_row
from chromatic.parameters import Settings

U64 = np.uint64
PART_BITS = 5  # rows are numbered in parts by the top bits of their sums
CONSECUTIVE = 5  # folds of consecutive rows


@dataclass(frozen=True)
class Folds:
    """The fold that each row is counted in, or -1 where it is not counted."""

    of_rows: npt.NDArray[np.int32]
    settings: Settings

    @property
    def trains(self) -> npt.NDArray[np.bool_] | None:
        """Which rows to train on, those that are not counted; None: all of them."""
        return self.of_rows < 0 if self.settings.leakage == "split" else None


def number_of_folds(settings: Settings) -> int:
    """Return how many folds rows are counted in."""
    if settings.leakage != "crossfit":
        return 1
    return CONSECUTIVE if settings.folds == "consecutive" else int(settings.folds)


def folds_of_rows(
    rows: Rows | StoredRows,
    keys: npt.NDArray[np.uint64],
    groups: Any,
    settings: Settings,
    *,
    threads: int = 1,
) -> Folds:
    """Return the fold of each row, as the settings ask for them; `keys` are the hashes of features."""
    if settings.leakage == "none":
        return Folds(np.zeros(rows.n_rows, np.int32), settings)
    if groups is not None:
        return Folds(folds_of_groups(groups, rows.n_rows, settings), settings)
    if settings.leakage == "crossfit" and settings.folds == "consecutive":
        return Folds(consecutive_folds(rows.n_rows), settings)
    sums = sums_of_rows(rows, keys, threads)
    return Folds(folds_of_hashes(row_hashes(sums, settings.seed, threads), settings), settings)


def folds_of_hashes(hashes: npt.NDArray[np.uint64], settings: Settings) -> npt.NDArray[np.int32]:
    """Return the fold of each row from its hash.

    With `split`, 0 where a row estimates, and -1 where it is left to train on.
    """
    if settings.leakage == "split":
        return estimating_half(hashes, settings.split_rate).astype(np.int32) - np.int32(1)
    return folds_of(hashes, number_of_folds(settings))


def folds_of_groups(groups: Any, n_rows: int, settings: Settings) -> npt.NDArray[np.int32]:
    """Return folds, or the half that estimates, so that rows of one group are together.

    The hashes of the groups, with the seed, put them in an order; each fold has as many groups as another.

    >>> folds_of_groups(["a", "b", "a", "c"], 4, Settings(folds=3)).tolist()
    [2, 1, 2, 0]
    """
    if settings.folds == "consecutive":
        raise InputError("folds is 'consecutive' and rows have groups; expected one of them, not both")
    kinds, number = _kinds_of_groups(groups, n_rows)
    if settings.leakage == "split":
        least, share = 2, 2.0**-settings.split_rate
    else:
        least, share = number_of_folds(settings), 0.0
    if len(kinds) < least:
        raise InputError(
            f"{len(kinds)} groups cannot be held apart in {least} folds; expected as many groups at least, "
            "or fewer folds"
        )
    order = np.argsort(hashes_of_sums(kinds, np.zeros(len(kinds), np.uint32), settings.seed), kind="stable")
    rank = np.empty(len(kinds), np.int64)
    rank[order] = np.arange(len(kinds))
    if settings.leakage == "split":
        return np.where(rank < max(1, round(share * len(kinds))), 0, -1).astype(np.int32)[number]
    return (rank * least // len(kinds)).astype(np.int32)[number]


def _kinds_of_groups(groups: Any, n_rows: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return a hash of each group, and which of them each row has."""
    given = groups.hashes if isinstance(groups, Hashed) else np.asarray(groups)
    check_one_a_row(given, n_rows, "group")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError("some groups are NaN or infinite; expected a group for every row")
    kinds, number = np.unique(given.astype(str) if given.dtype == object else given, return_inverse=True)
    if not isinstance(groups, Hashed):
        kinds = Names.pack([str(kind).encode() for kind in kinds.tolist()]).hashes()
    return kinds, number


def consecutive_folds(n_rows: int) -> npt.NDArray[np.int32]:
    """Return folds of consecutive rows, about equal.

    >>> consecutive_folds(7).tolist()
    [0, 0, 1, 2, 2, 3, 4]
    """
    return (np.arange(n_rows) * CONSECUTIVE // max(n_rows, 1)).astype(np.int32)


def row_hashes(sums: npt.NDArray[np.uint64], seed: int, threads: int = 1) -> npt.NDArray[np.uint64]:
    """A hash of each row's sum of features, of its number among equal rows, and of the seed.

    The label plays no part. Equal rows are numbered, so that a feature that determines its row is still
    spread over all folds.
    """
    number = np.empty(len(sums), np.uint32)
    parts = (sums >> U64(64 - PART_BITS)).astype(np.uint8)

    def number_part(part: int) -> None:
        here = np.flatnonzero(parts == part)
        here = here[np.argsort(sums[here], kind="stable")]
        _number_runs(sums, here, number)

    for _ in ordered_map(number_part, range(1 << PART_BITS), threads):
        pass
    return hashes_of_sums(sums, number, seed)


def row_sums(rows: Rows, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """What tells rows apart: the sum of their features' mixed hashes, whatever their order."""
    sums = np.empty(rows.n_rows, np.uint64)
    _sum_keys(rows.indptr, rows.codes, keys, sums)
    return sums


def sums_of_rows(rows: Rows | StoredRows, keys: npt.NDArray[np.uint64], threads: int = 1) -> Any:
    """The sums of rows in memory or in a file, some at a time."""
    sums = np.empty(rows.n_rows, np.uint64)

    def add(piece: tuple[int, Rows]) -> None:
        start, some = piece
        sums[start : start + some.n_rows] = row_sums(some, keys)

    for _ in ordered_map(add, rows.pieces(), threads):
        pass
    return sums


def hashes_of_sums(
    sums: npt.NDArray[np.uint64], number: npt.NDArray[np.uint32], seed: int
) -> npt.NDArray[np.uint64]:
    """The hash of each row from its sum and from its number among the rows with that sum."""
    out = np.empty(len(sums), np.uint64)
    _mix_rows(sums, number, U64(seed & 0xFFFFFFFFFFFFFFFF), out)
    return out


def folds_of(hashes: npt.NDArray[np.uint64], n_folds: int) -> npt.NDArray[np.int32]:
    """The fold of each row, from the upper half of its hash."""
    return (((hashes >> U64(32)) * U64(n_folds)) >> U64(32)).astype(np.int32)


def estimating_half(hashes: npt.NDArray[np.uint64], rate: int) -> npt.NDArray[np.bool_]:
    """Which rows estimate when 2**-rate of them do and the others train (the paper's split)."""
    return np.asarray(hashes >> U64(64 - rate) == 0)


@kernel
def _number_runs(sums, order, number):  # type: ignore[no-untyped-def]
    """Number the rows of one sum from 0, in their order."""
    for k in range(len(order)):
        same = k > 0 and sums[order[k]] == sums[order[k - 1]]
        number[order[k]] = number[order[k - 1]] + np.uint32(1) if same else np.uint32(0)


@kernel
def _sum_keys(indptr, codes, keys, sums):  # type: ignore[no-untyped-def]
    for row in range(len(indptr) - 1):
        total = U64(0)
        for i in range(indptr[row], indptr[row + 1]):
            total += mix(keys[codes[i]])
        sums[row] = total


@kernel
def _mix_rows(sums, number, seed, out):  # type: ignore[no-untyped-def]
    for row in range(len(sums)):
        z = (
            sums[row]
            + mix(U64(number[row]) + U64(0x9E3779B97F4A7C15))
            + mix(seed + U64(0xD1B54A32D192ED03))
        )
        out[row] = mix(z)
