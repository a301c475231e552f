"""The encoders that are compared, by their names: training and test rows to columns."""

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
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, fit
from chromatic.fitting.labels import as_numbers
from chromatic.parameters import DEFAULTS, Settings
from chromatic.registry import ENCODINGS

VALIDATIONS = ("random", "last")
ENCODERS = (*ENCODINGS, "paper", "truncation", "hashing", "none")
ALIASES = {  # the short names that the paper's tables use
    "cl-sm": "submodular",
    "cl-sm-paper": "paper",
    "cl-te": "target",
    "cl-ft": "frequency",
    "ft": "truncation",
    "ht": "hashing",
}


def canonical(encoder: str) -> str:
    """Return the one name of an encoder, which may be given by a short name.

    >>> canonical("cl-sm"), canonical("paper")
    ('submodular', 'paper')
    """
    name = ALIASES.get(encoder, encoder)
    if name not in ENCODERS:
        raise InputError(
            f"the encoder is {encoder!r}; expected one of {', '.join(ENCODERS)}, or a short name: "
            f"{', '.join(ALIASES)}"
        )
    return name


@dataclass(frozen=True)
class Split:
    """Training and test rows, read once for all encoders; labels are 0 and 1."""

    train: Dataset
    test: Rows
    y: npt.NDArray[np.float64]
    y_test: npt.NDArray[np.float64]
    train_batches: list[Batch]  # as they came, for hashing
    test_batches: list[Batch]
    limits: dict[str, Any]  # the dense_threshold and min_count of the vocabulary
    threads: int

    @classmethod
    def read(
        cls,
        train: Any,
        test: Any,
        reader: Reader | None = None,
        *,
        dense_threshold: float = DEFAULTS.dense_threshold,
        min_count: int = DEFAULTS.min_count,
    ) -> Split:
        """Read two data sets, the second by the vocabulary of the first."""
        reader = Reader() if reader is None else reader
        limits = {"dense_threshold": dense_threshold, "min_count": min_count}
        return cls.of(reader.batches(train), reader.batches(test), limits, reader.threads)

    @classmethod
    def of(cls, train: list[Batch], test: list[Batch], limits: dict[str, Any], threads: int) -> Split:
        """Code two data sets by the vocabulary of the first."""
        # Coding uses the memory of the batches that it is given; hashing needs them as they came.
        copies = ([replace(batch, ids=batch.ids.copy()) for batch in part] for part in (train, test))
        vocabulary, rows = learn(next(copies), **limits, threads=threads)
        coded = vocabulary.encode(next(copies), threads)
        y, y_test = _labels(rows.labels, coded.labels)
        return cls(
            Dataset(rows, vocabulary),
            coded,
            y,
            y_test,
            train_batches=train,
            test_batches=test,
            limits=limits,
            threads=threads,
        )

    def within(self, validation: str, seed: int = 0) -> Split:
        """The training rows split again: a fifth of them, at random or the last, are the test rows.

        What is chosen on that fifth is chosen as it will be judged: the encoder does not know it.
        """
        n_rows = len(self.y)
        held = np.arange(n_rows) >= n_rows - n_rows // 5
        if validation == "random":
            held = np.random.default_rng(seed).permutation(held)
        ends = np.cumsum([batch.n_rows for batch in self.train_batches])
        parts = list(zip(self.train_batches, np.split(held, ends[:-1]), strict=True))
        train, test = ([batch.take(mask == side) for batch, mask in parts] for side in (False, True))
        return Split.of(train, test, self.limits, self.threads)

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
        """The log loss on test rows of a model that knows the rate of the training rows alone."""
        rate = self.y.mean()
        return float(-np.mean(np.where(self.y_test == 1, np.log(rate), np.log1p(-rate))))


@dataclass(frozen=True)
class Pair:
    """Encoded rows to train on and to test on, with their labels."""

    train: Encoded
    y: npt.NDArray[np.float64]
    test: Encoded
    y_test: npt.NDArray[np.float64]
    field_dims: npt.NDArray[np.int64] | None = None  # of levels


def encode_pair(split: Split, encoder: str, budget: int, *, threads: int = 1, seed: int = 0) -> Pair:
    """Fit an encoder to the training rows, and encode both; `none` takes every feature as a column."""
    encoder = canonical(encoder)
    if encoder in ("truncation", "none"):
        vocabulary = split.train.vocabulary
        truncated = truncate(
            vocabulary, budget if encoder == "truncation" else len(vocabulary) + len(vocabulary.dense_names)
        )
        return Pair(truncated.encode(split.train.rows), split.y, truncated.encode(split.test), split.y_test)
    if encoder == "hashing":
        hashing = HashingEncoding(budget, split.train.vocabulary.integers)
        encoded = hashing.encode(split.train_batches), hashing.encode(split.test_batches)
        return Pair(encoded[0], split.y, encoded[1], split.y_test)
    if encoder == "paper":
        return fit_pair(split, Settings.paper(budget, seed=seed), threads)
    return fit_pair(split, replace(Settings(budget, seed=seed), encoding=encoder), threads)


def fit_pair(split: Split, settings: Settings, threads: int = 1) -> Pair:
    """Fit an encoding with any settings, and encode both."""
    fitted = fit(LocalSource(split.train, split.y, threads=threads), settings)
    rows, encoding = fitted.training_rows, fitted.encoding
    test = encoding.encode(split.test, threads)
    return Pair(fitted.training.take(rows), split.y[rows], test, split.y_test, encoding.field_dims)


def _labels(train: Any, test: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if train is None or test is None:
        where = "training" if train is None else "test"
        raise InputError(f"the {where} rows have no labels; expected labels of two kinds in both sets")
    kinds = np.unique(train)
    if len(kinds) != 2:
        raise InputError(f"the training rows have labels of {len(kinds)} kinds; expected two")
    if not np.isin(test, kinds).all():
        other = float(test[~np.isin(test, kinds)][0])
        raise InputError(
            f"a test row has the label {other:g}; expected {kinds[0]:g} or {kinds[1]:g}, as in training"
        )
    return as_numbers(train), np.asarray(test == kinds[1], np.float64)
