import math

import pytest

from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.bounds import bound, colors_needed, deviation
from chromatic.graph.study import study

SIZE = {"n_rows": 10_000, "largest_nnz": 20, "max_degree": 7, "good_turing": 3.0}


def test_with_the_colors_needed_the_loss_is_that_of_one_feature():
    for k in (1, 5):
        m = colors_needed(k, **SIZE)
        assert bound(k, m.paper, **SIZE).paper == pytest.approx(1)
        assert bound(k, m.mcdiarmid, **SIZE, lipschitz=2.5).mcdiarmid == pytest.approx(2.5)


def test_held_out_features_cost_a_color_each():
    assert colors_needed(2, **SIZE, held_out=14).paper == colors_needed(2, **SIZE).paper + 14


def test_the_sharper_deviation_is_three_times_smaller_at_one_percent():
    off = deviation(4, 752_310, 65, 0.01)
    assert off.paper == pytest.approx(4 * 65**2 * math.log(100) / math.sqrt(752_310))
    assert off.mcdiarmid == pytest.approx(4 * 65**2 * math.sqrt(math.log(100) / (2 * 752_310)))
    assert off.paper / off.mcdiarmid == pytest.approx(3.03, abs=0.01)
    equal = deviation(1, 100, 5, math.exp(-0.5))
    assert equal.paper == pytest.approx(equal.mcdiarmid)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: deviation(0, 9, 9), "k is 0; expected 1 or more"),
        (lambda: deviation(1, 0, 9), "no rows"),
        (lambda: deviation(1, 9, 9, 0.61), "delta is 0.61; expected more than 0 and at most 0.6065"),
        (lambda: deviation(1, 9, 9, 0.0), "delta is 0.0"),
        (lambda: bound(1, 14, **SIZE), "m is 14 and the largest degree 7; expected m of 15 or more"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_npm_has_the_figures_of_the_authors(npm):
    train = Reader().read(npm / "train.svm.xz", keep_names=False)
    test = Reader().read(npm / "test.svm.xz", vocabulary=train.vocabulary).rows
    studied = study(train.rows, 2, test=test, threads=2)
    assert studied.per_k["edges"][0] == 15_962_048
    assert studied.per_k["max_degree"] == [204_627, 35_757]
    assert studied.per_k["avg_degree"] == pytest.approx([20.288, 2.654], abs=0.0005)
    first = {name: series[0] for name, series in studied.per_k.items()}
    assert first["good_turing"] == pytest.approx(18.44, abs=0.005)
    assert first["new_edges"] == pytest.approx(18.40, abs=0.005)
    assert first["new_edges_seen"] == pytest.approx(7.35, abs=0.005)
    assert first["good_turing_seen"] == pytest.approx(7.385, abs=0.005)
    assert (studied.filtered["held_out"][0], studied.filtered["max_degree"][0]) == (1893, 946)
    assert studied.filtered["good_turing"] == pytest.approx(studied.filtered["new_edges"], rel=0.01)
