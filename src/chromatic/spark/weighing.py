"""The weights of features from coded rows of a frame: what is fetched to find them on the driver."""

from __future__ import annotations

from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.fitting.folds import number_of_folds, row_sums
from chromatic.fitting.source import n_several
from chromatic.fitting.weighing import Dense, Weighing
from chromatic.parameters import Settings
from chromatic.spark.sums import OfRows


def weighing(
    rows: Rows, told: OfRows, vocabulary: Vocabulary, settings: Settings, *, binary: bool
) -> Weighing:
    """Return what weights are found from, as a local fit has it."""
    return Weighing(
        rows,
        Dense.of(rows, told.weights),
        told.labels,
        told.fold,
        row_sums(rows, vocabulary.hashes),
        n_several=n_several(vocabulary, number_of_folds(settings)),
        binary=binary,
        seed=settings.seed,
        importance=told.weights,
    )
