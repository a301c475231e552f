"""From rows and labels to a fitted encoding: plain functions, which the estimator and commands share."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring, Columns, color, represent, transpose
from chromatic.coloring.greedy import FITS
from chromatic.data.reader import Dataset
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded, encode
from chromatic.encoding.frequency import FrequencyEncoding, learn_frequency
from chromatic.encoding.statistics import (
    LabelCounts,
    count_labels,
    estimating_half,
    folds_of,
    row_hashes,
    smoothing_of,
)
from chromatic.encoding.submodular import Codebook, columns_by_fold, columns_of, learn_codebook
from chromatic.encoding.target import Moments, TargetEncoding, count_moments, values_of
from chromatic.errors import InputError

log = logging.getLogger("chromatic")

ENCODINGS = ("submodular", "target", "frequency", "identity")
LEAKAGES = ("crossfit", "split", "none")
QUANTIZERS = ("optimal", "greedy", "sort")
NULLS = ("drop", "emit")
UNESTIMATED = ("prior", "null")
COLORINGS = (*FITS, "uniform", "fields")


@dataclass(frozen=True)
class Settings:
    """How an encoding is fitted; the names and defaults are those of `ChromaticEncoder`."""

    budget: int = 1024
    encoding: str = "submodular"
    coloring: str = "balanced"
    max_colors: int | str | None = None
    min_edge_count: int = 1  # pairs seen in fewer rows may share a color
    leakage: str = "crossfit"
    folds: int = 5
    split_rate: int = 1
    smoothing: float | str = "auto"
    quantizer: str = "optimal"
    null: str = "drop"
    min_gain: float | None = None  # None: half the logarithm of the rows
    unestimated: str = "prior"  # what a feature that no row estimates counts as, or "null": absent
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("encoding", self.encoding, ENCODINGS),
            ("leakage", self.leakage, LEAKAGES),
            ("quantizer", self.quantizer, QUANTIZERS),
            ("null", self.null, NULLS),
            ("unestimated", self.unestimated, UNESTIMATED),
            ("coloring", self.coloring, COLORINGS),
        ):
            if value not in allowed:
                raise InputError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
        for name in ("budget", "min_edge_count", "folds", "split_rate"):
            if not isinstance(getattr(self, name), Integral):
                raise InputError(f"{name} is {getattr(self, name)!r}; expected a whole number")
        check_budget(self.budget)
        if self.min_edge_count < 1:
            raise InputError(f"min_edge_count is {self.min_edge_count}; expected 1 or more")
        if self.coloring == "fields" and self.min_edge_count > 1:
            raise InputError("min_edge_count is of no use where coloring is 'fields'; expected 1")
        if isinstance(self.max_colors, str) and self.max_colors not in ("proper", "paper"):
            raise InputError(f"max_colors is {self.max_colors!r}; expected a number, proper or paper")
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
            unestimated="null",
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

    @property
    def n_sparse_columns(self) -> int:
        return self.codebook.n_columns

    def encode(self, rows: Rows, threads: int = 1) -> Encoded:
        """The columns of rows that this vocabulary codes."""
        return self.encode_kept(represent(rows, self.coloring, threads)[0], self.columns[None])

    def encode_kept(
        self, kept: Rows, columns: npt.NDArray[np.int32], fold: npt.NDArray[np.int32] | None = None
    ) -> Encoded:
        """Rows without collisions, by the columns of each fold."""
        null = None
        if self.null == "emit":
            null = self.coloring.colors, self.codebook.columns[self.codebook.null_bins]
        return encode(kept, columns, fold, n_columns=self.codebook.n_columns, null=null)


Encoding = SubmodularEncoding | TargetEncoding | FrequencyEncoding


@dataclass(frozen=True)
class Fitted:
    """An encoding, the training rows encoded without a leak of labels, and which of them to train on."""

    encoding: Encoding
    training: Encoded
    training_rows: npt.NDArray[np.int64]
    smoothing: float | None = None  # the pseudo-count of the prior, where labels were used


def fit(data: Dataset, y: npt.NDArray[np.float64] | None, settings: Settings, threads: int = 1) -> Fitted:
    """Fit an encoding to a data set. Labels, where they are needed, are 0 and 1, or numbers for `target`.

    >>> from chromatic.data import Reader
    >>> data = Reader().read([[f"f{i % 9}"] for i in range(90)], dense_threshold=0.5)
    >>> fitted = fit(data, np.arange(90) % 3 // 2, Settings(budget=4))
    >>> fitted.training.to_csr().shape
    (90, 1)
    """
    rows = data.rows
    if rows.elided_values:
        log.warning(
            "%s values other than 1 of sparse features count as presence", f"{rows.elided_values:,}"
        )
    if settings.encoding in ("frequency", "identity"):
        coloring = color_rows(rows, data.vocabulary, settings, threads)
        budget = settings.budget if settings.encoding == "frequency" else None
        encoding = learn_frequency(data.vocabulary, coloring, budget)
        return Fitted(encoding, encoding.encode(rows, threads), np.arange(rows.n_rows))
    labels = _labels(y, rows.n_rows, settings)
    check_budget(settings.budget, rows.dense.shape[1])
    coloring = color_rows(rows, data.vocabulary, settings, threads)
    kept, _ = represent(rows, coloring, threads)
    fold, estimates, n_folds = _folds(rows, data.vocabulary, settings)
    used = np.where(estimates, fold, -1).astype(np.int32)
    if len(np.unique(labels[estimates])) < 2:
        raise InputError("the rows that estimate have labels of one kind; expected more rows, or crossfit")
    job = _Job(data, kept, coloring, labels, used, fold, n_folds, settings)
    trains = ~estimates if settings.leakage == "split" else np.ones(rows.n_rows, np.bool_)
    learn = _fit_submodular if settings.encoding == "submodular" else _fit_target
    learned, training, smoothing = learn(job)
    if not learned.n_sparse_columns and rows.n_features:
        log.warning(
            "no sparse feature tells enough of the label to make a column; min_gain=0 asks for less"
        )
    return Fitted(learned, training, np.flatnonzero(trains), smoothing)


@dataclass(frozen=True)
class _Job:
    """What fitting by labels works on."""

    data: Dataset
    kept: Rows  # without collisions
    coloring: Coloring
    labels: npt.NDArray[np.float64]
    used: npt.NDArray[np.int32]  # the fold that a row is counted in, or -1
    fold: npt.NDArray[np.int32]
    n_folds: int
    settings: Settings


def check_budget(budget: int, n_dense: int = 0) -> None:
    """Refuse a budget that has no place for the dense columns."""
    if budget < 1:
        raise InputError(f"the budget is {budget}; expected 1 column or more")
    if budget < n_dense:
        raise InputError(
            f"the budget is {budget} and there are {n_dense} dense columns; expected a budget of at least "
            "as many, or a higher dense_threshold"
        )


def as_zero_and_one(labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Labels of two kinds as 0 and 1, the larger as 1; others as they are.

    >>> as_zero_and_one(np.array([-1.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    kinds = np.unique(labels)
    if len(kinds) != 2:
        return np.asarray(labels, np.float64)
    return np.asarray(labels == kinds[1], np.float64)


def _labels(y: npt.NDArray[np.float64] | None, n_rows: int, settings: Settings) -> npt.NDArray[np.float64]:
    if y is None:
        raise InputError(
            f"the {settings.encoding} encoding needs labels, and there are none; give y, or "
            "name their column"
        )
    labels = np.asarray(y, np.float64)
    if labels.shape != (n_rows,):
        raise InputError(f"{n_rows:,} rows and labels of shape {labels.shape}; expected one label a row")
    if not np.isfinite(labels).all():
        raise InputError("a label is NaN or infinite; expected finite numbers")
    distinct = np.unique(labels)
    if len(distinct) < 2:
        raise InputError("all labels are the same, there is only one class; expected rows of both")
    if settings.encoding == "submodular" and not np.array_equal(distinct, [0, 1]):
        raise InputError(f"labels of {len(distinct)} kinds; expected 0 and 1, or the target encoding")
    return labels


def _fit_submodular(job: _Job) -> tuple[SubmodularEncoding, Encoded, float]:
    settings = job.settings
    counted = count_labels(job.kept, job.labels == 1, job.used, job.n_folds)
    total = counted.total()
    counts, positives = total.rows[:, 0], total.positives[:, 0]
    n_dense = job.data.rows.dense.shape[1]
    encoding = learn_submodular(job.data.vocabulary, job.coloring, positives, counts, settings, n_dense)
    smoothing = encoding.codebook.smoothing
    if settings.leakage != "crossfit":
        return encoding, encoding.encode_kept(job.kept, encoding.columns[None]), smoothing
    by_fold = out_of_fold_columns(encoding, counted, settings)
    return encoding, encoding.encode_kept(job.kept, by_fold, job.fold), smoothing


def learn_submodular(
    vocabulary: Vocabulary,
    coloring: Coloring,
    positives: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    settings: Settings,
    n_dense: int,
) -> SubmodularEncoding:
    """The encoding from how many rows have each feature, all rows last, and how many are positive."""
    prior = positives[-1] / counts[-1]
    smoothing = _smoothing(settings, positives[:-1], counts[:-1], prior)
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
    whole = columns_of(codebook, coloring.colors, codebook.rates)
    if settings.unestimated == "null":
        of_null = codebook.columns[codebook.null_bins]
        whole = np.where(counts[:-1] == 0, of_null[coloring.colors], whole)
    return SubmodularEncoding(vocabulary, coloring, codebook, whole, settings.null)


def out_of_fold_columns(
    encoding: SubmodularEncoding, counted: LabelCounts, settings: Settings
) -> npt.NDArray[np.int32]:
    """For each fold the column of each feature, from the labels of the other folds."""
    null_instead = settings.unestimated == "null"
    colors, columns = encoding.coloring.colors, encoding.columns
    return columns_by_fold(encoding.codebook, colors, counted, columns, null_instead=null_instead)


def _fit_target(job: _Job) -> tuple[TargetEncoding, Encoded, float | None]:
    labels, settings = job.labels, job.settings
    moments = count_moments(job.kept, job.coloring, labels, job.used, job.n_folds)
    estimating = labels[job.used >= 0]
    learned = TargetRates(
        job.coloring,
        moments,
        float(estimating.mean()),
        float(estimating.var()),
        np.array_equal(np.unique(labels), [0, 1]),
        settings,
    )
    encoding = learned.encoding(job.data.vocabulary)
    if settings.leakage != "crossfit":
        return encoding, encoding.encode_kept(job.kept, encoding.values[None]), learned.smoothing
    return encoding, encoding.encode_kept(job.kept, learned.by_fold(), job.fold), learned.smoothing


class TargetRates:
    """The values of the target encoding, from the moments of the label by feature and fold."""

    def __init__(
        self,
        coloring: Coloring,
        moments: Moments,
        prior: float,
        spread: float,
        binary: bool,
        settings: Settings,
    ) -> None:
        """`prior` and `spread` are the mean and the variance of all labels."""
        self.coloring, self.moments, self.prior, self.spread = coloring, moments, prior, spread
        self.whole = moments.without(None)
        self.smoothing: float | None = None
        if binary or settings.smoothing != "auto":
            n = len(coloring.colors)
            positives, counts = self.whole[1][:n].astype(np.int64), self.whole[0][:n].astype(np.int64)
            self.smoothing = _smoothing(settings, positives, counts, prior)
        self.log_odds = binary and self.smoothing != 0

    def encoding(self, vocabulary: Vocabulary) -> TargetEncoding:
        """The encoding by all rows."""
        return TargetEncoding(vocabulary, self.coloring, self._values(None), self.prior)

    def by_fold(self) -> npt.NDArray[np.float64]:
        """For each fold the values by the rows of the others."""
        return np.stack([self._values(fold) for fold in range(self.moments.counts.shape[1])])

    def _values(self, fold: int | None) -> npt.NDArray[np.float64]:
        moments = self.moments.without(fold)
        weights = self.prior, self.spread, self.smoothing, self.log_odds
        return values_of(moments, self.whole, self.coloring, *weights)


def _smoothing(settings: Settings, positives: Any, counts: Any, prior: float) -> float:
    if isinstance(settings.smoothing, str):
        return smoothing_of(positives, counts, prior)
    return float(settings.smoothing)


def color_rows(rows: Rows, vocabulary: Vocabulary, settings: Settings, threads: int = 1) -> Coloring:
    """Color rows as the settings say."""
    columns = transpose(rows, threads)
    if settings.coloring == "uniform":
        return _color_uniformly(rows, columns, settings, threads)
    k, seed = settings.min_edge_count, settings.seed

    def paint(fit: str, palette: int | str, fields: npt.NDArray[np.int32] | None) -> Coloring:
        if k > 1:
            from chromatic.coloring.thinned import color_thinned

            return color_thinned(rows, k, fit, palette, seed=seed, columns=columns, threads=threads)
        return color(rows, fit, palette, seed=seed, fields=fields, columns=columns)

    return color_by(paint, vocabulary, settings)


def color_by(
    paint: Callable[[str, int | str, npt.NDArray[np.int32] | None], Coloring],
    vocabulary: Vocabulary,
    settings: Settings,
) -> Coloring:
    """Choose the palette and color; `paint` takes the fit, the palette, and the fields or None."""
    palette = default_palette(settings, vocabulary) if settings.max_colors is None else settings.max_colors
    n_dense = len(vocabulary.dense_names)
    if palette == "paper":
        proper = paint(settings.coloring, "proper", None)
        palette = max(1, min(settings.budget // 2, settings.budget - n_dense))
        if proper.n_colors <= palette:
            return _affordable(proper, settings, n_dense)
    if settings.coloring != "fields":
        return _affordable(paint(settings.coloring, palette, None), settings, n_dense)
    if vocabulary.fields is None:
        raise InputError("coloring is 'fields' and the data has none; expected a table, read with fields")
    return _affordable(paint("balanced", palette, vocabulary.fields), settings, n_dense)


def _affordable(coloring: Coloring, settings: Settings, n_dense: int) -> Coloring:
    """Where each color costs a column, all must fit into the budget."""
    room = settings.budget - n_dense
    costs = settings.encoding == "target" or (settings.encoding == "submodular" and settings.null == "emit")
    if costs and coloring.n_colors > room:
        raise InputError(
            f"the budget leaves {room} columns and the coloring has {coloring.n_colors:,} colors, one "
            "column each at least; expected a larger budget, or fewer colors (max_colors, or a larger "
            "min_edge_count)"
        )
    return coloring


def default_palette(settings: Settings, vocabulary: Vocabulary) -> int:
    """The colors that suit the budget."""
    room = max(1, settings.budget - len(vocabulary.dense_names))
    if settings.encoding == "submodular":
        suits = min(max(64, settings.budget // 8), max(1, settings.budget // 2))
        return suits if settings.null == "drop" else min(suits, room)
    return room if settings.encoding == "target" else 1024


def _color_uniformly(rows: Rows, columns: Columns, settings: Settings, threads: int) -> Coloring:
    """A palette that the coloring needs is its own choice; where each color costs a column, it must fit."""
    from chromatic.coloring.uniform import color_uniform

    palette = "proper" if settings.max_colors is None else settings.max_colors
    k, seed = settings.min_edge_count, settings.seed
    coloring, _ = color_uniform(rows, palette, k, seed=seed, columns=columns, threads=threads)
    return _affordable(coloring, settings, rows.dense.shape[1])


def _folds(
    rows: Rows, vocabulary: Vocabulary, settings: Settings
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_], int]:
    """The fold of each row, which rows estimate, and how many folds there are."""
    everyone = np.ones(rows.n_rows, np.bool_)
    if settings.leakage == "none":
        return np.zeros(rows.n_rows, np.int32), everyone, 1
    hashes = row_hashes(rows, vocabulary.hashes, settings.seed)
    if settings.leakage == "split":
        return np.zeros(rows.n_rows, np.int32), estimating_half(hashes, settings.split_rate), 1
    return folds_of(hashes, settings.folds), everyone, settings.folds


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
