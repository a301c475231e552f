import json
import subprocess
import sys

import numpy as np
import pyarrow.parquet
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.learn import evaluate as module
from chromatic.learn.encoders import ALIASES, ENCODERS, Split, encode_pair
from chromatic.learn.evaluate import FIGURES, LEARNERS, evaluate
from chromatic.learn.linear import CONSTANT, VowpalWabbit, choose_strength, places


def lines(n, seed):
    """Three columns of many values, one of which decides the label, and a feature in half of the rows."""
    random = np.random.default_rng(seed)
    a, b, c = (random.zipf(1.3, n) % size for size in (60, 40, 200))
    y = random.random(n) < np.where(a % 3 == 0, 0.9, 0.1)
    common = random.random(n) < 0.5
    return "".join(
        f"{int(label)} {'1:1 ' if d else ''}{2 + i}:1 {70 + j}:1 {200 + k}:1\n"
        for label, d, i, j, k in zip(y, common, a, b, c, strict=True)
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    train, test = folder / "train.svm", folder / "test.svm"
    train.write_text(lines(6000, 0))
    test.write_text(lines(1000, 1))
    return str(train), str(test)


@pytest.fixture(scope="module")
def split(files):
    return Split.read(*files)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_pair_beats_the_base_rate_or_is_refused_with_a_reason(split, encoder):
    for result in evaluate(split, [encoder], LEARNERS, [64], isolated=False):
        pair = encoder, result["learner"]
        if encoder in ("frequency", "identity") and result["learner"] in ("vw", "lr"):
            assert "take submodular" in result["error"] and "or frequency with fm" in result["error"]
            assert all(result[name] is None for name in FIGURES)
            continue
        assert result["error"] is None, (pair, result["error"])
        assert result["log_loss"] < split.base_log_loss, pair
        assert 0.5 < result["auc"] <= 1 and 0.5 < result["accuracy"] <= 1, pair
        assert result["columns"] <= (64 if encoder not in ("none", "frequency", "identity") else 1000), pair
        assert result["parameters"] > 1 and result["peak_mb"] > 1, pair


def test_hashing_sees_the_features_as_they_came(split, files):
    from chromatic import HashingEncoder

    encode_pair(split, "ht", 32)  # the next budget sees them too
    pair = encode_pair(split, "ht", 64)
    for path, encoded in zip(files, (pair.train, pair.test), strict=True):
        assert (HashingEncoder(64).fit_transform(path) != encoded.to_csr()).nnz == 0


def test_cells_that_are_finished_are_not_run_again_and_failed_ones_are(split, files, tmp_path, monkeypatch):
    out = str(tmp_path / "results.parquet")
    run, asked = module.measure, []

    def measure(learner, *args):
        asked.append(learner)
        if learner == "lr" and len(asked) < 3:
            raise RuntimeError("no luck")
        return run(learner, *args)

    monkeypatch.setattr(module, "measure", measure)
    grid = {"encoders": ["ft"], "learners": ["vw", "lr"], "budgets": [32], "out": out, "isolated": False}
    first = list(evaluate(split, **grid))
    assert [result["error"] for result in first] == [None, "RuntimeError: no luck"]
    second = list(evaluate(split, **grid))
    assert asked == ["vw", "lr", "lr"]
    assert second[0] == first[0] and second[1]["error"] is None
    in_file = [result | {"encoder": "truncation"} for result in second]  # by its one name
    assert pyarrow.parquet.read_table(out).to_pylist() == in_file
    other = Split.read(files[1], files[0])
    list(evaluate(other, **grid))
    assert asked == ["vw", "lr", "lr", "vw", "lr"]  # other data makes other cells
    assert len(pyarrow.parquet.read_table(out)) == 4


def test_a_short_name_is_the_same_cell_and_results_keep_the_word_that_was_given(
    split, tmp_path, monkeypatch
):
    assert set(ALIASES.values()) == {*ENCODERS} - {"none", "identity"}
    grid = {"learners": ["vw"], "budgets": [32], "out": str(tmp_path / "out.parquet"), "isolated": False}
    (first,) = evaluate(split, ["ft", "truncation"], **grid)
    monkeypatch.setattr(module, "measure", None)  # nothing is run again
    (second,) = evaluate(split, ["truncation"], **grid)
    assert (first["encoder"], second["encoder"]) == ("ft", "truncation")
    assert first | {"encoder": "truncation"} == second
    with pytest.raises(InputError, match=r"the encoder is 'sm'; expected one of submodular, .* cl-sm"):
        next(evaluate(split, ["sm"]))


def test_an_encoder_that_fails_fails_its_cells_and_the_others_go_on(split):
    results = list(evaluate(split, ["ft", "cl-sm"], ["vw"], [0, 32], isolated=False))
    assert [result["error"] is None for result in results] == [False, True, False, True]
    assert "budget is 0" in results[0]["error"]


def test_a_cell_whose_process_dies_says_so(split):
    pair = encode_pair(split, "ft", 32)
    with pytest.raises(InputError, match="process died"):
        module._in_a_process(_Dying(), pair, None, 0, 1)


class _Dying:
    """A learner whose arrival ends the process that takes it in."""

    def __reduce__(self):
        return _die, ()


def _die():
    import os

    os._exit(9)


def test_a_missing_package_names_the_extra(split, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    (result,) = evaluate(split, ["ft"], ["lightgbm"], [32], isolated=False)
    assert "pip install 'chromatic-learning[lightgbm]'" in result["error"]


def test_a_network_that_memory_cannot_hold_is_refused(split):
    wide = Encoded(np.zeros(3, np.int64), np.empty(0, np.int32), None, 10**9, np.empty((2, 0)))
    layout = type("Huge", (), {"fields": range(10**10), "n_fields": 10**10})
    pair = module.Pair(wide, np.array([0.0, 1]), wide, np.array([0.0, 1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.Layout, "of", lambda *args: layout)
        with pytest.raises(InputError, match="take a smaller budget, or frequency"):
            module._check_memory("wd", pair)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        ("1 1:1\n2 2:1\n3 1:1\n", "1 1:1\n", "labels of 3 kinds"),
        ("1 1:1\n1 2:1\n", "1 1:1\n", "labels of 1 kinds"),
        ("1 1:1\n0 2:1\n", "-1 1:1\n", "a test row has the label -1"),
    ],
)
def test_labels_that_are_not_binary_are_refused(tmp_path, train, test, message):
    (tmp_path / "train.svm").write_text(train)
    (tmp_path / "test.svm").write_text(test)
    with pytest.raises(InputError, match=message):
        Split.read(str(tmp_path / "train.svm"), str(tmp_path / "test.svm"))


def test_the_command_prints_a_table_json_and_parquet_from_processes_of_their_own(files, tmp_path):
    command = [
        sys.executable,
        "-m",
        "chromatic.cli.main",
        "evaluate",
        *files,
        "--budget",
        "32",
        "--encoder",
    ]
    command += ["cl-sm", "--encoder", "cl-ft", "--learner", "vw", "--out", str(tmp_path / "out.parquet")]
    table = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (table.returncode, table.stderr) == (0, "")
    assert [line.split()[0] for line in table.stdout.splitlines()] == ["the", "encoder", "cl-sm", "cl-ft"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120)
    results = json.loads(done.stdout)
    keys = ["encoder", "learner", "budget", "columns", "parameters", "log_loss", "train_log_loss", "auc"]
    keys += ["accuracy", "encode_seconds", "train_seconds", "peak_mb"]
    assert set(keys) <= set(results[0]) and f"{results[0]['log_loss']:.4f}" in table.stdout
    wrong = subprocess.run([*command, "--learner", "svm"], capture_output=True, text=True, timeout=120)
    assert wrong.returncode == 2 and "expected vw, lr" in wrong.stderr


def test_vowpal_wabbit_keeps_columns_and_constant_apart():
    for n in (1, 116_060, 116_061, 262_143, 262_144, 1_573_533, 12_000_000):
        bits, first = places(n)
        assert (1 << bits) > n and (CONSTANT - first) % (1 << bits) >= n
    random = np.random.default_rng(0)
    x = csr_array(np.eye(50)[random.integers(0, 50, 2000)])
    y = random.random(2000) < x.indices / 50
    columns = Encoded(x.indptr.astype(np.int64), x.indices.astype(np.int32), None, 50, np.empty((2000, 0)))
    learner = VowpalWabbit().fit(columns, y.astype(float))
    low, high = (learner.predict(columns)[x.indices == j].mean() for j in (2, 47))
    assert low < 0.3 and high > 0.7


def test_what_is_chosen_is_chosen_on_training_rows_that_the_encoder_does_not_know(split):
    n_rows = len(split.y)
    for validation in ("random", "last"):
        within = split.within(validation)
        assert (len(within.y), len(within.y_test)) == (n_rows - n_rows // 5, n_rows // 5)
        assert within.train.vocabulary.n_rows == len(within.y)
    last = split.within("last")
    assert last.y_test.tolist() == split.y[-(n_rows // 5) :].tolist()
    assert split.within("random").y_test.tolist() != last.y_test.tolist()


def test_the_penalty_is_the_one_that_held_out_rows_like():
    coin = np.random.default_rng(0).integers(0, 2, 4000)
    columns = {"noise": np.arange(4000) % 500, "clear": coin}
    halves = {}
    for name, of_row in columns.items():
        rows = Encoded(np.arange(4001), of_row.astype(np.int32), None, 500, np.empty((4000, 0)))
        halves[name] = rows.span(0, 2000), coin[:2000], rows.span(2000, 4000), coin[2000:]
    assert choose_strength(*halves["noise"]) == 0.01
    assert choose_strength(*halves["clear"]) == 1.0


@pytest.mark.parametrize("encoder", ["ft", "ht", "cl-sm"])
def test_the_columns_compared_are_those_of_the_encoders(files, split, encoder):
    of_name = {"ft": FrequencyEncoder, "ht": HashingEncoder, "cl-sm": ChromaticEncoder}
    wanted = of_name[encoder](64).fit(files[0])
    pair = encode_pair(split, encoder, 64)
    assert (pair.test.to_csr() != wanted.transform(files[1])).nnz == 0
    assert (pair.train.to_csr() != clone(wanted).fit_transform(files[0])).nnz == 0
