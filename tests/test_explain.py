"""What a column means, and what became of the features of a row."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import chromatic
from sklearn.linear_model import LogisticRegression

from chromatic import ChromaticEncoder, load
from chromatic.cli.main import app
from chromatic.errors import InputError

N = 1500
RANDOM = np.random.default_rng(1)
FIELDS = RANDOM.integers(0, [40, 200, 12], (N, 3))
Y = (RANDOM.random(N) < np.where(FIELDS[:, 0] < 15, 0.7, 0.2)).astype(int)
TOKENS = [[f"a={a}", f"b={b}", f"c{c}", f"c{c // 2}"] for a, b, c in FIELDS]
TABLE = pd.DataFrame(
    {
        "a": [f"a{a}" for a in FIELDS[:, 0]],
        "b": [f"b{b}" for b in FIELDS[:, 1]],
        "size": FIELDS[:, 2] / 4,
        "tags": [["t", f"t{c}"] for c in FIELDS[:, 2]],
    }
)
OPTIONS = [
    {},
    {"linear": 0},
    {"null": "emit", "max_colors": 3},
    {"collisions": "drop", "linear": 0, "max_colors": 2},
    {"collisions": "drop", "linear": 0, "null": "emit", "max_colors": 2},
    {"encoding": "target"},
    {"encoding": "target", "collisions": "drop", "linear": 0, "max_colors": 2},
    {"encoding": "frequency"},
    {"encoding": "identity", "max_colors": 2},
    {"names": False},
    {"values": "distinct"},
    {"dense_threshold": 2.0},
    {"min_count": 20},
]
DATA = {
    "tokens": TOKENS,
    "integers": [[int(a), 100 + int(b), 1000 + int(c)] for a, b, c in FIELDS],
    "dicts": [{f"a{a}": 1, "b": f"{b}", f"c{c}": 2.5, "size": float(c)} for a, b, c in FIELDS],
    "table": TABLE,
}


def row_of(X, i):
    return X.iloc[i] if isinstance(X, pd.DataFrame) else X[i]


def rows_of(X, i):
    return X.iloc[[i]] if isinstance(X, pd.DataFrame) else [X[i]]


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # any coefficients will do
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", DATA)
def test_contributions_of_features_sum_to_the_score_of_the_row(kind, options):
    X = DATA[kind]
    encoder = ChromaticEncoder(32, **options).fit(X, Y)
    Z = encoder.transform(X)
    model = LogisticRegression(C=0.1, max_iter=20).fit(Z, Y)
    coef, intercept = model.coef_, model.intercept_
    scores = model.decision_function(Z)
    for i in range(25):
        told = encoder.explain_row(row_of(X, i), coef=coef, intercept=intercept)
        assert told["score"] == pytest.approx(scores[i], abs=1e-9)
        assert told["score"] == pytest.approx(
            told["intercept"] + sum(one["contribution"] for one in told["features"]), abs=1e-12
        )
        columns = np.zeros(encoder.n_columns_)
        for one in told["features"]:
            if one["column"] is not None:
                columns[one["column"]] += one["adds"]
                assert one["name"] == encoder.get_feature_names_out()[one["column"]]
            if one.get("linear") is not None:
                columns[one["linear"]] += one["weight"]
        assert columns == pytest.approx(Z[[i]].toarray()[0], abs=1e-9)


@pytest.mark.parametrize("kind", ["tokens", "table"])
def test_a_row_s_features_are_told_as_locate_tells_them(kind):
    encoder = ChromaticEncoder(32).fit(DATA[kind], Y)
    told = encoder.explain_row(row_of(DATA[kind], 3))
    assert set(told) == {"features", "unseen"} and not told["unseen"]
    for one in told["features"]:
        located = encoder.locate(one["feature"])
        assert {name: one[name] for name in located} == located


def test_unseen_features_are_listed():
    encoder = ChromaticEncoder(32, handle_unknown="error").fit(TOKENS, Y)
    told = encoder.explain_row(["a=1", "new", "c", "c3"])
    assert told["unseen"] == ["new", "c"] and len(told["features"]) == 2
    table = ChromaticEncoder(32).fit(TABLE, Y)
    row = {"a": "never", "b": "b7", "size": None, "tags": ["t1", "t77"]}
    assert sorted(table.explain_row(row)["unseen"]) == ["a=never", "t77"]
    told = table.explain_row({"b": "b7", "size": 3})["features"]
    assert [one["feature"] for one in told] == ["b=b7", "size"]


def test_features_that_lost_to_a_rarer_one_of_their_color_add_nothing():
    encoder = ChromaticEncoder(32, collisions="drop", linear=0, max_colors=1, min_gain=0).fit(TOKENS, Y)
    for i in range(20):
        told = encoder.explain_row(TOKENS[i])["features"]
        added = [one for one in told if one["adds"] and one["color"] is not None]
        assert len(added) <= 1 < len([one for one in told if one["color"] == 0])


def test_odd_rows_and_coefficients_are_refused_in_one_line():
    encoder = ChromaticEncoder(32).fit(TABLE, Y)
    row = TABLE.iloc[0].to_dict()
    for given, message in (
        (
            {"row": {**row, "colour": "red"}},
            "the row has the column 'colour'; expected those of the fit: a",
        ),
        ({"row": {"a": "a1"}}, "there is no column 'size', which the rows before have"),
        ({"row": {**row, "a": object()}}, "a value of a kind that tables do not have .*; expected numbers"),
        ({"row": "a=1"}, "a row of type str; expected a list or set"),
        ({"row": row, "coef": [1.0, 2.0]}, r"coef has the shape \(2,\); expected one number for each of "),
        (
            {"row": row, "coef": np.zeros(encoder.n_columns_), "intercept": [1, 2]},
            "intercept has the",
        ),
    ):
        with pytest.raises(InputError, match=message) as raised:
            encoder.explain_row(given.pop("row"), **given)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("options", [{}, {"smoothing": 7.5}, {"smoothing": 0}, {"null": "emit"}], ids=str)
def test_observed_rates_are_the_shares_of_positive_rows(options):
    encoder = ChromaticEncoder(32, dense_threshold=2.0, **options).fit(TOKENS, Y)
    has = {}
    for row, label in zip(TOKENS, Y.tolist(), strict=True):
        for token in set(row):
            has.setdefault(token, []).append(label)
    for token, labels in has.items():
        told = encoder.locate(token)
        assert told["observed"] == pytest.approx(np.mean(labels), abs=1e-12)
        a, prior = encoder.smoothing_, Y.mean()
        assert told["rate"] == pytest.approx((sum(labels) + a * prior) / (len(labels) + a), abs=1e-9)
    for column in range(encoder.encoding_.n_own_columns):
        told = encoder.explain(column)
        if told.get("absent"):
            assert told["observed"] is None
            continue
        labels = [label for token, _, _ in told["features"] for label in has[token]]
        assert told["observed"] == pytest.approx(np.mean(labels)) and told["rows"] == len(labels)


def test_a_column_of_values_tells_smoothed_and_observed_rates(tmp_path):
    classes = np.array(["no", "yes", "maybe"])[Y.astype(int) + (np.arange(len(Y)) % 5 == 0)]
    for y, options in ((Y, {}), (Y, {"smoothing": 0, "leakage": "none"}), (classes, {"smoothing": 4.0})):
        encoder = ChromaticEncoder(64, encoding="target", dense_threshold=2.0, **options).fit(TOKENS, y)
        encoder.save(tmp_path / "model.chroma")
        for told in (load(tmp_path / "model.chroma").explain(column) for column in range(2)):
            of_class = y == told.get("class", 1)
            for (token, count, _), (smoothed, observed) in zip(
                told["features"], told["rates"], strict=True
            ):
                share = np.mean(
                    [label for row, label in zip(TOKENS, of_class, strict=True) if token in row]
                )
                assert observed == pytest.approx(share)
                a, prior = options.get("smoothing", encoder.smoothing_), of_class.mean()
                assert smoothed == pytest.approx((count * share + a * prior) / (count + a))
            counts = [count for _, count, _ in told["features"]]
            assert told["observed"] == pytest.approx(
                np.average([o for _, o in told["rates"]], weights=counts)
            )
            place = encoder.locate(told["features"][0][0])
            place = place["classes"][told["class"]] if "class" in told else place
            assert [place["smoothed"], place["observed"]] == pytest.approx(told["rates"][0])
            shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "model.chroma"), "--column", "0"])
            assert "smoothed 0." in shown.output and "observed " in shown.output
    numbers = ChromaticEncoder(32, encoding="target").fit(TOKENS, Y + np.arange(len(Y)) / len(Y))
    assert numbers.explain(0)["smoothed"] is not None and "observed" not in numbers.explain(0)


@pytest.mark.parametrize(
    "options", [{"leakage": "split"}, {"collisions": "drop", "linear": 0, "max_colors": 1}]
)
def test_where_only_some_rows_estimate_no_observed_rate_is_made_up(options):
    encoder = ChromaticEncoder(32, smoothing=3.0, min_gain=0, **options).fit(TOKENS, Y)
    assert encoder.explain(0)["observed"] is None and encoder.locate("a=3")["observed"] is None
    assert 0 < encoder.locate("a=3")["rate"] < 1


@pytest.mark.parametrize("options", OPTIONS[:9], ids=str)
@pytest.mark.parametrize("kind", ["tokens", "table"])
def test_a_column_is_explained_by_its_name_as_by_its_number(kind, options, tmp_path):
    encoder = ChromaticEncoder(32, **options).fit(DATA[kind], Y)
    names = encoder.get_feature_names_out().tolist()
    encoder.save(tmp_path / "m.chroma")
    again = load(tmp_path / "m.chroma")
    for column, name in enumerate(names):
        told = encoder.explain(name)
        assert told == encoder.explain(column) == again.explain(name)
        assert (told["column"], told["name"]) == (column, name)
    with pytest.raises(InputError, match=f"a number from 0 to {len(names) - 1}, or a name such as"):
        encoder.explain("no such column")


def test_columns_of_a_matrix_are_explained_by_the_names_they_have():
    encoder = ChromaticEncoder(8).fit(np.eye(40)[FIELDS[:, 0]], Y)
    assert encoder.explain(encoder.get_feature_names_out()[0])["column"] == 0


def inspect(path, *args):
    done = chromatic("inspect", path, *args, text=True)
    return done.returncode, done.stdout, done.stderr


def test_the_command_takes_a_name_and_a_row(tmp_path):
    path = tmp_path / "m.chroma"
    tokens = ChromaticEncoder(32).fit(TOKENS, Y)
    tokens.save(path)
    name = tokens.get_feature_names_out()[-1]
    assert json.loads(inspect(path, "--column", name, "--json")[1]) == tokens.explain(name)
    assert json.loads(inspect(path, "--row", "a=1 c3 new", "--json")[1]) == tokens.explain_row(
        ["a=1", "c3", "new"]
    )
    lines = inspect(path, "--row", "a=1 c3 new")[1].splitlines()
    head = ["feature", "color", "column", "name", "rate", "observed", "adds", "linear", "weight"]
    assert lines[0].split() == head and len(lines) == 4 and lines[-1] == "new: not seen in training"
    assert inspect(path, "--row", "")[1] == "the row has no features\n"
    code, _, error = inspect(path, "--row", "{bad")
    assert code == 2 and "--row is no JSON object" in error and error.count("\n") == 1
    table = ChromaticEncoder(32).fit(TABLE, Y)
    table.save(path)
    row = TABLE.iloc[3].to_dict()
    assert json.loads(inspect(path, "--row", json.dumps(row), "--json")[1]) == table.explain_row(row)
    code, _, error = inspect(path, "--row", "a=a1")
    assert code == 2 and "has numeric columns, such as 'size'; expected --row as a JSON object" in error
    ChromaticEncoder(32).fit(DATA["integers"], Y).save(path)
    assert json.loads(inspect(path, "--row", "3 1007 99", "--json")[1])["unseen"] == ["99"]
