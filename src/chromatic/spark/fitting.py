"""Fit on Spark: what grows with rows stays on the workers, what grows with features is on the driver."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from chromatic.coloring import Coloring, Size, bitsets
from chromatic.data.vocabulary import Vocabulary, check_limits
from chromatic.encoding.fitting import (
    Encoding,
    Settings,
    SubmodularEncoding,
    TargetRates,
    affordable,
    check_budget,
    color_rows,
    learn_submodular,
    out_of_fold_columns,
    request_of,
)
from chromatic.encoding.frequency import learn_frequency
from chromatic.encoding.target import LabelMoments, TargetEncoding, moments_with_null
from chromatic.errors import InputError
from chromatic.spark.coding import Limits, Numbering, code, learn_vocabulary
from chromatic.spark.columns import Checked, check
from chromatic.spark.edges import fetch_graph
from chromatic.spark.frames import fetch, rows_of_lists
from chromatic.spark.labels import counts_of, sum_labels

log = logging.getLogger("chromatic")


@dataclass(frozen=True)
class Plan:
    """The columns of a frame, the settings, and the memory that may be used."""

    features: str
    label: str
    settings: Settings
    limits: Limits
    order: str | None = None
    driver_bytes: int = 8 << 30
    broadcast_bytes: int = 1 << 30

    @property
    def needs_labels(self) -> bool:
        return self.settings.encoding in ("submodular", "target")

    @property
    def numbering(self) -> Numbering:
        return Numbering(self.settings, self.order)


def fit(frame: DataFrame, plan: Plan) -> Encoding:
    """The encoding that the local fit finds in the same rows, however they are partitioned."""
    settings = plan.settings
    check_limits(plan.limits.dense_threshold, plan.limits.min_count)
    checked = _check(frame, plan)
    vocabulary = learn_vocabulary(frame, plan.features, checked.n_rows, plan.limits)
    if plan.needs_labels:
        check_budget(settings.budget, len(vocabulary.dense_names))
    coded = _coded(frame, plan, checked, vocabulary, numbered=settings.leakage == "split")
    try:
        coloring = _color(coded, vocabulary, plan, checked.n_rows)
        if not plan.needs_labels:
            budget = settings.budget if settings.encoding == "frequency" else None
            return learn_frequency(vocabulary, coloring, budget)
        sums = sum_labels(coded, coloring, 1)
    finally:
        coded.unpersist()
    _check_estimating(sums)
    if settings.encoding == "target":
        return _target_rates(sums, coloring, checked, settings).encoding(vocabulary)
    n_dense = len(vocabulary.dense_names)
    return learn_submodular(vocabulary, coloring, counts_of(sums).totals(), settings, n_dense)


def out_of_fold(
    frame: DataFrame, plan: Plan, encoding: SubmodularEncoding | TargetEncoding
) -> npt.NDArray[Any]:
    """The column or the value of each feature in each fold, from the labels of the other folds."""
    checked = _check(frame, plan)
    coded = _coded(frame, plan, checked, encoding.vocabulary, numbered=True, kept=False)
    sums = sum_labels(coded, encoding.coloring, plan.settings.folds)
    if isinstance(encoding, TargetEncoding):
        return _target_rates(sums, encoding.coloring, checked, plan.settings).by_fold()
    return out_of_fold_columns(encoding, counts_of(sums), plan.settings)[0]


def _check(frame: DataFrame, plan: Plan) -> Checked:
    checked = check(frame, plan.features, plan.label if plan.needs_labels else None)
    if plan.settings.encoding == "submodular" and not checked.binary:
        raise InputError(
            f"the label column {plan.label!r} has labels of more than two kinds in {checked.n_rows:,} "
            "rows; expected two, or the target encoding"
        )
    return checked


def _coded(
    frame: DataFrame,
    plan: Plan,
    checked: Checked,
    vocabulary: Vocabulary,
    *,
    numbered: bool,
    kept: bool = True,
) -> DataFrame:
    """The frame of coded rows, kept by the workers where it is read more than once."""
    label = checked.label(plan.label) if plan.needs_labels else None
    numbering = plan.numbering if numbered and plan.needs_labels else None
    coded = code(frame, plan.features, label, vocabulary, numbering, plan.broadcast_bytes)
    return coded.persist(StorageLevel.MEMORY_AND_DISK) if kept else coded


def _color(coded: DataFrame, vocabulary: Vocabulary, plan: Plan, n_rows: int) -> Coloring:
    """By the rows themselves where they fit the driver, else by the graph of pairs."""
    settings = plan.settings
    size: Any = coded.agg(
        F.sum(F.size("codes").cast("long")).alias("entries"), F.max(F.size("codes")).alias("largest")
    ).first()
    of_rows = Size(n_rows, len(vocabulary), size["entries"], size["largest"])
    needed = bitsets.bytes_needed(of_rows, request_of(settings, vocabulary))
    fits = needed <= plan.driver_bytes and n_rows < 1 << 32
    log.info(
        "spark: %s rows of %s codes need %s MB on the driver, of %s: colored by %s",
        f"{n_rows:,}",
        f"{size['entries']:,}",
        f"{needed >> 20:,}",
        f"{plan.driver_bytes >> 20:,}",
        "the rows" if fits else f"the graph of pairs seen in {settings.min_edge_count} rows or more",
    )
    if fits:
        lists = fetch(coded.select("codes")).column("codes")
        return color_rows(
            rows_of_lists(lists, len(vocabulary), vocabulary.fingerprint), vocabulary, settings
        )
    if settings.coloring == "uniform":
        raise InputError(
            f"a uniform coloring needs the rows on the driver, {needed >> 20:,} MB; expected another "
            "coloring, or more driverMemoryInMB"
        )
    return _color_by_graph(coded, vocabulary, plan, size["largest"])


def _color_by_graph(coded: DataFrame, vocabulary: Vocabulary, plan: Plan, largest: int) -> Coloring:
    from chromatic.coloring.graph import color_graph

    settings, k = plan.settings, plan.settings.min_edge_count
    graph = fetch_graph(coded, vocabulary, k, plan.driver_bytes)
    log.info("spark: the graph has %s edges", f"{graph.n_edges:,}")
    coloring = color_graph(
        graph,
        vocabulary.counts,
        request_of(settings, vocabulary),
        lower_bound=largest if k == 1 else min(1, len(vocabulary)),
        vocabulary=vocabulary.fingerprint,
    )
    return affordable(coloring, settings, len(vocabulary.dense_names))


def _check_estimating(sums: LabelMoments) -> None:
    count, total, squares = sums.whole.sum(axis=1)
    if count == 0 or squares * count == total * total:
        raise InputError("the rows that estimate have labels of one kind; expected more rows, or crossfit")


def _target_rates(
    sums: LabelMoments, coloring: Coloring, checked: Checked, settings: Settings
) -> TargetRates:
    count, total, squares = sums.whole.sum(axis=1)
    prior = total / count
    moments = moments_with_null(sums, coloring)
    spread = max(squares / count - prior * prior, 0.0)
    return TargetRates(coloring, moments, float(prior), float(spread), checked.binary, settings)
