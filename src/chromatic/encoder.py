"""The encoders in scikit-learn's manners; what they do is elsewhere (`data`, `coloring`, `encoding`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from dataclasses import asdict, fields
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, _check_y, check_is_fitted, validate_data

from chromatic import modelfile
from chromatic._threads import thread_count
from chromatic.coloring import collisions
from chromatic.data import Dataset, Reader
from chromatic.data.batch import Batch, LeftOut, check_kind, have_labels
from chromatic.data.reader import NO_LABEL, paths_of
from chromatic.data.vocabulary import Vocabulary, learn
from chromatic.encoding.baselines import HashingEncoding, truncate
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.explain import column_names, explain, locate
from chromatic.encoding.fitting import Settings, as_zero_and_one, check_budget, fit
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.encoding.one import RowEncoder
from chromatic.errors import InputError

log = logging.getLogger("chromatic")

NOT_IN_FILES = ("n_jobs", "verbose")  # parameters that a model file does not keep


class _Encoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the encoders share: data of any kind in, a sparse matrix out."""

    encoding_: Any
    n_jobs: int | None
    _on_matrix = False  # whether it was fitted on a matrix, whose columns are the features

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoding_")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X, and from y where labels are needed."""
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from X and y, and give X's columns."""
        encoded = self._fit(X, y)
        left = len(getattr(self, "training_rows_", encoded.indptr[1:]))
        if left < len(encoded.indptr) - 1:
            log.warning("some rows estimated: train on the %s of training_rows_ only", f"{left:,}")
        return self._output(encoded)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The names of the columns."""
        check_is_fitted(self)
        given = None
        if input_features is not None or hasattr(self, "n_features_in_"):
            given = _check_feature_names_in(self, input_features)
        of_matrix = given if self._on_matrix else None
        return np.array(self._names_of_columns(of_matrix), dtype=object)

    def _fit(self, X: Any, y: Any) -> Any:
        raise NotImplementedError

    def _names_of_columns(self, given: Any) -> list[str]:
        raise NotImplementedError

    def _read(self, X: Any, integers: bool | None = None, *, labels_given: bool = False) -> list[Batch]:
        """X as batches. Matrices and tables are checked in scikit-learn's way.

        `integers` is None when fitting, else it tells whether the features were integers then. Where
        labels are given, a table's column `label` is one like the others.
        """
        fitting = integers is None
        _refuse_texts(X)
        reader = Reader(n_jobs=self.n_jobs, label=NO_LABEL if labels_given else None)
        in_memory = paths_of(X) is None
        if fitting:
            self._on_matrix = in_memory and _is_matrix(X)
        if in_memory and _is_matrix(X):
            X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=fitting)
        elif in_memory and hasattr(X, "columns"):
            table = X if labels_given else _without_label(X)
            validate_data(self, table, skip_check_array=True, reset=fitting)
        batches = reader.batches(X)
        if fitting:
            for sentence in LeftOut.of(batches).sentences():
                log.warning(sentence)
        elif in_memory:
            check_kind(batches, bool(integers))
        return batches

    def _output(self, encoded: Encoded) -> Any:
        """A matrix, or pandas' sparse frame of it where `set_output` asks for frames."""
        matrix = encoded.to_csr()
        kind = _get_output_config("transform", self)["dense"]
        if kind == "default":
            return matrix
        if kind != "pandas":
            raise InputError(f"{kind} has no sparse columns to set as output; expected pandas or default")
        import pandas as pd

        return pd.DataFrame.sparse.from_spmatrix(matrix, columns=self.get_feature_names_out())


class ChromaticEncoder(_Encoder):
    """A few hundred meaningful columns from millions of sparse features.

    Features that never occur together share a color, one categorical variable; the label's help then
    compresses all colors to `budget` columns.

    Parameters
    ----------
    budget : the most columns, dense ones included ("frequency": the most features kept).
    encoding : "submodular" (one-hot columns, by mutual information with the label), "target" (a number a
        color), "frequency" (an integer a color, for embeddings and trees) or "identity" (the same, with
        every feature kept).
    coloring : "balanced", "first-fit", "random", "uniform" (the paper's guarantee), or "fields" (a table's
        columns are the colors).
    max_colors : a number, "proper" (as many as no collision needs), "paper" (proper, at most half the
        budget), or None for what suits the budget.
    min_edge_count : only pairs of features seen in so many rows need different colors; above 1 the graph of
        such pairs is built.
    leakage : how training rows are encoded: "crossfit" (by the other folds' rates), "split" (2**-split_rate
        of the rows estimate, `training_rows_` are the others) or "none".
    smoothing : the pseudo-count of the overall rate, or "auto" for empirical Bayes.
    quantizer : "optimal", "greedy" or "sort".
    null : "drop", or "emit" a column for an absent color too.
    min_gain : what a column must tell of the label, in nats over all rows; None is half the logarithm of
        the rows.
    unestimated : what a feature that no row estimates counts as: the overall rate, "prior", or "null".
    dense_threshold : features in more than this share of the rows pass through, with their values.
    min_count : sparse features in fewer rows are dropped.
    handle_unknown : "ignore" features that were not in the training rows, or "error".
    names : keep the names of string features.
    n_jobs : threads; None is all cores.
    random_state : seeds folds, halves and random colors.
    verbose : above 0, tell what was found.

    Attributes
    ----------
    n_colors_, colors_ : how many colors there are, and that of each sparse feature, frequent ones first.
    n_columns_ : the columns, dense ones included.
    field_dims_ : for "frequency" and "identity", how many codes each color has, 0 included.
    training_rows_ : the rows to train on, all but for "split".
    smoothing_ : the pseudo-count that was used; None without labels.
    encoding_ : what was fitted, without scikit-learn's manners.

    >>> X = [["red", f"item{i % 50}"] for i in range(500)]
    >>> encoder = ChromaticEncoder(budget=8)
    >>> encoder.fit_transform(X, [i % 50 < 20 for i in range(500)]).shape
    (500, 2)
    >>> encoder.transform([["item3", "blue"], ["item30"]]).toarray().tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """

    def __init__(
        self,
        budget: int = 1024,
        *,
        encoding: str = "submodular",
        coloring: str = "balanced",
        max_colors: int | str | None = None,
        min_edge_count: int = 1,
        leakage: str = "crossfit",
        folds: int = 5,
        split_rate: int = 1,
        smoothing: float | str = "auto",
        quantizer: str = "optimal",
        null: str = "drop",
        min_gain: float | None = None,
        unestimated: str = "prior",
        dense_threshold: float = 0.1,
        min_count: int = 1,
        handle_unknown: str = "ignore",
        names: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.encoding = encoding
        self.coloring = coloring
        self.max_colors = max_colors
        self.min_edge_count = min_edge_count
        self.leakage = leakage
        self.folds = folds
        self.split_rate = split_rate
        self.smoothing = smoothing
        self.quantizer = quantizer
        self.null = null
        self.min_gain = min_gain
        self.unestimated = unestimated
        self.dense_threshold = dense_threshold
        self.min_count = min_count
        self.handle_unknown = handle_unknown
        self.names = names
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, budget: int = 1024, **parameters: Any) -> Self:
        """The setting of the paper: first-fit colors, greedy quantizer, split, nothing smoothed."""
        chosen = asdict(Settings.paper(budget))
        chosen["random_state"] = chosen.pop("seed")
        return cls(**chosen | parameters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.encoding in ("submodular", "target")
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        state.pop("_row_encoder", None)
        return state

    def _fit(self, X: Any, y: Any) -> Encoded:
        if self.handle_unknown not in ("ignore", "error"):
            raise InputError(f"handle_unknown is {self.handle_unknown!r}; expected ignore or error")
        settings = self._settings()
        self._labels_given = y is not None
        batches = self._read(X, labels_given=self._labels_given)
        y = _labels(y, batches, self)
        threads = thread_count(self.n_jobs)
        vocabulary, rows = learn(
            batches,
            dense_threshold=self.dense_threshold,
            min_count=self.min_count,
            keep_names=self.names,
            keep_fields=self.coloring == "fields",
            threads=threads,
        )
        fitted = fit(Dataset(rows, vocabulary), y, settings, threads)
        self.encoding_ = fitted.encoding
        self.training_rows_ = fitted.training_rows
        self.smoothing_ = fitted.smoothing
        self.__dict__.pop("_row_encoder", None)
        if self.verbose:
            found = fitted.encoding.coloring
            print(
                f"[chromatic] {rows.n_rows:,} rows, {len(vocabulary):,} sparse and "
                f"{len(vocabulary.dense_names)} dense features, {found.n_colors} colors "
                f"({found.forced:,} features forced), {self.n_columns_} columns"
            )
        return fitted.training

    def _settings(self) -> Settings:
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(1 << 31)
        names = [field.name for field in fields(Settings) if field.name != "seed"]
        return Settings(**{name: getattr(self, name) for name in names}, seed=int(seed))

    def transform(self, X: Any) -> Any:
        """The columns of other rows; features that were not seen in training play no part."""
        check_is_fitted(self)
        encoded = self.encoding_.encode(self._code(X), thread_count(self.n_jobs))
        return self._output(encoded)

    def _code(self, X: Any) -> Any:
        vocabulary: Vocabulary = self.encoding_.vocabulary
        given = getattr(self, "_labels_given", False)
        batches = self._read(X, vocabulary.integers, labels_given=given)
        rows = vocabulary.encode(batches, thread_count(self.n_jobs))
        if rows.unseen and self.handle_unknown == "error":
            raise InputError(
                f"{rows.unseen:,} features of the rows were not seen in training; expected known ones, or "
                "handle_unknown='ignore'"
            )
        return rows

    @property
    def n_colors_(self) -> int:
        return int(self._fitted().coloring.n_colors)

    @property
    def colors_(self) -> npt.NDArray[np.int32]:
        found: npt.NDArray[np.int32] = self._fitted().coloring.colors
        return found

    @property
    def n_columns_(self) -> int:
        encoding = self._fitted()
        return int(encoding.n_sparse_columns) + len(encoding.vocabulary.dense_names)

    @property
    def field_dims_(self) -> npt.NDArray[np.int64]:
        encoding = self._fitted()
        if not isinstance(encoding, FrequencyEncoding):
            raise AttributeError("field_dims_ is of the encodings frequency and identity only")
        return encoding.field_dims

    def _fitted(self) -> Any:
        if not hasattr(self, "encoding_"):
            raise AttributeError("the encoder is not fitted; call fit first")
        return self.encoding_

    def _names_of_columns(self, given: Any) -> list[str]:
        return column_names(self.encoding_, given)

    def explain(self, column: int) -> dict[str, Any]:
        """What a column means: its color, its rate and rows, and its features with theirs."""
        check_is_fitted(self)
        return explain(self.encoding_, column)

    def locate(self, feature: str | bytes | int) -> dict[str, Any]:
        """Where a feature went: its color and its column, None where that makes no column."""
        check_is_fitted(self)
        return locate(self.encoding_, feature)

    def collisions(self, X: Any) -> dict[str, Any]:
        """How many features of rows meet in a color, so that only the rarest of them counts."""
        check_is_fitted(self)
        found = asdict(collisions(self._code(X), self.encoding_.coloring, thread_count(self.n_jobs)))
        found.pop("dropped")
        return found

    def encode_one(self, tokens: Collection[Any]) -> npt.NDArray[Any]:
        """One row, in microseconds: the columns that are 1, ascending.

        Where columns have values ("target", "frequency", "identity"), all values of the row. Every
        feature of the row counts as present, with the value 1.
        """
        row_encoder: RowEncoder | None = self.__dict__.get("_row_encoder")
        if row_encoder is None:
            check_is_fitted(self)
            row_encoder = self._row_encoder = RowEncoder(self.encoding_)
        return row_encoder.encode(tokens)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted encoder to a file that `load` reads; it holds no code."""
        check_is_fitted(self)
        kept = {name: value for name, value in self.get_params().items() if name not in NOT_IN_FILES}
        if not isinstance(self.random_state, Integral):
            kept.pop("random_state")
        width = self.n_features_in_ if self._on_matrix else None
        model = modelfile.Model(self.encoding_, kept, width)
        modelfile.save(model, path, names=self.names)


def load(path: str | os.PathLike[str]) -> ChromaticEncoder:
    """Read an encoder from a file that `ChromaticEncoder.save` or `chromatic fit` wrote."""
    model = modelfile.load(path)
    known = ChromaticEncoder().get_params()
    encoder = ChromaticEncoder(**{name: v for name, v in model.parameters.items() if name in known})
    encoder.encoding_ = model.encoding
    if model.n_features_in is not None:
        encoder.n_features_in_ = model.n_features_in
        encoder._on_matrix = True
    return encoder


class FrequencyEncoder(_Encoder):
    """Frequency truncation (FT): the most frequent features, a column each.

    Parameters are those of `ChromaticEncoder`.

    >>> encoder = FrequencyEncoder(budget=1, dense_threshold=1.0)
    >>> encoder.fit_transform([["a"], ["a", "b"], ["c"], ["a"]]).toarray().tolist()
    [[1.0], [1.0], [0.0], [1.0]]
    """

    def __init__(
        self,
        budget: int = 1024,
        *,
        dense_threshold: float = 0.1,
        min_count: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.dense_threshold = dense_threshold
        self.min_count = min_count
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any) -> Encoded:
        check_budget(self.budget)
        vocabulary, rows = learn(
            self._read(X),
            dense_threshold=self.dense_threshold,
            min_count=self.min_count,
            threads=thread_count(self.n_jobs),
        )
        encoding = self.encoding_ = truncate(vocabulary, self.budget)
        return encoding.encode(rows)

    def transform(self, X: Any) -> Any:
        """The columns of other rows."""
        check_is_fitted(self)
        vocabulary = self.encoding_.vocabulary
        rows = vocabulary.encode(self._read(X, vocabulary.integers), thread_count(self.n_jobs))
        return self._output(self.encoding_.encode(rows))

    def _names_of_columns(self, given: Any) -> list[str]:
        return column_names(self.encoding_, given)


class HashingEncoder(_Encoder):
    """The hashing trick (HT): each feature adds its value, with a sign of its own, to a column by its hash.

    Dense features are hashed too, and nothing is learned but whether features are integers.

    >>> HashingEncoder(budget=4).fit_transform([["a"], ["a", "b"]]).shape
    (2, 4)
    """

    def __init__(self, budget: int = 1024, *, n_jobs: int | None = None) -> None:
        self.budget = budget
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: Any) -> Encoded:
        check_budget(self.budget)
        batches = self._read(X)
        integers = not any(batch.has_names for batch in batches)
        encoding = self.encoding_ = HashingEncoding(self.budget, integers)
        return encoding.encode(batches)

    def transform(self, X: Any) -> Any:
        """The columns of other rows."""
        check_is_fitted(self)
        return self._output(self.encoding_.encode(self._read(X, self.encoding_.integers)))

    def _names_of_columns(self, given: Any) -> list[str]:
        return [f"hash{column}" for column in range(self.budget)]


def _is_matrix(X: Any) -> bool:
    """Whether scikit-learn would take X for a matrix of numbers; lists of integers are features here."""
    if hasattr(X, "columns"):
        return False
    if isinstance(X, (list, tuple)):
        first = X[0] if len(X) else None
        return isinstance(first, (list, tuple)) and len(first) > 0 and isinstance(first[0], float)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        return bool(len(X) == 0 or not isinstance(X[0], (Collection, np.ndarray)))
    return hasattr(X, "tocsr") or (hasattr(X, "__array__") and not hasattr(X, "to_list"))


def _refuse_texts(X: Any) -> None:
    """Paths are text, and so are rows that were not split yet."""
    texts = isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(text, str) for text in X)
    if texts and not any(os.path.exists(text) or text == "-" for text in X):
        raise InputError(
            f"X is a list of texts, such as {X[0][:40]!r}, and there are no files of these names; expected "
            "rows of features, as [text.split() for text in X], or paths"
        )


def _without_label(table: Any) -> Any:
    """The columns of a table that are features."""
    if "label" not in list(table.columns):
        return table
    import narwhals as nw

    return nw.from_native(table, eager_only=True).drop("label").to_native()


def _labels(y: Any, batches: list[Batch], encoder: ChromaticEncoder) -> npt.NDArray[np.float64] | None:
    """The labels given, or those of the data; of two kinds as 0 and 1."""
    if not encoder.__sklearn_tags__().target_tags.required:
        return None
    if y is None:
        if not batches or not have_labels(batches):
            raise InputError(
                f"the {encoder.encoding} encoding requires y to be passed, but the target y is None; give "
                "labels, or data that has them"
            )
        return as_zero_and_one(np.concatenate([batch.labels for batch in batches]))
    y = _check_y(y, estimator=encoder)
    kinds = {type(label) for label in y.tolist()} if y.dtype == object else {y.dtype.type}
    if len(kinds) > 1:
        listed = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"y has values of the types {listed}; expected labels of one type")
    n_labels = len(np.unique(y))
    if y.dtype.kind not in "biuf" and n_labels != 2:
        raise InputError(
            f"y has {n_labels} kinds of labels; expected two, or numbers for the target encoding"
        )
    return as_zero_and_one(y)
