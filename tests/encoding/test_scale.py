"""Training columns and those of other rows have one scale, though a fold knows fewer rows than all."""

import numpy as np
import pytest

from chromatic.coloring import color
from chromatic.data import Reader
from chromatic.encoding.protocol import Task
from chromatic.encoding.statistics import Extent
from chromatic.parameters import Settings
from chromatic.registry import encoding_class

FOLDS = 5
FEATURES = 4


def in_equal_folds(labels_of):
    """Rows with one feature each; every fold has the same rows and labels."""
    once = [(f"f{v}", labels_of(v, i)) for v in range(FEATURES) for i in range(6 * (v + 1))]
    rows = Reader().read([[name] for name, _ in once] * FOLDS, dense_threshold=2)
    labels = np.array([label for _, label in once] * FOLDS)
    return rows, labels, np.repeat(np.arange(FOLDS, dtype=np.int32), len(once))


@pytest.mark.parametrize("smoothing", ["auto", 0.0, 3.0, 1000.0])
@pytest.mark.parametrize("kind", ["submodular", "target", "numbers"])
def test_where_all_folds_are_alike_columns_out_of_fold_are_those_of_all_rows(kind, smoothing):
    labels_of = (lambda v, i: i * 1.5 + v) if kind == "numbers" else (lambda v, i: float(i <= 3 * v))
    data, labels, fold = in_equal_folds(labels_of)
    settings = Settings(
        64, "target" if kind == "numbers" else kind, smoothing=smoothing, min_gain=0.0, folds=FOLDS
    )
    made = encoding_class(settings.encoding)
    coloring = color(data.rows)
    statistic = made.statistic.zeros(Extent(FEATURES, FOLDS, FEATURES, coloring.n_colors))
    statistic.add(data.rows, labels, fold, coloring.colors)
    moments = labels.mean(), labels.var()
    task = Task(data.vocabulary, coloring, settings, kind != "numbers", *moments)
    encoding = made.learn(task, statistic)
    whole, by_fold = encoding.tables, encoding.by_fold(task, statistic)
    assert (by_fold.columns == whole.columns).all()
    if whole.values is not None:
        assert np.ptp(whole.values) > 1e-3
        np.testing.assert_allclose(by_fold.values, np.repeat(whole.values, FOLDS, axis=1), atol=1e-12)
