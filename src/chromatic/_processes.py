"""Work in processes of their own, which leave Ctrl-C to the one that started them and end with it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any


def in_a_process(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function of a module in a fresh process, and return its result."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    with ProcessPoolExecutor(1, get_context("spawn"), initializer=_end_with_parent) as pool:
        try:
            with undisturbed():
                future = pool.submit(function, *given, **named)
            return future.result()
        except KeyboardInterrupt:
            for child in active_children():
                child.kill()
            raise


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let processes that are started within the block not hear Ctrl-C, which a terminal sends to all."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Do not go on when the process that started this one was killed."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait
    from threading import Thread

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    Thread(target=watch, daemon=True).start()
