"""Labels that are texts, in tables of files: the classes of Python, numbers in what is written."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from commands import PATIENCE, chromatic

from chromatic import ChromaticEncoder, load
from chromatic.cli.main import app
from chromatic.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")

KITCHENS = ["french", "greek", "indian", "italian", "thai"]


@pytest.fixture(scope="module")
def table():
    """Rows whose herb tells their kitchen, mostly; as text, and whether it is a thai one."""
    random = np.random.default_rng(3)
    kitchen = random.integers(0, 5, 800)
    herb = (3 * kitchen + random.integers(0, 6, 800)) % 15
    return pd.DataFrame(
        {
            "kitchen": np.array(KITCHENS)[kitchen],
            "thai": np.where(kitchen == 4, "yes", "no"),
            "herb": [f"h{one}" for one in herb],
            "shop": [f"s{one}" for one in random.integers(0, 40, 800)],
        }
    )


def written(table, folder, name, label):
    """Write a table with one of its labels to a file; return the path, the features and the labels."""
    other = "thai" if label == "kitchen" else "kitchen"
    path, kept = folder / name, table.drop(columns=other)
    if name.endswith("csv"):
        kept.to_csv(path, index=False)
    else:
        kept.assign(**{label: kept[label].astype("category")}).to_parquet(path)
    return path, kept.drop(columns=label), kept[label]


def call(words):
    """Run a command; return its code and what it said."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", ["train.csv", "train.parquet"])
@pytest.mark.parametrize("label", ["kitchen", "thai"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_text_labels_give_the_model_of_python(table, tmp_path, within_memory, name, label, on_disk):
    path, X, y = written(table, tmp_path, name, label)
    memory = [f"--{key}={value}" for key, value in within_memory.items()] if on_disk else []
    for _ in range(1 + on_disk):  # the second time from the cache
        flags = ["--label", label, "--budget", 64, "--encoded", tmp_path / "c.svm", *memory]
        code, said = call(["fit", path, "-o", tmp_path / "m.chroma", *flags])
        assert code == 0, said
    model, expected = load(tmp_path / "m.chroma"), ChromaticEncoder(64).fit(X, y)
    assert model.classes_.tolist() == expected.classes_.tolist() == sorted(set(y))
    assert (model.transform(X) != expected.transform(X)).nnz == 0
    numbers = np.searchsorted(model.classes_, y)
    read = [int(line.split()[0]) for line in (tmp_path / "c.svm").read_text().splitlines()]
    assert read == numbers.tolist()
    code, said = call(["transform", tmp_path / "m.chroma", path, "-o", tmp_path / "t.parquet"])
    assert code == 0, said
    assert pd.read_parquet(tmp_path / "t.parquet")["label"].tolist() == numbers.tolist()


def test_the_classes_are_told(table, tmp_path):
    path, *_ = written(table, tmp_path, "train.csv", "kitchen")
    words = ["fit", path, "-o", tmp_path / "m.chroma", "--label", "kitchen", "--linear", "0"]
    done = chromatic(*words, text=True)
    numbered = "labels: 0 is french, 1 is greek, 2 is indian, 3 is italian, 4 is thai"
    assert done.returncode == 0 and done.stderr.count("\n") == 1 and numbered in done.stderr
    for command in (["inspect", tmp_path / "m.chroma"], ["describe", path, "--label", "kitchen"]):
        assert json.loads(call([*command, "--json"])[1])["classes"] == KITCHENS
        assert "french, greek, indian, italian, thai" in call(command)[1]


def test_a_pipe_gives_the_model_of_the_file_or_is_refused(table, tmp_path):
    path, *_ = written(table, tmp_path, "train.csv", "kitchen")
    flags = ["--label", "kitchen", "--linear", "0", "--budget", "64"]
    assert call(["fit", path, "-o", tmp_path / "file.chroma", *flags])[0] == 0
    program = [sys.executable, "-m", "chromatic.cli.main", "fit", "-", "--format", "csv", *flags, "-o"]
    for more, code, message in (
        (["pipe.chroma"], 0, "labels: 0 is french"),
        (
            ["x.chroma", "--memory", "1G"],
            2,
            "what its labels that are texts are is told by all rows",
        ),
    ):
        with open(path) as rows:
            done = subprocess.run(
                program + more, stdin=rows, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
            )
        assert done.returncode == code and message in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "pipe.chroma").read_bytes() == (tmp_path / "file.chroma").read_bytes()


def test_labels_that_no_use_is_made_of_are_known_to_transform(table, tmp_path):
    path, *_ = written(table, tmp_path, "train.csv", "kitchen")
    model = tmp_path / "m.chroma"
    assert call(["fit", path, "-o", model, "--label", "kitchen", "--encoding", "frequency"])[0] == 0
    assert call(["transform", model, path, "-o", tmp_path / "t.vw"])[0] == 0
    first = (tmp_path / "t.vw").read_text().split()[0]
    assert first == str(KITCHENS.index(table["kitchen"][0]))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("english", "'english', a class that training rows do not have; expected one of french, greek,"),
        ("", "the label column 'kitchen' is empty in row 2; expected a label there"),
        ("7", "has '7', a class that training rows do not have; expected one of french"),
    ],
)
def test_a_label_that_training_rows_do_not_have_is_refused(table, tmp_path, cell, message):
    path, X, y = written(table, tmp_path, "train.csv", "kitchen")
    model, other = tmp_path / "m.chroma", tmp_path / "t.csv"
    assert call(["fit", path, "-o", model, "--label", "kitchen", "--linear", "0"])[0] == 0
    X[:3].assign(kitchen=[y[0], cell, y[2]]).to_csv(other, index=False)
    code, said = call(["transform", model, other, "-o", tmp_path / "t.svm"])
    assert code != 0 and message in said and said.strip().count("\n") == 0
    assert not (tmp_path / "t.svm").exists()
    assert call(["transform", model, other, "-o", tmp_path / "t.svm", "--label", ""])[0] == 0
    X[:3].to_csv(other, index=False)
    assert call(["transform", model, other, "-o", tmp_path / "t.svm"])[0] == 0


@pytest.mark.parametrize(
    ("labels", "flags", "message"),
    [
        (["a"] * 6, [], "the label is a in all 6 rows, there is only one class"),
        (["a", "b"] * 3, ["--target-type", "numbers"], "'numbers' and the label has texts, such as 'a'"),
        (["a", "b", "b", "c", "c", "b"], [], "1 of 3 classes have one row, such as a; expected two rows"),
        (["a", "b", "c"] * 2, ["--target-type", "binary"], "has labels of more than two kinds in 6 rows"),
        (["a", "b", ""] * 2, [], "the label column 'y' is empty in row 3; expected a label there"),
    ],
)
def test_text_labels_that_are_no_good_are_refused_in_a_line(tmp_path, labels, flags, message):
    pd.DataFrame({"x": list("abcabc"), "y": labels}).to_csv(tmp_path / "t.csv", index=False)
    code, said = call(["fit", tmp_path / "t.csv", "-o", tmp_path / "m.chroma", "--label", "y", *flags])
    assert code != 0 and message in said.splitlines()[-1]


def test_texts_are_one_kind_of_labels_and_numbers_another(table, tmp_path):
    numbers, texts = tmp_path / "a.csv", tmp_path / "b.csv"
    numbers.write_text("label,x\n" + "1,a\n0,b\n" * 9)
    texts.write_text("label,x\n" + "yes,a\nno,b\n" * 9)
    with pytest.raises(InputError, match="has texts in some rows and numbers in others; expected one kind"):
        ChromaticEncoder(4).fit([numbers, texts])
    ChromaticEncoder(4).fit(numbers).save(tmp_path / "m.chroma")
    code, said = call(["transform", tmp_path / "m.chroma", texts, "-o", tmp_path / "t.svm"])
    assert code != 0 and "is of type string; expected numbers, as in the rows before" in said
    encoder = ChromaticEncoder(4).fit([texts, texts])
    assert encoder.classes_.tolist() == ["no", "yes"]
    assert encoder.transform(numbers).shape[0] == 18, "labels of other rows are not read"


@pytest.mark.parametrize("threads", [1, 2])  # of Arrow, which tells rows where it has one
def test_a_label_of_digits_before_texts_is_text(tmp_path, monkeypatch, threads):
    from chromatic.data import tables

    monkeypatch.setattr(tables, "BLOCK", 64)
    path = tmp_path / "t.csv"
    path.write_text("label,x\n" + "1,a\n2,b\n" * 40 + "three,c\n" * 9)
    before = pa.cpu_count()
    pa.set_cpu_count(threads)
    try:
        assert ChromaticEncoder(4).fit(path).classes_.tolist() == ["1", "2", "three"]
    finally:
        pa.set_cpu_count(before)
