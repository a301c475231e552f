"""The one place for threads: a map over chunks whose results come in order."""

from __future__ import annotations

import _thread
import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import SimpleQueue
from typing import Any, TypeVar

from chromatic._room import check_room
from chromatic.errors import InputError

FOR_A_THREAD = 16 << 20  # bytes for its stack, and for what it needs to begin
PATIENCE = 10.0  # seconds after which one who waits looks whether there is anyone to wait for

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
    flying: deque[_Slot] = deque()
    ahead = threads if threads > 1 else 0  # one thread means that nothing goes on beside it
    crew = _Crew(function, threads)
    try:
        for item in items:
            flying.append(crew.take_on(item))
            if len(flying) > ahead:
                yield crew.result_of(flying.popleft())
        while flying:
            yield crew.result_of(flying.popleft())
    except MemoryError as error:
        crew.error = error
        raise
    finally:
        crew.stop()


def one_ahead(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`map` whose next result is made on a thread while the last one is used.

    >>> list(one_ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    flying: deque[_Slot] = deque()
    crew = _Crew(function, 1)
    try:
        for item in items:
            flying.append(crew.take_on(item))
            if len(flying) > 1:
                yield crew.result_of(flying.popleft())
        while flying:
            yield crew.result_of(flying.popleft())
    finally:
        crew.stop()


class _Slot:
    """An item, and what became of it; the lock is free as soon as that is known."""

    __slots__ = ("done", "error", "item", "result")

    def __init__(self, item: Any) -> None:
        self.item, self.result = item, None
        self.error: BaseException | None = None
        self.done = _held_lock()


class _Crew:
    """Threads whose errors always arrive, also where memory runs out.

    The standard library's executor allocates to tell of an error, and its threads do before they tell
    that they began: where this fails, one who waits for them waits for ever. Here, what tells of an
    error is there before the work. Where memory ran out, a thread may also wait for ever for a lock that
    another thread took to its grave (Numba's compiler has one), so nobody waits for it without an end.
    """

    def __init__(self, function: Callable[[Any], Any], threads: int) -> None:
        self.function = function
        self.error: BaseException | None = None  # memory ran out, in whichever thread
        self._todo: SimpleQueue[_Slot | None] = SimpleQueue()
        self._stopped = False
        self._most = threads
        self._ended: list[_thread.LockType] = []

    def _start_thread(self) -> None:
        begun, ended = _held_lock(), _held_lock()
        check_room(FOR_A_THREAD)
        try:
            _thread.start_new_thread(self._work, (begun, ended))
        except RuntimeError as error:
            raise MemoryError(str(error)) from error
        if not begun.acquire(timeout=6 * PATIENCE):
            raise MemoryError("a thread found no memory to begin")
        self._ended.append(ended)

    def _work(self, begun: _thread.LockType, ended: _thread.LockType) -> None:
        """Work until there is no more to do. Nothing is allocated to tell of an error."""
        try:
            begun.release()
            while (slot := self._todo.get()) is not None and not self._stopped:
                try:
                    slot.result = self.function(slot.item)
                except BaseException as error:
                    slot.error = error
                    if isinstance(error, MemoryError):
                        self.error = error
                slot.item = None
                slot.done.release()
                slot = None  # a result is not held while the thread waits
        except BaseException as error:
            self.error = error
        ended.release()

    def take_on(self, item: Any) -> _Slot:
        """Give an item to the thread that is free first."""
        if len(self._ended) < self._most:
            self._start_thread()
        slot = _Slot(item)
        self._todo.put(slot)
        return slot

    def result_of(self, slot: _Slot) -> Any:
        """Wait for what became of an item."""
        while not slot.done.acquire(timeout=PATIENCE):
            if self.error is not None:
                raise self.error
        if slot.error is not None:
            raise slot.error
        return slot.result

    def stop(self) -> None:
        """Let the threads end, each with the item that it has."""
        self._stopped = True
        with contextlib.suppress(MemoryError):
            for _ in self._ended:
                self._todo.put(None)
        for ended in self._ended:
            while not ended.acquire(timeout=PATIENCE) and self.error is None:
                pass


def _held_lock() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
