"""A fitted model as an estimator shows it: its figures, what its columns mean, and other rows encoded."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from chromatic._estimator import SparseEstimator
from chromatic._threads import thread_count
from chromatic.coloring import collisions
from chromatic.data.rows import Rows
from chromatic.data.unseen import Unseen, check_known
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.explain import column_names, explain, locate
from chromatic.encoding.one import RowEncoder
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError
from chromatic.model import Input, Model


class ModelView(SparseEstimator):
    """An estimator that is a view of its model."""

    handle_unknown: str

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        state.pop("_row_encoder", None)
        return state

    def _hold(self, model: Model) -> None:
        """Become a view of a model."""
        self.model_ = model
        if model.input.n_columns is not None:
            self.n_features_in_ = model.input.n_columns
        if model.input.columns is not None:
            self.feature_names_in_ = np.array(model.input.columns, dtype=object)
        self.__dict__.pop("_row_encoder", None)

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

    def _column_names(self, called: Callable[[bytes], str]) -> list[str]:
        return column_names(self.encoding_, called)

    def explain(self, column: int) -> dict[str, Any]:
        """Return what a column means.

        Parameters
        ----------
        column : int
            The number of the column, from 0.

        Returns
        -------
        dict
            `column`, `color`, `rate` (or `value`, `level`, or `weight` of a linear column), `rows`, and
            `features`: name, count and rate of each, the most frequent first. Of a linear column the
            strongest are listed, the most positive first.
        """
        check_is_fitted(self)
        return explain(self.encoding_, column)

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

    def encode_one(self, tokens: Collection[Any]) -> npt.NDArray[Any]:
        """Encode one row as `transform` does, in microseconds.

        Parameters
        ----------
        tokens : list or set of features
            The features of the row. Rows that are odd, long, dicts or arrays are read as `transform` reads
            them, which takes longer.

        Returns
        -------
        ndarray
            All values of the row. With `collisions="drop"`, "submodular" gives the columns that are 1,
            ascending.
        """
        row_encoder: RowEncoder | None = self.__dict__.get("_row_encoder")
        if row_encoder is None:
            check_is_fitted(self)
            row_encoder = self._row_encoder = RowEncoder(self.encoding_)
        row = row_encoder.encode(tokens, only_known=self.handle_unknown == "error")
        return self._encode_as_many(tokens) if row is None else row

    def _encode_as_many(self, tokens: Any) -> npt.NDArray[Any]:
        if isinstance(tokens, (str, os.PathLike)):  # several would be paths
            raise InputError(f"a row of type {type(tokens).__name__}; expected a list or set of features")
        encoded, values = self._encoded([tokens]).to_csr(), self.encoding_.tables.values
        if self.encoding_.sums:
            return np.asarray(encoded.toarray()[0])
        row, told = encoded.indices, encoded.data == 1
        if values is not None:
            row = encoded.toarray()[0].astype(values.dtype)
            told = row == encoded.toarray()[0]
        if not told.all():
            raise InputError(
                "the row has dense features with values that encode_one does not give; expected the value "
                "1, or use transform"
            )
        return np.asarray(row)
