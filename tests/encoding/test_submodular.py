import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from chromatic.coloring import color, represent
from chromatic.data import Reader
from chromatic.data.hashing import mix_integers
from chromatic.encoding import learn_codebook
from chromatic.encoding.encoded import NO_COLUMN, encode
from chromatic.encoding.statistics import count_labels, folds_of, row_hashes, smoothing_of
from chromatic.encoding.submodular import columns_of, smoothed

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 25), max_size=8), min_size=2, max_size=30)


def learn(lists, labels, budget, null="drop", smoothing=1.0, **options):
    data = Reader().read(lists, dense_threshold=2)
    coloring = color(data.rows)
    fold = np.zeros(data.rows.n_rows, np.int32)
    counted = count_labels(data.rows, np.array(labels, np.bool_), fold, 1)
    counts, positives = (array[:, 0].astype(np.int64) for array in (counted.rows, counted.positives))
    codebook = learn_codebook(
        coloring, positives, counts, budget=budget, smoothing=smoothing, null=null, min_gain=0.0, **options
    )
    return data.rows, coloring, counts, positives, codebook


@given(lists, st.data(), st.integers(0, 40), st.sampled_from(["optimal", "greedy", "sort"]))
def test_columns_stay_within_the_budget_and_the_reference_bin_holds_null(lists, draws, budget, quantizer):
    labels = draws.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    rows, coloring, counts, _, codebook = learn(lists, labels, budget, quantizer=quantizer)
    assert codebook.n_columns <= budget
    assert sorted(codebook.columns[codebook.columns != NO_COLUMN]) == list(range(codebook.n_columns))
    left_out = [
        np.flatnonzero(codebook.columns[a:b] == NO_COLUMN).tolist()
        for a, b in zip(codebook.bin_starts[:-1], codebook.bin_starts[1:], strict=True)
    ]
    assert all(len(bins) == 1 for bins in left_out), "one bin of each color makes no column"
    in_color = np.bincount(coloring.colors, counts[:-1], coloring.n_colors)
    for k in range(coloring.n_colors):
        if in_color[k] < rows.n_rows:
            assert codebook.null_bins[k] - codebook.bin_starts[k] == left_out[k][0]


@given(lists, st.data())
def test_an_emitted_null_costs_every_color_a_column(lists, draws):
    labels = draws.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    n_colors = learn(lists, labels, 0)[1].n_colors
    codebook = learn(lists, labels, n_colors + 3, null="emit")[-1]
    assert n_colors <= codebook.n_columns <= n_colors + 3
    assert (codebook.columns != NO_COLUMN).all()


@given(lists, st.data(), st.integers(0, 40))
def test_a_feature_falls_into_the_bin_of_its_rate(lists, draws, budget):
    labels = draws.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    rows, coloring, counts, positives, codebook = learn(lists, labels, budget)
    prior = positives[-1] / counts[-1]
    rates = (positives[:-1] + prior) / (counts[:-1] + 1.0)
    np.testing.assert_allclose(codebook.rates, rates)
    columns = columns_of(codebook, coloring.colors, codebook.rates)
    for v, (k, rate) in enumerate(zip(coloring.colors, codebook.rates, strict=True)):
        cuts = codebook.cuts[codebook.bin_starts[k] : codebook.bin_starts[k + 1]]
        expected = next(i for i, cut in enumerate(cuts) if rate <= cut)
        assert columns[v] == codebook.columns[codebook.bin_starts[k] + expected]
    encoded = encode(rows, columns[None], n_columns=codebook.n_columns)
    for row, part in enumerate(np.split(encoded.columns, encoded.indptr[1:-1])):
        of_row = columns[rows.codes[rows.indptr[row] : rows.indptr[row + 1]]]
        assert part.tolist() == sorted(of_row[of_row != NO_COLUMN].tolist())


def test_a_rate_where_nothing_was_counted_is_the_prior():
    assert smoothed(np.array([0]), np.array([0]), 0.3, 0.0).tolist() == [0.3]
    assert smoothed(np.array([2]), np.array([4]), 0.3, 0.0).tolist() == [0.5]


def test_one_field_of_200_values_keeps_its_signal_out_of_fold():
    """Folds by the content alone would put each value into one fold, and never estimate it."""
    random = np.random.default_rng(0)
    values = random.integers(0, 200, 20_000)
    labels = random.random(20_000) < random.random(200)[values]
    data = Reader().read([[f"v{v}"] for v in values])
    rows, coloring = data.rows, color(data.rows)
    fold = folds_of(row_hashes(rows, mix_integers(np.arange(200, dtype=np.uint32)), 0), 5)
    counted = count_labels(rows, labels, fold, 5)
    counts, positives = counted.rows.sum(1).astype(np.int64), counted.positives.sum(1).astype(np.int64)
    prior = positives[-1] / counts[-1]
    smoothing = smoothing_of(positives[:-1], counts[:-1], prior)
    in_sample = smoothed(positives[:-1], counts[:-1], prior, smoothing)
    others = smoothed(
        positives[:-1, None] - counted.positives[:-1],
        counts[:-1, None] - counted.rows[:-1],
        prior,
        smoothing,
    )
    within = roc_auc_score(labels, in_sample[rows.codes])
    out = roc_auc_score(labels, others[rows.codes, fold])
    assert within > 0.8 and within - out < 0.01
    assert represent(rows, coloring)[1].dropped == 0
