"""Checks of an encoder, each of one property.

A check takes an encoder with `fit` and `transform` in scikit-learn's manners, ours or another's, and
raises AssertionError with a sentence on what does not hold. It works on clones, and on data of its own.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

WIDTH = 1200  # columns of the matrices
SEEN = 600  # features from here on are in no row of training
LEAK = 100_000  # bytes that repeated transforms may keep


class DoesNotApply(Exception):
    """The encoder has nothing that the check could look at; the message says what."""


class Sample(NamedTuple):
    """Rows to fit on, no two alike, their labels, and others to transform."""

    train: list[list[int]]
    y: npt.NDArray[np.int64]
    test: list[list[int]]


def check(encoder: Any, expected_to_fail: Mapping[str, str] | None = None) -> dict[str, str]:
    """Run all checks; what became of each, by its name.

    All that fail are told in one AssertionError. `expected_to_fail` gives reasons by the names of checks
    that cannot hold; one that holds nevertheless is an error too.

    >>> from chromatic import HashingEncoder
    >>> unknown = {"unseen_features_change_nothing": "hashing knows no features"}
    >>> outcomes = check(HashingEncoder(64), unknown)
    >>> outcomes["rows_in_any_order_give_the_same_model"], outcomes["one_row_equals_the_batch"]
    ('passed', 'left out: there is no encode_one')
    """
    reasons = dict(expected_to_fail or {})
    unknown = set(reasons) - {one.__name__ for one in CHECKS}
    if unknown:
        known = ", ".join(one.__name__ for one in CHECKS)
        raise ValueError(
            f"there are no checks of the names {', '.join(sorted(unknown))}; expected of {known}"
        )
    outcomes, failed = {}, []
    for one in CHECKS:
        name = one.__name__
        try:
            one(encoder)
            outcomes[name] = "passed"
            if name in reasons:
                failed.append(f"{name}: was expected to fail ({reasons[name]}), and holds")
        except DoesNotApply as reason:
            outcomes[name] = f"left out: {reason}"
        except Exception as error:  # an encoder may fail in any way; the other checks go on
            outcomes[name] = f"fails as expected: {reasons.get(name)}"
            told = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            if name not in reasons:
                failed.append(f"{name}: {told}")
    if failed:
        raise AssertionError("\n".join(failed))
    return outcomes


def two_fits_give_the_same_model(encoder: Any) -> None:
    """The same rows, the same parameters, the same columns."""
    _same(_fitted(encoder), _fitted(encoder), "two fits on the same rows")


def rows_in_any_order_give_the_same_model(encoder: Any) -> None:
    """What is learned depends on which rows there are, not on their order."""
    train, y, _ = sample()
    order = np.random.default_rng(1).permutation(len(train))
    shuffled = _clone(encoder).fit(_matrix([train[i] for i in order]), y[order])
    _same(_fitted(encoder), shuffled, "fits on the same rows in another order")


def every_row_twice_gives_the_same_colors(encoder: Any) -> None:
    """Which features meet is the same when every row comes twice."""
    train, y, _ = sample()
    once = _fitted(encoder)
    if not hasattr(once, "colors_"):
        raise DoesNotApply("there is no colors_")
    twice = _clone(encoder).fit(_matrix(train + train), np.concatenate((y, y)))
    same = np.array_equal(once.colors_, twice.colors_)
    assert same, "colors_ are others when every row is given twice; expected the same"


def the_number_of_threads_changes_nothing(encoder: Any) -> None:
    """Threads are for speed only."""
    if "n_jobs" not in _parameters(encoder):
        raise DoesNotApply("there is no parameter n_jobs")
    one = _fitted(_clone(encoder).set_params(n_jobs=1))
    for threads in (2, 3):
        more = _fitted(_clone(encoder).set_params(n_jobs=threads))
        _same(one, more, f"1 and {threads} threads")


def unseen_features_change_nothing(encoder: Any) -> None:
    """A feature that no row of training had plays no part in other rows."""
    fitted, test = _fitted(encoder), sample().test
    strange = [[*row, SEEN + i % (WIDTH - SEEN), WIDTH - 1] for i, row in enumerate(test)]
    _equal(
        _columns(fitted, _matrix(test)),
        _columns(fitted, _matrix(strange)),
        "columns change when features that were not seen in training are added to a row",
    )


def transform_changes_nothing(encoder: Any) -> None:
    """A second transform gives the same, and the rows stay as they were."""
    fitted, matrix = _fitted(encoder), _matrix(sample().test)
    before = matrix.copy()
    first = _columns(fitted, matrix)
    _equal(before, matrix, "transform changes the rows that it is given")
    _columns(fitted, _matrix(sample().train))
    _equal(first, _columns(fitted, matrix), "a second transform of the same rows gives others")


def batches_equal_the_whole(encoder: Any) -> None:
    """Rows may be transformed in pieces of any size."""
    fitted, matrix = _fitted(encoder), _matrix(sample().test)
    whole = _columns(fitted, matrix)
    for size in (1, 7, 64):
        starts = range(0, matrix.shape[0], size)
        pieces = [_columns(fitted, matrix[start : start + size]) for start in starts]
        _equal(whole, sparse.vstack(pieces, "csr"), f"rows in batches of {size} get other columns")


def one_row_equals_the_batch(encoder: Any) -> None:
    """`encode_one` gives the columns that are 1 or, where columns have values, all values of the row."""
    if not hasattr(encoder, "encode_one"):
        raise DoesNotApply("there is no encode_one")
    fitted, test = _fitted(encoder), sample().test
    for row, expected in zip(test, _columns(fitted, _matrix(test)), strict=True):
        columns = np.asarray(fitted.encode_one(row))
        same = np.array_equal(columns, expected.indices) and bool((expected.data == 1).all())
        same = same or np.array_equal(columns, expected.toarray().ravel())
        assert same, f"encode_one({row}) gives other columns than transform does"


def every_sparse_layout_gives_the_same(encoder: Any) -> None:
    """CSR, CSC and COO, sorted or not, with small or large indices and any numbers, are the same rows."""
    train, y, test = sample()
    expected = _columns(_fitted(encoder), _matrix(test))
    for name, layout in LAYOUTS.items():
        fitted = _clone(encoder).fit(layout(_matrix(train)), y)
        _equal(expected, _columns(fitted, layout(_matrix(test))), f"rows as {name} get other columns")


def lists_of_features_equal_the_matrix(encoder: Any) -> None:
    """Column j of a matrix is the feature j of a list, where an encoder takes lists."""
    train, y, test = sample()
    try:
        by_lists = _clone(encoder).fit(train, y)
    except (TypeError, ValueError) as error:
        raise DoesNotApply("lists of features are not taken") from error
    _equal(
        _columns(_fitted(encoder), _matrix(test)),
        _columns(by_lists, test),
        "rows as lists of features get other columns than as a matrix",
    )


def the_budget_is_never_exceeded(encoder: Any) -> None:
    """No more columns than the parameter `budget` allows; a budget that cannot be kept may be refused."""
    own = _parameters(encoder).get("budget")
    if own is None:
        raise DoesNotApply("there is no parameter budget")
    for budget in sorted({1, 12, 40, own}):
        try:
            fitted = _fitted(_clone(encoder).set_params(budget=budget))
        except ValueError:
            continue
        n_columns = _columns(fitted, _matrix(sample().test)).shape[1]
        assert n_columns <= budget, f"a budget of {budget} gives {n_columns} columns"


def memory_is_bounded(encoder: Any) -> None:
    """Transforms keep nothing of the rows that they saw."""
    fitted, test = _fitted(encoder), sample().test

    def transform(times: int) -> int:
        for _ in range(times):
            _columns(fitted, _matrix(test))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    with _traced():
        grown = -transform(5) + transform(40)
    assert grown < LEAK, f"40 transforms keep {grown:,} bytes; expected memory to stay as it is"


CHECKS: tuple[Callable[[Any], None], ...] = (
    two_fits_give_the_same_model,
    rows_in_any_order_give_the_same_model,
    every_row_twice_gives_the_same_colors,
    the_number_of_threads_changes_nothing,
    unseen_features_change_nothing,
    transform_changes_nothing,
    batches_equal_the_whole,
    one_row_equals_the_batch,
    every_sparse_layout_gives_the_same,
    lists_of_features_equal_the_matrix,
    the_budget_is_never_exceeded,
    memory_is_bounded,
)


@cache
def sample() -> Sample:
    """A group of 4, one of its items, 20 in all, and some of 500 tags; items tell the label."""
    random = np.random.default_rng(0)
    rows: dict[tuple[int, ...], None] = {}
    while len(rows) < 900:
        item = int(random.integers(20))
        tags = sorted({int(tag) for tag in random.integers(500, size=random.integers(1, 7))})
        rows[item % 4, 4 + item, *(24 + tag for tag in tags)] = None
    listed = [list(row) for row in rows]
    train, known = listed[:700], {feature for row in listed[:700] for feature in row}
    test = [[feature for feature in row if feature in known] for row in listed[700:]]
    y = np.array([random.random() < 0.1 + 0.8 * (row[1] // 4 % 2) for row in train]).astype(np.int64)
    return Sample(train, y, test)


def _matrix(rows: list[list[int]]) -> Any:
    lengths = [len(row) for row in rows]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    indices = np.concatenate(rows)
    return sparse.csr_matrix((np.ones(len(indices)), indices, indptr), (len(rows), WIDTH))


def _with_large_indices(matrix: Any) -> Any:
    large = matrix.copy()
    large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
    return large


def _unsorted(matrix: Any) -> Any:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((-matrix.indices, rows))
    return sparse.csr_matrix((matrix.data[order], matrix.indices[order], matrix.indptr), matrix.shape)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "CSR": lambda matrix: matrix,
    "CSC": lambda matrix: matrix.tocsc(),
    "COO": lambda matrix: matrix.tocoo(),
    "a sparse array": sparse.csr_array,
    "CSR with indices of 64 bits": _with_large_indices,
    "CSR with unsorted indices": _unsorted,
    "CSR of float32": lambda matrix: matrix.astype(np.float32),
}


def _clone(encoder: Any) -> Any:
    return clone(encoder) if hasattr(encoder, "get_params") else copy.deepcopy(encoder)


def _parameters(encoder: Any) -> dict[str, Any]:
    return encoder.get_params() if hasattr(encoder, "get_params") else {}


def _fitted(encoder: Any) -> Any:
    train, y, _ = sample()
    return _clone(encoder).fit(_matrix(train), y)


def _columns(fitted: Any, rows: Any) -> Any:
    """What transform gives, as CSR with sorted indices and without zeros."""
    columns = fitted.transform(rows)
    matrix = sparse.csr_matrix(columns if sparse.issparse(columns) else np.asarray(columns))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    asked = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    assert matrix.shape[0] == asked, f"{asked} rows become {matrix.shape[0]}; expected as many"
    return matrix


def _same(one: Any, two: Any, what: str) -> None:
    rows = _matrix(sample().test)
    _equal(_columns(one, rows), _columns(two, rows), f"{what} encode the same rows differently")


def _equal(one: Any, two: Any, problem: str) -> None:
    """Refuse two matrices that differ by more than the rounding of sums in another order."""
    assert one.shape == two.shape, f"{problem}: {one.shape[1]} columns and {two.shape[1]}"
    rows = np.flatnonzero(np.asarray(abs(one - two).max(axis=1).todense()).ravel() > 1e-9)
    assert len(rows) == 0, f"{problem}: {len(rows)} of {one.shape[0]} rows, the first is row {rows[:1]}"


@contextlib.contextmanager
def _traced() -> Iterator[None]:
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    try:
        yield
    finally:
        if not already:
            tracemalloc.stop()
