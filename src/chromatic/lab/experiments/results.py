"""The results of experiments: cells in Parquet files, kept as they come, so that none is run twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from chromatic._files import replacing
from chromatic.errors import in_file

Record = dict[str, Any]


class Store:
    """The Parquet files of a folder. A cell, told by some keys and values, has one record or several.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.get("squares", {"of": 3}, lambda: [{"square": 9}])
    [{'of': 3, 'square': 9}]
    >>> store.get("squares", {"of": 3}, lambda: [{"square": "not asked again"}])
    [{'of': 3, 'square': 9}]
    """

    def __init__(self, folder: str, tell: Callable[[str], None] = lambda line: None) -> None:
        self.folder = folder
        self.tell = tell
        self._files: dict[str, list[Record]] = {}

    @property
    def paths(self) -> list[str]:
        """The files that were asked for."""
        return [self._path(name) for name in self._files]

    def get(self, name: str, cell: Record, compute: Callable[[], list[Record]]) -> list[Record]:
        """The records of a cell, computed unless the file has them."""
        return self.kept(name, cell) or self.put(name, cell, compute())

    def kept(self, name: str, cell: Record) -> list[Record]:
        """The records of a cell that the file has; none where it failed."""
        found = self.all(name, cell)
        return [] if any(record.get("error") for record in found) else found

    def all(self, name: str, cell: Record) -> list[Record]:
        """The records of a cell that the file has, also of one that failed."""
        return [record for record in self._read(name) if _is_of(record, cell)]

    def put(self, name: str, cell: Record, records: list[Record]) -> list[Record]:
        """Keep the records of a cell, in place of older ones."""
        records = [cell | record for record in records]
        others = [record for record in self._read(name) if not _is_of(record, cell)]
        self._files[name] = others + records
        _write(self._path(name), self._files[name])
        told = (f"{key} {value}" for key, value in cell.items() if key != "data")
        self.tell(f"{name}: {', '.join(told)}")
        return records

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.parquet")

    def _read(self, name: str) -> list[Record]:
        if name not in self._files:
            path = self._path(name)
            self._files[name] = _read(path) if os.path.exists(path) else []
        return self._files[name]


def _is_of(record: Record, cell: Record) -> bool:
    return all(record.get(key) == value for key, value in cell.items())


def _write(path: str, records: list[Record]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    keys = dict.fromkeys(key for record in records for key in record)
    columns = {key: [record.get(key) for record in records] for key in keys}
    with replacing(path) as file:
        parquet.write_table(pa.table(columns), file)


def _read(path: str) -> list[Record]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        records: list[Record] = parquet.read_table(path).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise in_file(
            path, None, f"is no Parquet file ({error}); name another folder with --out"
        ) from error
    return records
