"""The whole way, from text to columns and model file, gives the same bytes however it is gone."""

import os
import subprocess
import sys

import numpy as np
import pytest

from chromatic.data import Reader
from chromatic.encoding.files import transform_files, write_columns
from chromatic.fitting import LocalSource, fit
from chromatic.model import Model
from chromatic.modelfile import load, save
from chromatic.parameters import Settings

BUDGET = 64
FILES = ("model.chroma", "train.svm", "test.svm")


def lines(seed, n_rows, word):
    draw = np.random.default_rng(seed)
    for group, item, tag in draw.integers(0, [5, 300, 2000], (n_rows, 3)).tolist():
        features = word(group), word(10 + item), word(1000 + tag)
        yield f"{int(draw.random() < 0.2 + item % 2 / 2)} {' '.join(features)}:2.5\n"


@pytest.fixture(scope="module", params=["integers", "strings"])
def data(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    word = str if request.param == "integers" else "name{}".format
    train, test = list(lines(1, 6000, word)), list(lines(2, 1000, word))
    (folder / "all.svm").write_text("".join(train))
    (folder / "new.svm").write_text("".join(test))
    for i, part in enumerate((train[:100], train[100:4000], train[4000:])):
        (folder / f"part{i}.svm").write_text("".join(part))
    return folder


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


def in_process(train, test, out, threads, chunk_size):
    """What `chromatic encode` does, with chunks of any size."""
    reader = Reader(n_jobs=threads, chunk_size=chunk_size)
    fitted = fit(LocalSource(reader.read(train), threads=threads), Settings(BUDGET))
    write_columns(fitted.rows(), fitted.encode_to_train_on, str(out / "train.svm"), "svmlight", threads)
    save(Model(fitted.encoding), out / "model.chroma")
    encoding = load(out / "model.chroma").encoding
    transform_files(reader, test, encoding, str(out / "test.svm"), "svmlight")
    return contents(out)


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected")
    return in_process([str(data / "all.svm")], [str(data / "new.svm")], out, 1, 1 << 22)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("chunk_size", [1000, 30_000, 1 << 22])
@pytest.mark.parametrize(
    "parts", [["all.svm"], ["part0.svm", "part1.svm", "part2.svm"]], ids=["whole", "parts"]
)
def test_threads_chunks_and_parts_do_not_change_a_byte(
    data, expected, tmp_path, threads, chunk_size, parts
):
    paths = [str(data / name) for name in parts]
    assert in_process(paths, [str(data / "new.svm")], tmp_path, threads, chunk_size) == expected


def test_processes_and_their_hash_seeds_do_not_change_a_byte(data, tmp_path):
    found = []
    disk = "--memory", "4G", "--cache", tmp_path / "cache"
    for seed, threads, more in (("0", 1, ()), ("1", 2, ()), ("1", 2, disk), ("random", 4, disk)):
        out = tmp_path / str(len(found))
        command = [
            sys.executable,
            "-m",
            "chromatic.cli.main",
            "encode",
            data / "all.svm",
            "--test",
            data / "new.svm",
        ]
        command += ["-o", out, "--budget", str(BUDGET), "--threads", str(threads), *more]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True, timeout=900)
        model, apart = out / "model.chroma", out / "apart.svm"
        command = [
            sys.executable,
            "-m",
            "chromatic.cli.main",
            "transform",
            model,
            data / "new.svm",
            "-o",
            apart,
        ]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True, timeout=900)
        assert apart.read_bytes() == (out / "test.svm").read_bytes()
        found.append(contents(out))
    assert all(one == found[0] for one in found) and min(map(len, found[0])) > 1000
