"""Encoders of others that are compared: scikit-learn's TargetEncoder, for tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import NO_FIELD, Batch
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.learn.splits import AnySplit, Pair, Split


def encode_by_target_encoder(split: AnySplit[Any], seed: int = 0) -> Pair:
    """Encode each column of text of a table by scikit-learn's TargetEncoder; numbers stay as they are."""
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.preprocessing import TargetEncoder

    if not isinstance(split, Split):
        raise InputError("scikit-learn's TargetEncoder holds all rows; expected no limit of memory")
    train, test = categories(split.train_batches), categories(split.test_batches)
    encoder, target = TargetEncoder(target_type=split.target.peers_type), split.target
    columns = np.empty((len(train), train.shape[1] * target.n_parts))
    # As its fit_transform does, whose parameter for the seed is another in every second version.
    by = StratifiedKFold if target.n_classes else KFold
    for others, fold in by(5, shuffle=True, random_state=seed).split(train, split.y):
        columns[fold] = encoder.fit(train[others], split.y[others]).transform(train[fold])
    of_test = encoder.fit(train, split.y).transform(test)
    return Pair(
        _dense_columns(columns, split.train_batches),
        split.y,
        _dense_columns(of_test, split.test_batches),
        split.y_test,
        target=target,
    )


def categories(batches: list[Batch]) -> npt.NDArray[np.int64]:
    """Return the category of each row in each column of a table as a number, 0 where a cell is empty."""
    n_fields = len(batches[0].field_names) if batches else 0
    every = [np.empty((0, n_fields), np.int64)]
    for batch in batches:
        tokens = batch.tokens
        if not n_fields or tokens is None or tokens.fields is None or (tokens.fields == NO_FIELD).any():
            raise InputError(
                "scikit-learn's TargetEncoder takes tables, a category in a cell, and these rows have "
                "features in any number; expected another encoder, such as target"
            )
        of_row = np.zeros((batch.n_rows, n_fields), np.int64)
        rows = np.repeat(np.arange(batch.n_rows), np.diff(batch.indptr))
        of_row[rows, tokens.fields[batch.ids]] = tokens.hashes.view(np.int64)[batch.ids]
        every.append(of_row)
    return np.concatenate(every)


def _dense_columns(numbers: npt.NDArray[np.float64], batches: list[Batch]) -> Encoded:
    numeric = [batch.numeric for batch in batches if batch.numeric is not None]
    dense = np.column_stack([numbers, np.concatenate(numeric)]) if numeric else numbers
    return Encoded(np.zeros(len(dense) + 1, np.int64), np.empty(0, np.int32), None, 0, dense)
