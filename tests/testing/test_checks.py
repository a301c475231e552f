"""The checks hold for our encoders, and each fails on an encoder that breaks its property."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MaxAbsScaler

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder
from chromatic.testing import checks

TWICE = checks.every_row_twice_gives_the_same_colors.__name__
BUDGET = checks.the_budget_is_never_exceeded.__name__
UNSEEN = checks.unseen_features_change_nothing.__name__
COUNTS_DOUBLE = {TWICE: "what is seen once is then seen twice"}
KEPT_FEATURES = {BUDGET: "the budget is of features kept, or there is none"}

ENCODERS = [
    (ChromaticEncoder(64), {}),
    (ChromaticEncoder(1024), {}),
    (ChromaticEncoder(64, dense_threshold=1.0), {}),
    (ChromaticEncoder(64, dense_threshold=1.0, null="emit"), {}),
    (ChromaticEncoder(64, null="emit", quantizer="sort"), {}),
    (ChromaticEncoder(64, coloring="first-fit", max_colors=6, leakage="none"), {}),
    (ChromaticEncoder(64, coloring="random", min_gain=0.0, smoothing=2.0), {}),
    (ChromaticEncoder(64, coloring="uniform"), {TWICE: "its palette follows from the pairs seen once"}),
    (ChromaticEncoder(64, min_edge_count=2), COUNTS_DOUBLE),
    (ChromaticEncoder(64, min_count=2), COUNTS_DOUBLE),
    (ChromaticEncoder(64, encoding="target"), {}),
    (ChromaticEncoder(64, encoding="target", leakage="split"), {}),
    (ChromaticEncoder(200, encoding="frequency"), KEPT_FEATURES),
    (ChromaticEncoder(encoding="identity"), KEPT_FEATURES),
    (ChromaticEncoder.paper(64), {}),
    (FrequencyEncoder(50), {}),
    (HashingEncoder(64), {UNSEEN: "hashing knows no features"}),
]


@pytest.mark.parametrize(("encoder", "expected_to_fail"), ENCODERS, ids=lambda value: str(value)[:70])
def test_our_encoders_hold_to_all_checks(encoder, expected_to_fail):
    found = checks.check(encoder, expected_to_fail)
    left_out = [name for name, what in found.items() if what.startswith("left out")]
    one_by_one = [checks.every_row_twice_gives_the_same_colors, checks.one_row_equals_the_batch]
    chromatic = isinstance(encoder, ChromaticEncoder)
    assert left_out == ([] if chromatic else [check.__name__ for check in one_by_one])


def test_the_checks_have_rows_that_tell_columns_apart():
    train, y, test = checks.sample()
    encoder = ChromaticEncoder(64).fit(train, y)
    assert encoder.n_columns_ > 4 and encoder.n_colors_ > 4
    assert encoder.count_collisions(test)["mean"] > 0
    assert len({tuple(row) for row in train}) == len(train)


def test_encoders_of_other_libraries_are_checked_as_far_as_they_go():
    found = checks.check(MaxAbsScaler(), {UNSEEN: "columns stay as they are"})
    assert found[checks.batches_equal_the_whole.__name__] == "passed"
    assert found[checks.one_row_equals_the_batch.__name__] == "left out: there is no encode_one"
    assert found[checks.lists_of_features_equal_the_matrix.__name__].startswith("left out: lists")


def test_what_is_expected_to_fail_must_fail_and_be_known():
    with pytest.raises(AssertionError, match=r"was expected to fail \(no reason\), and holds"):
        checks.check(ChromaticEncoder(64), {BUDGET: "no reason"})
    with pytest.raises(ValueError, match="no checks of the names spelling"):
        checks.check(ChromaticEncoder(64), {"spelling": "wrong"})


class Plain(BaseEstimator):
    """The columns that training rows have, as they are: it holds to every check that applies."""

    def __init__(self, budget=1200, n_jobs=1):
        self.budget, self.n_jobs = budget, n_jobs

    def fit(self, X, y=None):
        matrix = self.read(X)
        self.colors_ = np.arange(matrix.shape[1])
        self.kept_ = np.flatnonzero(np.asarray(matrix.sum(axis=0)).ravel())[: self.budget]
        return self

    def read(self, X):
        if isinstance(X, list):
            indptr = np.concatenate(([0], np.cumsum([len(row) for row in X])))
            indices = np.concatenate(X)
            return sparse.csr_matrix((np.ones(len(indices)), indices, indptr), (len(X), checks.WIDTH))
        return sparse.csr_matrix(X)

    def transform(self, X):
        return self.read(X)[:, self.kept_]

    def encode_one(self, row):
        return np.flatnonzero(np.isin(self.kept_, row))


class Unsteady(Plain):
    fits = 0

    def fit(self, X, y=None):
        super().fit(X)
        Unsteady.fits += 1
        self.kept_ = np.roll(self.kept_, Unsteady.fits)
        return self


class OrderBound(Plain):
    def fit(self, X, y=None):
        super().fit(X)
        first = self.read(X)[0].indices
        self.kept_ = np.concatenate((first, np.setdiff1d(self.kept_, first)))
        return self


class Counting(Plain):
    def fit(self, X, y=None):
        super().fit(X)
        self.colors_ = np.asarray(self.read(X).sum(axis=0)).ravel()
        return self


class Threaded(Plain):
    def transform(self, X):
        return super().transform(X) * self.n_jobs


class Open(Plain):
    def fit(self, X, y=None):
        super().fit(X)
        self.kept_ = np.arange(checks.WIDTH)
        return self


class Learning(Plain):
    def transform(self, X):
        self.seen_ = getattr(self, "seen_", 0) + 1
        return super().transform(X) * self.seen_


class Spoiling(Plain):
    def transform(self, X):
        found = super().transform(X)
        if sparse.issparse(X):
            X.data[:] = 0
        return found


class Centered(Plain):
    def transform(self, X):
        found = super().transform(X)
        return found / found.shape[0]


class AnotherRow(Plain):
    def encode_one(self, row):
        return super().encode_one(row)[1:]


class Csr(Plain):
    def read(self, X):
        return super().read(X.T) if sparse.issparse(X) and X.format == "csc" else super().read(X)

    def transform(self, X):
        return sparse.csr_matrix(self.read(X).toarray()[:, : len(self.kept_)])


class ByPosition(Plain):
    def read(self, X):
        return super().read([row[:-1] for row in X] if isinstance(X, list) else X)


class Wasteful(Plain):
    def transform(self, X):
        return self.read(X)


class Hoarding(Plain):
    def transform(self, X):
        self.hoard_ = [*getattr(self, "hoard_", []), X]
        return super().transform(X)


BROKEN = {
    checks.two_fits_give_the_same_model: (
        Unsteady,
        "two fits on the same rows encode",
    ),
    checks.rows_in_any_order_give_the_same_model: (OrderBound, "in another order encode"),
    checks.every_row_twice_gives_the_same_colors: (Counting, "colors_ are others"),
    checks.the_number_of_threads_changes_nothing: (Threaded, "1 and 2 threads encode"),
    checks.unseen_features_change_nothing: (Open, "columns change when features that were not seen"),
    checks.transform_changes_nothing: (Learning, "a second transform"),
    checks.batches_equal_the_whole: (Centered, "rows in batches of 1 get other columns"),
    checks.one_row_equals_the_batch: (AnotherRow, "gives other columns than transform"),
    checks.every_sparse_layout_gives_the_same: (Csr, "rows become 1200"),
    checks.lists_of_features_equal_the_matrix: (ByPosition, "rows as lists of features get other"),
    checks.the_budget_is_never_exceeded: (Wasteful, "a budget of 1 gives 1200 columns"),
    checks.memory_is_bounded: (Hoarding, "40 transforms keep .* bytes"),
}


def test_an_encoder_that_breaks_nothing_passes():
    assert set(checks.check(Plain()).values()) == {"passed"}


def test_there_is_a_broken_encoder_for_every_check():
    assert list(BROKEN) == list(checks.CHECKS)


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one.__name__)
def test_each_check_fails_on_the_encoder_that_breaks_it(one):
    broken, sentence = BROKEN[one]
    with pytest.raises(AssertionError, match=sentence):
        one(broken())
    with pytest.raises(AssertionError, match=one.__name__):
        checks.check(broken())


def test_rows_that_are_spoiled_are_told():
    with pytest.raises(AssertionError, match="transform changes the rows that it is given"):
        checks.transform_changes_nothing(Spoiling())
