"""Signals at moments of a command's own doing: when it has made so many calls, on a machine of any speed.

Calls of Python functions in the main thread are counted, from the first of the command, imports included.
"""

import os
import signal
import subprocess
import sys
import tempfile

PATIENCE = 900  # seconds, on a machine that is busy


def at(moment, name, args, **options):
    """Run a command that gets a signal at a moment, if it comes to it: its code and what it said."""
    with tempfile.NamedTemporaryFile() as file:
        command = [sys.executable, __file__, file.name, str(moment), name, *map(str, args)]
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, **options)
        return done.returncode, done.stderr.decode(), file.read().decode()


def calls_of(args):
    """How many moments a command has."""
    code, errors, calls = at(0, "SIGINT", args)
    assert code == 0, errors
    return int(calls)


def main():
    path, moment, name, *sys.argv[1:] = sys.argv[1:]
    moment, number, calls = int(moment), getattr(signal, name), 0

    def count(frame, event, arg):
        nonlocal calls
        calls += 1
        if calls == moment:
            sys.settrace(None)
            os.kill(os.getpid(), number)

    from chromatic.cli import run

    sys.settrace(count)
    try:
        run()
    finally:
        sys.settrace(None)
        with open(path, "w") as file:
            file.write(str(calls))


if __name__ == "__main__":
    main()
