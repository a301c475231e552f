"""Weights and groups of training rows in files, on the command line."""

import numpy as np
import pytest
from commands import chromatic, in_a_process

from chromatic import ChromaticEncoder, load


@pytest.fixture
def rows(tmp_path):
    """Training rows, and files with their weights and groups."""
    random = np.random.default_rng(0)
    fields = random.integers(0, 30, (600, 2))
    X = [[f"a{a}", f"b{b}"] for a, b in fields]
    y = (random.random(600) < 0.2 + 0.6 * (fields[:, 0] % 2)).astype(int)
    weights, groups = random.integers(1, 5, 600) / 2, [f"user {i % 37}" for i in range(600)]
    (tmp_path / "train.tokens").write_text(
        "".join(f"{label} {' '.join(row)}\n" for label, row in zip(y, X, strict=True))
    )
    (tmp_path / "weights.txt").write_text("".join(f"{weight}\n" for weight in weights))
    (tmp_path / "groups.txt").write_text("".join(f"{group}\n" for group in groups))
    return tmp_path, X, y, {"sample_weight": weights, "groups": groups}


def call(command, folder, more=()):
    """Run a command in a folder, and return its code and what it said."""
    run = in_a_process if "--memory" in more else chromatic
    done = run(*command.split(), *more, cwd=folder, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("memory", [[], ["--memory", "1G"]])
def test_files_of_weights_and_groups_give_what_python_gives(rows, memory):
    folder, X, y, told = rows
    command = (
        "fit train.tokens -o m.chroma --encoded c.svm --budget 16 --weights weights.txt --groups groups.txt"
    )
    code, error = call(command, folder, memory)
    assert code == 0, error
    expected, model = ChromaticEncoder(16), load(folder / "m.chroma")
    training = expected.fit_transform(X, y, **told)
    assert (model.transform(X) != expected.transform(X)).nnz == 0
    assert model.encoding_.prior == expected.encoding_.prior != y.mean()
    first = (folder / "c.svm").read_text().split("\n")[0].split()[1:]
    wanted = {i + 1: value for i, value in enumerate(training.toarray()[0]) if value}
    entries = [entry.split(":") for entry in first]
    assert {int(i): float(value) for i, value in entries} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("flags", "text", "message"),
    [
        ("--weights", "1\nheavy\n", "bad.txt, line 2: 'heavy' is no number; expected one a line"),
        ("--weights", "1\n\n", "bad.txt, line 2: is empty; expected a line for each training row"),
        ("--weights", "1\n2\n", "600 rows and weights of shape (2,); expected one weight a row"),
        ("--weights", "-1\n" * 600, "the weight is negative in 600 of 600 rows; expected numbers from 0"),
        ("--groups", "a\nb\n", "600 rows and groups of shape (2,); expected one group a row"),
        ("--groups", "a\nb\n" * 300, "2 groups cannot be held apart in 5 folds; expected as many groups"),
        ("--engine spark --groups", "a\n", "which --engine spark does not take; expected a column"),
    ],
    ids=range(7),
)
def test_files_that_are_no_good_are_refused_in_a_line(rows, flags, text, message):
    folder = rows[0]
    (folder / "bad.txt").write_text(text)
    code, error = call(f"fit train.tokens -o m.chroma {flags} bad.txt", folder)
    assert code != 0 and message in error and error.count("\n") == 1
    assert not (folder / "m.chroma").exists()


def test_a_file_that_is_not_there_and_merging_are_refused(rows):
    folder = rows[0]
    code, error = call("fit train.tokens -o m.chroma --weights none.txt", folder)
    assert code != 0 and "none.txt: no such file; check the path" in error
    command = "encode train.tokens --test train.tokens -o out --to vw --weights weights.txt"
    code, error = call(command, folder, ["--merge"])
    assert code != 0 and "and --merge writes how many equal rows there are; expected one" in error
    assert call(command, folder)[0] == 0


def test_consecutive_folds_and_classes_have_flags(rows):
    folder, X, *_ = rows
    assert call("fit train.tokens -o m.chroma --budget 16 --folds consecutive", folder)[0] == 0
    assert load(folder / "m.chroma").folds == "consecutive"
    classes = np.arange(600) % 3
    lines = [f"{number} {' '.join(row)}\n" for number, row in zip(classes, X, strict=True)]
    (folder / "train.tokens").write_text("".join(lines))
    code, error = call("fit train.tokens -o m.chroma --budget 16", folder)
    assert code != 0 and "expected target_type='classes' where they name classes, or" in error
    assert call("fit train.tokens -o m.chroma --budget 16 --target-type classes", folder)[0] == 0
    expected, model = ChromaticEncoder(16, target_type="classes").fit(X, classes), load(folder / "m.chroma")
    assert (model.transform(X) != expected.transform(X)).nnz == 0
    assert model.classes_.tolist() == [0, 1, 2]
