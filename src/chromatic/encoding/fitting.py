"""From rows and labels to a fitted encoding: plain functions, which the estimator and commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring, color, represent, transpose
from chromatic.data.hashing import mix_integers
from chromatic.data.reader import Dataset
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded, encode
from chromatic.encoding.statistics import (
    count_labels,
    estimating_half,
    folds_of,
    row_hashes,
    smoothing_of,
)
from chromatic.encoding.submodular import Codebook, columns_of, learn_codebook, smoothed
from chromatic.errors import InputError

LEAKAGES = ("crossfit", "split", "none")
QUANTIZERS = ("optimal", "greedy", "sort")
NULLS = ("drop", "emit")


@dataclass(frozen=True)
class Settings:
    """How an encoding is fitted; the names and defaults are those of `ChromaticEncoder`."""

    budget: int = 1024
    coloring: str = "balanced"
    max_colors: int | str | None = None
    leakage: str = "crossfit"
    folds: int = 5
    split_rate: int = 1
    smoothing: float | str = "auto"
    quantizer: str = "optimal"
    null: str = "drop"
    min_gain: float | None = None  # None: half the logarithm of the rows
    unseen_is_null: bool = False  # the paper's: a feature without any estimate counts as absent
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("leakage", self.leakage, LEAKAGES),
            ("quantizer", self.quantizer, QUANTIZERS),
            ("null", self.null, NULLS),
        ):
            if value not in allowed:
                raise InputError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
        if self.budget < 1:
            raise InputError(f"the budget is {self.budget}; expected 1 column or more")
        if self.leakage == "crossfit" and self.folds < 2:
            raise InputError(f"folds is {self.folds}; expected 2 or more, or another leakage")
        if self.leakage == "split" and not 1 <= self.split_rate <= 32:
            raise InputError(f"split_rate is {self.split_rate}; expected 1 to 32")
        if self.smoothing != "auto" and not (_is_number(self.smoothing) and float(self.smoothing) >= 0):
            raise InputError(f"smoothing is {self.smoothing!r}; expected 'auto', or 0 or more")

    @classmethod
    def paper(cls, budget: int = 1024, seed: int = 0) -> Settings:
        """The paper's own setting."""
        return cls(
            budget=budget,
            coloring="first-fit",
            max_colors="paper",
            leakage="split",
            smoothing=0.0,
            quantizer="greedy",
            null="emit",
            min_gain=0.0,
            unseen_is_null=True,
            seed=seed,
        )


@dataclass(frozen=True)
class SubmodularEncoding:
    """A fitted encoding by mutual information: all that is needed to encode other rows."""

    vocabulary: Vocabulary
    coloring: Coloring
    codebook: Codebook
    columns: npt.NDArray[np.int32]  # of each feature
    null: str

    def encode(self, rows: Rows, threads: int = 1) -> Encoded:
        """The columns of rows that this vocabulary codes."""
        return self._encode(represent(rows, self.coloring, threads)[0], self.columns[None])

    def _encode(
        self, kept: Rows, columns: npt.NDArray[np.int32], fold: npt.NDArray[np.int32] | None = None
    ) -> Encoded:
        null = None
        if self.null == "emit":
            null = self.coloring.colors, self.codebook.columns[self.codebook.null_bins]
        return encode(kept, columns, fold, n_columns=self.codebook.n_columns, null=null)


@dataclass(frozen=True)
class Fitted:
    """An encoding, the training rows encoded without a leak of labels, and which of them to train on."""

    encoding: SubmodularEncoding
    training: Encoded
    training_rows: npt.NDArray[np.int64]
    smoothing: float


def fit(data: Dataset, positive: npt.NDArray[np.bool_], settings: Settings, threads: int = 1) -> Fitted:
    """Fit one-hot columns to a data set with a binary label."""
    rows, vocabulary = data.rows, data.vocabulary
    n_dense = rows.dense.shape[1]
    if n_dense > settings.budget:
        raise InputError(
            f"the budget is {settings.budget} and there are {n_dense} dense columns; expected a budget of "
            "at least as many, or a higher dense_threshold"
        )
    if not positive.any() or positive.all():
        raise InputError("all labels are the same; expected rows of both classes")
    coloring = _color(rows, vocabulary, settings, threads)
    kept, _ = represent(rows, coloring, threads)
    fold, estimates, n_folds = _folds(rows, vocabulary, settings)
    counted = count_labels(kept, positive, np.where(estimates, fold, -1).astype(np.int32), n_folds)
    counts, positives = (array.sum(axis=1, dtype=np.int64) for array in (counted.rows, counted.positives))
    if counts[-1] == 0 or positives[-1] in (0, counts[-1]):
        raise InputError("the rows that estimate have labels of one kind; expected more rows, or crossfit")
    prior = positives[-1] / counts[-1]
    smoothing = settings.smoothing
    if isinstance(smoothing, str):
        smoothing = smoothing_of(positives[:-1], counts[:-1], prior)
    codebook = learn_codebook(
        coloring,
        positives,
        counts,
        budget=settings.budget - n_dense,
        smoothing=smoothing,
        quantizer=settings.quantizer,
        null=settings.null,
        min_gain=settings.min_gain,
    )

    def columns(positives: Any, counts: Any) -> npt.NDArray[np.int32]:
        found = columns_of(codebook, coloring.colors, smoothed(positives, counts, prior, smoothing))
        if settings.unseen_is_null:
            of_null = codebook.columns[codebook.null_bins]
            found = np.where(counts == 0, of_null[coloring.colors], found)
        return found

    whole = columns(positives[:-1], counts[:-1])
    encoding = SubmodularEncoding(vocabulary, coloring, codebook, whole, settings.null)
    if settings.leakage == "crossfit":
        others = [
            columns(positives[:-1] - counted.positives[:-1, f], counts[:-1] - counted.rows[:-1, f])
            for f in range(n_folds)
        ]
        training = encoding._encode(kept, np.stack(others), fold)
    else:
        training = encoding._encode(kept, whole[None])
    trains = ~estimates if settings.leakage == "split" else np.ones(rows.n_rows, np.bool_)
    return Fitted(encoding, training, np.flatnonzero(trains), float(smoothing))


def _color(rows: Rows, vocabulary: Vocabulary, settings: Settings, threads: int) -> Coloring:
    columns = transpose(rows, threads)
    most = max(1, settings.budget // 2)
    palette: int | str
    if settings.max_colors is None:
        palette = min(max(64, settings.budget // 8), most)
    elif settings.max_colors == "paper":
        proper = color(rows, settings.coloring, columns=columns)
        if proper.n_colors <= most:
            return proper
        palette = most
    else:
        palette = settings.max_colors
    fields = None
    fit = settings.coloring
    if fit == "fields":
        if vocabulary.fields is None:
            raise InputError(
                "coloring is 'fields' and the data has none; expected a table, read with fields"
            )
        fit, fields = "balanced", vocabulary.fields
    return color(rows, fit, palette, seed=settings.seed, fields=fields, columns=columns)


def _folds(
    rows: Rows, vocabulary: Vocabulary, settings: Settings
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_], int]:
    """The fold of each row, which rows estimate, and how many folds there are."""
    everyone = np.ones(rows.n_rows, np.bool_)
    if settings.leakage == "none":
        return np.zeros(rows.n_rows, np.int32), everyone, 1
    keys = mix_integers(vocabulary.keys) if vocabulary.integers else vocabulary.keys
    hashes = row_hashes(rows, keys, settings.seed)
    if settings.leakage == "split":
        return np.zeros(rows.n_rows, np.int32), estimating_half(hashes, settings.split_rate), 1
    return folds_of(hashes, settings.folds), everyone, settings.folds


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
