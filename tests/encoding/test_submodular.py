import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.coloring import color
from chromatic.data import Reader
from chromatic.encoding.codebook import columns_by_fold, columns_of, learn_codebook, merged, smoothed
from chromatic.encoding.encoded import NO_COLUMN, Encoded, Tables, encode
from chromatic.encoding.statistics import LOWER_HALF, Extent, LabelCounts, packed

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 25), max_size=8), min_size=2, max_size=30)


def count(rows, labels, fold, n_folds, coloring):
    n_several = int(np.sum(np.bincount(rows.codes, minlength=rows.n_features) > 1))
    counted = LabelCounts.zeros(Extent(rows.n_features, n_folds, n_several, coloring.n_colors))
    counted.add(rows, np.array(labels, np.float64), fold, coloring.colors)
    return counted


def learn(lists, labels, budget, null="drop", smoothing=1.0, **options):
    data = Reader().read(lists, dense_threshold=2)
    coloring = color(data.rows)
    counted = count(data.rows, labels, np.zeros(data.rows.n_rows, np.int32), 1, coloring)
    totals = counted.totals()
    counts, positives = totals & LOWER_HALF, totals >> 32
    some = {"budget": budget, "smoothing": smoothing, "null": null, "min_gain": 0.0}
    given = coloring, totals, counted.of_null(), merged(coloring, totals)
    codebook = learn_codebook(*given, **some | options)
    return data.rows, coloring, counts, positives, codebook


@given(lists, st.data(), st.integers(0, 40), st.sampled_from(["optimal", "greedy", "sort"]))
def test_columns_stay_within_the_budget_and_the_reference_bin_holds_null(lists, draws, budget, quantizer):
    labels = draws.draw(st.lists(st.booleans(), min_size=len(lists), max_size=len(lists)))
    _, coloring, _, _, codebook = learn(lists, labels, budget, quantizer=quantizer)
    assert codebook.n_columns <= budget
    assert sorted(codebook.columns[codebook.columns != NO_COLUMN]) == list(range(codebook.n_columns))
    left_out = [
        np.flatnonzero(codebook.columns[a:b] == NO_COLUMN).tolist()
        for a, b in zip(codebook.bin_starts[:-1], codebook.bin_starts[1:], strict=True)
    ]
    assert all(len(bins) == 1 for bins in left_out), "one bin of each color makes no column"
    for k in range(coloring.n_colors):
        assert codebook.null_bins[k] - codebook.bin_starts[k] == left_out[k][0]


def test_a_value_never_seen_counts_as_the_prior_where_null_does_not_occur():
    """Nine shops of ten sell well, and so does the largest bin; nothing is known of a new one."""
    shops = [f"shop{i % 10}" for i in range(1000)]
    labels = [float(shop != "shop0" and i % 30 != 0) for i, shop in enumerate(shops)]
    rows, _, _, positives, codebook = learn([[shop] for shop in shops], labels, 4)
    prior = positives[-1] / rows.n_rows
    cuts = codebook.cuts[codebook.bin_starts[0] : codebook.bin_starts[1]]
    of_prior = int(np.searchsorted(cuts, prior))
    assert codebook.null_rates[0] == prior and codebook.columns[of_prior] == NO_COLUMN


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
    encoded = encode(rows, Tables(columns[:, None]), n_columns=codebook.n_columns)
    for row, part in enumerate(np.split(encoded.columns, encoded.indptr[1:-1])):
        of_row = columns[rows.codes[rows.indptr[row] : rows.indptr[row + 1]]]
        assert part.tolist() == sorted(of_row[of_row != NO_COLUMN].tolist())


def test_a_rate_where_nothing_was_counted_is_the_prior():
    assert smoothed(packed(np.array([0]), np.array([0])), 0.3, 0.0).tolist() == [0.3]
    assert smoothed(packed(np.array([2]), np.array([4])), 0.3, 0.0).tolist() == [0.5]


@given(lists, st.data(), st.sampled_from([0.0, 0.5, 3.0]), st.booleans())
def test_out_of_fold_columns_are_those_of_the_other_folds_rates(lists, draws, smoothing, null_instead):
    n = len(lists)
    labels = np.array(draws.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    fold = np.array(draws.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int32)
    rows, coloring, counts, positives, codebook = learn(lists, labels, 12, smoothing=smoothing)
    counted = count(rows, labels, fold, 3, coloring)
    n_several, of_fold = len(counted.several), np.zeros((rows.n_features, 3), np.int64)
    for row, codes in enumerate(np.split(rows.codes, rows.indptr[1:-1])):
        of_fold[codes, fold[row]] += packed(np.int64(labels[row]), np.int64(1))
    whole = columns_of(codebook, coloring.colors, codebook.rates)
    tables = columns_by_fold(codebook, coloring.colors, counted, whole, null_instead=null_instead)
    prior = positives[-1] / counts[-1]
    for f in range(3):
        others = packed(positives, counts)[:-1] - of_fold[:, f]
        rates = smoothed(others, prior, smoothing * np.mean(fold != f))
        expected = columns_of(codebook, coloring.colors, rates)
        if null_instead:
            of_null = codebook.columns[codebook.null_bins][coloring.colors]
            expected = np.where(others == 0, of_null, expected)
        here = np.flatnonzero(of_fold[:n_several, f])  # in a fold without the feature nothing asks for it
        assert tables.columns[here, f].tolist() == expected[here].tolist()
        here = np.flatnonzero(of_fold[n_several:, f])  # a feature of one row has its fold
        assert tables.alone[here].tolist() == expected[n_several:][here].tolist()


@given(lists, st.booleans(), st.sampled_from([np.float32, np.float64]))
def test_dense_columns_fold_in_where_they_are_not_0(lists, with_values, kind):
    rows = Reader().read(lists, dense_threshold=2).rows
    dense = np.array([[i % 3, 0, -0.5 * (i % 2)] for i in range(rows.n_rows)], kind)
    values = np.arange(1.0, len(rows.codes) + 1) if with_values else None
    encoded = Encoded(rows.indptr, rows.codes.astype(np.int32), values, rows.n_features, dense)
    sparse = np.zeros((rows.n_rows, rows.n_features))
    for row in range(rows.n_rows):
        for i in range(rows.indptr[row], rows.indptr[row + 1]):
            sparse[row, rows.codes[i]] = 1.0 if values is None else values[i]
    folded = encoded.with_dense_folded()
    assert folded.dense.shape[1] == 0 and (folded.values != 0).all()
    assert encoded.to_csr().toarray().tolist() == np.hstack((sparse, dense)).tolist()
