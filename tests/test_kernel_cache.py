"""A cache of kernels that is damaged or full is no error, and no other file is blamed for it."""

import errno
import importlib
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from chromatic import _kernel, _kernel_cache
from chromatic._kernel import Counts, Kernel
from chromatic._numba import JIT_IS_OFF

PATIENCE = 900  # seconds, on a machine that is busy
FUNCTION = """
import numpy as np
from chromatic._numba import inlined, kernel

STEP = 1


@inlined
def twice(x):
    return x + x


@kernel
def double(array, pair):
    for i in range(len(array)):
        array[i] = twice(array[i]) + STEP - 1
    return len(array), array[0] > 9, pair[1]
"""

pytestmark = pytest.mark.skipif(JIT_IS_OFF, reason="there are no kernels without the JIT")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a function as a new kernel; whether its machine code was found in the cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_kernel_cache, "_told", set())
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "function_of_kernel.py").write_text(FUNCTION)
    monkeypatch.delitem(sys.modules, "function_of_kernel", raising=False)
    module = importlib.import_module("function_of_kernel")

    def run(**constants):
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)
        found, array = Counts.found, np.arange(5)
        assert Kernel(module.double.function)(array, (None, 0.5)) == (5, False, 0.5)
        assert array.tolist() == [2 * i + module.STEP - 1 for i in range(5)]
        return Counts.found == found + 1

    return run


def flipped(content):
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:40], lambda content: bytes(len(content)), flipped],
    ids=["empty", "cut", "zeros", "a bit"],
)
def test_a_damaged_cache_is_made_anew(run, tmp_path, caplog, damage):
    assert not run() and run()
    [path] = (tmp_path / "cache").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert not run()
    assert run() and caplog.records == []


def test_what_a_kernel_calls_and_reads_is_part_of_it(run, monkeypatch):
    assert not run() and run()
    assert not run(STEP=2) and run(STEP=2)
    module = sys.modules["function_of_kernel"]

    def shifted(x):
        return x << 1

    assert not run(twice=Kernel(shifted, inline=True))
    assert run(twice=Kernel(shifted, inline=True)) and module.twice.function is shifted


def test_each_kind_of_arguments_has_its_own_machine_code(run):
    run()
    kernel = Kernel(sys.modules["function_of_kernel"].double.function)
    for kind in (np.uint8, np.int32, np.float64):
        for array in (np.arange(4, dtype=kind), np.arange(8, dtype=kind)[::2], np.arange(3, dtype=kind)):
            expected = (array + array).tolist()
            assert kernel(array, (array, 0.5))[0] == len(array) and array.tolist() == expected


def test_where_llvm_cannot_link_machine_code_numba_runs_the_kernel(run, monkeypatch, caplog):
    def refuse(code):
        raise RuntimeError("unsupported relocation")

    monkeypatch.setattr(_kernel, "_linked", refuse)
    with caplog.at_level(logging.INFO, "chromatic"):
        assert not run() and run()
    assert "unsupported relocation" in caplog.text

    def wraps_around(words, seeds):
        return seeds[0] + words[0] * np.uint64(3)

    kernel, word = Kernel(wraps_around), np.full(1, 2**63, np.uint64)
    assert [kernel(word, (np.uint64(seed), None)) for seed in (1, 2)] == [2**63 + 1, 2**63 + 2]


def test_a_cache_that_cannot_be_written_is_named_once_and_done_without(run, tmp_path, monkeypatch, caplog):
    def full(folder, name, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.path.join(folder, name))

    monkeypatch.setattr(_kernel_cache, "_write", full)
    with caplog.at_level(logging.WARNING, "chromatic"):
        assert not run() and not run()
    [record] = caplog.records
    assert str(tmp_path / "cache") in record.getMessage()
    assert "No space left on device" in record.getMessage()


@pytest.fixture
def full_disk(tmp_path):
    """A file system that has no room for a kernel."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_command_goes_on_where_the_disk_of_the_cache_is_full(full_disk, tmp_path):
    (tmp_path / "rows.svm").write_bytes(b"1 1:1 2:1\n0 2:1\n")
    command = [sys.executable, "-m", "chromatic.cli.main", "describe", str(tmp_path / "rows.svm"), "--json"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(full_disk)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert done.returncode == 0 and '"rows": 2' in done.stdout
    told = [line for line in done.stderr.splitlines() if "kernels cannot be kept" in line]
    assert len(told) == 1 and "No space left on device" in told[0] and "rows.svm" not in done.stderr


def test_a_command_that_finds_its_kernels_does_without_numba(tmp_path):
    (tmp_path / "rows.svm").write_bytes(b"1 1:1 2:1\n0 2:1\n" * 50)
    program = (
        "import sys\nfrom chromatic.cli.main import app\n"
        "sys.exit(app(sys.argv[1:]) or print('numba' in sys.modules))"
    )
    columns = str(tmp_path / "columns")
    call = [sys.executable, "-c", program, "encode", "rows.svm", "--test", "rows.svm", "-o", columns]
    runs = [subprocess.run(call, capture_output=True, text=True, cwd=tmp_path) for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0] and runs[1].stdout.strip() == "False"
