"""Whether the process may have more memory: asked before what cannot fail in peace, such as LLVM."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import re


def check_room(size: int) -> None:
    """Raise MemoryError where the system would not give so many bytes now; none are taken.

    >>> check_room(1 << 20)
    """
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError(f"there is no room for {size:,} bytes") from error


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library keeps it for later."""
    with contextlib.suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an array, the system, a thread or a library that is first used found no memory.

    A library may have its own error for that, which it raises while it handles another. Python's is a
    SystemError where C code found none and did not say so.

    >>> is_lack_of_memory(RuntimeError("can't start new thread")), is_lack_of_memory(OSError("no disk"))
    (True, False)
    >>> is_lack_of_memory(SystemError("<function fit> returned NULL without setting an exception"))
    True
    """
    text = str(error)
    told = isinstance(error, ImportError | OSError) and "failed to map segment" in text
    of_thread = isinstance(error, RuntimeError) and "can't start new thread" in text
    untold = isinstance(error, SystemError) and re.search("without (setting an )?exception", text)
    of_system = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if isinstance(error, MemoryError) or of_system or told or of_thread or untold:
        return True
    return error.__context__ is not None and is_lack_of_memory(error.__context__)
