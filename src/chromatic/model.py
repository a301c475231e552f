"""A model: the encoding, and everything else that the fit found. Estimators are views of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.encoding.protocol import Encoding

INPUTS = ("rows", "matrix", "table", "files")


@dataclass(frozen=True)
class Input:
    """What a model was fitted on, so that other data can be held against it."""

    kind: str = "rows"  # of INPUTS; rows are lists, sets or dicts of features
    n_columns: int | None = None  # of a matrix or a table
    columns: tuple[str, ...] | None = None  # their names, where they have names
    label: str | None = None  # the column of labels; None: `label`, if there is one; "": y came apart


@dataclass(frozen=True)
class Model:
    """A fitted encoding, with which parameters it was fitted, and on what."""

    encoding: Encoding
    parameters: dict[str, Any] = field(default_factory=dict)  # by their names in Python
    input: Input = field(default_factory=Input)
    trains: npt.NDArray[np.bool_] | None = None  # which rows were left to train on; None: all of them
    classes: tuple[Any, ...] | None = None  # the kinds of labels, ascending; None: there are none

    @property
    def n_columns(self) -> int:
        """The columns, dense ones included."""
        return self.encoding.n_sparse_columns + len(self.encoding.vocabulary.dense_names)

    @property
    def training_rows(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows to train on."""
        if self.trains is None:
            return np.arange(self.encoding.vocabulary.n_rows)
        return np.flatnonzero(self.trains)
