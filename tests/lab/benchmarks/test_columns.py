import os

import numpy as np
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from commands import in_a_process

from chromatic.cli.main import app
from chromatic.lab.benchmarks import columns
from chromatic.learn import evaluate as module
from chromatic.learn.splits import Split


def write_rows(path, n, seed):
    random = np.random.default_rng(seed)
    one, other = random.integers(0, 40, n), random.integers(50, 400, n)
    labels = random.random(n) < np.where(one % 4 == 0, 0.9, 0.2)
    path.write_text("".join(f"{int(y)} {i}:1 {j}:1\n" for y, i, j in zip(labels, one, other, strict=True)))


@pytest.fixture
def folders(tmp_path):
    for name in ("visits", "commits", "names"):
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name / "train.svm", 800, len(name))
        write_rows(tmp_path / name / "test.svm", 300, len(name) + 1)
    return tmp_path


def test_every_cell_is_in_the_table_and_none_is_run_twice(folders, monkeypatch):
    monkeypatch.setattr(columns, "BUDGETS", (4, 16))
    demo = [str(folders / "names" / name) for name in ("train.svm", "test.svm")]
    monkeypatch.setattr(columns, "read_npm_names", lambda threads: Split.read(*demo))
    store = str(folders / "results.parquet")
    call = ["benchmark", "columns", str(folders / "visits"), "--last", str(folders / "commits")]
    call += ["--results", store, "--threads", "1"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    heads = [line for line in lines if line.startswith(("| log loss", "| auc"))]
    assert heads == [
        f"| {figure} | budget | visits | commits | the demo's names |" for figure in ("log loss", "auc")
    ]
    of_ours = [line for line in lines if line.startswith("| `submodular`, the default | 16 |")]
    assert len(of_ours) == 2 and all(line.count(" / ") == 3 and "–" not in line for line in of_ours)
    raw = [line for line in lines if line.startswith("| all features, uncompressed |")]
    assert len(raw) == 2 and "–" not in raw[0]
    assert [line.count("– / –") for line in lines if "TargetEncoder |" in line] == [3, 3]
    [reason] = [line for line in lines if line.startswith("A dash for ")]
    assert "sklearn-target with lr on visits" in reason and "TargetEncoder takes tables" in reason
    cells = pyarrow.parquet.read_table(store).to_pylist()
    assert len(cells) == 3 * 2 * (5 * 2 + 2)
    assert {cell["validation"] for cell in cells} == {"random", "last"}
    monkeypatch.setattr(module, "measure", None)  # nothing is run again
    again = CliRunner().invoke(app, call)
    assert again.stdout == done.stdout


def test_the_best_figure_of_a_set_and_learner_is_bold():
    def cell(learner, log_loss, auc, n_columns):
        return {"learner": learner, "log_loss": log_loss, "auc": auc, "columns": n_columns, "error": None}

    keys = [
        (encoder, budget)
        for encoder in columns.ENCODERS
        for budget in ((None,) if encoder in columns.WITHOUT_BUDGET else columns.BUDGETS)
    ]
    cells = {}
    for place, key in enumerate(keys):
        cells[*key, "visits", "lr"] = cell("lr", 0.5 - place / 100, 0.5 + place / 100, 64)
        cells[*key, "visits", "lightgbm"] = cell("lightgbm", 0.1 + place, 0.9 - place / 100, 64)
    lines = list(columns.lines(cells))
    assert "| `submodular`, the default | 64 | 0.5000 / **0.1000** |" in lines
    assert "| `submodular`, the default | 256 | 0.4900 / 1.1000 (64) |" in lines
    assert "| scikit-learn's TargetEncoder |  | **0.3900** / 11.1000 (64) |" in lines
    assert "| scikit-learn's TargetEncoder |  | **0.6100** / 0.7900 (64) |" in lines
    assert sum(line.count("**") for line in lines) == 2 * 2 * 2


def test_what_cannot_be_compared_is_refused_in_one_line(folders):
    os.mkdir(folders / "empty")
    for call, message in (
        (["columns", folders / "empty"], "has no files train* and test*; expected a folder with both"),
        (["read", folders / "visits"], "there are folders, and read takes none; expected columns"),
        (["columns", folders / "visits", folders / "visits" / ".." / "visits"], "expected a name for each"),
    ):
        done = in_a_process("benchmark", *call, text=True)
        assert done.returncode == 2 and done.stdout == ""
        [line] = done.stderr.splitlines()
        assert message in line
