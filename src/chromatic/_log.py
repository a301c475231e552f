"""The logger of the package, and how `verbose` makes it heard."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

log = logging.getLogger("chromatic")


@contextlib.contextmanager
def told(verbose: int) -> Iterator[None]:
    """Show what is logged for the time of the block, if `verbose` asks for it."""
    if not verbose:
        yield
        return
    handler = None if log.hasHandlers() else logging.StreamHandler()
    level = log.level
    if handler is not None:
        handler.setFormatter(logging.Formatter("chromatic: %(message)s"))
        log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        if handler is not None:
            log.removeHandler(handler)
