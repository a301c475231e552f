"""`--memory`: the same files from every way of working, in a process whose address space is limited."""

import os
import resource
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


def encode(folder, to, *args, address_space=None, train="train.svm"):
    """Run the command; the process, and the most address space and memory that it used."""
    command = ["-v", "encode", train, "--test", "test.svm", "-o", to, "--threads", "1", *args]
    script = (
        "import sys\nfrom chromatic.cli.main import main\n"
        "try:\n    main()\nfinally:\n"
        "    status = [line.split() for line in open('/proc/self/status')]\n"
        "    print(*(words[1] for words in status if words[0] in ('VmPeak:', 'VmHWM:')))"
    )

    def limit():
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    alone = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads reserve what they never use
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | alone,
        preexec_fn=limit,
    )
    return done, *(int(number) << 10 for number in done.stdout.split()[-2:])


def test_every_way_of_working_writes_the_same_files_within_the_limit(rows):
    expected, *_ = encode(rows, "expected")
    assert expected.returncode == 0, expected.stderr
    small, base, memory = encode(rows, "small", train="test.svm")
    assert small.returncode == 0, small.stderr
    cache = "--cache", "cache"
    ways = set()
    # The last way has a narrow place between the one before and too little: it is looked for.
    for more in (4000, 63, *range(40, 10, -3)):
        size = f"{(memory >> 20) + more}M"
        address_space = base + (40 << 20) if more < 4000 else None
        done, *_ = encode(rows, size, "--memory", size, *cache, address_space=address_space)
        if done.returncode:
            assert done.returncode == 2 and "more --memory" in done.stderr
            break
        for name in ("model.chroma", "train.svm", "test.svm"):
            assert (rows / size / name).read_bytes() == (rows / "expected" / name).read_bytes(), (
                size,
                name,
            )
        told = [line.partition("colors: ")[2].split(",")[0] for line in done.stderr.splitlines()]
        ways.add(next((way for way in told if way.startswith("a bitset")), "in memory"))
        if len(ways) == 3:
            break
    assert ways == {"in memory", "a bitset for each row", "a bitset for each entry"}
    # What is done in memory does not fit where the other ways do.
    done, *_ = encode(rows, "4G", "--memory", "4G", *cache, address_space=base + (40 << 20))
    assert done.returncode == 1 and "memory" in done.stderr


def test_a_limit_that_is_too_small_is_said(rows):
    done, *_ = encode(rows, "none", *["--memory", "100M", "--cache", "cache"])
    assert done.returncode == 2
    assert "expected more --memory" in done.stderr
    assert not (rows / "none" / "model.chroma").exists()
