"""Whether the process may have more memory: asked before what cannot fail in peace, such as LLVM."""

from __future__ import annotations

import errno
import mmap


def check_room(size: int) -> None:
    """Raise MemoryError where the system would not give so many bytes now; none are taken.

    >>> check_room(1 << 20)
    """
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError(f"there is no room for {size:,} bytes") from error


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an array, the system, a thread or a library that is first used found no memory.

    A library may have its own error for that, which it raises while it handles another. Python's is a
    SystemError where C code that makes a module found none, and did not say so.

    >>> is_lack_of_memory(RuntimeError("can't start new thread")), is_lack_of_memory(OSError("no disk"))
    (True, False)
    """
    told = isinstance(error, ImportError | OSError) and "failed to map segment" in str(error)
    of_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    of_module = isinstance(error, SystemError) and "without exception set" in str(error)
    of_system = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if isinstance(error, MemoryError) or of_system or told or of_thread or of_module:
        return True
    return error.__context__ is not None and is_lack_of_memory(error.__context__)
