"""`chromatic drift` as a command: tables, JSON, a page, and exit codes."""

import gzip
import json

import numpy as np
import pytest
from commands import chromatic, in_a_process


def run(folder, command):
    return chromatic(*command.split(), cwd=folder, text=True)


def lines(n, seed, first=0.1):
    """Rows of one of thirty features and one of two hundred; the label follows the first kind."""
    random = np.random.default_rng(seed)
    weights = np.append(first, np.full(29, (1 - first) / 29))
    a, b = random.choice(30, n, p=weights), random.integers(0, 200, n)
    y = random.random(n) < np.where(a % 3 == 0, 0.6, 0.2)
    return [f"{label:d} {i + 1}:1 {j + 100}:1\n" for label, i, j in zip(y, a, b, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drift")
    (folder / "train.svm").write_text("".join(lines(6000, 0)))
    (folder / "alike.svm").write_text("".join(lines(2000, 1)))
    (folder / "moved.svm.gz").write_bytes(gzip.compress("".join(lines(2000, 2, first=0.6)).encode()))
    (folder / "new.svm").write_text("".join(lines(1000, 3)) + "1 900:1 901:1\n" * 1000)
    (folder / "words.tokens").write_text("1 red round\n0 blue\n")
    (folder / "odd.svm").write_text("5 1:1\n")
    (folder / "empty.svm").write_text("")
    done = run(folder, "fit train.svm -o m.chroma --budget 24 --dense-threshold 0.9")
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_rows_drawn_alike_pass(folder):
    done = run(folder, "drift m.chroma alike.svm --fail-above 0.01")
    assert (done.returncode, done.stderr) == (0, "")
    assert "columns are beyond chance by their features" in done.stdout and "\n0 of " in done.stdout


def test_what_moved_is_named_with_exit_code_3(folder):
    done = run(folder, "drift m.chroma moved.svm.gz --fail-above 0.2 --json")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("chromatic: drift above 0.2: the PSI of column ")
    found = json.loads(done.stdout)
    moved = max(found["columns"], key=lambda one: one["psi"])
    assert moved["moved"] and moved["features"][0]["feature"] == "1"
    assert moved["features"][0]["now"] == pytest.approx(0.6, abs=0.05)
    assert run(folder, "drift m.chroma moved.svm.gz --fail-above 20").returncode == 0
    assert run(folder, "drift m.chroma moved.svm.gz").returncode == 0


def test_unseen_features_are_told_by_window_with_exit_code_3(folder):
    done = run(folder, "drift m.chroma new.svm --window 500 --fail-above 0.9 --no-labels")
    assert done.returncode == 3
    assert "100.0% of the features of rows 1,000 to 1,499 are unseen, 0.0% expected" in done.stderr
    table = [line.split() for line in done.stdout.splitlines()[6:11]]
    assert [line[:4] for line in table[1:]] == [
        ["0", "500", "0.0%", "0.0%"],
        ["500", "500", "0.0%", "0.0%"],
        ["1,000", "500", "100.0%", "100.0%"],
        ["1,500", "500", "100.0%", "100.0%"],
    ]


def test_the_same_rows_give_the_same_bytes_from_a_file_and_a_pipe(folder):
    command = "drift m.chroma {} --json --window 300 --threads {}"
    once = run(folder, command.format("alike.svm", 1)).stdout
    assert json.loads(once)["rows"] == 2000
    assert run(folder, command.format("alike.svm", 3)).stdout == once
    rows = "".join(lines(2000, 1))
    piped = in_a_process(*command.format("-", 2).split(), stdin=rows, cwd=folder, text=True)
    assert piped.stdout == once


def test_a_page_is_written_beside_the_tables_or_instead_of_them(folder):
    done = run(folder, "drift m.chroma moved.svm.gz -o page.html")
    assert (done.returncode, done.stderr) == (0, "") and "beyond chance" in done.stdout
    page = run(folder, "drift m.chroma moved.svm.gz -o -").stdout
    assert page == (folder / "page.html").read_text() and page.startswith("<!doctype html>")
    assert page.count('class="plot') == 4 and "m.chroma" in page


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("m.chroma alike.svm --window 0", "the window is 0; expected 1 row or more"),
        ("m.chroma alike.svm --fail-above -1", "--fail-above is -1.0; expected 0 or more"),
        ("m.chroma alike.svm --fail-above nan", "--fail-above is nan; expected 0 or more"),
        ("m.chroma alike.svm --json -o -", "expected a file, or one of them"),
        ("m.chroma alike.svm -o nowhere/page.html", "there is no folder"),
        ("m.chroma nothing.svm", "no such file"),
        ("m.chroma empty.svm", "is empty; expected at least one row"),
        ("m.chroma odd.svm", "the label 5, which training did not have; expected 0, 1"),
        ("alike.svm alike.svm", "is no model file"),
        ("m.chroma", "missing argument"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(folder, command, said):
    done = run(folder, f"drift {command}")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_rows_of_another_kind_are_unseen_and_a_line_says_so(folder):
    done = run(folder, "drift m.chroma words.tokens --json --fail-above 0.5")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["unseen"] == 1.0
