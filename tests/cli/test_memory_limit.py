"""`--memory`: the same files from every way of working, and a peak of memory below the limit."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from chromatic.data import Batch, write

ROWS, FIELDS, VALUES = 300_000, 20, 1000


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows that need much more memory than their features do."""
    random = np.random.default_rng(0)
    values = random.zipf(1.2, (ROWS, FIELDS)) % VALUES
    ids = (values + VALUES * np.arange(FIELDS)).astype(np.uint32)
    labels = (values[:, :3].sum(axis=1) + random.integers(0, 900, ROWS) > 900).astype(np.float64)
    folder = tmp_path_factory.mktemp("memory")
    indptr = np.arange(ROWS + 1) * FIELDS
    write([Batch(indptr, ids.ravel(), labels)], folder / "train.svm")
    write([Batch(indptr[:101], ids[:100].ravel(), labels[:100])], folder / "test.svm")
    return folder


BINS = ("--linear", "0")  # so that coloring is what needs most


def encode(folder, to, *args, train="train.svm"):
    return run(
        folder, ["-v", "encode", train, "--test", "test.svm", "-o", to, "--threads", "1", *BINS, *args]
    )


def run(folder, command):
    """Run a command; the process, and the most memory that it used."""
    script = (
        "import sys\nfrom chromatic.cli.main import main\n"
        "try:\n    main()\nfinally:\n"
        "    status = [line.split() for line in open('/proc/self/status')]\n"
        "    print(*(words[1] for words in status if words[0] == 'VmHWM:'), 'numba' in sys.modules)"
    )
    alone = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads reserve what they never use
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", script, *map(str, command)],
            cwd=folder,
            capture_output=True,
            text=True,
            env=os.environ | alone,
        )
        peak, compiled = done.stdout.split()[-2:]
        if compiled == "False":  # compiling is not held to the limit; a job that is refused compiles a part
            break
    return done, int(peak) << 10


WAYS = {  # of coloring: what is asked for besides, and what the log says
    "a bitset for each row": [],
    "a bitset for each entry": ["--max-colors", "2000"],  # bitsets of all rows would be too large
}
LITTLE = 90 << 20  # bytes beside what a job on few rows takes


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_working_writes_the_same_files_within_the_limit(rows, way):
    expected, _ = encode(rows, "expected", *WAYS[way])
    assert expected.returncode == 0, expected.stderr
    small, memory = encode(rows, "small", train="test.svm")
    assert small.returncode == 0, small.stderr
    for to, limit in (("all", 4 << 30), ("limited", memory + LITTLE)):
        within = ["--memory", f"{limit >> 20}M", "--cache", "cache"]
        done, peak = encode(rows, to, *within, *WAYS[way])
        assert done.returncode == 0 and peak <= limit, done.stderr
        assert (f"colors: {way}" in done.stderr) == (to == "limited")
        for name in ("model.chroma", "train.svm", "test.svm"):
            assert (rows / to / name).read_bytes() == (rows / "expected" / name).read_bytes(), (to, name)


def test_a_limit_that_is_too_small_is_said(rows):
    done, _ = encode(rows, "none", *["--memory", "100M", "--cache", "cache"])
    assert done.returncode == 2
    assert "expected more --memory" in done.stderr
    assert not (rows / "none" / "model.chroma").exists()


def test_weights_that_will_not_fit_are_refused_before_rows_are_colored(rows):
    _, small = encode(rows, "small", train="test.svm")
    asked = ["--cache", "cache", "--linear", "16"]
    done, _ = encode(rows, "none", *asked, "--memory", f"{(small + LITTLE) >> 20}M")
    assert done.returncode == 2 and "colors:" not in done.stderr
    told = r"\(--linear 0 does without\) needs .*; expected more --memory, such as (\d+)M"
    advised = int(re.search(told, done.stderr.splitlines()[-1])[1])
    encode(rows, "expected", "--linear", "16")
    done, peak = encode(rows, "advised", *asked, "--memory", f"{advised}M")
    assert done.returncode == 0 and peak <= advised << 20, done.stderr
    for name in ("model.chroma", "train.svm", "test.svm"):
        assert (rows / "advised" / name).read_bytes() == (rows / "expected" / name).read_bytes(), name


def test_a_graph_of_frequent_pairs_is_built_within_the_limit(rows):
    lines = (rows / "train.svm").read_bytes().splitlines(keepends=True)
    (rows / "part.svm").write_bytes(b"".join(lines[:50_000]))
    asked = ["--min-edge-count", "20", "--order", "degree"]
    expected, _ = encode(rows, "graph", *asked, train="part.svm")
    assert expected.returncode == 0, expected.stderr
    _, small = encode(rows, "few", train="test.svm")
    for more in (130, 300):  # filters as small as can be, and others
        limit = small + (more << 20)
        memory = ["--memory", f"{limit >> 20}M", "--cache", "cache"]
        done, most = encode(rows, "stream", *asked, *memory, train="part.svm")
        assert done.returncode == 0, done.stderr
        assert "MB of filters let pass" in done.stderr and most <= limit
        for name in ("model.chroma", "train.svm", "test.svm"):
            assert (rows / "stream" / name).read_bytes() == (rows / "graph" / name).read_bytes(), name


def write_strings(file):
    """Few strings, many times: each chunk of text has most of them."""
    names = np.array([f"word-{i:08d}" for i in range(40_000)])
    for row, some in enumerate(np.random.default_rng(0).integers(len(names), size=(90_000, 14))):
        file.write(f"{row % 2} {' '.join(names[some])}\n")


def write_names(file):
    """Long names, each once."""
    for row in range(80_000):
        names = (f"a-rather-long-name-of-a-feature-that-comes-once-{4 * row + i:09d}" for i in range(4))
        file.write(f"{row % 2} {' '.join(names)}\n")


def write_integers(file):
    """Integers that lie far apart, each once."""
    ids = np.random.default_rng(0).permutation(1_500_000).reshape(-1, 10) * 2000
    for row, some in enumerate(np.sort(ids, axis=1).tolist()):
        file.write(f"{row % 2} {' '.join(f'{i}:1' for i in some)}\n")


def write_line(file):
    """A line that is much longer than the others."""
    file.writelines(f"{i % 2} a{i % 7} b{i % 11}\n" for i in range(1000))
    file.write("1 " + " ".join(f"word-{i:08d}" for i in range(1_200_000)) + "\n")


@pytest.mark.parametrize("write_rows", [write_strings, write_names, write_integers, write_line])
def test_memory_stays_within_the_limit_and_the_limit_that_is_named_suffices(rows, tmp_path, write_rows):
    path = tmp_path / ("rows.svm" if write_rows is write_integers else "rows.tokens")
    with open(path, "w") as file:
        write_rows(file)
    fit = ["fit", path, "-o", "model.chroma", "--threads", "2"]
    least = run(tmp_path, ["fit", rows / "test.svm", *fit[2:]])[1]
    limit = (least >> 20) + 60
    for _ in range(2):  # as given, and as advised
        done, peak = run(tmp_path, [*fit, "--memory", f"{limit}M", "--cache", "cache"])
        assert peak <= limit << 20, done.stderr
        if done.returncode == 0:
            return
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        limit = int(re.search(r"expected more --memory, such as (\d+)M", done.stderr)[1])
    pytest.fail(done.stderr)


def test_a_line_of_the_test_rows_that_does_not_fit_is_refused(rows, tmp_path):
    with open(tmp_path / "long.svm", "w") as file:
        file.write("1 " + " ".join(f"{i}:1" for i in range(2_000_000)) + "\n")
    command = [
        "encode",
        str(rows / "test.svm"),
        "--test",
        "long.svm",
        "-o",
        "columns",
        "--cache",
        "cache",
        *BINS,
    ]
    least = run(tmp_path, ["fit", str(rows / "test.svm"), "-o", "model.chroma"])[1]
    memory = ["--memory", f"{(least >> 20) + 60}M", "--cache", "cache"]
    done, peak = run(tmp_path, [*command, *memory])
    assert done.returncode == 2 and "long.svm: a line of 18,888,892 bytes needs" in done.stderr
    assert peak <= least + (60 << 20)
