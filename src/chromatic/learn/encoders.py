"""The encoders that are compared, by their short names: training and test rows to columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import Batch
from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import learn
from chromatic.encoding.baselines import HashingEncoding, truncate
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.fitting import Settings, as_zero_and_one, fit
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.errors import InputError

ENCODERS = ("cl-sm", "cl-sm-paper", "cl-te", "cl-ft", "ft", "ht", "none")


@dataclass(frozen=True)
class Split:
    """Training and test rows, read once for all encoders; labels are 0 and 1."""

    train: Dataset
    test: Rows
    y: npt.NDArray[np.float64]
    y_test: npt.NDArray[np.float64]
    train_batches: list[Batch]  # as they came, for hashing
    test_batches: list[Batch]

    @classmethod
    def read(
        cls,
        train: Any,
        test: Any,
        reader: Reader | None = None,
        *,
        dense_threshold: float = 0.1,
        min_count: int = 1,
    ) -> Split:
        """Read two data sets, the second by the vocabulary of the first."""
        reader = Reader() if reader is None else reader
        batches, others = reader.batches(train), reader.batches(test)
        vocabulary, rows = learn(
            _copies(batches),
            dense_threshold=dense_threshold,
            min_count=min_count,
            distinct_values=False,
            keep_names=False,
            keep_fields=False,
            threads=reader.threads,
        )
        coded = vocabulary.encode(_copies(others), reader.threads)
        y, y_test = _labels(rows.labels, coded.labels)
        return cls(Dataset(rows, vocabulary), coded, y, y_test, batches, others)

    @property
    def fingerprint(self) -> str:
        """Which data this is."""
        digest = hashlib.blake2b(digest_size=8)
        for rows, y in ((self.train.rows, self.y), (self.test, self.y_test)):
            for array in (rows.indptr, rows.codes, rows.dense, y):
                digest.update(np.ascontiguousarray(array).data)
        digest.update(np.ascontiguousarray(self.train.vocabulary.keys).data)
        return digest.hexdigest()

    @property
    def base_log_loss(self) -> float:
        """The log loss on test rows of who knows the training rows' rate alone."""
        rate = self.y.mean()
        return float(-np.mean(np.where(self.y_test == 1, np.log(rate), np.log1p(-rate))))


@dataclass(frozen=True)
class Pair:
    """Encoded rows to train on and to test on, with their labels."""

    train: Encoded
    y: npt.NDArray[np.float64]
    test: Encoded
    y_test: npt.NDArray[np.float64]
    field_dims: npt.NDArray[np.int64] | None = None  # of codes


def encode_pair(split: Split, encoder: str, budget: int, *, threads: int = 1, seed: int = 0) -> Pair:
    """Fit an encoder to the training rows, and encode both; `none` takes every feature as a column."""
    if encoder in ("ft", "none"):
        vocabulary = split.train.vocabulary
        truncated = truncate(
            vocabulary, budget if encoder == "ft" else len(vocabulary) + len(vocabulary.dense_names)
        )
        return Pair(truncated.encode(split.train.rows), split.y, truncated.encode(split.test), split.y_test)
    if encoder == "ht":
        hashing = HashingEncoding(budget, split.train.vocabulary.integers)
        encoded = hashing.encode(split.train_batches), hashing.encode(split.test_batches)
        return Pair(encoded[0], split.y, encoded[1], split.y_test)
    fitted = fit(split.train, split.y, _settings(encoder, budget, seed), threads)
    rows, encoding = fitted.training_rows, fitted.encoding
    dims = encoding.field_dims if isinstance(encoding, FrequencyEncoding) else None
    test = encoding.encode(split.test, threads)
    return Pair(fitted.training.take(rows), split.y[rows], test, split.y_test, dims)


def _settings(encoder: str, budget: int, seed: int) -> Settings:
    if encoder == "cl-sm-paper":
        return Settings.paper(budget, seed)
    encodings = {"cl-sm": "submodular", "cl-te": "target", "cl-ft": "frequency"}
    if encoder not in encodings:
        raise InputError(f"the encoder is {encoder!r}; expected one of {', '.join(ENCODERS)}")
    return replace(Settings(budget, seed=seed), encoding=encodings[encoder])


def _copies(batches: list[Batch]) -> list[Batch]:
    """For the vocabulary, which writes its codes over the features that it reads."""
    return [replace(batch, ids=batch.ids.copy()) for batch in batches]


def _labels(train: Any, test: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if train is None or test is None:
        where = "training" if train is None else "test"
        raise InputError(f"the {where} rows have no labels; expected labels of two kinds in both sets")
    kinds = np.unique(train)
    if len(kinds) != 2:
        raise InputError(f"the training rows have labels of {len(kinds)} kinds; expected two")
    if not np.isin(test, kinds).all():
        found = float(test[~np.isin(test, kinds)][0])
        raise InputError(
            f"a test row has the label {found:g}; expected {kinds[0]:g} or {kinds[1]:g}, as in training"
        )
    return as_zero_and_one(train), np.asarray(test == kinds[1], np.float64)
