"""The command line: one thin file a command."""

from __future__ import annotations

import signal
import sys


def run() -> None:
    """Run the command `chromatic`; Ctrl-C ends it quietly, also while it is imported."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from chromatic.cli.main import main

    signal.signal(signal.SIGINT, handler)
    main()


def import_numba() -> None:
    """Import Numba without SciPy's BLAS, which takes a fifth of the time that a command needs to start.

    Numba looks for BLAS when its module `arraymath` is imported, and has no setting against that. None in
    `sys.modules` is how Python marks a module that cannot be imported; Numba then refuses np.dot in
    kernels, and none of ours calls it. In a user's process others may, so only commands do this.
    """
    blas = "scipy.linalg.cython_blas"
    if "numba" in sys.modules or blas in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[blas]
