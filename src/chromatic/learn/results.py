"""The store of results: a cell in the file is not run again, and each is written when it is done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from chromatic._files import check_target, is_stream, replacing
from chromatic.errors import in_file

Record = dict[str, Any]


class Results:
    """The records of a Parquet file. Some keys and values make a cell, which has one record or several.

    Without a path the records are held in memory alone. A `schema` fixes the columns of the file; without
    one they are those of the records. `upgrade` makes a record of an older file one of today.

    >>> results = Results(None)
    >>> results.get({"of": 3}, lambda: [{"square": 9}])
    [{'of': 3, 'square': 9}]
    >>> results.get({"of": 3}, lambda: [{"square": "not asked again"}])
    [{'of': 3, 'square': 9}]
    """

    def __init__(
        self,
        path: str | None,
        schema: Any = None,
        tell: Callable[[Record], None] = lambda cell: None,
        upgrade: Callable[[Record], Record] = lambda record: record,
    ) -> None:
        self.path = path
        self.schema = schema
        self.tell = tell  # called with every cell that is written
        there = _read(path, schema) if path is not None and os.path.exists(path) else []
        self._records = [upgrade(record) for record in there]

    def get(self, cell: Record, compute: Callable[[], list[Record]]) -> list[Record]:
        """Return the records of a cell; compute them unless they are there."""
        return self.done(cell) or self.put(cell, compute())

    def done(self, cell: Record) -> list[Record]:
        """Return the records of a cell; none where it failed."""
        records = self.all(cell)
        return [] if any(record.get("error") for record in records) else records

    def all(self, cell: Record) -> list[Record]:
        """Return the records of a cell, also where it failed."""
        return [record for record in self._records if _is_of(record, cell)]

    def put(self, cell: Record, records: list[Record]) -> list[Record]:
        """Write the records of a cell, in place of older ones."""
        records = [cell | record for record in records]
        self._records = [record for record in self._records if not _is_of(record, cell)] + records
        if self.path is not None:
            _write(self.path, self._records, self.schema)
        self.tell(cell)
        return records


def check_store(path: str) -> None:
    """Refuse a file that results cannot be kept in: they are read again, and written several times."""
    check_target(path)
    if is_stream(path):
        raise in_file(path, None, "is a device or a pipe, and results are read again; expected a file")


def append_lines(path: str, records: Iterable[Record]) -> None:
    """Append records to a log, a line of JSON each: what is measured anew every time."""
    with open(path, "a", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def _is_of(record: Record, cell: Record) -> bool:
    return all(record.get(key) == value for key, value in cell.items())


def _write(path: str, records: list[Record], schema: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if schema is None:
        keys = dict.fromkeys(key for record in records for key in record)
        table = pa.table({key: [record.get(key) for record in records] for key in keys})
    else:
        table = pa.Table.from_pylist(records, schema)
    with replacing(path) as file:
        parquet.write_table(table, file)


def _read(path: str, schema: Any) -> list[Record]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise in_file(path, None, f"is no Parquet file ({error}); name another with --out") from error
    if schema is not None and not table.schema.equals(schema):
        raise in_file(path, None, "has no results of a grid in it; name another with --out")
    records: list[Record] = table.to_pylist()
    return records
