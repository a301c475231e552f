"""Files of rows to files of columns, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chromatic._threads import ordered_map
from chromatic.data import Reader
from chromatic.data.batch import Batch, LeftOut
from chromatic.data.unseen import Unseen, check_known
from chromatic.data.writers import TEXT, write, write_text
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.protocol import Encoding


def write_columns(pieces: Iterable[tuple[Encoded, Any]], path: str, to: str, threads: int) -> None:
    """Write encoded rows and their labels, which come some rows at a time.

    Columns are numbered from 1 in text, as LIBSVM has it, and from 0 elsewhere.
    """
    is_text = to in TEXT
    batches = (columns.to_batch(labels, int(is_text), fold=is_text) for columns, labels in pieces)
    if is_text:
        write_text(batches, path, to, threads)
    else:
        write(list(batches), path, to, threads)


def transform_files(
    reader: Reader,
    paths: list[str],
    encoding: Encoding,
    output: str,
    to: str,
    *,
    handle_unknown: str = "ignore",
) -> LeftOut:
    """Write the rows of files as columns, and return what reading left out.

    Files none of whose features is known are refused, and none is written.
    """
    left_out, unseen, n_numeric = LeftOut(), Unseen(), len(encoding.vocabulary.numeric_names)

    def encode(batch: Batch) -> tuple[tuple[Encoded, Any], Unseen]:
        rows = encoding.vocabulary.encode([batch])
        check_known(rows, handle_unknown)
        return (encoding.encode(rows), rows.labels), Unseen.of(rows, n_numeric)

    def counted(batches: Iterable[Batch]) -> Iterator[Batch]:
        nonlocal left_out
        for batch in batches:
            left_out += LeftOut.of([batch])
            yield batch

    def pieces() -> Iterator[tuple[Encoded, Any]]:
        nonlocal unseen
        for piece, here in ordered_map(encode, counted(reader.stream(paths)), reader.threads):
            unseen += here
            yield piece
        unseen.refuse_all()

    write_columns(pieces(), output, to, reader.threads)
    unseen.warn()
    return left_out
