"""`encoder.drift`: what has moved is told, and what has not is not."""

import lzma

import numpy as np
import pytest

from chromatic import ChromaticEncoder, load
from chromatic.data import Reader
from chromatic.drift import drift
from chromatic.errors import InputError

SHOPS = 40


def rows(n, seed, *, shops=None, flip=()):
    """Rows of a shop and some items, in which the label follows the shop; rare items come once."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, SHOPS + 1) if shops is None else np.asarray(shops, float)
    shop = random.choice(SHOPS, n, p=weights / weights.sum())
    items = random.zipf(1.3, (n, 2)) % 100_000
    rate = np.where(shop % 4 == 0, 0.7, 0.2)
    rate = np.where(np.isin(shop, flip), 0.9 - rate, rate)
    y = (random.random(n) < rate).astype(int)
    return [[f"shop{s}", f"item{a}", f"item{b}"] for s, (a, b) in zip(shop, items, strict=True)], y


@pytest.fixture(scope="module")
def encoder():
    return ChromaticEncoder(budget=32, dense_threshold=0.5).fit(*rows(8000, 0))


@pytest.mark.parametrize("seed", range(1, 9))
def test_rows_drawn_alike_stay_within_chance(encoder, seed):
    found = encoder.drift(*rows(3000, seed))
    assert found.moved == [] and not any(one.rate_moved for one in found.columns)
    assert abs(found.unseen - found.expected_unseen) < 0.02
    assert abs(found.labels[0].now - found.labels[0].then) < 0.05
    assert found.above(0.03) == []


def test_the_mean_of_the_index_by_chance_is_its_noise(encoder):
    each = [encoder.drift(rows(3000, seed)[0]).columns for seed in range(1, 16)]
    psi, noise = (
        np.array([[getattr(one, name) for one in columns] for columns in each]) for name in ("psi", "noise")
    )
    assert 0.7 < psi.mean() / noise.mean() < 1.2


def test_a_planted_drift_is_named(encoder):
    weights = 1 / np.arange(1, SHOPS + 1)
    weights[7] *= 12
    found = encoder.drift(*rows(3000, 1, shops=weights))
    assert len(found.moved) < len(found.columns)
    named = found.moved[0]
    assert named.features[0].feature == "shop7" and named.features[0].now > 3 * named.features[0].then
    assert named.psi > named.limit > named.noise > 0
    assert named.column == encoder.locate("shop7")["column"]


def test_a_rate_that_moved_is_named_and_others_are_not(encoder):
    found = encoder.drift(*rows(6000, 2, flip=[3]))
    moved = [one for one in found.columns if one.rate_moved]
    assert [one.column for one in moved] == [encoder.locate("shop3")["column"]]
    assert moved[0] == found.rates_moved[0] and moved[0].rate_now > moved[0].rate_then


def test_labels_that_follow_no_prediction_have_a_slope_of_zero(encoder):
    X, y = rows(4000, 3)
    right = encoder.drift(X, y).labels[0]
    wrong = encoder.drift(X, np.random.default_rng(0).permutation(y)).labels[0]
    assert abs(right.slope - 1) < 0.3 and abs(right.predicted - right.now) < 0.03
    assert abs(wrong.slope) < 4 * wrong.slope_error < 0.3


def test_unseen_features_are_counted_by_window(encoder):
    X = [["shop1", "shop2"]] * 10 + [["shop1", "new", "newer", "newest"]] * 5 + [[]] * 5 + [["new"]] * 3
    found = encoder.drift(X, window=10)
    assert [(one.first, one.rows) for one in found.windows] == [(0, 10), (10, 10), (20, 3)]
    assert [one.unseen for one in found.windows] == [0.0, 5 * 0.75 / 10, 1.0]
    assert [one.rows_with_unseen for one in found.windows] == [0.0, 0.5, 1.0]
    assert found.unseen == pytest.approx((5 * 0.75 + 3) / 23)
    assert found.labels == [] and found.rates_moved == []


def test_windows_double_until_there_are_twenty_at_most(encoder):
    for n, window in ((5, 100), (1999, 100), (2500, 200), (9000, 800)):
        found = encoder.drift([["shop1"]] * n)
        assert found.window == window and sum(one.rows for one in found.windows) == n


def test_the_result_depends_neither_on_threads_nor_on_batches(encoder, tmp_path):
    X, y = rows(5000, 4)
    path = tmp_path / "rows.tokens"
    path.write_text("".join(f"{label} {' '.join(row)}\n" for row, label in zip(X, y, strict=True)))
    encoder.save(tmp_path / "m.chroma")
    found = [load(tmp_path / "m.chroma").set_params(n_jobs=n).drift(str(path), window=700) for n in (1, 3)]
    assert found[0].to_dict() == found[1].to_dict() == encoder.drift(X, y, window=700).to_dict()

    small = Reader(chunk_size=999).by(encoder.encoding_.vocabulary).stream([str(path)])
    assert drift(encoder.model_, small, window=700).to_dict() == found[0].to_dict()


@pytest.mark.parametrize(
    "parameters",
    [
        {"encoding": "target"},
        {"encoding": "frequency"},
        {"collisions": "drop", "linear": 0},
        {"null": "emit"},
        {"min_count": 2},
    ],
)
def test_every_encoding_is_watched(parameters):
    encoder = ChromaticEncoder(budget=64, dense_threshold=0.5, **parameters).fit(*rows(6000, 0))
    alike, moved = encoder.drift(*rows(3000, 1)), encoder.drift(*rows(3000, 1, shops=np.arange(SHOPS) + 1))
    assert alike.moved == [] and moved.moved
    assert len(alike.columns) == encoder.n_columns_
    assert abs(alike.unseen - alike.expected_unseen) < 0.03
    assert bool(moved.labels) == (parameters.get("encoding") != "frequency")


def test_classes_have_rates_and_predictions_of_their_own():
    X, y = rows(6000, 0)
    three = np.array(["no", "yes", "maybe"])[np.where(np.arange(len(y)) % 5 == 0, 2, y)]
    encoder = ChromaticEncoder(budget=64, dense_threshold=0.5).fit(X[:4000], three[:4000])
    found = encoder.drift(X[4000:], three[4000:])
    assert [one.label for one in found.labels] == ["maybe", "no", "yes"]
    assert sum(one.now for one in found.labels) == pytest.approx(1.0) and found.moved == []
    assert len(found.columns) == encoder.n_columns_
    with pytest.raises(
        InputError, match="label never, which training did not have; expected maybe, no, yes"
    ):
        encoder.drift(X[:10], ["never"] * 10)


def test_numbers_have_means_and_a_slope():
    X, y = rows(8000, 0)
    y = y * 3.0 + np.random.default_rng(0).normal(size=len(y))
    encoder = ChromaticEncoder(budget=64, dense_threshold=0.5).fit(X[:5000], y[:5000])
    found = encoder.drift(X[5000:], y[5000:] + 1)
    one = found.labels[0]
    assert found.moved == [] and abs(one.now - one.then - 1) < 0.2 and abs(one.slope - 1) < 0.3
    assert all(each.errors > 0 for each in found.rates_moved[:5])


def test_what_is_wrong_is_said(encoder):
    X, y = rows(20, 0)
    for arguments, named, said in (
        ((X, y), {"window": 0}, "the window is 0; expected 1 row or more"),
        (([],), {}, "there are no rows"),
        ((X, y[:10]), {}, "more rows than the 10 labels"),
        ((X[:10], y), {}, "10 rows and 20 labels"),
        ((X, y + 5), {}, "the label 5, which training did not have; expected 0, 1"),
    ):
        with pytest.raises(InputError, match=said):
            encoder.drift(*arguments, **named)


def test_real_rows_in_another_order_stay_within_chance(debian_survival):
    with lzma.open(debian_survival / "train.svm.xz", "rt") as file:
        lines = [line.split() for line in file]
    order = np.random.default_rng(0).permutation(len(lines))[:24_000]
    X = [[int(entry.split(":")[0]) for entry in lines[i][1:]] for i in order]
    y = np.array([int(lines[i][0]) for i in order])
    found = ChromaticEncoder(budget=128).fit(X[:18_000], y[:18_000]).drift(X[18_000:], y[18_000:])
    assert len(found.columns) > 50 and found.moved == []
    assert not any(one.rate_moved for one in found.columns)
    assert abs(found.unseen - found.expected_unseen) < 0.01
