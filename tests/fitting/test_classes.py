"""Labels of several classes: each against the others, all in one budget, everywhere that a model goes."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from chromatic import ChromaticEncoder, load
from chromatic.data import Reader
from chromatic.encoding.encoded import Encoded, side_by_side
from chromatic.errors import InputError
from chromatic.fitting import LocalSource, fit
from chromatic.modelfile import save
from chromatic.parameters import Settings

KITCHENS = np.array(["danish", "italian", "thai", "turkish", "welsh"])


def dishes(n_rows, seed=0, n_features=400):
    """Rows of ingredients, and the kitchen that each is of: it likes some ingredients more than others."""
    random = np.random.default_rng(seed)
    tastes = 1.5 * random.normal(size=(len(KITCHENS), n_features)) * (random.random(n_features) < 0.4)
    likely = np.exp(tastes) / np.arange(1, n_features + 1) ** 0.8
    likely /= likely.sum(axis=1, keepdims=True)
    kitchens = random.integers(0, len(KITCHENS), n_rows)
    rows = [
        [f"i{v}" for v in np.unique(random.choice(n_features, 2 + random.poisson(5), p=likely[k]))]
        for k in kitchens
    ]
    return rows, KITCHENS[kitchens]


X, Y = dishes(3000)


@pytest.fixture(scope="module", params=["submodular", "target"])
def encoder(request):
    return ChromaticEncoder(100, encoding=request.param).fit(X, Y)


def test_classes_are_told_apart_about_as_well_as_by_all_features():
    train, test = slice(2000), slice(2000, None)
    encoder, penalties = ChromaticEncoder(128), (0.03, 0.1, 0.3, 1, 3)
    columns = encoder.fit_transform(X[:2000], Y[train])
    assert columns.shape[1] <= 128
    vocabulary = {token: i for i, token in enumerate(sorted({token for row in X for token in row}))}
    all_features = np.zeros((len(X), len(vocabulary)))
    for i, row in enumerate(X):
        all_features[i, [vocabulary[token] for token in row]] = 1

    def accuracy(rows, other):
        models = [LogisticRegression(C=c, max_iter=500).fit(rows, Y[train]) for c in penalties]
        return max(model.score(other, Y[test]) for model in models)

    ours = accuracy(columns, encoder.transform(X[2000:]))
    assert ours > accuracy(all_features[train], all_features[test]) - 0.01 > 0.6


def test_each_class_has_its_columns_within_the_budget_and_names_that_say_so(encoder):
    names = encoder.get_feature_names_out().tolist()
    assert len(names) == encoder.n_columns_ <= 100
    assert encoder.classes_.tolist() == KITCHENS.tolist()
    for kitchen in KITCHENS:
        own = [name for name in names if name.startswith(f"{kitchen}/")]
        assert any("linear" in name for name in own) and not all("linear" in name for name in own)


def test_a_part_is_the_encoding_of_its_class_against_the_others():
    """With a column for every bin, no class takes from another: parts are what binary fits give."""
    settings = {"linear": 0, "budget": 5000, "max_colors": 8, "min_gain": 3.0}
    together = ChromaticEncoder(**settings).fit_transform(X, Y).toarray()
    each = [ChromaticEncoder(**settings).fit_transform(X, Y == kitchen) for kitchen in KITCHENS]
    n_dense = len(ChromaticEncoder(**settings).fit(X, Y).encoding_.vocabulary.dense_names)
    own = np.concatenate([one.toarray()[:, : one.shape[1] - n_dense] for one in each], axis=1)
    np.testing.assert_array_equal(together[:, : together.shape[1] - n_dense], own)


def test_files_pickles_and_workers_encode_alike(encoder, tmp_path):
    encoder.save(tmp_path / "classes.chroma")
    wanted = encoder.transform(X[:50])
    loaded = load(tmp_path / "classes.chroma")
    for other in (loaded, pickle.loads(pickle.dumps(encoder))):
        assert (wanted != other.transform(X[:50])).nnz == 0
        assert other.classes_.tolist() == KITCHENS.tolist()
        assert other.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    light = pickle.loads(pickle.dumps(encoder.encoding_.without_explanations()))
    rows = encoder.encoding_.vocabulary.encode(Reader().batches(X[:50]))
    assert (light.encode(rows).to_csr() != wanted).nnz == 0
    assert light.parts[0].vocabulary is light.vocabulary, (
        "one vocabulary is sent to workers, not one a class"
    )


@pytest.mark.parametrize("options", [{}, {"collisions": "drop"}, {"null": "emit"}, {"dense_threshold": 2}])
def test_one_row_is_encoded_as_many_are(encoder, options):
    fitted = ChromaticEncoder(100, encoding=encoder.encoding, **options).fit(X, Y)
    wanted = fitted.transform(X[:20]).toarray()
    for row, expected in zip(X[:20], wanted, strict=True):
        got = fitted.encode_one(row)
        if fitted.encoding == "submodular" and options.get("collisions") == "drop":
            got = np.isin(np.arange(len(expected)), got).astype(float)
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_columns_and_features_are_explained_by_class(encoder):
    names = encoder.get_feature_names_out().tolist()
    for column in range(encoder.encoding_.n_sparse_columns):
        told = encoder.explain(column)
        assert told["column"] == column and names[column].startswith(f"{told['class']}/")
        for feature, *_ in told["features"][:3]:
            place = encoder.locate(feature)["classes"][told["class"]]
            assert column in (place["column"], place["linear"])
    dense = len(names) - 1
    assert encoder.explain(dense)["features"][0][0] == names[dense]
    assert encoder.locate(names[dense])["column"] == dense


def test_no_label_is_known_to_the_columns_of_its_own_row():
    alone = [[f"r{i}"] for i in range(600)]
    y = KITCHENS[np.random.default_rng(0).integers(0, 5, 600)]
    columns = ChromaticEncoder(64, min_gain=0.0).fit_transform(alone, y).toarray()
    assert np.ptp(columns, axis=0).max(initial=0.0) < 1e-12


def test_a_column_costs_a_weight_for_each_class_but_one():
    encoder = ChromaticEncoder(400).fit(X, Y)
    assert [one.part.linear.n_columns for one in encoder.encoding_.of_classes()] == [1] * 5
    dear, cheap = (ChromaticEncoder(400, min_gain=n * 0.5 * np.log(len(X))).fit(X, Y) for n in (4, 1))
    assert encoder.get_feature_names_out().tolist() == dear.get_feature_names_out().tolist()
    assert encoder.n_columns_ < cheap.n_columns_
    asked = ChromaticEncoder(400, linear=3).fit(X, Y).encoding_
    assert [one.part.linear.n_columns for one in asked.of_classes()] == [3] * 5


def test_whole_numbers_are_classes_where_one_says_so():
    numbers = np.searchsorted(KITCHENS, Y)
    encoder = ChromaticEncoder(64, target_type="classes")
    assert (encoder.fit_transform(X, numbers * 10) != ChromaticEncoder(64).fit_transform(X, Y)).nnz == 0
    assert encoder.classes_.tolist() == [0, 10, 20, 30, 40]
    assert encoder.get_feature_names_out()[0].startswith("0/")
    assert ChromaticEncoder(64).fit(X, Y == "thai").classes_.tolist() == [False, True]
    with pytest.raises(AttributeError, match="there are no classes_"):
        ChromaticEncoder(64, target_type="numbers").fit(X, numbers).classes_


def test_the_same_within_a_limit_of_memory_and_for_any_number_of_threads(tmp_path, within_memory):
    path = tmp_path / "dishes.tokens"
    numbers = np.searchsorted(KITCHENS, Y)
    path.write_text("".join(f"{y} {' '.join(row)}\n" for y, row in zip(numbers, X, strict=True)))
    options = {"budget": 64, "target_type": "classes"}
    wanted = ChromaticEncoder(**options, n_jobs=1).fit_transform(path)
    for other in (within_memory, {"n_jobs": 3}):
        assert (wanted != ChromaticEncoder(**options, **other).fit_transform(path)).nnz == 0


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, [*Y[:-1], "greek"], "1 of 6 classes have one row, such as greek; expected two rows of each"),
        (
            {"budget": 3, "encoding": "target"},
            Y,
            "one column each at least for each of 5 classes; expected",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(settings, y, message):
    with pytest.raises(InputError, match=message):
        ChromaticEncoder(**settings).fit(X, np.array(y))


@pytest.mark.parametrize("forged", [{"labels": ["a"]}, {"of": "frequency"}, {"parts": []}, {"labels": 5}])
def test_a_file_that_cannot_be_is_refused(encoder, tmp_path, forged, monkeypatch):
    facts = type(encoder.encoding_).facts
    monkeypatch.setattr(type(encoder.encoding_), "facts", lambda self: facts(self) | forged)
    save(encoder.model_, tmp_path / "forged.chroma")
    with pytest.raises(InputError, match="is damaged"):
        load(tmp_path / "forged.chroma")


def test_columns_side_by_side_are_those_of_each_piece():
    nothing = np.empty((2, 0))
    first = Encoded(np.array([0, 1, 1]), np.array([1], np.int32), None, 2, nothing)
    second = Encoded(np.array([0, 1, 3]), np.array([0, 0, 2], np.int32), np.array([5.0, 6, 7]), 3, nothing)
    both = side_by_side([first, second])
    assert both.to_csr().toarray().tolist() == [[0, 1, 5, 0, 0], [0, 0, 6, 0, 7]]
    assert side_by_side([first, first]).values is None


def test_a_split_counts_only_the_rows_that_estimate():
    fitted = fit(LocalSource(Reader().read(X), Y), Settings(64, leakage="split"))
    assert 0 < fitted.trains.sum() < len(X)
    shares = [part.prior for part in fitted.encoding.parts]
    expected = [(Y[~fitted.trains] == kitchen).mean() for kitchen in KITCHENS]
    np.testing.assert_allclose(shares, expected)


def test_what_the_features_of_a_row_add_sums_to_the_score_of_a_class(encoder):
    coef = np.random.default_rng(0).normal(size=encoder.n_columns_)
    for row in X[:20]:
        told = encoder.explain_row([*row, "new"], coef=coef, intercept=0.5)
        assert told["unseen"] == ["new"]
        assert {one["class"] for one in told["features"] if "class" in one} == set(KITCHENS.tolist())
        assert np.isclose(told["score"], encoder.encode_one(row) @ coef + 0.5)
