"""What `-o` may name beside a file: links stay, and devices, FIFOs and standard output are written to."""

import os
import stat
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from chromatic._files import replacing
from chromatic.cli.main import app

RUN = CliRunner()
COMMAND = [sys.executable, "-m", "chromatic.cli.main"]
ROWS = "".join(f"{i % 2} user=u{i % 7} page=p{i % 50}\n" for i in range(300))
PATIENCE = 900  # seconds, on a machine that is busy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("targets")
    (folder / "rows.tokens").write_text(ROWS)
    fit = ["fit", f"{folder}/rows.tokens", "-o", f"{folder}/m.chroma", "--dense-threshold", "0.5"]
    assert RUN.invoke(app, fit).exit_code == 0
    return folder


def chromatic(folder, *args, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    done = subprocess.run([*COMMAND, *args], cwd=folder, timeout=PATIENCE, **options)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout


def read_from(fifo):
    """Read a FIFO to its end on a thread; the thread, and the list that its bytes come to."""
    read = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    reader.start()
    return reader, read


WRITERS = {
    "model": "fit rows.tokens --dense-threshold 0.5 -o {}.chroma",
    "columns": "transform m.chroma rows.tokens -o {}.svm",
    "compressed columns": "transform m.chroma rows.tokens -o {}.svm.gz",
    "zst": "convert rows.tokens -o {}.vw.zst",
    "parquet": "convert rows.tokens -o {}.parquet",
    "npz": "convert rows.tokens -o {}.npz",
    "report": "report m.chroma -o {}.html",
    "graph as csv": "graph rows.tokens --dense-threshold 2 --export {}.csv",
    "graph as parquet": "graph rows.tokens --dense-threshold 2 --export {}.parquet",
    "graph as npz": "graph rows.tokens --dense-threshold 2 --export {}.npz",
    "synthetic rows": "datasets make kdda --rows 50 -o {}.svm",
}


@pytest.mark.parametrize("command", WRITERS.values(), ids=WRITERS)
def test_the_reader_of_a_fifo_gets_what_a_file_would_get(folder, tmp_path, monkeypatch, command):
    monkeypatch.chdir(folder)
    words = command.format(tmp_path / "file").split()
    assert RUN.invoke(app, words).exit_code == 0
    [expected] = tmp_path.iterdir()
    fifo = tmp_path / expected.name.replace("file", "fifo")
    os.mkfifo(fifo)
    reader, read = read_from(fifo)
    done = RUN.invoke(app, [word.replace(str(expected), str(fifo)) for word in words])
    assert done.exit_code == 0, done.output
    reader.join(PATIENCE)
    assert fifo.is_fifo() and sorted(tmp_path.iterdir()) == sorted([expected, fifo])
    assert read == [expected.read_bytes()] or (expected.suffix == ".npz" and len(read[0]) > 100)


def test_a_device_stays_a_device(folder, tmp_path):
    null = tmp_path / "null.vw"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("only root may make a device")
    chromatic(folder, *f"convert rows.tokens -o {null}".split())
    assert null.is_char_device() and os.listdir(tmp_path) == ["null.vw"]


@pytest.fixture
def standard_output(tmp_path):
    """What /dev/stdout is: a link to whatever the process has as its standard output."""
    link = tmp_path / "standard-output"
    link.symlink_to("/proc/self/fd/1")
    return link


def test_standard_output_may_be_named_by_its_path(folder, standard_output):
    text = chromatic(folder, *f"convert rows.tokens -o {standard_output} --to vw".split())
    assert text.count(b"\n") == 300 and standard_output.is_symlink()


def test_standard_output_keeps_what_a_file_has_already(folder, standard_output, tmp_path):
    with open(tmp_path / "out", "ab") as out:
        out.write(b"before\n")
        out.flush()
        chromatic(folder, *f"convert rows.tokens -o {standard_output} --to vw".split(), stdout=out)
        out.write(b"after\n")
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert (lines[0], lines[-1], len(lines)) == (b"before", b"after", 302)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_points_to_is_replaced_whole(tmp_path, there):
    (tmp_path / "data").mkdir()
    target, first, link = tmp_path / "data" / "real.svm", tmp_path / "first", tmp_path / "link.svm"
    if there:
        target.write_bytes(b"old")
    first.symlink_to("data/real.svm")
    link.symlink_to(first)
    with pytest.raises(RuntimeError), replacing(link) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.exists() == there and (not there or target.read_bytes() == b"old")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink() and first.is_symlink() and not target.is_symlink()
    assert target.read_bytes() == b"new" and os.listdir(tmp_path / "data") == ["real.svm"]


def test_a_link_that_leads_nowhere_is_one_line(folder, tmp_path):
    (tmp_path / "loop.svm").symlink_to("loop.svm")
    (tmp_path / "lost.svm").symlink_to("no/folder.svm")
    for name, told in (("loop.svm", "leads back to itself"), ("lost.svm", "there is no folder")):
        done = RUN.invoke(app, ["convert", f"{folder}/rows.tokens", "-o", f"{tmp_path}/{name}"])
        assert done.exit_code == 2 and told in done.output and done.output.count("\n") == 1
        assert (tmp_path / name).is_symlink()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("encode rows.tokens --test rows.tokens -o {}", "is a file; expected a folder to write to"),
        ("evaluate rows.tokens rows.tokens -o {}", "is a device or a pipe, and results are read again"),
        ("evaluate rows.tokens rows.tokens -o -", "is a device or a pipe, and results are read again"),
        ("demo -o {}", "is a file; expected a folder to write to"),
    ],
)
def test_a_fifo_is_refused_where_it_cannot_serve(folder, tmp_path, monkeypatch, command, message):
    monkeypatch.chdir(folder)
    os.mkfifo(tmp_path / "fifo")
    words = command.format(tmp_path / "fifo").split()
    done = RUN.invoke(app, words)
    assert done.exit_code == 2 and message in done.output and done.output.count("\n") == 1


def test_encode_writes_to_a_folder_behind_a_link(folder, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    rows = f"{folder}/rows.tokens"
    done = RUN.invoke(app, ["encode", rows, "--test", rows, "-o", f"{tmp_path}/link"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path / "real")) == ["model.chroma", "test.svm", "train.svm"]
