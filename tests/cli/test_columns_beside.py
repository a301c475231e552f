"""Weights and groups of training rows in columns of a table, and weights in Vowpal Wabbit text."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from chromatic import ChromaticEncoder, load
from chromatic.cli.main import app
from chromatic.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")


@pytest.fixture(scope="module")
def table():
    """Rows with weights, a group of digits and a group of texts."""
    random = np.random.default_rng(0)
    a, b = random.integers(0, 30, (2, 600))
    return pd.DataFrame(
        {
            "label": (random.random(600) < 0.2 + 0.6 * (a % 2)).astype(int),
            "a": [f"a{one}" for one in a],
            "b": [f"b{one}" for one in b],
            "w": random.integers(0, 5, 600) / 2,
            "user": np.arange(600) % 37,
            "home": [f"city {i % 23}" for i in range(600)],
        }
    )


def written(table, folder, name):
    """Write a table; a CSV file mixes whole numbers and others, as people write them."""
    path = folder / name
    if name.endswith("csv"):
        text = table.to_csv(index=False)
        path.write_text(text.replace(".0,", ","))
    else:
        table.to_parquet(path)
    return path


def call(words):
    """Run a command; return its code and what it said."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def same(one, other, X):
    return (one.transform(X) != other.transform(X)).nnz == 0 and one.n_columns_ == other.n_columns_


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
@pytest.mark.parametrize("group", ["user", "home"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_columns_give_what_arrays_give(table, tmp_path, within_memory, name, group, on_disk):
    other = "home" if group == "user" else "user"
    path = written(table.drop(columns=other), tmp_path, name)
    memory = within_memory if on_disk else {}
    flags = [f"--{key}={value}" for key, value in memory.items()]
    flags += ["--weight", "w", "--group", group, "--budget", 16, "--encoded", tmp_path / "c.parquet"]
    flags += ["--to", "svmlight"] if on_disk else []
    X, told = table[["a", "b"]], {"sample_weight": table["w"], "groups": table[group]}
    expected = ChromaticEncoder(16)
    training = expected.fit_transform(X, table["label"], **told)
    for _ in range(1 + on_disk):  # the second time from the cache
        code, said = call(["fit", path, "-o", tmp_path / "m.chroma", *flags])
        assert code == 0, said
        assert same(load(tmp_path / "m.chroma"), expected, X)
    assert load(tmp_path / "m.chroma").weight == "w"
    named = ChromaticEncoder(16, weight="w", group=group, **memory)
    assert (named.fit_transform(path) != training).nnz == 0
    X.to_csv(tmp_path / "test.csv", index=False)  # other rows need neither
    for rows in (path, tmp_path / "test.csv"):
        assert call(["transform", tmp_path / "m.chroma", rows, "-o", tmp_path / "t.svm"])[0] == 0


def test_columns_of_frames_are_no_features(table):
    expected = ChromaticEncoder(16).fit(
        table[["a", "b"]], table["label"], sample_weight=table["w"], groups=table["user"]
    )
    encoder = ChromaticEncoder(16, weight="w", group="user").fit(table.drop(columns="home"))
    assert encoder.feature_names_in_.tolist() == ["a", "b"]
    assert same(encoder, expected, table[["a", "b"]])
    assert (encoder.transform(table.drop(columns="home")) != expected.transform(table[["a", "b"]])).nnz == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            "--weight no",
            "there is no column 'no' for the weight; the columns are label, a, b, w, user, home",
        ),
        ("--group no", "there is no column 'no' for the group; the columns are label, a, b, w, user"),
        ("--weight label", "the column 'label' is named for the label and for the weight; expected two"),
        ("--weight w --group w", "the column 'w' is named for the weight and for the group; expected two"),
        ("--weight home", "the weight column 'home' has values that are no numbers"),
        ("--weight w --weights w.txt", "weights are given and the data brings weights of its own"),
        ("--group user --groups w.txt", "groups are given and the data brings groups of its own"),
        ("--group label", "the column 'label' is named for the label and for the group; expected two"),
        ("--group w --folds 9", "5 groups cannot be held apart in 9 folds; expected as many groups"),
    ],
)
def test_columns_that_are_no_good_are_refused_in_a_line(table, tmp_path, flags, message):
    path = written(table, tmp_path, "train.csv")
    (tmp_path / "w.txt").write_text("1\n" * 600)
    words = [tmp_path / word if word == "w.txt" else word for word in flags.split()]
    code, said = call(["fit", path, "-o", tmp_path / "m.chroma", *words])
    assert code != 0 and message in said.splitlines()[-1]
    assert not (tmp_path / "m.chroma").exists()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([-1, 1, 1, 1], "the weight is negative in 1 of 4 rows; expected numbers from 0"),
        ([0, 0, 0, 0], "the weights of all 4 rows are zero; expected some above 0"),
        ([1, "", 1, 1], "the weight column 'w' has values that are no numbers"),
        (["nan", 1, 1, 1], "the weight is NaN or infinite in 1 of 4 rows; expected numbers from 0"),
    ],
)
def test_weights_that_are_no_good_are_refused_in_a_line(tmp_path, cells, message):
    table = pd.DataFrame({"label": [0, 1, 0, 1], "a": list("xyxy"), "w": cells})
    table.to_csv(tmp_path / "t.csv", index=False)
    code, said = call(["fit", tmp_path / "t.csv", "-o", tmp_path / "m.chroma", "--weight", "w"])
    assert code != 0 and message in said.splitlines()[-1]


def test_what_is_no_table_has_no_such_columns(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:1\n0 2:1\n")
    code, said = call(["fit", tmp_path / "t.svm", "-o", tmp_path / "m.chroma", "--weight", "w"])
    assert code != 0 and "is 'w', and svmlight has no columns with names; expected a table" in said
    with pytest.raises(InputError, match="of the group is 'g', and the data is no table; expected a table"):
        ChromaticEncoder(4, group="g").fit([["a"], ["b"]], [0, 1])
    pd.DataFrame({"label": [0, 1], "a": ["x", "y"], "g": ["p", None]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="the group column 'g' is empty in row 2; expected a group there"):
        ChromaticEncoder(4, group="g").fit(tmp_path / "t.parquet")


@pytest.fixture
def wabbit(table, tmp_path):
    """The rows as Vowpal Wabbit text with importance weights."""
    weights = table["w"] + 0.1234567890123456789
    rows = zip(table["label"], weights, table["a"], table["b"], strict=True)
    path = tmp_path / "train.vw"
    path.write_text("".join(f"{label} {weight!r} 'tag | {a} {b}\n" for label, weight, a, b in rows))
    return path, table[["a", "b"]].to_numpy().tolist(), table["label"], weights.to_numpy()


@pytest.mark.parametrize("on_disk", [False, True])
def test_importance_weights_are_weights(wabbit, tmp_path, within_memory, on_disk):
    path, X, y, weights = wabbit
    memory = [f"--{key}={value}" for key, value in within_memory.items()] if on_disk else []
    code, said = call(["fit", path, "-o", tmp_path / "m.chroma", "--budget", 16, *memory])
    assert (code, said) == (0, "")
    expected = ChromaticEncoder(16).fit(X, y, sample_weight=weights)
    assert same(load(tmp_path / "m.chroma"), expected, X)
    assert load(tmp_path / "m.chroma").encoding_.prior != y.mean()
    assert same(ChromaticEncoder(16, n_jobs=2).fit(path), expected, X)


def test_importance_weights_of_one_are_none(wabbit, tmp_path):
    path, X, y, _ = wabbit
    lines = (f"{label} 1.0 | {' '.join(row)}\n" for label, row in zip(y, X, strict=True))
    path.write_text("".join(lines))
    assert same(ChromaticEncoder(16).fit(path), ChromaticEncoder(16).fit(X, y), X)


def test_other_commands_ignore_importance_weights_and_say_so(wabbit, tmp_path, caplog):
    path, X, _, weights = wabbit
    assert call(["fit", path, "-o", tmp_path / "m.chroma"])[0] == 0
    assert not caplog.messages
    assert call(["transform", tmp_path / "m.chroma", path, "-o", tmp_path / "t.svm"])[0] == 0
    assert "ignored 600 importance weights, which are for the fit" in caplog.messages
    caplog.clear()
    assert call(["convert", path, "-o", tmp_path / "t.vw"])[0] == 0 and not caplog.messages
    first = (tmp_path / "t.vw").read_text().split()
    assert float(first[1]) == weights[0]
    assert call(["convert", path, "-o", tmp_path / "t.svm"])[0] == 0
    assert "ignored 600 importance weights, which are for the fit" in caplog.messages
    assert (tmp_path / "t.svm").read_text().split()[1] == f"{X[0][0]}:1"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "the weight is negative in 1 of 601 rows; expected numbers from 0"),
        (["--weights", "w.txt"], "weights are given and the data brings weights of its own"),
    ],
)
def test_importance_weights_that_are_no_good_are_refused(wabbit, tmp_path, flags, message):
    path = wabbit[0]
    path.write_text(path.read_text() + "1 -2 | x\n")
    (tmp_path / "w.txt").write_text("1\n" * 601)
    words = [tmp_path / word if word == "w.txt" else word for word in flags]
    code, said = call(["fit", path, "-o", tmp_path / "m.chroma", *words])
    assert code != 0 and message in said.splitlines()[-1]


def test_weights_are_not_merged(wabbit, tmp_path):
    path = wabbit[0]
    words = ["encode", path, "--test", path, "-o", tmp_path / "out", "--to", "vw", "--merge"]
    code, said = call(words)
    assert code != 0 and "rows have importance weights, and --merge writes how many equal rows" in said
    code, said = call([*words, "--weight", "w"])
    assert code != 0 and "--weight is w, and --merge writes how many equal rows there are; expected" in said
