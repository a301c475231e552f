"""Machine code of kernels on disk: checked, and never an error; what cannot be read is compiled anew.

A file has the name of its kernel and of the types of its arguments, and begins with two checks: of what
the machine code was made from, and of its own bytes. Damaged machine code would end the process.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

log = logging.getLogger("chromatic")

DIGEST = 16  # bytes of a check
SUFFIX = ".kernel"
ENTRY = "chromatic_entry"  # the one symbol of machine code


class Stored(NamedTuple):
    """Machine code, and how it is called: letters of numbers as in `struct`, O for an object."""

    code: bytes
    arguments: str
    result: str  # of several letters where it is a tuple; empty for none


class KernelCache:
    """The files of one kernel, one for each kind of arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._made_from: bytes | None = None

    def load(self, kinds: str) -> Stored | None:
        """Return the machine code for some types; None where it is to be compiled."""
        name = self._name(kinds)
        for folder in _folders(self._function.__code__.co_filename):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError), open(path, "rb") as file:
                content = file.read()
                checks, rest = content[: 2 * DIGEST], content[2 * DIGEST :]
                if checks == self._stamp() + _digest(rest):
                    letters, code = rest.split(b"\n", 1)
                    return Stored(code, *letters.decode().split(" "))
                log.debug("the kernel in %s is of another version, or damaged; it is compiled anew", path)
        return None

    def save(self, kinds: str, stored: Stored) -> None:
        """Keep machine code in the first folder that can be written to, and say where there is none."""
        content = f"{stored.arguments} {stored.result}\n".encode() + stored.code
        problem: OSError | None = None
        for folder in _folders(self._function.__code__.co_filename):
            try:
                _write(folder, self._name(kinds), self._stamp() + _digest(content) + content)
                return
            except OSError as error:
                problem = problem or error
        if problem is not None:
            _warn_of_cache(problem)

    def _name(self, kinds: str) -> str:
        """Return the name of a file; machines of several kinds may share the folder."""
        function = self._function
        of_machine = _digest(f"{kinds} {_machine()}".encode()).hex()[:12]
        return f"{function.__module__}.{function.__qualname__}-{of_machine}{SUFFIX}"

    def _stamp(self) -> bytes:
        """Return a check of all that machine code is made from: the kernel, what it calls, the compiler."""
        if self._made_from is None:
            parts = [part for one in _reached(self._function, set()) for part in _parts(one)]
            self._made_from = _digest("\n".join([_compiler(), *parts]).encode())
        return self._made_from


def _reached(function: Any, seen: set[int]) -> Iterator[FunctionType]:
    """Yield a function and those of ours that it calls, each once."""
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    yield function
    for name in function.__code__.co_names:
        called = function.__globals__.get(name)
        yield from _reached(getattr(called, "function", called), seen)


def _parts(function: FunctionType) -> Iterator[str]:
    """Yield what a function says: its bytecode, and the constants that it reads. Comments do not count."""
    code = function.__code__
    yield repr((code.co_code, code.co_consts, code.co_names, code.co_varnames, function.__name__))
    for name in code.co_names:
        given = function.__globals__.get(name)
        if isinstance(given, np.ndarray):
            yield f"{name} {given.dtype} {given.shape} {_digest(given.tobytes()).hex()}"
        elif not callable(given) and not isinstance(given, ModuleType):
            yield f"{name} {given!r}"


@cache
def _compiler() -> str:
    """What compiles, and how; the intrinsics are part of it."""
    from importlib.metadata import version

    here = os.path.dirname(__file__)
    ours = b""
    for name in ("_compiling.py", "_intrinsics.py", "_lane_intrinsics.py"):
        with open(os.path.join(here, name), "rb") as file:
            ours += file.read()
    return f"{version('numba')} {version('llvmlite')} {platform.python_version()} {_digest(ours).hex()}"


def _machine() -> str:
    """The processor, and what the environment asks of the compiler."""
    asked = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith("NUMBA_")]
    kept = [one for one in asked if not one.startswith(("NUMBA_CACHE_DIR=", "NUMBA_NUM_THREADS="))]
    return " ".join([_processor(), *kept])


@cache
def _processor() -> str:
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def _folders(source: str) -> Iterator[str]:
    """Yield where kernels of a module may be: the folder that is named, or beside it, then the user's."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield named
        return
    yield os.path.join(os.path.dirname(source), "__pycache__")
    from chromatic._files import cache_folder

    yield str(cache_folder() / "kernels")


def _write(folder: str, name: str, content: bytes) -> None:
    """Write a file under another name first, so that none is ever seen in part."""
    os.makedirs(folder, exist_ok=True)
    number, path = tempfile.mkstemp(SUFFIX, dir=folder)
    try:
        with open(number, "wb") as file:
            file.write(content)
        os.replace(path, os.path.join(folder, name))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise


_told: set[str] = set()


def _warn_of_cache(error: OSError) -> None:
    """Say once what is wrong, whatever the number of kernels and of their folders."""
    problem = error.strerror or str(error)
    if problem in _told:
        return
    _told.add(problem)
    folder = os.path.dirname(str(error.filename)) if error.filename else "the cache folder"
    log.warning(
        "%s: kernels cannot be kept there (%s), and every command compiles them; name another folder by "
        "NUMBA_CACHE_DIR",
        folder,
        problem,
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST).digest()
