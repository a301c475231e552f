"""The command line: one thin file a command."""

from __future__ import annotations

import signal


def run() -> None:
    """The entry point of the command `chromatic`; Ctrl-C ends it quietly, also while it is imported."""
    hears = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from chromatic.cli.main import main

    signal.signal(signal.SIGINT, hears)
    main()
