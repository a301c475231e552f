"""What is asked of the system: files that are renamed when they are whole, folders, memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
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
PART = ".part"  # of the names of files that are not whole


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write that takes its name only when the block ends without an error.

    `-` is standard output. A link stays, and what it points to is replaced. A device or a FIFO cannot be
    replaced: it is written to. A suffix .gz, .bz2, .xz or .zst compresses. What a killed process left of
    the same file is removed.
    """
    path = os.fspath(path)
    if path == "-" or _is_standard_output(path):
        with _standard_output() as file:
            yield file
        return
    target = check_target(path)
    if is_stream(target):
        with open(target, "wb") as stream, _compressed(stream, target.suffix) as file:
            yield file
        return
    _remove_leftovers(target)
    handle, temporary = _beside(target)
    try:
        with open_named(handle, path) as raw:
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


class _NamedFile(io.FileIO):
    """A file that is named where it cannot be written: the system itself tells no name."""

    def __init__(self, file: int | str, path: str) -> None:
        super().__init__(file, "w+b" if isinstance(file, str) else "wb")
        self.path = path

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error


def open_named(file: int | str, path: str) -> IO[bytes]:
    """Open a handle to write, or a new file to write and read; errors name it by `path`."""
    raw = _NamedFile(file, path)
    return io.BufferedRandom(raw) if isinstance(file, str) else io.BufferedWriter(raw)


@contextlib.contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder for the time of the block, of which nothing is left; also not of one that was killed.

    Whoever uses such a folder holds a lock on it, so that the next one knows what is left behind.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"*{PART}"):
        with contextlib.suppress(OSError), open(left / "lock", "rb") as lock:
            if _lock(lock.fileno()):
                shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(suffix=PART, dir=parent))
    try:
        with open(folder / "new", "wb") as lock:
            _lock(lock.fileno())
            os.rename(folder / "new", folder / "lock")
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cache_folder() -> Path:
    """The folder that CHROMATIC_DATA names, or `chromatic` in the user's cache."""
    named = os.environ.get("CHROMATIC_DATA")
    if named:
        return Path(named)
    from platformdirs import user_cache_path  # where it is on Linux, macOS and Windows

    return user_cache_path("chromatic", appauthor=False)


def used_memory() -> int:
    """The bytes of memory that the process has now."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def peak_memory() -> int:
    """The most bytes of memory that the process has had."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
    except OSError:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used << 10


@contextlib.contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    if sys.stdout is None:
        raise OSError("standard output is closed")
    out: Any = sys.stdout.buffer
    if not isinstance(out, io.RawIOBase):
        yield out
        out.flush()
        return
    # With PYTHONUNBUFFERED it is a raw file, which may write less than it is given without a word.
    file = io.BufferedWriter(out)
    try:
        yield file
        file.flush()
    finally:
        file.detach()


def _beside(target: Path) -> tuple[int, str]:
    """A new file beside the target, locked as long as it is open."""
    while True:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=PART, dir=target.parent)
        _lock(handle)
        if os.path.exists(temporary):  # else it was taken for a leftover, before it was locked
            return handle, temporary
        os.close(handle)


def _remove_leftovers(target: Path) -> None:
    """Remove parts of the target that nobody writes: their writers were killed."""
    for name in os.listdir(target.parent):
        if name.startswith(f".{target.name}.") and name.endswith(PART):
            with contextlib.suppress(OSError), open(target.parent / name, "rb") as part:
                if _lock(part.fileno()):
                    os.unlink(part.name)


def _lock(handle: int) -> bool:
    """Lock a file until it is closed; False where another has it, or where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def check_target(path: str) -> Path:
    """Return the file that is to be written, links followed; refuse one whose folder is not there.

    A folder is refused too.
    """
    if is_stream(path):  # a link to a pipe, as /dev/stdout may be, leads to no path
        return Path(path)
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise InputError(
            f"{path}: is a link that leads back to itself; expected the name of a file to write"
        )
    if not target.parent.is_dir():
        raise InputError(f"{path}: there is no folder {Path(path).parent}; make it first")
    if target.is_dir():
        raise InputError(f"{path}: is a folder; expected the name of a file to write")
    return target


def make_folder(path: str) -> None:
    """Make a folder to write to, where it is missing; refuse what is there and is none."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise InputError(f"{path}: is a file; expected a folder to write to")
    os.makedirs(path, exist_ok=True)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is standard input or output, a device, a FIFO or a socket.

    It may be opened only once, and no file can take its place.
    """
    is_file = os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)
    return path == "-" or not is_file


def _is_standard_output(path: str) -> bool:
    """Whether a path, such as /dev/stdout, is what standard output is: a file may have rows already."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # closed, or none of the system's
        return False


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
