"""The one place for threads: a map over chunks whose results come in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from chromatic.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None = None) -> int:
    """The number of threads for scikit-learn's `n_jobs`: None and -1 mean every core.

    >>> thread_count(3)
    3
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise InputError("the number of threads is 0; expected 1 or more, or -1 for every core")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """`map` on threads, results in the order of the items, few items in flight.

    The items are drawn in the calling thread, which does nothing else, so that Ctrl-C is heard
    between any two pieces of work.

    >>> list(ordered_map(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    flying: deque[Future[Result]] = deque()
    ahead = threads if threads > 1 else 0  # one thread means that nothing goes on beside it
    pool = ThreadPoolExecutor(threads, thread_name_prefix="chromatic")
    try:
        for item in items:
            flying.append(pool.submit(function, item))
            if len(flying) > ahead:
                yield flying.popleft().result()
        while flying:
            yield flying.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
