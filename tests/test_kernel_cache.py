"""A cache of kernels that is damaged or full is no error, and no other file is blamed for it."""

import errno
import importlib
import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from numba import config

from chromatic import _kernel_cache
from chromatic._numba import JIT_IS_OFF, kernel

PATIENCE = 900  # seconds, on a machine that is busy
FUNCTION = "def double(array):\n    for i in range(len(array)):\n        array[i] += array[i]\n"

pytestmark = pytest.mark.skipif(JIT_IS_OFF, reason="there are no kernels without the JIT")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a function as a new kernel; whether its machine code was found in the cache."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_kernel_cache, "_told", set())
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "function_of_kernel.py").write_text(FUNCTION)
    monkeypatch.delitem(sys.modules, "function_of_kernel", raising=False)
    double = importlib.import_module("function_of_kernel").double

    def run():
        compiled, array = kernel(double), np.arange(5)
        compiled(array)
        assert array.tolist() == [0, 2, 4, 6, 8]
        return sum(compiled.stats.cache_hits.values()) == 1

    return run


def flipped(content):
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[:40], lambda content: bytes(len(content)), flipped],
    ids=["empty", "cut", "zeros", "a bit"],
)
def test_a_damaged_cache_is_made_anew(run, tmp_path, caplog, suffix, damage):
    assert not run() and run()
    [path] = (tmp_path / "cache").rglob(f"*.{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    run()
    assert run() and caplog.records == []


def test_a_cache_that_cannot_be_written_is_named_once_and_done_without(run, tmp_path, monkeypatch, caplog):
    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_kernel_cache._KernelFile, "_save_data", full)
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
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder]
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
