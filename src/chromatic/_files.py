"""What is asked of the system: files that are renamed when they are whole, folders, memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import logging
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from chromatic.errors import InputError

log = logging.getLogger("chromatic")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when the block ends without an error.

    `-` is standard output. A suffix .gz, .bz2, .xz or .zst compresses.
    """
    path = os.fspath(path)
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = check_target(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            with _compressed(raw, target.suffix) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
        log.info("%s: written", path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder for the time of the block, of which nothing is left; also not of one that was killed.

    Whoever uses such a folder holds a lock on it, so that the next one knows what is left behind.
    """
    import fcntl

    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob("*.part"):
        with contextlib.suppress(OSError), open(left / "lock", "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(suffix=".part", dir=parent))
    try:
        with open(folder / "new", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(folder / "new", folder / "lock")
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cache_folder() -> Path:
    """The folder that CHROMATIC_DATA names, or `chromatic` in the user's cache."""
    named = os.environ.get("CHROMATIC_DATA")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chromatic"


def used_memory() -> int:
    """The bytes of memory that the process has now."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: what the interpreter and its libraries take
        return 300 << 20


def check_target(path: str) -> Path:
    """Refuse a target whose folder is not there, or that is a folder itself."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{path}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InputError(f"{path}: is a folder; expected the name of a file to write")
    return target


@contextlib.contextmanager
def _compressed(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    file: Any
    if suffix == ".gz":
        file = gzip.GzipFile("", "wb", 6, fileobj=raw, mtime=0)  # no name, no time: the same bytes
    elif suffix == ".bz2":
        file = bz2.BZ2File(raw, "wb")
    elif suffix == ".xz":
        file = lzma.LZMAFile(raw, "wb")
    elif suffix == ".zst":
        import pyarrow as pa

        # closing the stream closes what it writes to: let that be a second handle
        file = pa.CompressedOutputStream(pa.PythonFile(os.fdopen(os.dup(raw.fileno()), "wb")), "zstd")
    else:
        yield raw
        return
    with file:
        yield file


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
