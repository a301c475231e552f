"""Several classes and numbers as labels: learners are compared on them, settings are tuned by them."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, r2_score

from chromatic import ChromaticEncoder
from chromatic.cli.main import app
from chromatic.errors import InputError
from chromatic.learn.encoders import encode_pair
from chromatic.learn.evaluate import evaluate
from chromatic.learn.splits import Split
from chromatic.learn.tuning import tune

N_ROWS, N_TRAIN = 1500, 1000
OPTIONS = {"classes": ["--target-type", "classes"], "numbers": []}


def labelled():
    """Rows of tokens, with the one of three classes that they speak for and with a number."""
    random = np.random.default_rng(3)
    adds = random.normal(size=(60, 3)) * (np.arange(60) % 2)[:, None]
    tokens = [np.unique(random.integers(0, 60, 5)) for _ in range(N_ROWS)]
    sums = np.array([adds[row].sum(axis=0) for row in tokens])
    noisy = sums + random.gumbel(size=sums.shape)
    rows = [[f"t{token}" for token in row] for row in tokens]
    return rows, noisy.argmax(axis=1), sums[:, 0] + 0.5 * random.normal(size=N_ROWS)


ROWS, CLASSES, NUMBERS = labelled()
LABELS = {"classes": CLASSES, "numbers": NUMBERS.round(4)}


@pytest.fixture(scope="module", params=["classes", "numbers"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def files(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp(kind)
    lines = [f"{y:g} {' '.join(row)}\n" for y, row in zip(LABELS[kind], ROWS, strict=True)]
    for name, part in (("train", lines[:N_TRAIN]), ("test", lines[N_TRAIN:])):
        (folder / f"{name}.tokens").write_text("".join(part))
    return [str(folder / "train.tokens"), str(folder / "test.tokens")]


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_compares_learners_of_any_labels(files, kind, tmp_path):
    out = tmp_path / "out.parquet"
    words = ["evaluate", *files, *OPTIONS[kind], "--budget", 32, "--out", out]
    done = run(*words, "--learner", "lr", "--learner", "vw")
    assert done.exit_code == 0, done.output
    base, head, _, refused = done.stdout.splitlines()
    told = "the base rate's log loss is" if kind == "classes" else "the mean label's RMSE is"
    assert base.startswith(told)
    assert ("accuracy" in head, "rmse" in head) == (kind == "classes", kind == "numbers")
    what = "several classes" if kind == "classes" else "numbers"
    assert f"vw does not learn {what} here; take lr or lightgbm" in refused
    loss = "log_loss" if kind == "classes" else "rmse"
    [found] = [one for one in parquet.read_table(out).to_pylist() if one["error"] is None]
    assert found[loss] < float(base.split()[-1])
    again = run(*words, "--json")  # without a learner it is lr, and that cell is there
    assert [one[loss] for one in json.loads(again.stdout)] == [found[loss]]


def test_the_figures_are_those_of_the_linear_learner_on_the_columns(files, kind):
    split = Split.read(*files, target_type=kind)
    linear, trees = evaluate(split, ["truncation"], ["lr", "lightgbm"], [16], isolated=False)
    pair = encode_pair(split, "truncation", 16)
    x, test = pair.train.to_csr(), pair.test.to_csr()
    if kind == "classes":
        learners = [LogisticRegression(C=C, max_iter=1000).fit(x, pair.y) for C in (0.01, 0.1, 1, 10)]
        least = min(log_loss(pair.y_test, one.predict_proba(test)) for one in learners)
        most = max(one.score(test, pair.y_test) for one in learners)
        assert least - 0.005 < linear["log_loss"] < min(least + 0.01, split.base_loss)
        assert linear["accuracy"] == pytest.approx(most, abs=0.03)
        assert linear["parameters"] == 3 * 17
        assert trees["accuracy"] > 0.9 * most
    else:
        plain = Ridge(1.0).fit(x, pair.y).predict(test)
        assert linear["r2"] == pytest.approx(r2_score(pair.y_test, plain), abs=0.01)
        assert linear["rmse"] == pytest.approx(np.sqrt(np.mean((plain - pair.y_test) ** 2)), rel=0.01)
        assert trees["r2"] > 0.8 * linear["r2"]


def test_a_file_is_tuned_by_the_loss_that_suits_its_labels(files, kind, tmp_path):
    words = ["tune", *files[:1], "--validation", files[1], *OPTIONS[kind], "--budget", 24]
    done = run(*words, "-o", tmp_path / "tuned.chroma", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    key = "log_loss" if kind == "classes" else "rmse"
    assert told["tried"][0][key] < 0.95 * told[f"base_{key}"]
    assert [one[key] for one in told["tried"]] == sorted(one[key] for one in told["tried"])
    flags = [
        word
        for name, value in told["tried"][0]["settings"].items()
        for word in (f"--{name.replace('_', '-')}", value)
    ]
    fit = ["fit", files[0], "--budget", 24, *OPTIONS[kind], *flags, "-o", tmp_path / "fitted.chroma"]
    assert run(*fit).exit_code == 0
    assert (tmp_path / "tuned.chroma").read_bytes() == (tmp_path / "fitted.chroma").read_bytes()


def test_python_tunes_texts_as_classes():
    kinds = np.array(["left", "middle", "right"])
    tuned = tune(ChromaticEncoder(24, linear=1, max_colors=4), ROWS, kinds[CLASSES])
    assert tuned.encoder.classes_.tolist() == kinds.tolist()
    numbered = tune(ChromaticEncoder(24, linear=1, max_colors=4, target_type="classes"), ROWS, CLASSES)
    assert [one.loss for one in tuned.trials] == [one.loss for one in numbered.trials]
    assert tuned.trials[0].loss < 1.05
    table = pd.DataFrame({"text": [" ".join(row[:1]) for row in ROWS], "label": kinds[CLASSES]})
    of_column = tune(ChromaticEncoder(24, linear=1, max_colors=4), table)
    apart = tune(ChromaticEncoder(24, linear=1, max_colors=4), table[["text"]], kinds[CLASSES])
    assert [one.loss for one in of_column.trials] == [one.loss for one in apart.trials]


def test_classes_that_only_test_rows_have_are_refused(tmp_path):
    for name, labels in (("train", "001122"), ("test", "3")):
        (tmp_path / name).write_text("".join(f"{one} a b\n" for one in labels))
    with pytest.raises(InputError, match=r"a test row has the label 3; expected 0 or 1 or 2, as in"):
        Split.read(str(tmp_path / "train"), str(tmp_path / "test"), target_type="classes")
