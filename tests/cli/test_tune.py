"""`chromatic tune` as a command: the table, the model, and what is wrong with a call."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from clicks import make_clicks
from commands import chromatic, in_a_process

from chromatic.cli.main import app


def write(path, X, y):
    path.write_text("".join(f"{label} {' '.join(row)}\n" for row, label in zip(X, y, strict=True)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of June, and of July, in which the world has moved."""
    folder = tmp_path_factory.mktemp("clicks")
    X, y = make_clicks()
    write(folder / "june.tokens", X, y)
    write(folder / "july.tokens", X[:900], np.random.default_rng(1).permutation(y[:900]))
    write(folder / "few.tokens", X[:9], [0, 1, 1] * 3)
    write(folder / "ones.tokens", X[:50], [1] * 50)
    write(folder / "sorted.tokens", X[:50], [0] * 20 + [1] * 30)
    (folder / "table.csv").write_text("shop,label\n" + "".join(f"s{i % 9},{i % 2}\n" for i in range(90)))
    (folder / "bare.csv").write_text("shop\n" + "".join(f"s{i % 9}\n" for i in range(90)))
    return folder


def test_a_later_file_chooses_and_the_model_is_that_of_fit_with_the_chosen_flags(folder):
    call = ["tune", "june.tokens", "--validation", "july.tokens", "--budget", 64, "-o", "tuned.chroma"]
    done = chromatic(*call, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    told, head, *table, best = done.stdout.decode().splitlines()
    assert "learns from 3,000 of 3,000 rows and is judged on 900 of 900 held-out rows" in told
    assert head.split() == ["log", "loss", "columns", "C", "seconds", "settings"]
    rows = [line.split(None, 4) for line in table]
    losses = [float(row[0]) for row in rows]
    assert len(rows) == 7 and losses == sorted(losses)
    assert ["as given"] == [row[4] for row in rows if not row[4].startswith("--")]
    assert best == f"best: {rows[0][4]}" and rows[0][4] != "as given"
    flags = rows[0][4].split()
    budget = [] if "--budget" in flags else ["--budget", 64]
    fitted = chromatic("fit", "june.tokens", "-o", "fitted.chroma", *flags, *budget, cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    assert (folder / "tuned.chroma").read_bytes() == (folder / "fitted.chroma").read_bytes()


@pytest.mark.parametrize("validation", ["random", "last"])
def test_the_choice_is_the_same_for_any_number_of_threads(folder, validation):
    call = ["tune", "june.tokens", "--validation", validation, "--budget", 64, "--json"]
    found = []
    for threads in (1, 2):
        done = chromatic(*call, "-o", f"{threads}.chroma", "--threads", threads, cwd=folder)
        assert (done.returncode, done.stderr) == (0, b"")
        told = json.loads(done.stdout)
        assert all(one.pop("seconds") > 0 for one in told["tried"])
        found.append((told, (folder / f"{threads}.chroma").read_bytes()))
    assert found[0] == found[1]
    told = found[0][0]
    assert (told["rows"], told["held_out"], told["held_out_judged"]) == (2400, 600, 600)
    assert told["tried"][0]["log_loss"] < told["base_log_loss"]
    assert set(told["tried"][0]) == {"settings", "log_loss", "columns", "C", "error"}


def test_rows_come_from_a_pipe_and_labels_from_a_column(folder):
    call = ["tune", "-", "--format", "csv", "--label", "label", "-o", "piped.chroma", "--json"]
    done = in_a_process(*call, stdin=(folder / "table.csv").read_bytes(), cwd=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"] == 72
    chosen = told["tried"][0]["settings"].items()
    flags = [word for name, value in chosen for word in (f"--{name.replace('_', '-')}", value)]
    fitted = chromatic(
        *["fit", "table.csv", "--label", "label", "-o", "fitted.csv.chroma"], *flags, cwd=folder
    )
    assert fitted.returncode == 0, fitted.stderr
    assert (folder / "piped.chroma").read_bytes() == (folder / "fitted.csv.chroma").read_bytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "june.tokens --validation no.svm",
            "--validation is 'no.svm', and there is no such file; expected",
        ),
        ("no.tokens", "no.tokens: no such file; check the path"),
        ("bare.csv", "the training rows have no labels; expected labels of two kinds"),
        (
            "table.csv --validation bare.csv",
            "the rows for validation have no labels; expected labels of two",
        ),
        ("few.tokens", "there are 9 rows, too few to hold a fifth out; expected 10 or more, or other rows"),
        ("ones.tokens", "the training rows have labels of one kind; expected two kinds of labels"),
        ("sorted.tokens --validation last", "the rows that are held out have labels of one kind; expected"),
        (
            "june.tokens --validation ones.tokens",
            "the rows for validation have labels of one kind; expected",
        ),
        ("june.tokens --encoding identity", "levels are no numbers for lr; take submodular"),
        ("june.tokens --budget 0", "budget is 0; expected a whole number from 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, call, message, monkeypatch):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["tune", *call.split(), "-o", "bad.chroma"])
    assert done.exit_code == 2
    assert message in done.output and done.output.count("\n") == 1
    assert not (folder / "bad.chroma").exists()


def test_a_folder_that_does_not_exist_is_said_before_the_work(folder):
    done = chromatic("tune", "june.tokens", "-o", "no/model.chroma", cwd=folder)
    assert done.returncode != 0 and done.stdout == b"" and done.stderr.count(b"\n") == 1
