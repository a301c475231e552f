"""Models that live: later rows are added, and models of other rows are merged."""

from dataclasses import replace

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from clicks import matrix_of
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from test_weights import weighing

from chromatic import ChromaticEncoder, load, merge
from chromatic.data import Reader
from chromatic.data.extending import found_in
from chromatic.encoding.linear import Linear
from chromatic.errors import InputError, InputWarning
from chromatic.fitting import descent
from chromatic.fitting import weights as solver
from chromatic.fitting.onward import certainty_of, go_on, shrunk
from chromatic.fitting.weights import weigh

HALVES = slice(0, 1300), slice(1300, 3000)
KEPT = {"budget": 24, "keep": "statistics", "dense_threshold": 0.5}


@pytest.mark.kernels
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=2, max_size=12),
    st.booleans(),
    st.integers(0, 2),
    st.data(),
)
def test_an_epoch_over_later_rows_is_that_of_the_naive_twin(lists, binary, n_dense, data):
    values = [0.0, 1.0] if binary else [-1.5, 0.0, 4.0]
    n = len(lists)
    labels = data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
    importance = data.draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    task = weighing(lists, labels, dense=n_dense, binary=binary)
    task = replace(task, n_several=task.rows.n_features)
    sets = [set(codes.tolist()) for codes in np.split(task.rows.codes, task.rows.indptr[1:-1])]
    seen = ((task.rows.dense - task.dense.centers) * task.dense.factors).tolist()
    keys = [*range(task.rows.n_features), *(("dense", d) for d in range(n_dense)), None]
    room = {key: 0.1 + 0.3 * (i % 4) for i, key in enumerate(keys)}
    margins = np.linspace(-1, 2, n)
    of_features, of_dense = np.split(np.array(list(room.values())), [task.rows.n_features])
    solution = np.zeros(n), np.zeros(task.rows.n_features), np.zeros(n_dense + 1)
    duals, moves = [0.0] * n, dict.fromkeys(keys, 0.0)
    orders = replace(task, fold=np.where(np.arange(n) % 3 != 2, 0, -1)).orders()
    for _ in range(3):
        order = next(orders)
        problem = task.labels, order, np.array(importance or []), binary
        off = descent.advance(task.csr, problem, (margins, of_features, of_dense), solution)
        told = {"margins": margins, "room": room, "binary": binary, "importance": importance}
        expected = naive.advance(sets, seen, labels, order.tolist(), (duals, moves), **told)
        assert off == pytest.approx(expected, rel=1e-3, abs=1e-3)
    found = [*solution[1].tolist(), *solution[2].tolist()]
    np.testing.assert_allclose(found, [moves[key] for key in keys], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("binary", [True, False])
def test_features_that_never_meet_go_on_to_the_weights_of_all_rows(one_feature_a_row, binary, monkeypatch):
    """Laplace's approximation of one weight at a time is good where weights do not depend on others."""
    monkeypatch.setattr(solver, "STRENGTHS", (0.3,))
    lists, labels = one_feature_a_row(binary)
    whole = replace(weighing(lists, labels, binary=binary), n_several=6)
    parts = np.arange(4000) % 2
    halves = [replace(whole, fold=np.where(parts == part, 0, -1).astype(np.int32)) for part in (0, 1)]
    first = Linear.of(1, weigh(halves[0], 1))
    certainty = certainty_of(halves[0], first)
    found = go_on(halves[1], first, certainty, 0.0)
    expected = Linear.of(1, weigh(whole, 1)).margins(whole.rows)
    margins = Linear.of(1, found).margins(whole.rows)
    before = first.margins(whole.rows)
    assert np.abs(margins - expected).max() < 0.5 * np.abs(before - expected).max()


@pytest.fixture
def one_feature_a_row():
    def made(binary):
        random = np.random.default_rng(3)
        levels = random.integers(0, 6, 4000)
        labels = random.random(4000) < (levels + 1) / 8 if binary else levels + random.normal(size=4000)
        return [[f"f{level}"] for level in levels], labels.astype(float)

    return made


def test_weights_that_decay_come_closer_to_nothing_the_less_rows_say_of_them():
    linear = Linear(1, np.array([2.0, 2.0], np.float32), np.empty(0), 0.0, strength=1.0)
    certainty = certainty_of(weighing([["a"]] * 40 + [["b"]] * 2, [0.0, 1.0] * 21), linear)
    left = shrunk(linear, certainty, 0.5).weights
    assert 0 < left[1] < left[0] < 2.0
    assert np.array_equal(shrunk(linear, certainty, 1.0).weights, linear.weights)


@pytest.mark.parametrize("encoding", ["submodular", "target"])
def test_an_update_by_the_second_half_is_about_a_fit_to_all(clicks, encoding):
    X, y = clicks
    X, new, later = X[:1200], X[1200:2400], X[2400:]
    half = ChromaticEncoder(encoding=encoding, **KEPT)
    learner = LogisticRegression(max_iter=500).fit(half.fit_transform(X, y[:1200]), y[:1200])
    before = log_loss(y[2400:], learner.predict_proba(half.transform(later)))
    names = half.get_feature_names_out()
    half.update(new, y[1200:2400])
    after = log_loss(y[2400:], learner.predict_proba(half.transform(later)))
    whole = ChromaticEncoder(encoding=encoding, **KEPT)
    relearned = LogisticRegression(max_iter=500).fit(whole.fit_transform(X + new, y[:2400]), y[:2400])
    assert after < before
    assert after < 1.03 * log_loss(y[2400:], relearned.predict_proba(whole.transform(later)))
    assert np.array_equal(half.get_feature_names_out(), names)


def test_known_features_keep_their_colors_and_columns_their_cuts(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X[:1500], y[:1500])
    before = encoder.encoding_
    vocabulary = before.vocabulary
    encoder.update(X[1500:], y[1500:])
    after = encoder.encoding_
    n = len(vocabulary)
    assert np.array_equal(after.vocabulary.keys[:n], vocabulary.keys) and len(after.vocabulary) > n
    assert np.array_equal(after.coloring.colors[:n], before.coloring.colors)
    for same in ("cuts", "bin_starts", "columns", "null_bins"):
        assert np.array_equal(getattr(after.codebook, same), getattr(before.codebook, same))
    tokens = [token for row in X for token in row]
    for code in (0, 5, n - 1, n, len(after.vocabulary) - 1):
        assert after.vocabulary.counts[code] == tokens.count(after.vocabulary.name(code).decode())
    assert after.vocabulary.n_rows == 3000


def test_the_features_of_an_updated_column_are_told_by_descending_count(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X[:1500], y[:1500])
    encoder.update([["a=1", "new"]] * 900, [0, 1] * 450)
    for column in range(encoder.encoding_.n_own_columns):
        counts = [count for _, count, _ in encoder.explain(column)["features"]]
        assert counts == sorted(counts, reverse=True)
    assert encoder.locate("new")["count"] == 900


def test_the_statistics_after_an_update_are_those_of_all_rows(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X[:1500], y[:1500]).update(X[1500:], y[1500:])
    statistic = encoder.model_.kept.parts[0].sums
    rows, positives, squares = statistic.totals()
    assert np.array_equal(positives, squares)
    for code in range(0, len(rows), 37):
        has = np.array([encoder.encoding_.vocabulary.name(code).decode() in row for row in X])
        assert (rows[code], positives[code]) == (has.sum(), y[has].sum())
    assert statistic.whole.sum(axis=1).tolist() == [3000, y.sum(), y.sum()]


def test_earlier_rows_decay_and_features_that_are_gone_are_dropped(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X[:1000], y[:1000])
    n = len(encoder.encoding_.vocabulary)
    encoder.update(X[1000:2000], y[1000:2000], decay=0.5)
    statistic = encoder.model_.kept.parts[0].sums
    assert statistic.whole[0].sum() == 1500 and encoder.encoding_.vocabulary.n_rows == 1500
    assert len(encoder.encoding_.vocabulary) > n
    encoder.update(X[2000:], y[2000:], decay=0.5, drop_after=2)
    names = {
        encoder.encoding_.vocabulary.name(code).decode()
        for code in range(len(encoder.encoding_.vocabulary))
    }
    assert names == {token for row in X[1000:] for token in row} - set(
        map(bytes.decode, encoder.encoding_.vocabulary.dense_names)
    )
    encoder.update(X[:1000], y[:1000], drop_after=1)
    assert len(encoder.encoding_.vocabulary) == len({token for row in X[:1000] for token in row})


@pytest.mark.parametrize("kind", ["tokens", "matrix", "table", "files", "classes", "numbers", "weights"])
def test_every_kind_of_data_and_label_is_updated_saved_and_loaded(clicks, kind, tmp_path):
    import pandas as pd

    X, y = clicks
    told, more = {}, {}
    if kind == "matrix":
        X = sp.csr_array(matrix_of(X))
    elif kind == "table":
        X = pd.DataFrame([[token.split("=")[1] for token in row] for row in X], columns=list("abcd"))
        X["number"] = np.arange(3000) / 7
    elif kind == "classes":
        y = np.array(["no", "perhaps", "yes"])[y + (np.arange(3000) % 3 == 0)]
    elif kind == "numbers":
        y = y + np.sin(np.arange(3000))
    elif kind == "weights":
        told, more = ({"sample_weight": np.arange(1500) % 3 + 1.0} for _ in range(2))
    first, second = (X[:1500], X[1500:]) if kind != "table" else (X.iloc[:1500], X.iloc[1500:])
    if kind == "files":
        for name, rows, labels in (("a", first, y[:1500]), ("b", second, y[1500:])):
            lines = [f"{label} {' '.join(row)}\n" for label, row in zip(labels, rows, strict=True)]
            (tmp_path / f"{name}.tokens").write_text("".join(lines))
        encoder = ChromaticEncoder(**KEPT).fit(str(tmp_path / "a.tokens"))
        encoder.save(tmp_path / "m.chroma")
        again = load(tmp_path / "m.chroma")
        for one in (encoder, again):
            one.update(str(tmp_path / "b.tokens"))
    else:
        encoder = ChromaticEncoder(**KEPT).fit(first, y[:1500], **told)
        encoder.save(tmp_path / "m.chroma")
        again = load(tmp_path / "m.chroma")
        for one in (encoder, again):
            one.update(second, y[1500:], **more)
    for one, name in ((encoder, "1"), (again, "2")):
        one.save(tmp_path / name)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    rows = [str(tmp_path / "b.tokens")] if kind == "files" else second
    assert encoder.transform(rows).shape == (1500, encoder.n_columns_)
    names = encoder.get_feature_names_out().tolist()
    assert (
        len(names) == encoder.n_columns_ and names == load(tmp_path / "1").get_feature_names_out().tolist()
    )
    assert names == load(tmp_path / "m.chroma").get_feature_names_out().tolist()
    assert encoder.explain(names[0])["column"] == 0


def test_models_of_two_halves_merge_to_that_of_all_rows(clicks, tmp_path):
    X, y = clicks
    like = ChromaticEncoder(**KEPT, linear=0, min_count=2).fit(X[:2000], y[:2000])
    parts = [
        ChromaticEncoder().fit_like(like, X[some], y[some]) for some in (slice(0, 1300), slice(1300, 3000))
    ]
    whole, merged = ChromaticEncoder().fit_like(like, X, y), merge(*parts)
    mine, theirs = (one.model_.kept.parts[0].sums for one in (merged, whole))
    assert np.array_equal(mine.totals(), theirs.totals())
    assert np.array_equal(mine.of_null(), theirs.of_null())
    mine, theirs = merged.encoding_.arrays(), whole.encoding_.arrays()
    assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)
    assert np.array_equal(merged.encoding_.vocabulary.counts, whole.encoding_.vocabulary.counts)
    assert np.array_equal(merged.transform(X).toarray(), whole.transform(X).toarray())


def test_merged_weights_are_near_those_of_all_rows(clicks):
    X, y = clicks
    like = ChromaticEncoder(**KEPT).fit(X, y)
    parts = [
        ChromaticEncoder().fit_like(like, X[some], y[some]) for some in (slice(0, 1500), slice(1500, 3000))
    ]
    margins = {}
    for name, encoder in (("whole", like), ("half", parts[0]), ("merged", merge(*parts))):
        margins[name] = encoder.encoding_.linear.margins(encoder._code(X))
    half, merged = (np.abs(margins[name] - margins["whole"]).mean() for name in ("half", "merged"))
    assert merged < 0.8 * half


def test_to_keep_statistics_changes_nothing_else(clicks):
    X, y = clicks
    kept, plain = (ChromaticEncoder(**{**KEPT, "keep": keep}) for keep in ("statistics", None))
    assert np.array_equal(kept.fit_transform(X, y).toarray(), plain.fit_transform(X, y).toarray())
    assert np.array_equal(kept.transform(X).toarray(), plain.transform(X).toarray())


def refused(call, message):
    with pytest.raises(InputError) as told:
        call()
    assert message in str(told.value) and "expected" in str(told.value)


def test_what_cannot_be_updated_or_merged_is_told(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X, y)
    refused(lambda: ChromaticEncoder(budget=24).fit(X, y).update(X, y), "the model keeps no statistics")
    for decay in (0, -1, 1.5, float("nan")):
        refused(lambda decay=decay: encoder.update(X, y, decay=decay), "decay is ")
    refused(lambda: encoder.update(X, y, drop_after=0), "drop_after is 0")
    refused(lambda: encoder.update(X, y + 1), "a row has the label 2, which training did not have")
    refused(lambda: encoder.update(X, y[:10]), "3,000 rows and labels of shape (10,)")
    refused(lambda: encoder.update(X), "the rows have no labels")
    integers = ChromaticEncoder(**KEPT).fit([[i % 7, 9 + i % 30] for i in range(300)], y[:300])
    refused(lambda: integers.update(X, y), "features")
    with pytest.raises(InputError, match="those of the model are whole numbers"):
        found_in(Reader().batches(X), integers.encoding_.vocabulary, 1)
    for wrong in ("x", 2.5, True):
        refused(lambda wrong=wrong: encoder.update(X, y, drop_after=wrong), "drop_after is ")
    refused(lambda: encoder.update(X, y, decay="x"), "decay is 'x'")
    refused(lambda: merge(encoder), "there are 1 encoders")
    other = ChromaticEncoder(**{**KEPT, "budget": 20}).fit(X, y)
    refused(lambda: merge(encoder, other), "another budget")
    refused(lambda: merge(encoder, ChromaticEncoder(**KEPT).fit(X[:2000], y[:2000])), "other features")
    refused(lambda: ChromaticEncoder(encoding="identity", keep="statistics").fit(X), "no sums over labels")
    refused(lambda: ChromaticEncoder(leakage="split", keep="statistics").fit(X, y), "'split'")


def some_table(spread, slope, seed):
    """Rows with a dense column far from 0, whose labels follow it and a category."""
    import pandas as pd

    random = np.random.default_rng(seed)
    year, place = 2000 + spread * random.normal(size=1500), random.integers(0, 20, 1500)
    odds = slope * (year - 2000) + np.sin(place)
    labels = (random.random(1500) < 1 / (1 + np.exp(-odds))).astype(int)
    return pd.DataFrame({"year": year, "place": [f"p{one}" for one in place]}), labels


def test_dense_columns_far_from_nothing_are_merged_where_their_rows_are():
    import pandas as pd

    parts = some_table(1, 1, 1), some_table(3, 1.2, 2)
    first = ChromaticEncoder(**KEPT).fit(*parts[0])
    second = ChromaticEncoder().fit_like(first, *parts[1])
    X, y = pd.concat([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    losses = []
    for encoder in (merge(first, second), merge(second, first), ChromaticEncoder(**KEPT).fit(X, y)):
        margins = encoder.encoding_.linear.margins(encoder._code(X))
        losses.append(log_loss(y, 1 / (1 + np.exp(-margins))))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6) and losses[0] < 1.1 * losses[2]


def test_what_an_update_forgets_it_forgets_once(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X, y)
    linear, certainty = encoder.encoding_.linear, encoder.model_.kept.parts[0].certainty
    encoder.update([[]], [0], decay=0.5)
    found = encoder.encoding_.linear.weights
    np.testing.assert_allclose(found, shrunk(linear, certainty, 0.5).weights, atol=1e-6)


def test_counts_of_rare_features_decay_too(clicks):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT).fit(X, y)
    for _ in range(30):
        encoder.update([["a=1", "b=2"], ["a=3"]], [0, 1], decay=0.9)
    vocabulary = encoder.encoding_.vocabulary
    assert encoder.model_.kept.counts.sum() == pytest.approx(0.9**30 * 12_000, rel=0.02, abs=30)
    assert vocabulary.counts.sum() < 1200 and vocabulary.n_rows < 200


def test_a_model_that_has_dropped_nearly_all_features_is_loaded(clicks, tmp_path):
    X, y = clicks
    encoder = ChromaticEncoder(**KEPT, max_colors=1).fit(X, y)
    encoder.update(X[:2], y[:2], drop_after=1)
    encoder.save(tmp_path / "m.chroma")
    assert len(load(tmp_path / "m.chroma").encoding_.vocabulary) <= 8


def test_labels_that_are_large_numbers_keep_their_variance(clicks):
    X, y = clicks
    labels = y + np.sin(np.arange(3000)) + 1e8
    encoder = ChromaticEncoder(**KEPT).fit(X[:2000], labels[:2000])
    residual = encoder.model_.kept.parts[0].spread.residual
    encoder.update(X[2000:], labels[2000:])
    spread = encoder.model_.kept.parts[0].spread
    assert spread.variance == pytest.approx(labels.var(), rel=1e-6)
    assert spread.residual == pytest.approx(residual)


def test_weights_of_rows_have_one_unit_in_all_parts(clicks):
    X, y = clicks
    weights = np.where(np.arange(3000) < 1300, 1.0, 10.0)
    like = ChromaticEncoder(**KEPT, linear=0).fit(X, y, weights)
    parts = [ChromaticEncoder().fit_like(like, X[some], y[some], weights[some]) for some in HALVES]
    whole = ChromaticEncoder().fit_like(like, X, y, weights)
    assert merge(*parts).encoding_.prior == pytest.approx(whole.encoding_.prior)
    assert merge(*parts).encoding_.prior == pytest.approx(np.average(y, weights=weights))


def test_names_stay_for_whoever_asks_and_no_longer_than_they_are_kept(clicks, tmp_path):
    import pandas as pd

    X, y = clicks
    table = pd.DataFrame([[token.split("=")[1] for token in row] for row in X], columns=list("abcd"))
    encoder = ChromaticEncoder(**KEPT).fit(table, y)
    names = encoder.get_feature_names_out(list("abcd")).tolist()
    encoder.update(table[:900], y[:900])
    assert encoder.get_feature_names_out(list("abcd")).tolist() == names
    encoder.set_params(names=False, keep=None).save(tmp_path / "m.chroma")
    again = load(tmp_path / "m.chroma")
    assert again.model_.kept is None and again.model_.names is None


def test_features_that_are_unseen_are_told_where_a_model_is_to_be_like_another(clicks):
    X, y = clicks
    like = ChromaticEncoder(**KEPT).fit(X, y)
    with pytest.warns(InputWarning, match="unseen|not seen"):
        ChromaticEncoder().fit_like(like, [["new"]] * 50, [0, 1] * 25)
    strict = ChromaticEncoder(**KEPT, handle_unknown="error").fit(X, y)
    refused(lambda: ChromaticEncoder().fit_like(strict, [["new"]] * 50, [0, 1] * 25), "were not seen")
