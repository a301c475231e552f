import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.data.hashing import mix_integers
from chromatic.data.transpose import transpose
from chromatic.encoding.smoothing import smoothing_of
from chromatic.encoding.statistics import LOWER_HALF, Extent, LabelCounts, LabelMoments
from chromatic.fitting.folds import estimating_half, folds_of, row_hashes, row_sums

lists = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=20)


def read(rows):
    data = Reader().read(rows, dense_threshold=2)
    return data.rows, [set(p.tolist()) for p in np.split(data.rows.codes, data.rows.indptr[1:-1])]


@pytest.mark.kernels
@pytest.mark.parametrize("threads", [0, 1, 2], ids=["by row", "transposed", "on two threads"])
@given(lists, st.data())
def test_labels_are_counted_by_feature_and_fold(threads, lists, data):
    rows, sets = read(lists)
    positive = data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets)))
    fold = data.draw(st.lists(st.integers(-1, 2), min_size=len(sets), max_size=len(sets)))
    colors = np.arange(rows.n_features, dtype=np.int32) % 2  # features of a row share colors
    n_several = int(np.sum(np.bincount(rows.codes, minlength=rows.n_features) > 1))
    counted = LabelCounts.zeros(Extent(rows.n_features, 3, n_several, 2))
    of_rows = np.array(positive, np.float64), np.array(fold, np.int32), colors
    if threads:
        assert counted.add_transposed(rows, transpose(rows), of_rows, threads)
    else:
        counted.add(rows, *of_rows)
    counts, positives = naive.label_counts(sets, positive, fold, colors.tolist(), n_colors=2, n_folds=3)
    by_fold = np.concatenate((counted.several, counted.of_colors, counted.whole[None]))
    after = range(rows.n_features, rows.n_features + 3)
    assert (by_fold & LOWER_HALF).tolist() == [counts[v] for v in [*range(n_several), *after]]
    assert (by_fold >> 32).tolist() == [positives[v] for v in [*range(n_several), *after]]
    for packed, naively in ((counted.totals() & LOWER_HALF, counts), (counted.totals() >> 32, positives)):
        sums = [sum(of_feature) for of_feature in naively]
        assert packed.tolist() == [*sums[: rows.n_features], sums[-1]]
        assert (packed[-1] - np.array(sums[-3:-1])).tolist() == (
            (counted.of_null() & LOWER_HALF) if naively is counts else counted.of_null() >> 32
        ).tolist()


@pytest.mark.kernels
@pytest.mark.parametrize("statistic", [LabelCounts, LabelMoments])
@given(lists, st.data())
def test_two_halves_of_the_rows_add_up(statistic, lists, data):
    """What Spark relies on: the cells of two halves, added, are the cells of all rows."""
    rows, sets = read(lists)
    labels = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(sets), max_size=len(sets)))
    )
    fold = np.arange(len(sets), dtype=np.int32) % 3
    extent = Extent(rows.n_features, 3, rows.n_features, 2)
    colors = np.arange(rows.n_features, dtype=np.int32) % 2
    first = data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets)))
    halves = []
    for left_out in (None, np.array(first), ~np.array(first)):
        sums = statistic.zeros(extent)
        counted = fold if left_out is None else np.where(left_out, np.int32(-1), fold)
        sums.add(rows, labels, counted, colors)
        halves.append(sums)
    whole, one, two = (sums.cells() for sums in halves)
    assert np.array_equal(whole, one + two)
    again = statistic.of_cells(whole, 2)
    assert np.array_equal(again.cells(), whole)
    assert again.label_moments() == halves[0].label_moments()
    np.testing.assert_allclose(again.label_moments(), (labels.mean(), labels.var()), atol=1e-12)


@pytest.mark.kernels
@given(lists, st.integers(0, 2**64 - 1))
def test_rows_hash_by_their_features_their_number_and_the_seed(lists, seed):
    rows, sets = read(lists)
    keys = mix_integers(np.arange(rows.n_features, dtype=np.uint32))
    assert row_hashes(row_sums(rows, keys), seed).tolist() == naive.row_hashes(sets, keys.tolist(), seed)


def test_folds_and_halves_are_even_also_where_all_rows_are_equal():
    rows, _ = read([[1, 2]] * 10_000)
    sums = row_sums(rows, np.arange(2, dtype=np.uint64))
    hashes = row_hashes(sums, seed=3)
    assert (row_hashes(sums, seed=3, threads=3) == hashes).all()
    folds = np.bincount(folds_of(hashes, 5))
    assert len(folds) == 5 and abs(folds - 2000).max() < 160
    for rate in (1, 2, 5):
        assert estimating_half(hashes, rate).mean() == pytest.approx(2.0**-rate, rel=0.2)


@pytest.mark.parametrize("weight", [0.5, 3.0, 30.0, 300.0])
def test_smoothing_finds_the_weight_of_the_prior(weight):
    random = np.random.default_rng(0)
    rates = random.beta(0.25 * weight, 0.75 * weight, 20_000)
    counts = random.integers(1, 200, 20_000)
    positives = random.binomial(counts, rates)
    assert smoothing_of(positives, counts, 0.25) == pytest.approx(weight, rel=0.15)


def test_smoothing_stays_within_its_bounds():
    counts = np.full(1000, 50)
    assert smoothing_of(np.full(1000, 10), counts, 0.2) == pytest.approx(1000, rel=1e-3)
    assert smoothing_of(np.repeat([0, 50], [800, 200]), counts, 0.2) == pytest.approx(0.1, rel=1e-3)
    assert smoothing_of(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.2) == 1.0
