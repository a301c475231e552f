"""Numba's cache of machine code, checked, and never an error: what cannot be read is compiled anew."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

log = logging.getLogger("chromatic")

CHECKSUM = 16  # bytes, at the end of a file of machine code


class _KernelFile(IndexDataCacheFile):
    """Numba's files of machine code with a checksum, which a reader of pickles leaves unread.

    Damaged machine code would end the process.
    """

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + _checksum(content)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            content = file.read()
        if _checksum(content[:-CHECKSUM]) != content[-CHECKSUM:]:
            raise ValueError(f"{name} is damaged")
        return super()._load_data(name)


class KernelCache(FunctionCache):
    """Numba's cache of a kernel, which may be damaged or full, but is never an error.

    Kernels are compiled while data is read, so that an error of the cache would be taken for one of a file.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _KernelFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for some types; None where it is to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except MemoryError:
            raise
        except Exception as error:  # pickles that are damaged raise all kinds
            log.info("a kernel in %s is compiled anew (%s)", self._cache_path, error)
            self._write(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for some types, where that is possible."""
        self._write(lambda: super(KernelCache, self).save_overload(sig, data))

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.disable()
            _warn_of_cache(self._cache_path, error.strerror or str(error))


_told: set[str] = set()


def _warn_of_cache(folder: str, problem: str) -> None:
    """Say once what is wrong, whatever the number of kernels and of their folders."""
    if problem in _told:
        return
    _told.add(problem)
    log.warning(
        "%s: kernels cannot be kept there (%s), and every command compiles them; name another folder by "
        "NUMBA_CACHE_DIR",
        folder,
        problem,
    )


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=CHECKSUM).digest()
