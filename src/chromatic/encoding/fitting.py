"""From rows and labels to a fitted encoding: plain functions, which the estimator and commands share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._threads import ordered_map
from chromatic.coloring import STRATEGIES, Coloring, Request, color, represent
from chromatic.coloring.request import check_for_disk
from chromatic.data.reader import Dataset
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredDataset, StoredRows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import Encoded, encode, joined
from chromatic.encoding.frequency import FrequencyEncoding, learn_frequency
from chromatic.encoding.statistics import (
    LOWER_HALF,
    LabelCounts,
    estimating_half,
    folds_of,
    row_hashes,
    row_sums,
    smoothing_of,
)
from chromatic.encoding.submodular import Codebook, columns_by_fold, columns_of, learn_codebook, merged
from chromatic.encoding.target import LabelMoments, Moments, TargetEncoding, moments_with_null, values_of
from chromatic.errors import InputError

log = logging.getLogger("chromatic")

ENCODINGS = ("submodular", "target", "frequency", "identity")
LEAKAGES = ("crossfit", "split", "none")
QUANTIZERS = ("optimal", "greedy", "sort")
NULLS = ("drop", "emit")
UNESTIMATED = ("prior", "null")
COLORINGS = (*STRATEGIES, "fields")

# The columns of features × folds, and one for each feature after these.
ByFold = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32] | None]
EncodeKept = Callable[[Rows, npt.NDArray[np.int32] | None], Encoded]


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

    def check_for_disk(self) -> None:
        """Refuse what cannot be fitted to rows that memory does not hold."""
        check_for_disk(self.coloring, self.min_edge_count)

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
        return self.encode_kept(represent(rows, self.coloring, threads)[0], (self.columns[:, None], None))

    def encode_kept(
        self, kept: Rows, columns: ByFold, fold: npt.NDArray[np.int32] | None = None
    ) -> Encoded:
        """Rows without collisions, by the columns of each fold."""
        null = None
        if self.null == "emit":
            null = self.coloring.colors, self.codebook.columns[self.codebook.null_bins]
        several, alone = columns
        return encode(kept, several, fold, n_columns=self.codebook.n_columns, alone=alone, null=null)


Encoding = SubmodularEncoding | TargetEncoding | FrequencyEncoding


@dataclass(frozen=True)
class Fitted:
    """An encoding, and the training rows encoded without a leak of labels."""

    encoding: Encoding
    rows: Rows | StoredRows
    encode: Callable[[int, Rows], Encoded]  # from where a piece begins, and the piece
    trains: npt.NDArray[np.bool_] | None = None  # which rows to train on; None: all of them
    smoothing: float | None = None  # the pseudo-count of the prior, where labels were used
    threads: int = 1

    @property
    def training_rows(self) -> npt.NDArray[np.int64]:
        """The rows to train on."""
        return np.arange(self.rows.n_rows) if self.trains is None else np.flatnonzero(self.trains)

    def pieces(self) -> Iterator[Encoded]:
        """The columns of all training rows, some rows at a time."""
        return ordered_map(lambda piece: self.encode(*piece), self.rows.pieces(), self.threads)

    def to_train_on(self) -> Iterator[tuple[Encoded, npt.NDArray[np.float64] | None]]:
        """The columns of the rows to train on and their labels, some rows at a time."""
        start = 0
        for piece in self.pieces():
            here = slice(start, start + piece.n_rows)
            labels = None if self.rows.labels is None else self.rows.labels[here]
            if self.trains is not None:
                chosen = np.flatnonzero(self.trains[here])
                piece, labels = piece.take(chosen), None if labels is None else labels[chosen]
            yield piece, labels
            start = here.stop

    @cached_property
    def training(self) -> Encoded:
        """The columns of all training rows."""
        return joined(list(self.pieces()))


def fit(
    data: Dataset | StoredDataset, y: npt.NDArray[np.float64] | None, settings: Settings, threads: int = 1
) -> Fitted:
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
        return Fitted(encoding, rows, lambda _, piece: encoding.encode(piece), threads=threads)
    labels = _labels(y, rows.n_rows, settings)
    check_budget(settings.budget, len(data.vocabulary.dense_names))
    log.info("rows: coded")
    coloring = color_rows(rows, data.vocabulary, settings, threads)
    log.info("colors: %d, and %s features found none free", coloring.n_colors, f"{coloring.forced:,}")
    job = _Job(data, coloring, labels, *_folds(data, settings, threads), settings, threads)
    if len(kinds_of(labels if job.estimates is None else labels[job.estimates])) < 2:
        raise InputError("the rows that estimate have labels of one kind; expected more rows, or crossfit")
    learn = _fit_submodular if settings.encoding == "submodular" else _fit_target
    learned, encode_kept, smoothing = learn(job)
    log.info("columns: %d, beside the dense ones", learned.n_sparse_columns)
    if not learned.n_sparse_columns and rows.n_features:
        log.warning(
            "no sparse feature tells enough of the label to make a column; min_gain=0 asks for less"
        )

    def encode_piece(start: int, piece: Rows) -> Encoded:
        fold = job.fold[start : start + piece.n_rows] if settings.leakage == "crossfit" else None
        return encode_kept(represent(piece, coloring)[0], fold)

    trains = None if job.estimates is None else ~job.estimates
    return Fitted(learned, rows, encode_piece, trains, smoothing, threads)


@dataclass(frozen=True)
class _Job:
    """What fitting by labels works on."""

    data: Dataset | StoredDataset
    coloring: Coloring
    labels: npt.NDArray[np.float64]
    fold: npt.NDArray[np.int32]  # that a row is counted in, or -1
    n_folds: int
    estimates: npt.NDArray[np.bool_] | None  # which rows do; None: all of them
    settings: Settings
    threads: int

    def check_memory(self, needed: int) -> None:
        """Refuse to begin what will not fit, where memory is limited."""
        if isinstance(self.data.rows, StoredRows):
            self.data.rows.memory.check(needed, "counting labels")

    def kept(self) -> Iterator[tuple[slice, Rows]]:
        """The training rows without collisions, some rows at a time."""

        def without_collisions(piece: tuple[int, Rows]) -> tuple[slice, Rows]:
            start, rows = piece
            return slice(start, start + rows.n_rows), represent(rows, self.coloring)[0]

        return ordered_map(without_collisions, self.data.rows.pieces(), self.threads)


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
    kinds = kinds_of(labels)
    if len(kinds) != 2:
        return np.asarray(labels, np.float64)
    return np.asarray(labels == kinds[1], np.float64)


def kinds_of(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distinct labels, ascending; where they are two at most, without sorting them all."""
    if len(labels) and labels.dtype.kind in "biuf":
        ends = np.unique([labels.min(), labels.max()])
        if ((labels == ends[0]) | (labels == ends[-1])).all():
            return ends
    return np.unique(labels)


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
    kinds = kinds_of(labels)
    if len(kinds) < 2:
        raise InputError("all labels are the same, there is only one class; expected rows of both")
    if settings.encoding == "submodular" and not np.array_equal(kinds, [0, 1]):
        raise InputError(f"labels of {len(kinds)} kinds; expected 0 and 1, or the target encoding")
    return labels


def _fit_submodular(job: _Job) -> tuple[SubmodularEncoding, EncodeKept, float]:
    settings, vocabulary = job.settings, job.data.vocabulary
    # A feature of one row is in one fold. Codes descend with the counts of the vocabulary's own rows, but
    # for the fields of tables.
    n_several = len(vocabulary)
    if job.n_folds > 1 and vocabulary.fields is None and vocabulary.n_rows == job.data.rows.n_rows:
        n_several = int(np.searchsorted(-vocabulary.counts, -1))
    job.check_memory(12 * job.n_folds * n_several + 30 * len(vocabulary))
    counted = LabelCounts.zeros(n_several, len(vocabulary) - n_several, job.n_folds)
    for here, kept in job.kept():
        counted.add(kept, job.labels[here] == 1, job.fold[here])
    encoding = learn_submodular(
        vocabulary, job.coloring, counted.totals(), settings, len(vocabulary.dense_names)
    )
    table: ByFold = encoding.columns[:, None], None
    if settings.leakage == "crossfit":
        table = out_of_fold_columns(encoding, counted, settings)
    return encoding, lambda kept, fold: encoding.encode_kept(kept, table, fold), encoding.codebook.smoothing


def learn_submodular(
    vocabulary: Vocabulary,
    coloring: Coloring,
    totals: npt.NDArray[np.int64],
    settings: Settings,
    n_dense: int,
) -> SubmodularEncoding:
    """The encoding from packed counts: how many rows have each feature, and all rows as the last."""
    categories = merged(coloring, totals)
    prior = (totals[-1] >> 32) / (totals[-1] & LOWER_HALF)
    smoothing = _smoothing(settings, categories.positives, categories.rows, prior, categories.times)
    codebook = learn_codebook(
        coloring,
        totals,
        categories,
        budget=settings.budget - n_dense,
        smoothing=smoothing,
        quantizer=settings.quantizer,
        null=settings.null,
        min_gain=settings.min_gain,
    )
    whole = columns_of(codebook, coloring.colors, codebook.rates)
    if settings.unestimated == "null":
        of_null = codebook.columns[codebook.null_bins]
        whole = np.where(totals[:-1] == 0, of_null[coloring.colors], whole)
    return SubmodularEncoding(vocabulary, coloring, codebook, whole, settings.null)


def out_of_fold_columns(encoding: SubmodularEncoding, counted: LabelCounts, settings: Settings) -> ByFold:
    """The column of each feature in each fold, from the labels of the other folds."""
    null_instead = settings.unestimated == "null"
    colors, columns = encoding.coloring.colors, encoding.columns
    return columns_by_fold(encoding.codebook, colors, counted, columns, null_instead=null_instead)


def _fit_target(job: _Job) -> tuple[TargetEncoding, EncodeKept, float | None]:
    labels, settings = job.labels, job.settings
    job.check_memory(100 * job.n_folds * len(job.data.vocabulary))
    sums = LabelMoments.zeros(len(job.data.vocabulary), job.n_folds)
    for here, kept in job.kept():
        sums.add(kept, labels[here], job.fold[here])
    estimating = labels if job.estimates is None else labels[job.estimates]
    learned = TargetRates(
        job.coloring,
        moments_with_null(sums, job.coloring),
        float(estimating.mean()),
        float(estimating.var()),
        np.array_equal(kinds_of(labels), [0, 1]),
        settings,
    )
    encoding = learned.encoding(job.data.vocabulary)
    table = learned.by_fold() if settings.leakage == "crossfit" else encoding.values[:, None]
    return encoding, lambda kept, fold: encoding.encode_kept(kept, table, fold), learned.smoothing


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
        """The values of each feature in each fold, by the rows of the others."""
        return np.stack([self._values(fold) for fold in range(self.moments.counts.shape[1])], axis=1)

    def _values(self, fold: int | None) -> npt.NDArray[np.float64]:
        moments = self.moments.without(fold)
        weights = self.prior, self.spread, self.smoothing, self.log_odds
        return values_of(moments, self.whole, self.coloring, *weights)


def _smoothing(settings: Settings, positives: Any, counts: Any, prior: float, times: Any = None) -> float:
    if isinstance(settings.smoothing, str):
        return smoothing_of(positives, counts, prior, times)
    return float(settings.smoothing)


def color_rows(
    rows: Rows | StoredRows, vocabulary: Vocabulary, settings: Settings, threads: int = 1
) -> Coloring:
    """Color rows as the settings say."""
    coloring = color(rows, request_of(settings, vocabulary), threads=threads)
    return affordable(coloring, settings, len(vocabulary.dense_names))


def request_of(settings: Settings, vocabulary: Vocabulary) -> Request:
    """Return the coloring that the settings ask for."""
    palette, at_most = palette_of(settings, vocabulary), None
    fields, strategy = None, settings.coloring
    if strategy == "uniform":  # the palette that it needs is its own choice
        palette = "proper" if settings.max_colors is None else settings.max_colors
    elif palette == "paper":
        room = settings.budget - len(vocabulary.dense_names)
        palette, at_most = "proper", max(1, min(settings.budget // 2, room))
    if strategy == "fields":
        if vocabulary.fields is None:
            raise InputError(
                "coloring is 'fields' and the data has none; expected a table, read with fields"
            )
        fields, strategy = vocabulary.fields, "balanced"
    return Request(
        strategy=strategy,
        palette=palette,
        seed=settings.seed,
        fields=fields,
        min_edge_count=settings.min_edge_count,
        at_most=at_most,
    )


def affordable(coloring: Coloring, settings: Settings, n_dense: int) -> Coloring:
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


def palette_of(settings: Settings, vocabulary: Vocabulary) -> int | str:
    """The most colors that are asked for, or, where none are, as many as suit the budget."""
    if settings.max_colors is not None:
        return settings.max_colors
    room = max(1, settings.budget - len(vocabulary.dense_names))
    if settings.encoding == "submodular":
        suits = min(max(64, settings.budget // 8), max(1, settings.budget // 2))
        return suits if settings.null == "drop" else min(suits, room)
    return room if settings.encoding == "target" else 1024


def _folds(
    data: Dataset | StoredDataset, settings: Settings, threads: int
) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.bool_] | None]:
    """The fold that each row is counted in, how many folds there are, and which rows estimate."""
    n_rows = data.rows.n_rows
    if settings.leakage == "none":
        return np.zeros(n_rows, np.int32), 1, None
    sums, keys = np.empty(n_rows, np.uint64), data.vocabulary.hashes
    for start, piece in data.rows.pieces():
        sums[start : start + piece.n_rows] = row_sums(piece, keys)
    hashes = row_hashes(sums, settings.seed, threads)
    if settings.leakage == "split":
        estimates = estimating_half(hashes, settings.split_rate)
        return estimates.astype(np.int32) - np.int32(1), 1, estimates
    return folds_of(hashes, settings.folds), settings.folds, None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
