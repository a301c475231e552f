"""What people read on a terminal, and what becomes of it where there is none."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import chromatic.cli
from chromatic.cli.main import app

COMMAND = [sys.executable, "-m", "chromatic.cli.main"]
PATIENCE = 900  # seconds, on a machine that is busy
RUN = CliRunner()
HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egap"
ESCAPED = r"\x1b[2J\x1b]0;owned\x07\x9b31m\u202egap"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows and a model of which one feature would like to command the terminal."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("hostile")
    features = [[f"a{i % 5}", HOSTILE if i % 3 == 0 else f"b{i % 30}"] for i in range(600)]
    table = pa.table({"label": [int(i % 3 == 0) for i in range(600)], "features": features})
    pq.write_table(table, folder / "rows.parquet")
    files = folder / "rows.parquet", "-o", folder / "m.chroma"
    done = run("fit", *files, "--dense-threshold", 0.5)
    assert done.exit_code == 0, done.output
    return folder


def run(*args):
    return RUN.invoke(app, [str(arg) for arg in args])


def column_of(folder):
    return json.loads(run("inspect", folder / "m.chroma", "--feature", HOSTILE, "--json").stdout)["linear"]


def test_names_are_printed_with_their_control_characters_escaped(folder):
    done = run("inspect", folder / "m.chroma", "--column", column_of(folder))
    assert done.exit_code == 0 and ESCAPED in done.output
    assert all(c.isprintable() or c == "\n" for c in done.output)


def test_programs_get_names_as_they_are(folder):
    told = json.loads(run("inspect", folder / "m.chroma", "--column", column_of(folder), "--json").stdout)
    assert HOSTILE in [name for name, *_ in told["features"]]


@pytest.mark.parametrize(
    "args",
    [
        ["inspect", "m.chroma", "--feature", f"no{HOSTILE}"],
        ["describe", f"no{HOSTILE}"],
        ["describe", "bad.svm"],
        [HOSTILE],
        ["-v", "describe", "rows.parquet", "--label", HOSTILE],
    ],
)
def test_messages_escape_what_they_repeat(folder, monkeypatch, args):
    monkeypatch.chdir(folder)
    (folder / "bad.svm").write_bytes(f"{HOSTILE} 1:1\n".encode())
    done = run(*args)
    assert done.exit_code == 2 and "owned" in done.output
    assert all(c.isprintable() or c == "\n" for c in done.output)


def test_text_is_printed_in_one_place():
    """Commands print by `terminal.say`, which escapes; errors by `_fail`, and an interrupt by `run`."""
    printing = {}
    for path in Path(chromatic.cli.__file__).parent.glob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        printing[path.name] = sum(ast.unparse(call.func) in ("print", "sys.stdout.write") for call in calls)
    one_each = {"__init__.py": 1, "main.py": 1, "terminal.py": 1}  # the first where nothing is imported yet
    assert {name: count for name, count in printing.items() if count} == one_each


CLOSED = [
    ("describe -", "<&-", 2, "-: standard input is closed; name a file, or pipe rows into the command"),
    ("convert rows.parquet -o - --to parquet", ">&-", 1, "standard output is closed"),
    ("describe rows.parquet", ">&-", 1, "standard output is closed"),
    ("describe rows.parquet --json", ">&-", 1, "standard output is closed"),
    ("describe rows.parquet", ">/dev/full", 1, "[Errno 28] No space left on device"),
    ("convert rows.parquet -o - --to parquet", ">/dev/full", 1, "[Errno 28] No space left on device"),
]


@pytest.mark.parametrize(("args", "redirected", "code", "message"), CLOSED)
def test_a_standard_stream_that_is_closed_or_full_is_one_line(folder, args, redirected, code, message):
    done = bash(folder, args, redirected)
    assert (done.returncode, done.stderr) == (code, f"chromatic: {message}\n")


def test_a_closed_standard_error_changes_no_exit_code(folder):
    for args, code in (("describe rows.parquet", 0), ("describe no", 2)):
        done = bash(folder, args, "2>&-")
        assert done.returncode == code and "chromatic" not in done.stdout


def test_a_command_that_prints_nothing_needs_no_standard_stream(folder, tmp_path):
    done = bash(folder, f"convert rows.parquet -o {tmp_path}/x.npz", "<&- >&- 2>&-")
    assert done.returncode == 0 and (tmp_path / "x.npz").stat().st_size > 100


def bash(folder, args, redirected):
    command = ["bash", "-c", f"{' '.join(COMMAND)} {args} {redirected}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
