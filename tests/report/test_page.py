"""What a report tells, against the same told slowly; and what the page promises."""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from reports import HOSTILE, coded, fitted

import chromatic
from chromatic.report.contents import embedded
from chromatic.report.linear import linear, predicted
from chromatic.report.observed import observe
from chromatic.report.page import report
from chromatic.report.subject import Subject, most_collided, name_of

ROOT = Path(__file__).parents[2]
FIVE_MB = 5_000_000


@pytest.fixture(scope="module")
def model(names):
    return fitted(names[0].rows, names[0].labels, budget=64, max_colors=16)


@pytest.fixture(scope="module")
def test_rows(names, model):
    return coded(model, names[1].rows, names[1].labels)


def contents_of(page):
    return json.loads(re.search(r'<script type="application/json" id="contents">(.*?)</script>', page)[1])


@pytest.mark.parametrize("encoding", ["submodular", "target", "frequency", "identity"])
@pytest.mark.parametrize("keep_names", [True, False])
def test_every_encoding_makes_a_page_with_and_without_test_rows(names, encoding, keep_names):
    train, test = names
    model = fitted(
        train.rows[:800], train.labels[:800], encoding=encoding, budget=40, keep_names=keep_names
    )
    rows = coded(model, test.rows[:300], test.labels[:300])
    for page in (report(model), report(model, rows)):
        assert not re.search(r"\b(nan|inf)\b", re.sub(r'id="contents">.*?</script>', "", page))
        assert len(contents_of(page)["columns"]["number"]) == model.encoding.n_own_columns
    assert "--test" in report(model) and "--test" not in report(model, rows)


def test_integers_and_labels_that_tell_nothing_make_a_page(npm_free_rows):
    rows, labels = npm_free_rows
    model = fitted(rows, labels, budget=8)
    assert model.encoding.vocabulary.integers
    few = coded(model, rows[:50])
    assert "no labels" in report(model, few)
    assert "1 kind;" in report(model, coded(model, rows[:50], np.zeros(50)))
    assert "3 kinds;" in report(model, coded(model, rows[:50], np.arange(50) % 3))
    assert "no sparse features" in report(fitted(rows, labels, budget=99, dense_threshold=0.0))


@pytest.fixture
def npm_free_rows():
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    rows = sp.csr_array((rng.random((400, 30)) < 0.1).astype(float))
    return rows, (rows[:, [1]].toarray().ravel() > 0) | (rng.random(400) < 0.2)


def test_the_page_is_small_asks_for_nothing_and_is_the_same_every_time(model, test_rows):
    page = report(model, test_rows, threads=1)
    assert page == report(model, test_rows, threads=2)
    assert len(page.encode()) < FIVE_MB
    shell = page.replace(re.search(r'id="contents">(.*?)</script>', page)[1], "")
    assert not re.search(r"https?:|url\(|<link|@import|fetch\(", shell)
    assert HOSTILE not in page and HOSTILE in contents_of(page)["features"]["name"]


def test_the_name_of_the_model_is_escaped(model):
    page = report(model, name=f"{HOSTILE}.chroma")
    assert HOSTILE not in page and "onerror=document" in page


def test_every_file_of_the_page_is_shipped():
    root = Path(chromatic.__file__).parent
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    shipped = {path for pattern in patterns["chromatic"] for path in root.glob(pattern)}
    files = {path for path in (root / "report").rglob("*.*") if path.suffix in (".css", ".html", ".js")}
    assert len(files) > 10 and files <= shipped


def test_names_of_any_length_leave_the_page_under_five_megabytes():
    rows = [[f"{i}-{j}-{'<' * 400}" for j in range(20)] for i in range(1000)]
    model = fitted(rows, np.arange(1000) % 2, budget=512, min_gain=0.0, max_colors=20)
    page = report(model, coded(model, rows, np.arange(1000) % 2))
    shown = len(contents_of(page)["features"]["name"])
    assert len(page.encode()) < FIVE_MB
    assert shown < 20_000 and f"{shown:,} of the 20,000 sparse features" in page


def test_features_collide_with_rarer_ones_of_their_color(model, names, test_rows):
    encoding = model.encoding
    observed = observe(encoding, test_rows)
    collided = Counter()
    for start, stop in zip(test_rows.indptr, test_rows.indptr[1:], strict=False):
        rarest = {}
        for code in test_rows.codes[start:stop].tolist():
            color = int(encoding.coloring.colors[code])
            if color in rarest:
                collided[rarest[color]] += 1
            rarest[color] = code
    counted = {int(code): int(observed.collided[code]) for code in np.flatnonzero(observed.collided)}
    assert counted == dict(collided)
    most = observed.collided[most_collided(observed)].tolist()
    assert most == sorted(collided.values(), reverse=True)[:25]
    known = set(map(bytes, encoding.vocabulary.names.tolist()))
    unseen = sum(len({name for name in row if name.encode() not in known}) for row in names[1].rows)
    assert observed.unseen == unseen


@pytest.mark.parametrize("collisions", ["sum", "drop"])
@pytest.mark.parametrize("null", ["drop", "emit"])
def test_columns_are_counted_as_they_are_encoded(names, null, collisions):
    train, test = names
    settings = {"null": null, "collisions": collisions, "min_gain": 0.0}
    model = fitted(train.rows, train.labels, budget=64, max_colors=8, **settings)
    rows = coded(model, test.rows, test.labels)
    subject = Subject("model", model, observe(model.encoding, rows))
    matrix = model.encoding.encode(rows).to_csr()[:, : model.encoding.n_own_columns]
    assert (matrix.max() > 1) == (collisions == "sum")
    assert subject.in_test.times.tolist() == matrix.sum(axis=0).tolist()
    assert subject.in_test.positives.tolist() == (matrix.T @ rows.labels).tolist()
    assert subject.in_test.squares.tolist() == matrix.power(2).sum(axis=0).tolist()
    if null == "emit":
        assert int(subject.facts.absent.sum()) > 0


def test_information_is_the_mutual_information_of_columns_and_label():
    rng = np.random.default_rng(1)
    fields = rng.integers(0, 12, (600, 3))
    labels = rng.random(600) < 0.1 + 0.06 * fields[:, 0] + 0.02 * fields[:, 1]
    rows = [[f"{k}={value}" for k, value in enumerate(row)] for row in fields]
    model = fitted(rows, labels, budget=9, smoothing=0.0, leakage="none", min_gain=0.0)
    assert model.encoding.coloring.conflicts == 0
    told_by = model.encoding.information()

    def told(of_color):
        """I(color's variable; label) where `of_color` names the variable's value in each row."""
        return sum(
            share * np.log(share / ((of_color == value).mean() * (labels == label).mean()))
            for value in np.unique(of_color)
            for label in (False, True)
            if (share := ((of_color == value) & (labels == label)).mean()) > 0
        )

    coded_rows = coded(model, rows)
    colors = model.encoding.coloring.colors[coded_rows.codes]
    feature = np.full((600, model.encoding.coloring.n_colors), -1)
    column = np.full_like(feature, -1)
    row = np.repeat(np.arange(600), np.diff(coded_rows.indptr))
    feature[row, colors], column[row, colors] = coded_rows.codes, model.encoding.columns[coded_rows.codes]
    assert told_by.whole == pytest.approx(sum(map(told, feature.T)))
    assert told_by.chosen == pytest.approx(sum(map(told, column.T)))


def test_the_chosen_point_of_the_optimal_quantizer_lies_on_the_curve(model):
    told_by = model.encoding.information()
    columns, told = np.array(told_by.curve).T
    assert (np.diff(columns) > 0).all() and (np.diff(told) > 0).all()
    assert columns[0] <= told_by.columns <= columns[-1] and told[-1] <= told_by.whole * (1 + 1e-9)
    between = np.interp(told_by.columns, columns, told)
    assert told_by.chosen == pytest.approx(between, rel=0.02)


def test_the_page_lists_each_columns_most_frequent_features(model, test_rows):
    encoding = model.encoding
    data = embedded(Subject("model", model, None))
    of_column = {column: [] for column in data["columns"]["number"]} | {-1: []}
    for name, column in zip(data["features"]["name"], data["parts"][0]["column"], strict=True):
        of_column[column].append(name)
    for column in data["columns"]["number"]:
        codes = np.flatnonzero(encoding.columns == column)[:8]
        first = [name_of(encoding.vocabulary, int(code)) for code in codes]
        assert of_column[column][: len(codes)] == first


def test_a_page_says_of_collisions_what_becomes_of_them(names):
    train, test = names
    said = {"sum": "Both count", "drop": "the rarer is kept and the other is dropped"}
    for collisions in said:
        model = fitted(train.rows, train.labels, budget=64, max_colors=8, collisions=collisions)
        page = report(model, coded(model, test.rows, test.labels))
        assert [text in page for text in said.values()] == [one == collisions for one in said]
        assert ("Nothing is lost" in page) == (collisions == "sum")
        assert ("were dropped because" in page) == (collisions == "drop")
        assert contents_of(page)["sums"] == (collisions == "sum")


def test_the_linear_section_lists_the_strongest_weights(model, test_rows):
    encoding = model.encoding
    told = linear(Subject("model", model, observe(encoding, test_rows)))
    named = sorted(
        (float(w), name_of(encoding.vocabulary, i)) for i, w in enumerate(encoding.linear.weights)
    )
    assert [one.weight for one in told.lowering] == [weight for weight, _ in named[:15]]
    assert [one.weight for one in told.raising] == [weight for weight, _ in named[:-16:-1]]
    weight_of = {name: weight for weight, name in named}
    for column in told.columns:
        group = column.number - encoding.n_own_columns
        own = encoding.coloring.colors % encoding.linear.n_columns == group
        assert column.n_features == own.sum()
        assert column.raising[0].weight == encoding.linear.weights[own].max()
        assert column.lowering[0].weight == encoding.linear.weights[own].min()
        assert all(weight_of[one.name] == one.weight for one in column.raising + column.lowering)
    assert "on the squares of weights" in report(model, test_rows)


@pytest.mark.parametrize("dense_threshold", [0.02, 0.5])
def test_predictions_are_those_of_the_linear_and_dense_columns(names, dense_threshold):
    train, test = names
    model = fitted(train.rows, train.labels, budget=64, dense_threshold=dense_threshold)
    encoding, rows = model.encoding, coded(model, test.rows, test.labels)
    subject = Subject("model", model, observe(encoding, rows))
    matrix = encoding.encode(rows).to_csr().toarray()
    n_own, n_sparse = encoding.n_own_columns, encoding.n_sparse_columns
    assert (matrix.shape[1] > n_sparse) == (dense_threshold == 0.02)
    margins = matrix[:, n_own:n_sparse].sum(axis=1) + matrix[:, n_sparse:] @ encoding.linear.of_dense
    probabilities = 1 / (1 + np.exp(-(margins + encoding.linear.intercept)))
    assert predicted(subject) == pytest.approx(probabilities)
    told = linear(subject).predictions
    assert len(told.groups) == 10 and sum(group.rows for group in told.groups) == rows.n_rows
    tenth = np.argsort(probabilities, kind="stable")[-told.groups[-1].rows :]
    assert told.groups[-1].seen == f"{rows.labels[tenth].mean():.1%}"
    assert linear(Subject("model", model, None)).predictions is None


def test_numbers_as_labels_are_predicted_as_numbers():
    rng = np.random.default_rng(2)
    shops = rng.integers(0, 20, 800)
    rows, labels = [[f"shop{shop}"] for shop in shops], 3.0 * shops + rng.random(800)
    model = fitted(rows, labels, encoding="target", budget=16)
    subject = Subject("model", model, observe(model.encoding, coded(model, rows, labels)))
    assert np.corrcoef(predicted(subject), labels)[0, 1] > 0.99
    page = report(model, coded(model, rows, labels))
    assert "adds to the label beside" in page and "predicted label" in page
