"""The command line: one thin file a command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from chromatic._room import check_room, is_lack_of_memory
from chromatic.errors import MEMORY_RAN_OUT

TO_START = 256 << 20  # bytes without which libraries fail while they are imported, each in its own way


def run(main: Callable[[], None] | None = None) -> None:
    """Run the command `chromatic`; Ctrl-C ends it with one line and exit code 130, whatever it does."""
    interrupt = Interrupt()
    try:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = interrupt.lost
        try:
            if main is None:
                check_room(TO_START)
                from chromatic.cli import main as program

                main = program.main
            main()
        finally:
            interrupt.end()
    except KeyboardInterrupt:
        print("chromatic: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if not is_lack_of_memory(error):
            raise
        os.write(2, f"chromatic: {MEMORY_RAN_OUT}\n".encode())
        os._exit(1)  # Python's own end would look for memory, and say what it did not find


class Interrupt:
    """What Ctrl-C does: it raises KeyboardInterrupt, where that is heard, or else a moment later.

    It is not heard in a destructor, where Python drops it. While a module is imported, libraries report it
    in ways of their own; while Numba makes or loads a kernel, it may crash the process. A second Ctrl-C
    ends the process at once.
    """

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            os._exit(130)
        self.asked = True
        if _is_deaf(frame):
            self._again()
        else:
            raise KeyboardInterrupt

    def lost(self, dropped: Any) -> None:
        """Raise again what Python has dropped; for all else, do as Python does."""
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            self._again()
        else:
            sys.__unraisablehook__(dropped)

    def _again(self) -> None:
        if hasattr(signal, "setitimer"):  # not on Windows, where `end` raises it
            signal.signal(signal.SIGALRM, self)
            signal.setitimer(signal.ITIMER_REAL, 0.01)

    def end(self) -> None:
        """Hear Ctrl-C no more, since Python's own end is not to be interrupted; raise what was lost."""
        for name in ("SIGINT", "SIGALRM"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
        if self.asked:
            raise KeyboardInterrupt


def _is_deaf(frame: FrameType | None) -> bool:
    """Whether an import, or Numba, is at work."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).split(".")[0]
        file = frame.f_code.co_filename
        if package in ("numba", "llvmlite") or file.startswith("<frozen importlib._bootstrap"):
            return True
        frame = frame.f_back
    return False
