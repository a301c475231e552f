"""A fitted model as an estimator shows it: its figures, what its columns mean, and other rows encoded."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from chromatic._estimator import SparseEstimator
from chromatic._threads import thread_count
from chromatic.coloring import collisions
from chromatic.data import Reader
from chromatic.data.batch import Batch, check_kind
from chromatic.data.hashing import NOTHING
from chromatic.data.reader import NO_LABEL, paths_of
from chromatic.data.rows import Rows
from chromatic.data.unseen import Unseen, check_known
from chromatic.data.vocabulary import Vocabulary
from chromatic.drift import Drift, drift
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.explain import explain, locate
from chromatic.encoding.explain_row import explain_row
from chromatic.encoding.one import RowEncoder
from chromatic.encoding.protocol import Encoding
from chromatic.encoding.row import as_dict, table_of_row
from chromatic.errors import InputError
from chromatic.model import Input, Model

DERIVED = ("_row_encoder", "_names")  # made of the model when they are first asked for


class SparseRow(NamedTuple):
    """A row's columns that are not 0, their values, and how many features it has, and unseen ones."""

    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    features: int
    unseen: int

    @classmethod
    def of(cls, values: npt.NDArray[Any], features: int, unseen: int) -> SparseRow:
        """Return a row from all of its values."""
        columns = np.flatnonzero(values)
        return cls(columns, values[columns], features, unseen)


class ModelView(SparseEstimator):
    """An estimator that is a view of its model."""

    handle_unknown: str

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        for derived in DERIVED:
            state.pop(derived, None)
        return state

    def _hold(self, model: Model) -> None:
        """Become a view of a model."""
        self.model_ = model
        if model.input.n_columns is not None:
            self.n_features_in_ = model.input.n_columns
        if model.input.columns is not None:
            self.feature_names_in_ = np.array(model.input.columns, dtype=object)
        for derived in DERIVED:
            self.__dict__.pop(derived, None)

    def _n_bins(self, encoded: Encoded) -> int:
        return self.encoding_.n_bin_columns

    def _encoded(self, X: Any) -> Encoded:
        return self.encoding_.encode(self._code(X), thread_count(self.n_jobs))

    def _code(self, X: Any) -> Rows:
        vocabulary = self.encoding_.vocabulary
        rows = vocabulary.encode(self._read_more(X, vocabulary.kind_in), thread_count(self.n_jobs))
        check_known(rows, self.handle_unknown)
        Unseen.of(rows, len(vocabulary.numeric_names)).warn()
        return rows

    @property
    def _fitted(self) -> Model:
        if "model_" not in self.__dict__:
            raise AttributeError("the encoder is not fitted; call fit first")
        return self.model_

    @property
    def encoding_(self) -> Encoding:
        return self._fitted.encoding

    @property
    def n_colors_(self) -> int:
        return self.encoding_.coloring.n_colors

    @property
    def colors_(self) -> npt.NDArray[np.int32]:
        return self.encoding_.coloring.colors

    @property
    def n_columns_(self) -> int:
        return self.encoding_.n_sparse_columns + len(self.encoding_.vocabulary.dense_names)

    @property
    def field_dims_(self) -> npt.NDArray[np.int64]:
        dims = self.encoding_.field_dims
        if dims is None:
            raise AttributeError("field_dims_ is of the encodings frequency and identity only")
        return dims

    @property
    def smoothing_(self) -> float | None:
        return self.encoding_.smoothing

    @property
    def training_rows_(self) -> npt.NDArray[np.int64]:
        return self._fitted.training_rows

    @property
    def _vocabulary(self) -> Vocabulary:
        return self.encoding_.vocabulary

    @property
    def _input(self) -> Input:
        return self.model_.input

    def _column_names(self, given: Any) -> list[str]:
        if given is not None:
            return self.model_.column_names(given)
        names: list[str] | None = self.__dict__.get("_names")
        if names is None:
            names = self._names = self.model_.column_names()
        return names

    def explain(self, column: int | str) -> dict[str, Any]:
        """Return what a column means.

        Parameters
        ----------
        column : int or str
            The number of the column, from 0, or its name.

        Returns
        -------
        dict
            `column`, `name`, `color`, `rate` (or `value`, `level`, or `weight` of a linear column), `rows`,
            and `features`: name, count and rate of each, the most frequent first. Of a linear column the
            strongest are listed, the most positive first. Rates are smoothed; `observed` is the share of
            the rows whose label is 1, None where the model does not know it. Beside values, `smoothed` is
            the rate. `rates` are both rates of each feature.
        """
        return explain(self.encoding_, column, self.get_feature_names_out().tolist())

    def explain_row(self, tokens: Any, *, coef: Any = None, intercept: Any = 0.0) -> dict[str, Any]:
        """Return what became of the features of a row, and what each contributed to a linear model's score.

        Parameters
        ----------
        tokens : list or set of features, dict or pandas Series
            The row, as `encode_one` takes it.
        coef : array-like of shape (n_columns,) or (1, n_columns), default=None
            The coefficients of a linear model that was trained on the columns.
        intercept : float or array-like of one number, default=0.0
            Its intercept.

        Returns
        -------
        dict
            `features`, each with its `feature`, `color`, `column`, the `name` of that column, `count`,
            `rate` and `observed` (or `value`, or `level`), what it `adds` to the column and, with linear
            columns, its `linear` column and the `weight` that it adds there; and `unseen`, the features
            that were not in training. With `coef`, each feature has its `contribution`; with the
            `intercept`, they sum to `score`.
        """
        check_is_fitted(self)
        names = self.get_feature_names_out().tolist()
        return explain_row(self.encoding_, self._read_row(tokens), names, coef=coef, intercept=intercept)

    def _read_row(self, row: Any) -> Batch:
        """Read one row as `transform` reads many."""
        told, vocabulary = as_dict(row), self.encoding_.vocabulary
        if told is not None and self._input.reads_tables(vocabulary):
            table = table_of_row(told, vocabulary, self._input.columns, self._input.label)
            return Reader(n_jobs=self.n_jobs, label=NO_LABEL).by(vocabulary).batches(table)[0]
        row = row if told is None else told
        if isinstance(row, (str, os.PathLike)):  # several would be paths
            raise InputError(f"a row of type {type(row).__name__}; expected a list or set of features")
        return self._read_more([row], vocabulary.kind_in)[0]

    def locate(self, feature: str | bytes | int) -> dict[str, Any]:
        """Return where a feature went.

        Parameters
        ----------
        feature : str, bytes or int
            The name of the feature.

        Returns
        -------
        dict
            `feature`, `color`, `column` (None where it makes no column), `count` and `rate` (or `value`, or
            `level`). With linear columns also `linear`, the number of its linear column, and `weight`.
        """
        check_is_fitted(self)
        return locate(self.encoding_, feature)

    def count_collisions(self, X: Any) -> dict[str, Any]:
        """Count the features of rows that share a color with a rarer feature of the row.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The rows, as `fit` takes them.

        Returns
        -------
        dict
            `mean`, `std`, `share_of_rows` and `worst_colors`.
        """
        check_is_fitted(self)
        counted = asdict(collisions(self._code(X), self.encoding_.coloring, thread_count(self.n_jobs)))
        counted.pop("dropped")
        return counted

    def drift(self, X: Any, y: Any = None, *, window: int | None = None) -> Drift:
        """Compare new rows with those that the encoder was fitted on.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The new rows, in the order in which they came.
        y : array-like of shape (n_rows,), default=None
            Their labels, where they have some and these do not come with X.
        window : int, default=None
            The rows of a window; by default as many as make ten to twenty windows.

        Returns
        -------
        Drift
            The share of unseen features by window; of each column the population stability index, what it
            would be by chance, and its rate then and now; predictions of the linear columns against labels.
        """
        check_is_fitted(self)
        labels = None if y is None else np.asarray(y)
        reader = replace(self._reader(self._input, labels_apart=y is not None), label_needed=False)
        batches = self._stream(X, reader.by(self._vocabulary))
        return drift(self.model_, batches, labels, window=window, threads=thread_count(self.n_jobs))

    def _stream(self, X: Any, reader: Reader) -> Iterable[Batch]:
        paths = paths_of(X)
        if paths is not None:
            return reader.stream(paths)
        batches, _ = self._read(X, self._input, reader, fitting=False)
        check_kind(batches, self._vocabulary.kind_in)
        return batches

    def encode_one(self, tokens: Any) -> npt.NDArray[Any]:
        """Encode one row as `transform` does, in microseconds.

        Parameters
        ----------
        tokens : list or set of features, dict or pandas Series
            The features of the row or, for a model of a table, its columns and their values. Rows that are
            odd or long are read as `transform` reads them, which takes longer.

        Returns
        -------
        ndarray
            All values of the row. With `collisions="drop"`, "submodular" gives the columns that are 1,
            ascending.
        """
        encoded = self._encoder_of_rows().encode(tokens, only_known=self.handle_unknown == "error")
        return self._encode_as_many(tokens) if encoded is None else encoded

    def _encoder_of_rows(self) -> RowEncoder:
        row_encoder: RowEncoder | None = self.__dict__.get("_row_encoder")
        if row_encoder is None:
            check_is_fitted(self)
            of_table = self._input.reads_tables(self.encoding_.vocabulary)
            row_encoder = RowEncoder(self.encoding_, self._input.columns, of_table=of_table)
            self._row_encoder = row_encoder
        return row_encoder

    def encode_sparse(self, row: Any) -> SparseRow:
        """Encode one row as `transform` does, and count its features.

        Parameters
        ----------
        row : list or set of features, dict or pandas Series
            The row, as `encode_one` takes it.

        Returns
        -------
        SparseRow
            `columns` that are not 0, ascending, their `values`, and how many `features` the row has, of
            which so many are `unseen`. For "frequency", a feature that was not kept is unseen too.
        """
        rows = self._encoder_of_rows()
        found = rows.find(row)
        if found is not None:
            unseen = int(np.count_nonzero(found[0] == NOTHING))
            encoded = None if unseen and self.handle_unknown == "error" else rows.columns_of(*found)
            if encoded is not None and rows.gives_columns:
                return SparseRow(encoded, np.ones(len(encoded)), len(found[0]), unseen)
            if encoded is not None:
                return SparseRow.of(encoded, len(found[0]), unseen)
        coded = self._code_row(row)
        n_numeric = len(self.encoding_.vocabulary.numeric_names)
        seen = len(coded.codes) + int(np.count_nonzero(coded.dense[:, n_numeric:]))
        return SparseRow.of(
            self.encoding_.encode(coded).to_array()[0], seen + int(coded.unseen), int(coded.unseen)
        )

    def _code_row(self, row: Any) -> Rows:
        """Code one row as `transform` codes many."""
        rows = self.encoding_.vocabulary.encode([self._read_row(row)])
        check_known(rows, self.handle_unknown)
        return rows

    def _encode_as_many(self, row: Any) -> npt.NDArray[Any]:
        encoded = self.encoding_.encode(self._code_row(row))
        if self.encoding_.sums or self.encoding_.tables.values is not None:
            return np.asarray(encoded.to_array()[0])
        if not np.isin(encoded.dense, (0, 1)).all():
            raise InputError(
                "the row has dense features with values that encode_one does not give; expected the value "
                "1, or use transform"
            )
        return encoded.with_dense_folded().columns
