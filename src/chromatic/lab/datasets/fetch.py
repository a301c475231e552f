"""The paper's data sets on this machine: downloaded once, checked, and split as in the paper.

They lie in a folder of their own under the cache folder, which the environment variable CHROMATIC_DATA
names. CHROMATIC_DATA_URL names a mirror to download from in place of the sets' own servers.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chromatic._files import cache_folder, replacing
from chromatic.data.source import opened
from chromatic.errors import InputError
from chromatic.lab.datasets.registry import DataSet, File

log = logging.getLogger("chromatic")

Bar = Callable[[str, int | None], AbstractContextManager[Any]]  # what, bytes in all: a progress to tell

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Paths:
    """Where the training and the test rows of a data set are."""

    train: str
    test: str


def cached(data_set: DataSet) -> Paths | None:
    """Return where the rows are, or None before they are downloaded."""
    folder = cache_folder() / data_set.name
    if _is_split(data_set):
        parts = [path if path.exists() else None for path in _parts(data_set, folder)]
    else:
        parts = [_present(file, folder) for file in data_set.files]
    train, test = parts
    return None if train is None or test is None else Paths(str(train), str(test))


def get(data_set: DataSet, bar: Bar | None = None) -> Paths:
    """Download what is missing, check what is there, split it; return the paths of the rows."""
    folder = cache_folder() / data_set.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / ".writable"):
            pass
        (folder / ".writable").unlink()
    except OSError as error:
        raise InputError(
            f"cannot write to the cache folder {folder} ({error.strerror}); set CHROMATIC_DATA to a folder "
            "that you may write to"
        ) from error
    bar = bar or (lambda what, total: contextlib.nullcontext())
    files = [_fetch(data_set, file, folder, bar) for file in data_set.files]
    if not _is_split(data_set):
        train, test = files
        return Paths(str(train), str(test))
    parts = _parts(data_set, folder)
    made = [path.stat().st_mtime if path.exists() else 0.0 for path in parts]
    if min(made) < files[0].stat().st_mtime:
        _split(data_set, files[0], parts, bar)
    return Paths(*map(str, parts))


def _is_split(data_set: DataSet) -> bool:
    return len(data_set.files) == 1


def _parts(data_set: DataSet, folder: Path) -> tuple[Path, Path]:
    suffix = "tsv" if data_set.format == "criteo" else "svm"
    return folder / f"train.{suffix}.zst", folder / f"test.{suffix}.zst"


def _present(file: File, folder: Path) -> Path | None:
    return next((folder / name for name in file.names if (folder / name).exists()), None)


def _fetch(data_set: DataSet, file: File, folder: Path, bar: Bar) -> Path:
    """Download a file of a data set unless it is there and whole."""
    from chromatic.lab.datasets.download import NotThere, download

    base = (os.environ.get("CHROMATIC_DATA_URL") or data_set.base).rstrip("/") + "/"
    present = _present(file, folder)
    names = (present.name,) if present else file.names
    for name in names:
        try:
            return download(base + name, folder / name, file.sha256, bar)
        except NotThere as error:  # perhaps it is there under its other name
            missing = error
    raise InputError(f"{missing}; see {data_set.page}, and set CHROMATIC_DATA_URL to where the files are")


def _split(data_set: DataSet, source: Path, parts: tuple[Path, Path], bar: Bar) -> None:
    """Write the first rows of a file to one part and the others to another."""
    log.info("splitting %s", source)
    lines = _criteo_lines if data_set.format == "criteo" else _lines
    cut = data_set.first_rows
    if data_set.share is not None:
        with bar(f"counting {source.name}", source.stat().st_size) as progress:
            cut = round(data_set.share * sum(block.count(b"\n") for block in _lines(source, progress)))
    assert cut is not None
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(bar(f"splitting {source.name}", source.stat().st_size))
        train, test = (stack.enter_context(replacing(part)) for part in parts)
        left, others = cut, 0
        for block in lines(source, progress):
            n = block.count(b"\n")
            end = len(block) if n <= left else _end_of_line(block, left)
            train.write(block[:end])
            test.write(block[end:])
            others += max(0, n - left)
            left -= min(n, left)
        if left or not others:
            raise InputError(
                f"{source}: has {cut - left + others:,} rows; expected more than {cut:,}, as in the paper: "
                "delete the file and get it again"
            )


def _end_of_line(block: bytes, n: int) -> int:
    """Return where the first n lines of a block end."""
    if n == 0:
        return 0
    return next(itertools.islice(_ends(block), n - 1, None))


def _ends(block: bytes) -> Iterator[int]:
    at = block.find(b"\n")
    while at >= 0:
        yield at + 1
        at = block.find(b"\n", at + 1)


def _lines(path: Path, progress: Any) -> Iterator[bytes]:
    """Yield the text of a file in blocks; the last line ends with a newline, too."""
    last = b"\n"
    with opened(str(path), progress) as file:
        while block := file.read(_BLOCK):
            last = block[-1:]
            yield block
    if last != b"\n":
        yield b"\n"


def _criteo_lines(path: Path, progress: Any) -> Iterator[bytes]:
    """Yield Criteo's training rows in blocks of whole lines, counts as logarithms."""
    import pyarrow as pa

    from chromatic.data.tables import read_tables

    with opened(str(path), progress) as file:
        try:
            with tarfile.open(fileobj=file, mode="r|") as archive:
                for member in archive:
                    if Path(member.name).name == "train.txt":
                        rows: Any = archive.extractfile(member)
                        yield from _with_logarithms(read_tables(str(path), rows, "criteo", None))
                        return
        except (tarfile.TarError, pa.ArrowInvalid) as error:
            raise InputError(
                f"{path}: is not Criteo's archive ({error}); delete it and get it again"
            ) from error
    raise InputError(f"{path}: is not Criteo's archive (it has no train.txt); delete it and get it again")


def _with_logarithms(tables: Iterable[Any]) -> Iterator[bytes]:
    """Yield tables in Criteo's layout as text, a count x as sign(x) ln(1 + |x|): a few are negative."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    for table in tables:
        columns = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name == "label":
                column = column.cast(pa.int8())
            elif name.startswith("I"):
                column = pc.round(pc.multiply(pc.sign(column), pc.log1p(pc.abs(column))), 6)
            columns[name] = column
        out = pa.BufferOutputStream()
        csv.write_csv(pa.table(columns), out, options)
        yield out.getvalue().to_pybytes()
