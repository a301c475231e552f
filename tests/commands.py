"""`chromatic` as its users start it, and the same command in this process, where Python runs already.

A process takes a second to start. Tests of what a process is (signals, pipes, imports, limits of memory)
take one, and so does one test of each command; tests of what a command says and writes do not.
"""

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from unittest import mock

from chromatic.cli.main import app
from chromatic.errors import InputWarning

COMMAND = [sys.executable, "-m", "chromatic.cli.main"]
PATIENCE = 900  # seconds, on a machine that is busy


def in_a_process(*args, stdin=None, **options):
    """Start a command; its code, and what it wrote as bytes, or as text where that is asked for."""
    command = [*COMMAND, *map(str, args)]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, **options)


def chromatic(*args, stdin=b"", cwd=".", text=False, env=()):
    """Run a command here, with standard streams of its own; return what `in_a_process` does."""
    words = [str(arg) for arg in args]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        here = contextlib.chdir(cwd), mock.patch.dict(os.environ, env)
        with _streams(stdin, out, err), _nobody_listens_yet(), here[0], here[1]:
            code = _code_of(words)
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read().decode() if text else file.read())
    return subprocess.CompletedProcess(words, code, *written)


def _code_of(words):
    try:
        app(words, prog_name="chromatic")
    except SystemExit as ended:
        return ended.code or 0
    except Exception:
        traceback.print_exc()
        return 1
    return 0


@contextlib.contextmanager
def _streams(given, out, err):
    """Lead the standard streams to a pipe and two files; a library in C may write to their numbers."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    assert not given or os.write(write, given) == len(given), "more than a pipe holds needs a process"
    os.close(write)
    kept = [os.dup(number) for number in range(3)]
    for number, to in enumerate((read, out.fileno(), err.fileno())):
        os.dup2(to, number)
    os.close(read)
    try:
        with (
            open(0, closefd=False) as in_here,
            open(1, "w", closefd=False) as out_here,
            open(2, "w", closefd=False, errors="backslashreplace") as err_here,
            contextlib.redirect_stdout(out_here),
            contextlib.redirect_stderr(err_here),
            mock.patch.object(sys, "stdin", in_here),
        ):
            yield
    finally:
        for number, to in enumerate(kept):
            os.dup2(to, number)
            os.close(to)


@contextlib.contextmanager
def _nobody_listens_yet():
    """Let a command set up its log and its warnings as in a new process."""
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", InputWarning)
            yield
    finally:
        root.handlers[:] = kept
        root.setLevel(level)
