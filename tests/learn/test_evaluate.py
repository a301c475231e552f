import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.preprocessing import TargetEncoder

from chromatic import ChromaticEncoder, FrequencyEncoder, HashingEncoder
from chromatic.cli.main import app
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.learn import evaluate as module
from chromatic.learn.classifier import NetworkClassifier
from chromatic.learn.encoders import ALIASES, ENCODERS, VARIANTS, WITHOUT_BUDGET, encode_pair
from chromatic.learn.evaluate import FIGURES, LEARNERS, evaluate, measure
from chromatic.learn.linear import CONSTANT, STRENGTHS, Logistic, VowpalWabbit, choose_strength, places
from chromatic.learn.splits import Pair, Split


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
            assert (
                "take submodular" in result["error"] and "or frequency with lr-net, fm" in result["error"]
            )
            assert all(result[name] is None for name in FIGURES)
            continue
        if encoder == "sklearn-target":
            assert "TargetEncoder takes tables" in result["error"] and result["budget"] is None
            continue
        assert result["error"] is None, (pair, result["error"])
        assert result["log_loss"] < split.base_loss, pair
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

    def measure(learner, *args, **options):
        asked.append(learner)
        if learner == "lr" and len(asked) < 3:
            raise RuntimeError("no luck")
        return run(learner, *args, **options)

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
    assert set(ALIASES.values()) == {*ENCODERS} - {"identity", *VARIANTS, *WITHOUT_BUDGET}
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
        module._in_a_process(_Dying(), pair, None)


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
        ("1 1:1\n2 2:1\n3 1:1\n", "1 1:1\n", "of more than two kinds, 1 to 3, in 3 rows; expected"),
        ("1 1:1\n1 2:1\n", "1 1:1\n", "is 1 in all 2 rows, there is only one class"),
        ("1 1:1\n0 2:1\n", "-1 1:1\n", "a test row has the label -1; expected 0 or 1"),
    ],
)
def test_labels_that_say_too_little_are_refused(tmp_path, train, test, message):
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
    table = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert (table.returncode, table.stderr) == (0, "")
    assert [line.split()[0] for line in table.stdout.splitlines()] == ["the", "encoder", "cl-sm", "cl-ft"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=900)
    results = json.loads(done.stdout)
    keys = ["encoder", "learner", "budget", "columns", "parameters", "log_loss", "train_log_loss", "auc"]
    keys += ["accuracy", "encode_seconds", "train_seconds", "peak_mb"]
    assert set(keys) <= set(results[0]) and f"{results[0]['log_loss']:.4f}" in table.stdout
    wrong = subprocess.run([*command, "--learner", "svm"], capture_output=True, text=True, timeout=900)
    assert wrong.returncode == 2 and "expected vw, lr" in wrong.stderr


def test_a_device_that_is_not_there_is_refused_in_one_line_before_anything_runs(files):
    command = ["evaluate", *files, "--learner", "lr-net", "--device"]
    for device in ("abacus", "meta"):
        done = CliRunner().invoke(app, [*command, device])
        assert done.exit_code == 2 and done.stdout == ""
        [line] = done.stderr.splitlines()
        assert f"device is '{device}'; expected one that torch has here, such as cpu" in line


def test_the_papers_logistic_regression_is_a_layer_of_five_epochs(split):
    layer, network = evaluate(split, ["ft"], ["lr-net", "fm"], [64], isolated=False)
    assert layer["parameters"] == 65 < network["parameters"]
    pair = encode_pair(split, "ft", 64)
    trained = NetworkClassifier("lr", epochs=5).fit(pair.train, pair.y)
    expected = log_loss(pair.y_test, trained.predict_proba(pair.test)[:, 1])
    assert layer["log_loss"] == pytest.approx(expected, rel=1e-12)


def test_the_papers_target_encoding_is_the_plain_mean_and_drops_colors_beyond_the_budget(split):
    every, few = (encode_pair(split, "cl-te-paper", budget) for budget in (64, 7))
    rows, y = split.train.rows, split.y
    code = int(rows.codes[0])  # of the first row
    has = np.add.reduceat(rows.codes == code, rows.indptr[:-1]) > 0
    row = every.train.span(0, 1)
    assert y[has].mean() in row.values.tolist()
    assert every.train.values.min() >= 0 and every.train.values.max() <= 1
    assert every.train.n_rows == len(y)  # nothing is held back
    assert every.train.n_columns > few.train.n_columns == few.test.n_columns == 7
    for wide, narrow in ((every.train, few.train), (every.test, few.test)):
        n_dense = wide.dense.shape[1]
        expected = wide.to_csr()[:, [*range(7 - n_dense), *range(wide.n_sparse_columns, wide.n_columns)]]
        assert (narrow.to_csr() != expected).nnz == 0


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
    assert choose_strength(*halves["noise"]) == STRENGTHS[0]
    assert choose_strength(*halves["clear"]) == STRENGTHS[-1]


def test_a_fit_that_begins_with_other_weights_ends_with_the_same(split):
    pair = encode_pair(split, "none", 0)
    cold = Logistic(1.0).fit(pair.train, pair.y).predict(pair.test)
    warm = Logistic(0.01).fit(pair.train, pair.y)
    before = warm.predict(pair.test)
    warm.strength = 1.0
    np.testing.assert_allclose(warm.fit(pair.train, pair.y).predict(pair.test), cold, atol=1e-4)
    assert np.abs(before - cold).max() > 0.01


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_values_of_columns_reach_every_learner(learner):
    random = np.random.default_rng(0)
    values = random.choice([-2.0, -1.0, 1.0, 3.0], 4000)  # all rows have both columns: values tell alone
    y = (values > 0).astype(np.float64)
    both = np.column_stack([values, random.normal(size=4000)]).ravel()
    columns = np.tile(np.arange(2, dtype=np.int32), 4000)
    rows = Encoded(np.arange(0, 8001, 2), columns, both, 2, np.empty((4000, 0)))
    pair = Pair(rows.span(0, 3000), y[:3000], rows.span(3000, 4000), y[3000:])
    assert measure(learner, pair)["auc"] > 0.95


@pytest.mark.filterwarnings("ignore:.*random_state. are deprecated:FutureWarning")
def test_scikit_learns_target_encoder_encodes_the_columns_of_a_table(tmp_path):
    random = np.random.default_rng(0)
    shop, item = random.integers(0, 30, 2000), random.integers(0, 200, 2000)
    y = (random.random(2000) < np.where(shop % 3 == 0, 0.9, 0.1)).astype(int)
    frame = pd.DataFrame(
        {"shop": [f"s{i}" for i in shop], "item": [f"i{i}" for i in item], "price": shop / 7.0}
    )
    frame.loc[::50, "item"] = None
    frame["label"] = y
    paths = [str(tmp_path / name) for name in ("train.csv", "test.csv")]
    for path, part in zip(paths, (frame[:1500], frame[1500:]), strict=True):
        part.to_csv(path, index=False)
    pair = encode_pair(Split.read(*paths), "sklearn-target", 0)
    peer = TargetEncoder(target_type="binary", random_state=0)
    filled = frame[["shop", "item"]].fillna("")
    wanted = peer.fit_transform(filled[:1500], y[:1500]), peer.transform(filled[1500:])
    for encoded, numbers, part in zip(
        (pair.train, pair.test), wanted, (frame[:1500], frame[1500:]), strict=True
    ):
        np.testing.assert_allclose(encoded.to_csr().toarray()[:, :2], numbers)
        np.testing.assert_allclose(encoded.dense[:, 2], part["price"])
    (result,) = evaluate(Split.read(*paths), ["sklearn-target"], ["lr"], [64, 256], isolated=False)
    assert (result["budget"], result["columns"], result["error"]) == (None, 3, None)
    assert result["auc"] > 0.8


VARIANTS_OF_OURS = {
    "cl-sm": {},
    "submodular-bins": {"linear": 0},
    "submodular-drop": {"linear": 0, "collisions": "drop"},
    "cl-te": {"encoding": "target"},
    "target-rates": {"encoding": "target", "linear": 0},
    "target-drop": {"encoding": "target", "linear": 0, "collisions": "drop"},
}


@pytest.mark.parametrize("encoder", ["ft", "ht", *VARIANTS_OF_OURS])
def test_the_columns_compared_are_those_of_the_encoders(files, split, encoder):
    others = {"ft": FrequencyEncoder(64), "ht": HashingEncoder(64)}
    wanted = others.get(encoder) or ChromaticEncoder(64, **VARIANTS_OF_OURS[encoder])
    wanted.fit(files[0])
    pair = encode_pair(split, encoder, 64)
    assert (pair.test.to_csr() != wanted.transform(files[1])).nnz == 0
    assert (pair.train.to_csr() != clone(wanted).fit_transform(files[0])).nnz == 0
