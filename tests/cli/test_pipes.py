"""Pipes and FIFOs are read once, and give what the same bytes give as a file."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from chromatic.data import Reader, write
from chromatic.data.cached import parse
from chromatic.errors import InputError

COMMAND = [sys.executable, "-m", "chromatic.cli.main"]
PATIENCE = 900  # seconds, on a machine that is busy
LINES = [f"{i % 2} {i % 40}:1 {100 + i % 311}:1 {1000 + i}:1\n" for i in range(5000)]
TEXT = "".join(LINES).encode()
assert len(TEXT) > 1 << 16, "more than a pipe holds"


def start(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def in_time(function):
    """The result of a call that might wait forever."""
    result = []
    thread = start(lambda: result.append(function()))
    thread.join(PATIENCE)
    assert not thread.is_alive(), "it waits for a pipe that it has read"
    return result[0]


def fifo_of(folder, content, name="fifo"):
    """A FIFO that a thread writes to."""
    fifo = folder / name
    os.mkfifo(fifo)
    start(fifo.write_bytes, content)
    return fifo


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "rows.svm").write_bytes(TEXT)
    (folder / "rows.svm.gz").write_bytes(gzip.compress(TEXT))
    batches = Reader().batches(folder / "rows.svm")
    for name in ("rows.parquet", "rows.npz"):
        write(batches, folder / name)
    import pyarrow.feather
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "rows.parquet")
    pyarrow.feather.write_feather(table, str(folder / "rows.arrow"))
    lines = [f"{i % 2},u{i % 7},{i}\n" for i in range(5000)]
    (folder / "rows.csv").write_text("label,user,price\n" + "".join(lines))
    return folder


@pytest.mark.parametrize("name", ["svm", "svm.gz", "parquet", "npz", "arrow", "csv"])
def test_a_fifo_of_any_format_is_read_as_the_file(files, tmp_path, name):
    expected = Reader().read(files / f"rows.{name}")
    fifo = fifo_of(tmp_path, (files / f"rows.{name}").read_bytes())
    reader = Reader(format="csv" if name == "csv" else None)  # which nothing in it tells
    data = in_time(lambda: reader.read(fifo))
    assert data.vocabulary.fingerprint == expected.vocabulary.fingerprint
    assert data.rows.codes.tolist() == expected.rows.codes.tolist()


def test_a_fifo_within_a_limit_of_memory_is_read_once_and_never_taken_from_the_cache(tmp_path):
    fifo = fifo_of(tmp_path, TEXT)
    assert in_time(lambda: parse(Reader(), [str(fifo)], tmp_path / "cache")).n_rows == len(LINES)
    start(fifo.write_bytes, b"".join(TEXT.splitlines(True)[:7]))
    assert in_time(lambda: parse(Reader(), [str(fifo)], tmp_path / "cache")).n_rows == 7
    assert os.listdir(tmp_path / "cache") == []


def test_commands_read_process_substitutions(files, tmp_path):
    program = " ".join(COMMAND)

    def bash(script):
        command = ["bash", "-c", script.replace("chromatic", program)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        return done.stdout

    (tmp_path / "rows.svm").write_bytes(TEXT)
    bash("chromatic fit rows.svm -o expected.chroma --budget 64")
    bash("chromatic fit <(cat rows.svm) -o m.chroma --budget 64 --memory 500M --cache cache")
    assert (tmp_path / "m.chroma").read_bytes() == (tmp_path / "expected.chroma").read_bytes()
    bash("chromatic transform m.chroma rows.svm -o expected.svm")
    bash("chromatic transform <(cat m.chroma) <(cat rows.svm) -o columns.svm")
    assert (tmp_path / "columns.svm").read_bytes() == (tmp_path / "expected.svm").read_bytes()
    told = json.loads(bash("chromatic graph <(cat rows.svm) --test <(head -9 rows.svm) --json"))
    assert (told["rows"], told["test_rows"]) == (len(LINES), 9)


class Trickle(io.RawIOBase):
    """A pipe that has one byte at a time."""

    def __init__(self, content):
        self.rest = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.rest.read(1)
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_the_format_is_told_however_slowly_the_first_line_comes(monkeypatch, compress):
    stdin = SimpleNamespace(buffer=SimpleNamespace(raw=Trickle(compress(b"1 | a b\n0 | b c\n"))))
    monkeypatch.setattr(sys, "stdin", stdin)
    [batch] = Reader().batches("-")
    assert (batch.n_rows, batch.tokens.names.tolist()) == (2, [b"a", b"b", b"c"])


def test_a_pipe_that_asks_not_to_wait_is_read_to_its_end():
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    command = [*COMMAND, "describe", "-", "--json"]
    with subprocess.Popen(command, stdin=ends[0], stdout=subprocess.PIPE) as process:
        os.close(ends[0])
        with open(ends[1], "wb") as file:
            file.write(TEXT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert json.loads(out)["rows"] == len(LINES)


def test_a_fifo_that_is_named_twice_is_refused(tmp_path):
    from chromatic.jobs import check_paths

    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_bytes(TEXT)
    check_paths([str(tmp_path / name) for name in ("fifo", "file", "file")])
    with pytest.raises(InputError, match="named twice, and a pipe can be read once"):
        check_paths([str(tmp_path / name) for name in ("fifo", "file", "fifo")])
