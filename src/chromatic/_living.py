"""Encoders that live: later rows are added to them, and encoders of other rows are merged with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d

from chromatic._log import told
from chromatic._view import ModelView
from chromatic.data.batch import Batch
from chromatic.errors import InputError
from chromatic.fitting.labels import OfRows
from chromatic.fitting.later import LikeSource, MoreSource, checked_past
from chromatic.model import Model, fitted_like, merged, updated

OF_MACHINE = ("n_jobs", "verbose")  # parameters that are not of the model


class LivingView(ModelView):
    """A view of a model to which later rows can be added."""

    weight: str | None
    group: str | None
    verbose: int

    def update(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        decay: float = 1.0,
        drop_after: int | None = None,
    ) -> Self:
        """Add rows to those of the fit; the encoder must have been fitted with `keep="statistics"`.

        Columns keep their numbers, names and meanings, so that a model trained on them stays valid. Known
        features keep their colors, and their rates move; new features get colors by the rows in which they
        come, and columns by their rates. The weights of linear columns go on from where they are.

        Parameters
        ----------
        X : sparse matrix, list of rows, table or path
            The new rows, as `fit` takes them.
        y : array-like of shape (n_rows,), default=None
            Their labels, where they do not come with X.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the new rows, in the unit of those of the fit: their mean counted as one row.
        decay : float, default=1.0
            How much earlier rows count from now on, above 0 and up to 1.
        drop_after : int, default=None
            Drop features that were in no row of so many updates, this one included; by default none.

        Returns
        -------
        self
            The updated encoder.
        """
        check_is_fitted(self)
        with told(self.verbose):
            self._hold(self._updated(X, y, OfRows(sample_weight), decay, drop_after))
        return self

    def fit_like(
        self, other: LivingView, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Learn from rows with the features, colors and parameters of another encoder.

        What the two have learned can then be merged (`chromatic.merge`).

        Parameters
        ----------
        other : ChromaticEncoder
            An encoder that was fitted with `keep="statistics"`.
        X : sparse matrix, list of rows, table or path
            The training rows, as `fit` takes them.
        y : array-like of shape (n_rows,), default=None
            The labels, where they do not come with X.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of rows, as `fit` takes them.
        groups : array-like of shape (n_rows,), default=None
            The groups of rows, as `fit` takes them.

        Returns
        -------
        self
            The fitted encoder.
        """
        check_is_fitted(other)
        with told(self.verbose):
            given = *other._read_like(X, y), OfRows(sample_weight, groups)
            source = LikeSource(other.encoding_, other.model_.kept, *given, threads=self.n_jobs)
            model = fitted_like(other.model_, source)
        of_model = {name: value for name, value in other.get_params().items() if name not in OF_MACHINE}
        self.set_params(**of_model)
        self._hold(model)
        return self

    def _updated(self, X: Any, y: Any, told_of_rows: OfRows, decay: float, drop_after: int | None) -> Model:
        """Return the model after more rows."""
        model = self.model_
        checked_past(model.kept)
        given = model.encoding, model.kept, *self._read_like(X, y), told_of_rows
        forget: dict[str, Any] = {"decay": decay, "drop_after": drop_after}
        return updated(model, MoreSource(*given, **forget, threads=self.n_jobs))

    def _read_like(self, X: Any, y: Any) -> tuple[list[Batch], npt.NDArray[Any] | None]:
        """Read rows to learn from, as those of the fit were read, and their labels."""
        reader = self._reader(self._input, labels_apart=y is not None).by(self._vocabulary)
        reader = replace(reader, weight=self.weight, group=self.group)
        return list(self._stream(X, reader)), None if y is None else labels_of(y)


def merge(*encoders: LivingView) -> LivingView:
    """Make one encoder of several that were fitted like one another; their statistics add up.

    Parameters
    ----------
    *encoders : ChromaticEncoder
        Encoders with the same features, colors and parameters (`ChromaticEncoder.fit_like`).

    Returns
    -------
    ChromaticEncoder
        An encoder whose columns are learned from the rows of all.
    """
    for encoder in encoders:
        check_is_fitted(encoder)
    if len(encoders) < 2:
        raise InputError(f"there are {len(encoders)} encoders; expected two or more to merge")
    whole = type(encoders[0])(**encoders[0].get_params())
    whole._hold(merged([encoder.model_ for encoder in encoders]))
    return whole


def labels_of(y: Any) -> npt.NDArray[Any]:
    """Return labels as scikit-learn checks them: one finite value a row, of any type."""
    checked = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None, input_name="y")
    return np.asarray(checked)
