"""What the estimators share: data of any kind in, a sparse matrix out, in scikit-learn's manners."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from chromatic._frames import pandas_frame, polars_frame
from chromatic.data import Reader
from chromatic.data.batch import Batch, LeftOut, check_kind
from chromatic.data.objects import frame_of, is_table, table_of_array
from chromatic.data.reader import paths_of
from chromatic.data.schema import is_auto
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.model import Input

# Parameters that a reader takes.
READING = ("categorical", "format", "delimiter", "header", "weight", "group")


class SparseEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator of rows of sparse features."""

    n_jobs: int | None
    sparse_output: bool = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The training rows: a scipy matrix, a list of lists, sets or dicts of features, a table of
            pandas, polars or Arrow, or the path of a file.
        y : array-like of shape (n_rows,), default=None
            The labels, where they are needed and do not come with X.

        Returns
        -------
        self
            The fitted encoder.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from rows, and return their columns.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The training rows, as `fit` takes them.
        y : array-like of shape (n_rows,), default=None
            The labels, where they are needed and do not come with X.

        Returns
        -------
        csr_array, ndarray or DataFrame of shape (n_rows, n_columns)
            The columns of the training rows. They do not know the labels of their own rows. An ndarray with
            `sparse_output=False`, and where there are no columns.
        """
        return self._output(self._fit(X, y), X)

    def transform(self, X: Any) -> Any:
        """Return the columns of rows; features that were not seen in training play no part.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The rows, as `fit` takes them.

        Returns
        -------
        csr_array, ndarray or DataFrame of shape (n_rows, n_columns)
            The columns. An ndarray with `sparse_output=False`, and where there are no columns.
        """
        check_is_fitted(self)
        return self._output(self._encoded(X), X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns of a matrix, where it was fitted on one.

        Returns
        -------
        ndarray of str
            A name for each column.
        """
        check_is_fitted(self)
        given = None if input_features is None else self._checked_names(input_features)
        return np.array(self._column_names(given), dtype=object)

    def _fit(self, X: Any, y: Any) -> Encoded:
        """Learn; return the columns of all training rows."""
        raise NotImplementedError

    def _n_bins(self, encoded: Encoded) -> int:
        """Return how many columns, the first ones, are mostly 0."""
        return encoded.n_sparse_columns

    def _encoded(self, X: Any) -> Encoded:
        """Encode other rows."""
        raise NotImplementedError

    def _column_names(self, given: Any) -> list[str]:
        """Return the names of the columns; `given` are those of a matrix's columns, or None."""
        raise NotImplementedError

    @property
    def _vocabulary(self) -> Vocabulary:
        """The features of the training rows."""
        raise NotImplementedError

    @property
    def _input(self) -> Input:
        """What the estimator was fitted on."""
        raise NotImplementedError

    def _checked_names(self, input_features: Any) -> npt.NDArray[np.object_]:
        names, width = getattr(self, "feature_names_in_", None), getattr(self, "n_features_in_", None)
        given: npt.NDArray[np.object_] = np.asarray(input_features, dtype=object)
        if names is not None and not np.array_equal(names, given):
            raise InputError("input_features is not equal to feature_names_in_; expected the same names")
        if width is not None and len(given) != width:
            raise InputError(
                f"input_features should have length equal to number of features ({width}), got {len(given)}"
            )
        return given

    def _read_to_fit(self, X: Any, *, labels_apart: bool) -> tuple[list[Batch], Input]:
        """Read training rows; matrices and tables are checked in scikit-learn's way.

        Where labels come apart, a table's column of labels is left out: it would tell them.
        """
        input = Input(label=getattr(self, "label", None))
        return self._read(X, input, self._reader(input, labels_apart=labels_apart), fitting=True)

    def _read_more(self, X: Any, integers: bool | None) -> list[Batch]:
        """Read other rows than those of the fit, and hold them against these."""
        batches, _ = self._read(X, self._input, self._reader_of_more(), fitting=False)
        LeftOut.of(batches).warn()
        if paths_of(X) is None:
            check_kind(batches, integers)
        return batches

    def _reader(self, input: Input, *, labels_apart: bool) -> Reader:
        """Return what reads the rows of a fit."""
        known = {name: getattr(self, name) for name in READING if hasattr(self, name)}
        return Reader(**known, label=input.label, label_unread=labels_apart, n_jobs=self.n_jobs)

    def _reader_of_more(self) -> Reader:
        """Return what reads other rows, as those of the fit were read."""
        return self._reader(self._input, labels_apart=True).by(self._vocabulary)

    def _read(self, X: Any, input: Input, reader: Reader, *, fitting: bool) -> tuple[list[Batch], Input]:
        """Read rows; return what they are too."""
        refuse_texts(X)
        if paths_of(X) is not None:
            input = replace(input, kind="files")
        elif self._is_array_of_columns(X, input, reader):
            validate_data(self, X, skip_check_array=True, reset=fitting)
            input, X = replace(input, kind="table", n_columns=X.shape[1]), table_of_array(X)
        elif is_matrix(X) and (fitting or input.kind == "matrix" or not isinstance(X, (list, tuple))):
            X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=fitting)
            input = Input("matrix", int(X.shape[1]))
        elif hasattr(X, "columns"):
            table = self._features_of(X, input)
            validate_data(self, table, skip_check_array=True, reset=fitting)
            names = getattr(self, "feature_names_in_", None)
            columns = None if names is None else tuple(map(str, names))
            width = len(list(table.columns))
            input = replace(input, kind="table", n_columns=width, columns=columns)
        else:
            input = Input("rows")
        return reader.batches(X), input

    def _features_of(self, table: Any, input: Input) -> Any:
        """Return the columns of a table that are features: all but labels, weights and groups."""
        label = "label" if input.label is None else input.label
        beside = {label, getattr(self, "weight", None), getattr(self, "group", None)}
        frame = frame_of(table)
        found = [name for name in frame.columns if name in beside]
        return frame.drop(found).to_native() if found else table

    def _is_array_of_columns(self, X: Any, input: Input, reader: Reader) -> bool:
        """Whether an array is a table: it has text, categories are named, or it was one at fit."""
        if not isinstance(X, np.ndarray) or X.ndim != 2:
            return False
        was_table = input.kind == "table" and input.columns is None
        return was_table or is_table(X) or not is_auto(reader.categorical)

    def _output(self, encoded: Encoded, X: Any) -> Any:
        """Return a matrix or an array or, where `set_output` asks for it, a frame."""
        asked = getattr(self, "_sklearn_output_config", {}).get("transform")
        kind = get_config()["transform_output"] if asked is None else asked
        if kind == "default":  # a ColumnTransformer divides by the size of what is sparse
            return encoded.to_csr() if self.sparse_output and encoded.n_columns else encoded.to_array()
        n_bins = self._n_bins(encoded) if self.sparse_output else 0
        names = self.get_feature_names_out().tolist()
        if kind == "polars":
            return polars_frame(encoded, n_bins, names)
        return pandas_frame(encoded, n_bins, names, X)


def is_matrix(X: Any) -> bool:
    """Whether scikit-learn would take X for a matrix of numbers; lists of integers are features here."""
    if hasattr(X, "columns"):
        return False
    if isinstance(X, (list, tuple)):
        first = X[0] if len(X) else None
        if not isinstance(first, (list, tuple)) or not first or not isinstance(first[0], float):
            return False
        return all(isinstance(row, (list, tuple)) and len(row) == len(first) for row in X)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        return bool(len(X) == 0 or not isinstance(X[0], (Collection, np.ndarray)))
    return hasattr(X, "tocsr") or (hasattr(X, "__array__") and not hasattr(X, "to_list"))


def refuse_texts(X: Any) -> None:
    """Refuse rows that were not split into features yet; paths are texts too."""
    texts = isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(text, str) for text in X)
    if texts and not any(os.path.exists(text) or text == "-" for text in X):
        raise InputError(
            f"X is a list of texts, such as {X[0][:40]!r}, and there are no files of these names; expected "
            "rows of features, as [text.split() for text in X], or paths"
        )
