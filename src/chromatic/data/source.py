"""Bytes in: paths and standard input, through compression, as chunks of whole lines."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import select
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from chromatic._files import is_stream
from chromatic.data.limit import FOR_KERNELS, Limit
from chromatic.data.scan import PADDING
from chromatic.data.text import Buffers, Chunk
from chromatic.errors import in_file

CHUNK = 4 << 20
LONGEST_LINE = 1 << 30
COST = 32  # bytes of memory that reading takes for a byte of text, at most
MOST_WHOLE = 1 << 32  # bytes of a pipe or an archive that must be held as a whole

Progress = Callable[[int], None]  # told of bytes read, as they lie in the file

SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".tokens": "tokens",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".npz": "npz",
}
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}


def format_of(path: str, head: bytes) -> str:
    """The format of a file by its suffix, or else by how it begins.

    >>> format_of("clicks.svm.xz", b""), format_of("-", b"1 |user a b")
    ('svmlight', 'vw')
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in SUFFIXES:
        return SUFFIXES[suffixes[-1]]
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    lines = head.split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")]
    format = _format_of_line(lines[0]) if lines else "svmlight"
    _refuse_tables(path, format, lines)
    return format


def _refuse_tables(path: str, format: str, lines: list[bytes]) -> None:
    """Refuse lines of equally many columns between tabs, which no suffix calls a table or tokens."""
    tabs = {line.count(b"\t") for line in lines}
    if format == "vw" or len(tabs) != 1 or min(tabs) < 2 or (format == "svmlight" and b":" in lines[0]):
        return
    raise in_file(
        path,
        None,
        f"each line has {min(tabs) + 1} columns between tabs, as a table has, and no suffix tells; "
        "expected a format: tsv (with --no-header where there are no names), criteo, tokens or svmlight",
    )


def _format_of_line(line: bytes) -> str:
    features = line.split()[1:]
    if b"|" in line and all(_is_number(word) for word in line.partition(b"|")[0].split()[:1]):
        return "vw"
    is_svmlight = all(f.isdigit() or _is_number(f.rpartition(b":")[2]) for f in features)
    return "svmlight" if is_svmlight else "tokens"


def _is_number(word: bytes) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


@contextlib.contextmanager
def opened(path: str, progress: Progress | None = None) -> Iterator[io.BufferedReader]:
    """The bytes of a file (`-` is standard input), decompressed if they are compressed.

    The compression is told by the first bytes, not by the name. What goes wrong while reading is
    said as one `InputError` that names the file.
    """
    with contextlib.ExitStack() as stack:
        with errors_of(path):
            raw = _standard_input() if path == "-" else stack.enter_context(open(path, "rb", buffering=0))
        file: Any = io.BufferedReader(_Filled(path, raw, progress), 1 << 20)
        head = file.peek(8)[:8]
        if head.startswith(b"\x1f\x8b"):
            stream: Any = gzip.GzipFile(fileobj=file)
        elif head.startswith(b"BZh"):
            stream = bz2.BZ2File(file)
        elif head.startswith(b"\xfd7zXZ\x00"):
            stream = lzma.LZMAFile(file)
        elif head.startswith(b"\x28\xb5\x2f\xfd"):
            import pyarrow as pa

            stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
        else:
            stream = None
        yield file if stream is None else io.BufferedReader(_Filled(path, stream), 1 << 20)


def _standard_input() -> io.RawIOBase:
    if sys.stdin is None:
        raise in_file("-", None, "standard input is closed; name a file, or pipe rows into the command")
    return cast(io.RawIOBase, cast(Any, sys.stdin.buffer).raw)


@contextlib.contextmanager
def errors_of(path: str) -> Iterator[None]:
    """Name the file in what goes wrong while it is read; only reading stands within."""
    try:
        yield
    except FileNotFoundError as error:
        raise in_file(path, None, "no such file; check the path") from error
    except IsADirectoryError as error:
        raise in_file(path, None, "is a folder; expected a file") from error
    except PermissionError as error:
        raise in_file(path, None, "may not be read; check its permissions") from error
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise in_file(path, None, f"the archive is truncated or damaged ({error})") from error
    except OSError as error:
        if error.errno == errno.ENOMEM:  # what a mapping raises, where all else raises MemoryError
            raise MemoryError from error
        raise in_file(path, None, f"cannot be read ({error})") from error


class _Filled(io.RawIOBase):
    """A stream that gives all the bytes it is asked for, as long as there are any.

    A pipe gives what is in it at the moment: formats are told by how a file begins, and one byte of it
    tells nothing. The end is final, also on a terminal.
    """

    def __init__(self, path: str, file: Any, progress: Progress | None = None) -> None:
        self._path, self._file, self._progress = path, file, progress
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        filled, room = 0, memoryview(buffer)
        with errors_of(self._path):
            while filled < len(room) and not self._ended:
                count = self._file.readinto(room[filled:])
                if count is None:  # nothing is there yet, and the other end asked not to wait
                    select.select([self._file], [], [])
                    continue
                filled, self._ended = filled + count, count == 0
        if self._progress is not None:
            self._progress(filled)
        return filled


def total_size(paths: list[str]) -> int | None:
    """How many bytes will be read, as they lie in the files; None where that is unknown."""
    try:
        return None if any(map(is_stream, paths)) else sum(os.stat(path).st_size for path in paths)
    except OSError:
        return None


def at_once(threads: int) -> int:
    """How many chunks, or blocks of a file, are in memory at once: one is read and one written beside."""
    return threads + 2


def most_bytes(memory: Limit, threads: int) -> int:
    """How large a chunk may be, so that memory holds all that are there at once."""
    return max(1 << 16, (memory.left() - FOR_KERNELS) // (COST * at_once(threads)))


def chunks_of_lines(
    path: str,
    file: io.BufferedReader,
    size: int = CHUNK,
    grow: Callable[[], bool] = lambda: False,
    *,
    most: int | None = None,
    memory: Limit | None = None,
) -> Iterator[Chunk]:
    """Cut a file into chunks of whole lines of about `size` bytes; a line may be longer, as memory allows.

    Where they may grow, a chunk is a quarter of what came before, from size to four times that, or `most`:
    the distinct strings of a chunk are gathered, and chunks share most of them.
    """
    rest = file.read(3)
    rest = b"" if rest == b"\xef\xbb\xbf" else rest  # a byte order mark is no text
    room = smallest = max(size, 64)
    most = 4 * smallest if most is None else max(most, smallest)
    before = 0
    buffers = Buffers()
    while True:
        buffer = buffers.take(room + 1 + PADDING)
        view = memoryview(buffer)  # type: ignore[arg-type]
        view[: len(rest)] = rest
        filled = len(rest)
        while filled < room:
            count = file.readinto(view[filled:room])
            if not count:
                break
            filled += count
        if memory is not None and filled > most:
            _check_line(path, file, view[:filled], memory)
        if filled < room:  # the end of the file
            if filled:
                if buffer[filled - 1] != 10:
                    buffer[filled] = 10
                    filled += 1
                yield Chunk(path, _padded(buffer, filled), buffer, buffers)
            return
        cut = _last_newline(view, filled) + 1
        rest = bytes(view[cut:filled])
        if cut:
            before += cut
            target = min(max(smallest, before // 4), most) if grow() else smallest
            room = max(target, 2 * len(rest))
            yield Chunk(path, _padded(buffer, cut), buffer, buffers)
        else:
            room *= 2
            if room > LONGEST_LINE:
                raise in_file(path, None, "a line is longer than 1 GiB; is this a text file?")


def _check_line(path: str, file: io.BufferedReader, text: memoryview, memory: Limit) -> None:
    """Refuse a long line that memory will not hold; read on to its end, to say how much it needs."""
    size, words, held = len(text), _count_words(text), 2 * len(text)
    if _bytes_of_line(size, words) - held <= memory.left():
        return
    ended = text[-1] == 10
    while not ended and (piece := file.readline(1 << 20)):
        size, words, ended = size + len(piece), words + _count_words(memoryview(piece)), piece[-1] == 10
    needed = _bytes_of_line(size, words) - held
    memory.check(needed, f"{path}: a line of {size:,} bytes", needed + needed // 4)


def _count_words(text: memoryview) -> int:
    pieces = (bytes(text[at : at + 65536]) for at in range(0, len(text), 65536))
    return sum(piece.count(b" ") + piece.count(b"\t") for piece in pieces)


def _bytes_of_line(size: int, words: int) -> int:
    """The memory that a line takes: its text some times, and what tells its words apart."""
    return 5 * size + 130 * words


def read_whole(path: str, file: io.BufferedReader) -> io.BytesIO:
    """All bytes of a file, for formats that cannot be read as a stream."""
    most = max(MOST_WHOLE, os.stat(path).st_size if os.path.isfile(path) else 0)
    data = io.BytesIO()
    while piece := file.read(1 << 20):
        if data.tell() + len(piece) > most:
            raise in_file(
                path, None, f"expands to more than {most:,} bytes; decompress it, and name the file"
            )
        data.write(piece)
    data.seek(0)
    return data


def _last_newline(view: memoryview, stop: int) -> int:
    """Return the place of the last newline before stop, or -1; look in windows from the end."""
    while stop > 0:
        start = max(0, stop - 65536)
        newline = bytes(view[start:stop]).rfind(b"\n")
        if newline >= 0:
            return start + newline
        stop = start
    return -1


def _padded(buffer: np.ndarray[Any, Any], stop: int) -> Any:
    buffer[stop : stop + PADDING] = 10
    return buffer[: stop + PADDING]
