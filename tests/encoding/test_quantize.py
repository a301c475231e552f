import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.encoding.quantize import Groups, cost_of, gains, quantize

pytestmark = pytest.mark.kernels

METHODS = ("optimal", "greedy", "sort")


COUNTS, RATES = st.integers(1, 9), st.integers(0, 6)


@st.composite
def many_groups(draw, counts=COUNTS, rates=RATES):
    """Variables with groups of rising rates, or of rising means; small numbers, so that ties abound."""
    starts, rows, negatives = [0], [], []
    spread = draw(st.sampled_from([0.0, 0.5, 3.0]))
    for _ in range(draw(st.integers(1, 4))):
        for rate in sorted(draw(st.sets(rates, min_size=1, max_size=6))):
            rows.append(float(draw(counts)))
            negatives.append(rows[-1] * (rate - 2.5 if spread else 1 - rate / 6))
        starts.append(len(rows))
    return Groups(np.array(starts), np.array(rows), np.array(negatives), spread)


@given(many_groups(), st.integers(0, 30))
def test_optimal_is_as_good_as_brute_force(groups, more):
    bins = groups.n_variables + more
    found = quantize(groups, bins)
    assert found.n_bins <= bins
    assert found.cost == pytest.approx(naive.least_cost(groups, bins), abs=1e-9)


@given(many_groups(counts=st.just(1), rates=st.sampled_from([0, 3, 6])), st.integers(0, 12))
def test_optimal_is_as_good_as_brute_force_where_all_is_tied(groups, more):
    bins = groups.n_variables + more
    assert quantize(groups, bins).cost == pytest.approx(naive.least_cost(groups, bins), abs=1e-9)


@given(many_groups(), st.integers(0, 30))
def test_no_method_exceeds_the_bins_or_beats_optimal(groups, more):
    bins = groups.n_variables + more
    best = quantize(groups, bins)
    for method in METHODS:
        found = quantize(groups, bins, method)
        assert groups.n_variables <= found.n_bins <= bins
        assert found.cost >= best.cost - 1e-9
        assert set(groups.starts[1:]) <= set(found.ends), "every variable ends"
        assert (np.diff(found.ends) > 0).all()


@given(many_groups(rates=st.sampled_from([0, 1, 2, 4, 5])), st.integers(0, 20))
def test_greedy_takes_the_best_cut_of_all_each_time(groups, more):
    bins = groups.n_variables + more
    found = quantize(groups, bins, "greedy")
    expected = np.array(naive.greedy_ends(groups, bins))
    starts = np.concatenate(([0], np.searchsorted(expected, groups.starts[1:], side="right")))
    assert found.cost == pytest.approx(cost_of(groups, starts, expected), abs=1e-9)


@given(many_groups(), st.floats(0.01, 20))
def test_no_bin_pays_less_than_the_least_gain(groups, least):
    bins = len(groups.rows)
    found = quantize(groups, bins, min_gain=least)
    with_fewer = naive.least_cost(groups, found.n_bins - 1) if found.n_bins > groups.n_variables else np.inf
    assert with_fewer - found.cost >= least - 1e-9
    assert found.cost - naive.least_cost(groups, min(bins, found.n_bins + 1)) <= least + 1e-9


@given(many_groups(), st.integers(0, 12))
def test_the_whole_curve_is_the_least_cost_of_every_number_of_bins(groups, extra):
    first = naive.least_cost(groups, groups.n_variables)
    found = gains(groups, groups.n_variables + extra)
    assert (np.diff(found) <= 1e-9).all()
    for i, cost in enumerate(first - np.cumsum(found)):
        assert cost == pytest.approx(naive.least_cost(groups, groups.n_variables + 1 + i), abs=1e-8)
    assert len(found) <= extra
    rest = groups.n_variables + len(found)
    assert rest == groups.n_variables + extra or naive.least_cost(
        groups, len(groups.rows)
    ) == pytest.approx(first - found.sum(), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_no_variables_have_no_bins(method):
    found = quantize(Groups(np.array([0]), np.empty(0), np.empty(0)), 5, method)
    assert found.n_bins == 0 and found.cost == 0.0 and found.starts.tolist() == [0]


def test_many_bins_are_found_exactly():
    random = np.random.default_rng(1)
    variable = np.sort(random.integers(0, 30, 4000))
    rates = random.random(4000)
    order = np.lexsort((rates, variable))
    rows = random.integers(1, 9, 4000).astype(float)
    starts = np.concatenate(([0], np.cumsum(np.bincount(variable))))
    groups = Groups(starts, rows, rows * (1 - rates[order]))
    for bins in (30, 31, 100, 999, 3999, 4000, 9999):
        assert quantize(groups, bins).n_bins == min(bins, 4000)
