"""Seconds and memory, each contender in a process of its own, the runs interleaved.

So other work on the machine slows all of them alike, and the memory of one is not that of another.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from multiprocessing import get_context
from typing import Any

from chromatic._files import peak_memory, used_memory
from chromatic._processes import undisturbed
from chromatic.errors import InputError

Run = Callable[[], Any]
Say = Callable[[str], None]
Figures = dict[str, float]


@dataclass(frozen=True)
class Size:
    """How much data there is."""

    rows: int
    nonzeros: int
    bytes: int

    def __add__(self, other: Size) -> Size:
        return Size(self.rows + other.rows, self.nonzeros + other.nonzeros, self.bytes + other.bytes)


@dataclass(frozen=True)
class Contender:
    """Something to measure: `make(path, *args)` prepares, and what it returns is what is timed.

    Functions of modules only: a new process must find them. A run may return a dict with figures of its
    own, which then stand for those that were measured around it. With a `sample`, a path to a few rows,
    all is done on these first, so that nothing is compiled while the clock runs.
    """

    what: str
    make: Callable[..., Run]
    path: str
    args: tuple[Any, ...] = ()
    _: KW_ONLY
    size: Size | None = None  # of the data that a run goes over
    sample: str | None = None
    peer: bool = False
    does: str = ""  # a peer is compared with those that do the same


@dataclass(frozen=True)
class Measured:
    """The best of several runs: the seconds, and the memory on top of what was held before."""

    what: str
    seconds: float
    memory_mb: float
    size: Size | None = None
    peer: bool = False
    does: str = ""
    ratios: dict[str, float] = field(default_factory=dict)  # how many times as long each peer takes
    more: Figures = field(default_factory=dict)

    @property
    def rows_per_second(self) -> float | None:
        return self.size.rows / self.seconds if self.size else None

    @property
    def mb_per_second(self) -> float | None:
        return self.size.bytes / 1e6 / self.seconds if self.size and self.size.bytes else None


def race(contenders: Sequence[Contender], runs: int, say: Say) -> list[Measured]:
    """Measure contenders, the best of `runs` each; leave out a peer that cannot run, and say so."""
    with ExitStack() as stack:
        ready: list[tuple[Contender, Callable[[], Figures], list[Figures]]] = []
        for contender in contenders:
            try:
                ready.append((contender, stack.enter_context(_child(contender)), []))
            except _Failed as error:
                _leave_out(contender, error, say)
        for _ in range(runs):
            for one in list(ready):
                contender, run, figures = one
                try:
                    figures.append(run())
                except _Failed as error:
                    _leave_out(contender, error, say)
                    ready.remove(one)
    return _with_ratios([_best(contender, figures) for contender, _, figures in ready])


def _best(contender: Contender, runs: list[Figures]) -> Measured:
    fastest = dict(min(runs, key=lambda run: run["seconds"]))
    most = max(run["memory_mb"] for run in runs)
    seconds = fastest.pop("seconds")
    del fastest["memory_mb"]
    return Measured(
        what=contender.what,
        seconds=seconds,
        memory_mb=most,
        size=contender.size,
        peer=contender.peer,
        does=contender.does,
        more=fastest,
    )


def _with_ratios(results: list[Measured]) -> list[Measured]:
    def ratios(one: Measured) -> dict[str, float]:
        peers = [peer for peer in results if peer.peer and peer.does == one.does]
        return {peer.what: peer.seconds / one.seconds for peer in peers}

    return [one if one.peer else replace(one, ratios=ratios(one)) for one in results]


class _Failed(Exception):
    """A child process failed."""


def _leave_out(contender: Contender, error: _Failed, say: Say) -> None:
    if not contender.peer:
        raise InputError(f"{contender.what or contender.make.__name__}: {error}")
    say(f"left out: {contender.what} ({error})")


@contextmanager
def _child(contender: Contender) -> Iterator[Callable[[], Figures]]:
    """Start a process that prepares; give a function that does one run in it."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, contender), daemon=True)
    with undisturbed():
        process.start()
    there.close()

    def answer() -> Any:
        try:
            told = here.recv()
        except EOFError:
            raise _Failed("its process died, as one does that runs out of memory") from None
        if isinstance(told, str):
            raise _Failed(told)
        return told

    def run() -> Figures:
        here.send(True)
        figures: Figures = answer()
        return figures

    try:
        answer()
        yield run
    finally:
        here.close()
        process.kill()
        process.join()


def _serve(connection: Any, contender: Contender) -> None:
    try:
        if contender.sample is not None:
            contender.make(contender.sample, *contender.args)()
        run = contender.make(contender.path, *contender.args)
        connection.send({})
        while connection.recv():
            connection.send(measured(run))
    except EOFError:  # no more runs are wanted
        pass
    except Exception as error:  # whatever it is, the parent says it
        connection.send(str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}")


def measured(run: Run) -> Figures:
    """Return the seconds of a run, and by how much the memory of this process grew at most."""
    forget_peak()
    before, start = used_memory(), time.perf_counter()
    told = run()
    figures = {
        "seconds": time.perf_counter() - start,
        "memory_mb": max(0.0, (peak_memory() - before) / 2**20),
    }
    return figures | told if isinstance(told, dict) else figures


def forget_peak() -> None:
    """Let `peak_memory` begin anew; where the system cannot, it stays that of the whole process.

    What is free is given back first: else a run could take it again, and seem to take nothing.
    """
    gc.collect()
    with suppress(OSError, AttributeError):  # not every C library has it
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def status_mb(key: str, process: int) -> float:
    """Return a figure of Linux on a process in MB; 0 for one that is ending."""
    with open(f"/proc/{process}/status") as status:
        return next((int(line.split()[1]) / 1024 for line in status if line.startswith(key)), 0.0)


def machine() -> dict[str, Any]:
    """Return what figures depend on: cores, processor, memory, versions."""
    import platform
    from datetime import UTC, datetime
    from importlib.metadata import PackageNotFoundError, version

    import chromatic

    def of(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    packages = "numpy", "numba", "scipy", "scikit-learn", "lightgbm", "vowpalwabbit"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = None
    if hasattr(os, "sysconf"):
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"chromatic": chromatic.__version__, "python": platform.python_version()}
        | {package: of(package) for package in packages},
        "cores": cores,
        "cpu": _processor(),
        "memory_gb": memory,
    }


def _processor() -> str:
    import platform

    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
