"""Every command where no feature tells anything of the label, and so makes no column."""

import json

import pytest
from commands import chromatic, in_a_process

WARNING = (
    "chromatic: none of 90 sparse features makes a column, as none tells more of the label than a column "
    "costs; min_gain=0 asks for less\n"
)


EVALUATE = ["evaluate", "train.tokens", "test.tokens", "--encoder", "submodular-bins"]


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Rows of both labels for each feature, and a model of them."""
    folder = tmp_path_factory.mktemp("noise")
    for name, n_rows in (("train", 720), ("test", 180)):
        lines = [f"{i // 90 % 2} item{i % 90}\n" for i in range(n_rows)]
        (folder / f"{name}.tokens").write_text("".join(lines))
    done = chromatic(
        *["fit", "train.tokens", "-o", "model.chroma", "--encoded", "train.svm", "--linear", 0], cwd=folder
    )
    assert (done.returncode, done.stderr.decode()) == (0, WARNING)
    return folder


@pytest.mark.parametrize("format", ["svm", "vw", "parquet", "npz"])
def test_rows_without_columns_are_written_and_read(noise, format):
    done = chromatic("transform", "model.chroma", "test.tokens", "-o", f"test.{format}", cwd=noise)
    assert (done.returncode, done.stderr) == (0, b"")
    described = json.loads(chromatic("describe", f"test.{format}", "--json", cwd=noise).stdout)
    assert (described["rows"], described["positive_rate"], described["avg_nnz"]) == (180, 0.5, 0)


@pytest.mark.parametrize("memory", [[], ["--memory", "1G"]])
def test_encode_warns_once(noise, tmp_path, memory):
    args = ["encode", "train.tokens", "--test", "test.tokens", "-o", tmp_path / "out", "--linear", 0]
    done = (in_a_process if memory else chromatic)(*args, *memory, cwd=noise)
    assert (done.returncode, done.stderr.decode()) == (0, WARNING)
    assert len((tmp_path / "out" / "train.svm").read_text().splitlines()) == 720


def test_a_report_and_inspect_show_a_model_without_columns(noise):
    done = chromatic(*["report", "model.chroma", "--test", "test.tokens", "-o", "page.html"], cwd=noise)
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(chromatic("inspect", "model.chroma", "--json", cwd=noise).stdout)
    assert (told["columns"], told["sparse_features"]) == (0, 90)
    done = chromatic("inspect", "model.chroma", "--column", 0, cwd=noise)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"expected none, as there are no columns" in done.stderr


@pytest.mark.parametrize("learner", ["lr", "lightgbm"])
def test_evaluate_says_which_learners_need_columns(noise, learner):
    pytest.importorskip("sklearn" if learner == "lr" else learner)
    done = in_a_process(*EVALUATE, "--learner", learner, cwd=noise)
    assert (done.returncode, done.stderr.decode()) == (1, WARNING)
    assert f"there are no columns, and {learner} needs one; take another encoder, or vw" in str(done.stdout)
