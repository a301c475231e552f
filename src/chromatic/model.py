"""A model: the encoding, and everything else that the fit found. Estimators are views of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.explain import column_names
from chromatic.encoding.naming import Called, text_of
from chromatic.encoding.protocol import Encoding
from chromatic.errors import InputError
from chromatic.fitting.fit import fit, update
from chromatic.fitting.kept import Kept, Living
from chromatic.fitting.later import LikeSource, MoreSource, checked_past
from chromatic.fitting.merging import merge
from chromatic.parameters import Settings

INPUTS = ("rows", "matrix", "table", "files")


@dataclass(frozen=True)
class Input:
    """What a model was fitted on, so that other data can be held against it."""

    kind: str = "rows"  # of INPUTS; rows are lists, sets or dicts of features
    n_columns: int | None = None  # of a matrix or a table
    columns: tuple[str, ...] | None = None  # their names, where they have names
    label: str | None = None  # the column of labels; None: `label`, if there is one; "": y came apart

    def reads_tables(self, vocabulary: Vocabulary) -> bool:
        """Whether rows have columns with names, so that a dict is a row of a table."""
        named = self.kind == "table" and self.columns is not None
        return named or bool(vocabulary.numeric_names or vocabulary.unused_numeric)

    def called(self, given: Any = None) -> Called:
        """Return what says how people call a feature: columns of a matrix are x0, x1, ..., or as given."""
        if self.kind != "matrix":
            return text_of

        def called(feature: bytes) -> str:
            number, equals, value = feature.partition(b"=")  # with values="distinct" there is a value
            if not number.isdigit() or int(number) >= (self.n_columns or 0):
                return text_of(feature)
            column = f"x{int(number)}" if given is None else str(given[int(number)])
            return column + text_of(equals + value)

        return called


@dataclass(frozen=True)
class Model:
    """A fitted encoding, with which parameters it was fitted, and on what."""

    encoding: Encoding
    parameters: dict[str, Any] = field(default_factory=dict)  # by their names in Python
    input: Input = field(default_factory=Input)
    trains: npt.NDArray[np.bool_] | None = None  # which rows were left to train on; None: all of them
    classes: tuple[Any, ...] | None = None  # the kinds of labels, ascending; None: there are none
    kept: Kept | None = None  # what later rows are added to; None: nothing was to be kept
    names: tuple[str, ...] | None = None  # of the columns, from before updates; None: the encoding tells

    @property
    def n_columns(self) -> int:
        """The columns, dense ones included."""
        return self.encoding.n_sparse_columns + len(self.encoding.vocabulary.dense_names)

    def column_names(self, given: Any = None) -> list[str]:
        """Return a name for each column, dense ones last; `given` are those of a matrix's columns."""
        if self.names is not None and (given is None or self.input.kind != "matrix"):
            return list(self.names)
        return column_names(self.encoding, self.input.called(given))

    @property
    def training_rows(self) -> npt.NDArray[np.int64]:
        """The numbers of the rows to train on."""
        if self.trains is None:
            return np.arange(self.encoding.vocabulary.n_rows)
        return np.flatnonzero(self.trains)


def updated(model: Model, source: MoreSource) -> Model:
    """Return a model after the rows of a source were added to its own; its columns keep their names."""
    now = update(source, Settings.of_kept(model.parameters), model.classes)
    return replace(model, encoding=now.encoding, kept=now.kept, names=tuple(model.column_names()))


def fitted_like(model: Model, source: LikeSource) -> Model:
    """Return a model of other rows with the features, colors and parameters of a model."""
    found = fit(source, Settings.of_kept(model.parameters))
    if found.class_labels != model.classes:
        raise InputError(
            f"labels are of the kinds {found.class_labels}, and {model.classes} in the model to be like; "
            "expected the same kinds"
        )
    return replace(model, encoding=found.encoding, kept=found.kept, names=None)


def merged(models: Sequence[Model]) -> Model:
    """Return the model of the rows of all; refuse models of other features, colors or parameters."""
    first = models[0]
    for other in models[1:]:
        named = {name for name in first.parameters if other.parameters.get(name) != first.parameters[name]}
        if named or other.classes != first.classes:
            what = f"another {min(named)}" if named else "other classes"
            raise InputError(f"the models have {what}; expected models fitted like each other (--like)")
    living = [Living(one.encoding, checked_past(one.kept)) for one in models]
    whole = merge(living, Settings.of_kept(first.parameters), first.classes)
    return replace(first, encoding=whole.encoding, kept=whole.kept, names=None)
