"""Ctrl-C at any moment of a command is exit code 130 and one line, and leaves nothing.

`KILLS` in the environment says how many moments are tried, here and in `test_faults`.
"""

import os
import random
import signal
import subprocess
import sys

import pytest
from moments import PATIENCE, at, calls_of

COMMAND = [sys.executable, "-m", "chromatic.cli.main"]
KILLS = int(os.environ.get("KILLS", "5"))
FIRST = 20  # calls, after which Ctrl-C is ours
LAST = 300  # calls before the end, which are Python's own
SAID = "chromatic: interrupted\n"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.svm"
    lines = [f"{int(i % 40 < 16)} {i % 40}:1 {50 + i % 33}:1 {100 + i}:1\n" for i in range(3000)]
    path.write_text("".join(lines))
    return path


def test_an_interrupt_at_any_moment_is_one_line_and_leaves_nothing(rows, tmp_path):
    """Also while commands and libraries are imported, and while kernels are loaded."""
    args = ["fit", rows, "-o", tmp_path / "m.chroma", "--encoded", tmp_path / "t.svm.zst", "--budget", 64]
    subprocess.run([*COMMAND, *map(str, args)], check=True, timeout=PATIENCE)  # compiles what is not yet
    calls = calls_of(args)
    for path in tmp_path.iterdir():
        path.unlink()
    draw = random.Random(0)
    for moment in [FIRST, *(draw.randrange(FIRST, calls - LAST) for _ in range(KILLS)), calls - LAST]:
        code, errors, _ = at(moment, "SIGINT", args)
        assert (code, errors) == (130, SAID), moment
        assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")], moment


def test_an_interrupt_while_rows_are_waited_for_is_one_line(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [*COMMAND, "convert", fifo, "-o", tmp_path / "x.svm"], stderr=subprocess.PIPE, text=True
    )
    with open(fifo, "wb", buffering=0) as file:  # opens when the command does
        file.write(b"1 1:1\n")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors, os.listdir(tmp_path)) == (130, SAID, ["fifo"])


SCRIPT = """
import os, signal, sys
from chromatic.cli import run

class Deaf:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10): pass

def main():
    {what}
    while {endless}: signal.pause()

run(main)
"""


@pytest.mark.parametrize(
    ("what", "endless"),
    [
        ("Deaf()", True),  # Python drops what is raised in a destructor
        ("Deaf()", False),  # also as the last thing that is done
        ("import interrupted_import", False),
        ("os.kill(os.getpid(), signal.SIGINT)", False),
    ],
)
def test_an_interrupt_is_heard_where_python_or_libraries_would_drop_it(tmp_path, what, endless):
    (tmp_path / "interrupted_import.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n"
        "    raise ImportError('an error of its own') from None\n"
    )
    script = SCRIPT.format(what=what, endless=endless)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (130, SAID)


IN_A_PROCESS = """
import os, signal, sys
from chromatic._processes import in_a_process
from chromatic.cli import run

def wait(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    signal.pause()

if __name__ == "__main__":
    run(lambda: in_a_process(wait, sys.argv[1]))
"""


def test_an_interrupt_from_a_terminal_ends_processes_of_their_own_without_a_word(tmp_path):
    """A terminal sends it to all of them, as to the learners of `evaluate`."""
    (tmp_path / "waits.py").write_text(IN_A_PROCESS)
    os.mkfifo(tmp_path / "fifo")
    process = subprocess.Popen(
        [sys.executable, "waits.py", "fifo"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    child = int((tmp_path / "fifo").read_text())  # it works now
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, SAID)
    assert not os.path.exists(f"/proc/{child}")
