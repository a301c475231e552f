"""The encoders that people use today, to compare with, in scikit-learn's manners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chromatic._estimator import SparseEstimator
from chromatic._threads import thread_count
from chromatic.data import Reader
from chromatic.data.batch import Batch, LeftOut
from chromatic.data.unseen import Unseen
from chromatic.data.vocabulary import Vocabulary, learn
from chromatic.encoding.baselines import HashingEncoding, truncate
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.naming import finished
from chromatic.model import Input
from chromatic.parameters import check_parameter


class _Baseline(SparseEstimator):
    """An encoder that needs no labels."""

    budget: int
    categorical: Any

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoding_")

    @property
    def _input(self) -> Input:
        return self._fitted_on

    def _read_rows(self, X: Any, y: Any) -> list[Batch]:
        """Read training rows, and say what was left out of them."""
        check_parameter("budget", self.budget)
        check_parameter("categorical", self.categorical)
        batches, self._fitted_on = self._read_to_fit(X, labels_apart=y is not None)
        LeftOut.of(batches).warn()
        return batches


class FrequencyEncoder(_Baseline):
    """Frequency truncation (FT): the most frequent features, a column each.

    Parameters
    ----------
    budget : int, default=1024
        The most columns, dense ones included.
    categorical : {"auto"}, list of str or int, or mask, default="auto"
        The columns of a table that are categories, as `ChromaticEncoder` takes them.
    dense_threshold : float, default=0.1
        Features in more than this share of the rows are dense: they pass through with their values.
    min_count : int, default=1
        Sparse features in fewer rows are dropped.
    n_jobs : int, default=None
        The number of threads; by default all cores.

    Attributes
    ----------
    encoding_ : TruncatedEncoding
        What was fitted.

    See Also
    --------
    ChromaticEncoder : Columns that keep all features.
    HashingEncoder : Columns by the features' hashes.

    Examples
    --------
    >>> encoder = FrequencyEncoder(budget=1, dense_threshold=1.0)
    >>> encoder.fit_transform([["a"], ["a", "b"], ["c"], ["a"]]).toarray().tolist()
    [[1.0], [1.0], [0.0], [1.0]]
    """

    def __init__(
        self,
        budget: int = 1024,
        *,
        categorical: Any = "auto",
        dense_threshold: float = 0.1,
        min_count: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.categorical = categorical
        self.dense_threshold = dense_threshold
        self.min_count = min_count
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any) -> Encoded:
        batches = self._read_rows(X, y)
        vocabulary, rows = learn(
            batches,
            dense_threshold=self.dense_threshold,
            min_count=self.min_count,
            threads=thread_count(self.n_jobs),
        )
        self.encoding_ = truncate(vocabulary, self.budget)
        return self.encoding_.encode(rows)

    @property
    def _vocabulary(self) -> Vocabulary:
        return self.encoding_.vocabulary

    def _encoded(self, X: Any) -> Encoded:
        vocabulary = self._vocabulary
        rows = vocabulary.encode(self._read_more(X, vocabulary.integers), thread_count(self.n_jobs))
        Unseen.of(rows, len(vocabulary.numeric_names)).warn()
        return self.encoding_.encode(rows)

    def _column_names(self, given: Any) -> list[str]:
        return finished(self.encoding_.column_names(self._input.called(given)))


class HashingEncoder(_Baseline):
    """The hashing trick (HT): each feature adds its value, with a sign of its own, to a column by its hash.

    Dense features are hashed too, and nothing is learned but whether features are integers.

    Parameters
    ----------
    budget : int, default=1024
        The number of columns.
    categorical : {"auto"}, list of str or int, or mask, default="auto"
        The columns of a table that are categories, as `ChromaticEncoder` takes them.
    n_jobs : int, default=None
        The number of threads; by default all cores.

    Attributes
    ----------
    encoding_ : HashingEncoding
        What was fitted.

    See Also
    --------
    ChromaticEncoder : Columns that keep all features.
    FrequencyEncoder : A column for each of the most frequent features.

    Examples
    --------
    >>> HashingEncoder(budget=4).fit_transform([["a"], ["a", "b"]]).shape
    (2, 4)
    """

    def __init__(self, budget: int = 1024, *, categorical: Any = "auto", n_jobs: int | None = None) -> None:
        self.budget = budget
        self.categorical = categorical
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any) -> Encoded:
        batches = self._read_rows(X, y)
        self._schema = batches[0].schema if batches else None
        integers = not any(batch.has_names for batch in batches)
        self.encoding_ = HashingEncoding(self.budget, integers)
        return self.encoding_.encode(batches)

    def _reader_of_more(self) -> Reader:
        return replace(self._reader(self._input, labels_apart=True), schema=self._schema)

    def _encoded(self, X: Any) -> Encoded:
        return self.encoding_.encode(self._read_more(X, self.encoding_.integers))

    def _column_names(self, given: Any) -> list[str]:
        return [f"hash{column}" for column in range(self.budget)]
