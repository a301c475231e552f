"""What is not always there: packages of extras, and the user's folders and memory."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from chromatic import _extras, _files
from chromatic.errors import InputError

ROOT = Path(__file__).parents[1]


def test_every_extra_that_is_named_exists_and_brings_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in _extras.EXTRAS.items():
        assert any(line.startswith(package) for line in extras[extra]), package


def test_a_missing_package_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"pooch is not installed .* 'chromatic-learning\[datasets\]'"):
        _extras.optional("pooch")
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(InputError, match=r"pip install 'igraph'"):
        _extras.optional("igraph")


@pytest.mark.skipif(sys.platform != "linux", reason="each system has a place of its own")
def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    for name in ("CHROMATIC_DATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _files.cache_folder() == tmp_path / ".cache" / "chromatic"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert _files.cache_folder() == tmp_path / "xdg" / "chromatic"
    monkeypatch.setenv("CHROMATIC_DATA", str(tmp_path / "named"))
    assert _files.cache_folder() == tmp_path / "named"


def test_used_memory_grows_with_what_is_held():
    before = _files.used_memory()
    held = bytearray(b"x" * (64 << 20))
    assert _files.used_memory() - before > len(held) // 2


@pytest.mark.parametrize("start", [["-c", "import chromatic"], ["-m", "chromatic.cli.main", "--help"]])
def test_a_start_does_not_import_what_it_does_not_use(start):
    done = subprocess.run([sys.executable, "-X", "importtime", *start], capture_output=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "chromatic" in imported
    assert not imported & {"psutil", "platformdirs", "numba", "sklearn", "torch"}
