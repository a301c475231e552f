"""`chromatic update`, `chromatic merge` and `fit --like`, as people type them."""

import os

import numpy as np
import pytest
from clicks import make_clicks
from commands import chromatic as run
from commands import in_a_process

from chromatic import load

KEPT = "--budget 24 --keep-statistics"


def chromatic(call, code=0, said=None, run=run):
    done = run(*call.split(), text=True)
    assert done.returncode == code, done.stderr
    if said is not None:
        assert said in done.stderr and done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Three files of rows, and the model of the first."""
    folder = tmp_path_factory.mktemp("days")
    X, y = make_clicks()
    for day in range(3):
        here = slice(1000 * day, 1000 * (day + 1))
        lines = [f"{label} {' '.join(row)}\n" for label, row in zip(y[here], X[here], strict=True)]
        (folder / f"{day}.tokens").write_text("".join(lines))
    told = chromatic(f"fit {folder}/0.tokens -o {folder}/0.chroma {KEPT}")
    assert "kB of the model are statistics, for later rows" in told
    return folder


def test_a_model_is_updated_day_by_day_to_the_same_bytes(days, tmp_path):
    for name in ("a", "b"):
        model = days / "0.chroma"
        for day in (1, 2):
            out = tmp_path / f"{name}{day}.chroma"
            threads = 1 if name == "a" else 2
            chromatic(f"update {model} {days}/{day}.tokens -o {out} --decay 0.9 --threads {threads}")
            model = out
    assert (tmp_path / "a2.chroma").read_bytes() == (tmp_path / "b2.chroma").read_bytes()
    first, last = load(days / "0.chroma"), load(tmp_path / "a2.chroma")
    assert last.n_columns_ == first.n_columns_
    assert len(last.encoding_.vocabulary) > len(first.encoding_.vocabulary)
    assert last.encoding_.vocabulary.n_rows == 0.9 * (0.9 * 1000 + 1000) + 1000


def test_a_model_may_be_updated_in_its_place_and_features_that_are_gone_go(days, tmp_path):
    model = tmp_path / "model.chroma"
    model.write_bytes((days / "0.chroma").read_bytes())
    rows = days / "1.tokens"
    chromatic(f"update {model} {rows} -o {model} --drop-after 1", run=in_a_process)
    features = {token for line in rows.read_text().splitlines() for token in line.split()[1:]}
    vocabulary = load(model).encoding_.vocabulary
    assert {vocabulary.text(code) for code in range(len(vocabulary))} == features


def test_models_fitted_alike_are_merged(days, tmp_path):
    like = days / "0.chroma"
    for day in (1, 2):
        chromatic(f"fit {days}/{day}.tokens --like {like} -o {tmp_path}/{day}.chroma")
    both, at_once = tmp_path / "both.chroma", tmp_path / "at_once.chroma"
    chromatic(f"merge {tmp_path}/1.chroma {tmp_path}/2.chroma -o {both}", run=in_a_process)
    chromatic(f"fit {days}/1.tokens {days}/2.tokens --like {like} -o {at_once}")
    mine, theirs = (load(path).encoding_ for path in (both, at_once))
    assert np.array_equal(mine.columns, theirs.columns) and np.array_equal(mine.measure, theirs.measure)


WRONG = [
    ("update {plain} {rows} -o {out}", "the model keeps no statistics"),
    ("update {kept} {rows} -o {out} --decay 1.5", "decay is 1.5; expected a number above 0 and up to 1"),
    ("update {kept} {rows} -o {out} --drop-after 0", "drop_after is 0; expected 1 update or more"),
    ("update {kept} {unlabelled} -o {out}", "the rows have no labels, which a model is updated by"),
    ("update {kept} {other} -o {out}", "a row has the label 7, which training did not have"),
    ("update {kept} nowhere -o {out}", "no such file"),
    ("update {kept} {rows} -o {out} --groups {rows}", "an update makes no folds; expected none"),
    ("merge {kept} -o {out}", "one model is named; expected two or more to merge"),
    ("merge {kept} {plain} -o {out}", "another keep"),
    ("fit {rows} --like {plain} -o {out}", "the model keeps no statistics"),
    ("fit {rows} --like {kept} -o {out} --budget 9", "--budget is given with --like"),
    ("fit {rows} --like {kept} -o {out} --memory 1G", "--memory is given with --like"),
    ("fit {rows} --like {kept} -o {out} --to vw", "--to is given with --like"),
    ("fit {rows} --like {kept} -o {out} --encoded x.svm", "--encoded is given with --like"),
    ("fit {rows} -o {out} --keep-statistics --leakage split", "leakage 'split'"),
    ("fit {rows} -o {out} --keep-statistics --encoding frequency", "no sums over labels"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_what_is_wrong_is_one_line_and_nothing_is_written(days, tmp_path, call, message):
    plain = days / "plain.chroma"
    if not plain.exists():
        chromatic(f"fit {days}/0.tokens -o {plain} --budget 24")
    (tmp_path / "other.tokens").write_text("7 a=1\n")
    (tmp_path / "unlabelled.csv").write_text("a,b\nx,y\n")
    names = {"plain": plain, "kept": days / "0.chroma", "rows": days / "1.tokens", "out": tmp_path / "out"}
    names |= {"other": tmp_path / "other.tokens", "unlabelled": tmp_path / "unlabelled.csv"}
    chromatic(call.format(**names), code=2, said=message)
    assert "out" not in os.listdir(tmp_path)
