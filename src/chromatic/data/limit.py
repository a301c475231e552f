"""The limit that `--memory` sets, and the folders on disk that come with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chromatic._files import cache_folder, scratch_folder, used_memory
from chromatic._kernel import load_linker
from chromatic._room import give_back
from chromatic.errors import InputError

LEAST = 90 << 20  # bytes that a job has before there is any data, where its kernels were compiled before
FOR_KERNELS = 32 << 20  # bytes that later steps take for machine code, whatever the data


@dataclass(frozen=True)
class Limit:
    """How much memory a job may use."""

    limit: int

    def left(self) -> int:
        """Return the bytes that are still free."""
        give_back()
        return self.limit - used_memory()

    def check(self, needed: int, what: str, whole: int = 0) -> None:
        """Refuse to begin what will not fit; `whole` is what the rest of the job needs, if it is known."""
        left = self.left()
        if needed > left:
            enough = (self.limit - left + max(needed, whole) + FOR_KERNELS >> 20) + 1
            raise InputError(
                f"{what} needs {needed >> 20:,} MB and {max(left, 0) >> 20:,} MB are left; expected more "
                f"--memory, such as {enough}M"
            )


@dataclass(frozen=True)
class MemoryLimit(Limit):
    """The limit that `--memory` sets, and where on disk a job puts what does not fit."""

    cache: Path  # for what the next job may use
    scratch: Path  # for the time of this one


@contextlib.contextmanager
def limited(size: str, cache: str | None = None) -> Iterator[MemoryLimit]:
    """Limit the memory of a job; on disk, only the cache outlives the block."""
    folder = cache_folder() / "rows" if cache is None else Path(cache)
    limit = parse_size(size)
    if limit < LEAST:
        raise InputError(
            f"the memory is {size}, and Python with its libraries takes {LEAST >> 20} MB; expected more "
            "--memory"
        )
    load_linker()  # what it takes is counted before data is cut to what is left
    with contextlib.ExitStack() as stack:
        try:
            scratch = stack.enter_context(scratch_folder(folder))
        except OSError as error:
            problem = f"cannot be written ({error.strerror}); name another folder with --cache"
            raise InputError(f"{folder}: {problem}") from error
        yield MemoryLimit(limit, folder, scratch)


def parse_size(text: str, what: str = "the memory") -> int:
    """Return the bytes of a size as people write it.

    >>> parse_size("1.5G"), parse_size("300M"), parse_size("4096")
    (1610612736, 314572800, 4096)
    """
    number = text.strip().upper().removesuffix("B")
    unit = {"K": 10, "M": 20, "G": 30, "T": 40}.get(number[-1:], 0)
    try:
        size = float(number[:-1] if unit else number) * 2.0**unit
    except ValueError:
        size = 0.0
    if not 1 <= size < 2.0**60:
        raise InputError(f"{what} is {text!r}; expected a size such as 500M or 8G")
    return int(size)
