"""`chromatic report` as a command."""

import subprocess
import sys

import pytest
from commands import chromatic

LINES = "".join(f"{i % 9 < 3:d} {i % 9 + 1}:1 {i % 13 + 20}:1\n" for i in range(400))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.svm").write_text(LINES)
    run(tmp_path, "fit train.svm -o model.chroma --budget 16 --dense-threshold 0.5")
    return tmp_path


def run(folder, command):
    return chromatic(*command.split(), cwd=folder, text=True)


def test_the_command_writes_a_page_and_needs_no_scikit_learn(folder):
    done = run(folder, "report model.chroma --test train.svm -o report.html")
    assert (done.returncode, done.stderr) == (0, "")
    page = (folder / "report.html").read_text()
    assert "model.chroma" in page and "Furthest off" in page
    assert run(folder, "report model.chroma -o -").stdout.startswith("<!doctype html>")
    loaded = (
        "import sys; from chromatic.cli.main import main\n"
        "assert 'jinja2' not in sys.modules\n"
        "sys.argv = ['chromatic', 'report', 'model.chroma', '-o', 'again.html']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert 'sklearn' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", loaded], cwd=folder, check=True, timeout=900)


def test_what_is_wrong_is_said_in_a_line_before_the_work(folder):
    for command, expected in (
        ("nothing.chroma -o r.html", "no such file"),
        ("train.svm -o r.html", "is no model file"),
        ("model.chroma -o nowhere/r.html", "there is no folder"),
        ("model.chroma --test nothing.svm -o r.html", "nothing.svm"),
    ):
        done = run(folder, f"report {command}")
        assert done.returncode == 2 and expected in done.stderr and done.stderr.count("\n") == 1
        assert not (folder / "r.html").exists()
