"""No code of others runs, no text becomes a command, and small files stay small in memory."""

import ast
import contextlib
import gzip
import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import chromatic
from chromatic.data import Reader, npz, source, write
from chromatic.errors import InputError

SOURCE = sorted(Path(chromatic.__file__).parent.rglob("*.py"))
FORBIDDEN = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "marshal.load",
    "marshal.loads",
}
FORBIDDEN |= {
    f"{module}.{name}" for module in ("pickle", "cloudpickle", "joblib") for name in ("load", "loads")
}
FORBIDDEN |= {"torch.load", "yaml.load", "yaml.unsafe_load", "tempfile.mktemp", "pickle.Unpickler"}


def problems(text):
    """Calls that may run what data says."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module in ("pickle", "marshal", "shelve"):
            found.append(node.module)
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func) in FORBIDDEN:
            found.append(ast.unparse(node.func))
        for option in node.keywords:
            if option.arg in ("shell", "allow_pickle") and ast.unparse(option.value) != "False":
                found.append(ast.unparse(node))
    return found


def test_nothing_in_the_package_runs_what_data_says():
    assert len(SOURCE) > 100
    assert {path.name: found for path in SOURCE if (found := problems(path.read_text()))} == {}


DANGEROUS = [
    "eval(x)",
    "os.system('x')",
    "pickle.load(f)",
    "run(x, shell=True)",
    "np.load(f, allow_pickle=True)",
]


@pytest.mark.parametrize("line", [*DANGEROUS, "from pickle import loads", "torch.load(f)"])
def test_the_look_at_the_source_sees_what_it_should(line):
    assert len(problems(line)) == 1


@pytest.fixture(scope="module", autouse=True)
def everything_is_imported(tmp_path_factory):
    """What readers import when they are first used is not the memory of what they read."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "x.svm").write_text("1 3:1\n")
    rows = Reader().batches(folder / "x.svm")
    for name in ("x.npz", "x.parquet", "x.svm.gz"):
        write(rows, folder / name)
        Reader().batches(folder / name)


@contextlib.contextmanager
def less_memory_than(limit):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


class Endless(io.RawIOBase):
    """A line that never ends."""

    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = b"1" * len(buffer)
        return len(buffer)


def test_a_line_without_end_is_refused_when_it_is_too_long(monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 22)
    with less_memory_than(4 << 22), pytest.raises(InputError, match="a line is longer than"):
        list(source.chunks_of_lines("here", io.BufferedReader(Endless()), 1 << 16))


def test_a_compressed_line_that_expands_a_thousand_times_is_refused_without_its_memory(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 24)
    path = tmp_path / "bomb.svm.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(b"1" * (1 << 22))
    assert path.stat().st_size < (1 << 28) / 900
    with less_memory_than(1 << 26), pytest.raises(InputError, match=r"bomb.svm.gz: a line is longer than"):
        Reader(n_jobs=1).batches(path)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_archives_that_must_be_held_as_a_whole_are_bounded(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(source, "MOST_WHOLE", 1 << 22)
    path = tmp_path / f"bomb.{suffix}.gz"
    path.write_bytes(gzip.compress(bytes(1 << 26)))
    with less_memory_than(1 << 24), pytest.raises(InputError, match="expands to more than 4,194,304 bytes"):
        Reader().batches(path)


def bomb(path, shape, size):
    """An npz file one of whose arrays has a shape, and as many bytes of zeros as told."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    deflated = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
    with deflated as archive, archive.open("data.npy", "w", force_zip64=True) as member:
        member.write(header.getvalue())
        for _ in range(size >> 20):
            member.write(bytes(1 << 20))


@pytest.mark.parametrize(
    ("shape", "size", "message"),
    [
        ((1 << 40,), 1 << 20, "data.npy is not as long as it says"),
        ((1 << 23,), 1 << 26, "it expands to .* bytes, more than 100 times its size"),
    ],
)
def test_npz_files_that_expand_without_bound_are_refused_before_memory_is_taken(
    tmp_path, monkeypatch, shape, size, message
):
    monkeypatch.setattr(npz, "MOST_EXPANDED", 1 << 24)
    bomb(tmp_path / "x.npz", shape, size)
    with less_memory_than(1 << 23), pytest.raises(InputError, match=message):
        Reader().batches(tmp_path / "x.npz")


@pytest.mark.parametrize(
    "indptr",
    [
        [0, 1, 3, -6724880296803565565, -784219183854189830],
        [0, 2, 1, 3, 4],
        [1, 1, 2, 3, 4],
        [0, 1, 2, 3, 9],
    ],
)
def test_a_matrix_whose_arrays_point_out_of_themselves_is_refused(tmp_path, indptr):
    arrays = {"format": np.array(b"csr"), "shape": np.array([4, 3]), "indptr": np.array(indptr)}
    np.savez(tmp_path / "x.npz", **arrays, indices=np.array([0, 2, 0, 1]), data=np.ones(4))
    with pytest.raises(InputError, match=r"x.npz: is no npz file of a sparse matrix"):
        Reader().batches(tmp_path / "x.npz")
