"""Files of rows to files of columns, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from chromatic._threads import ordered_map
from chromatic.data import Reader
from chromatic.data.batch import Batch, LeftOut
from chromatic.data.names import with_twelve_digits
from chromatic.data.unseen import Unseen, check_known
from chromatic.data.writers import TEXT, lines_of, write, write_lines
from chromatic.encoding.encoded import Encoded
from chromatic.encoding.protocol import Encoding

Piece = TypeVar("Piece")


def write_columns(
    pieces: Iterable[Piece],
    encode: Callable[[Piece], tuple[Encoded, Any]],
    path: str,
    to: str,
    threads: int,
    *,
    check: Callable[[], None] | None = None,
) -> None:
    """Write rows as columns, with their labels: each piece is encoded, and made text, by one thread.

    Columns are numbered from 1 in text, as LIBSVM has it, and from 0 elsewhere. Numbers have twelve digits
    in text: the last ones of float64 say nothing, and take time to write and to read. `check` is called
    when all pieces are encoded; where it raises, no file is written.
    """
    is_text = to in TEXT

    def made(piece: Piece) -> Any:
        columns, labels = encode(piece)
        batch = columns.to_batch(labels, int(is_text), fold=is_text)
        if not is_text:
            return batch
        return lines_of(replace(batch, values=with_twelve_digits(batch.values)), to)

    def checked() -> Iterator[Any]:
        yield from ordered_map(made, pieces, threads)
        if check is not None:
            check()

    if is_text:
        write_lines(checked(), path)
    else:
        write(list(checked()), path, to, threads)


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
    left_out, n_numeric = LeftOut(), len(encoding.vocabulary.numeric_names)
    unseen: list[Unseen] = []

    def encode(batch: Batch) -> tuple[Encoded, Any]:
        rows = encoding.vocabulary.encode([batch])
        check_known(rows, handle_unknown)
        unseen.append(Unseen.of(rows, n_numeric))
        return encoding.encode(rows), rows.labels

    def counted(batches: Iterable[Batch]) -> Iterator[Batch]:
        nonlocal left_out
        for batch in batches:
            left_out += LeftOut.of([batch])
            yield batch

    def unseen_of_all() -> Unseen:
        return sum(unseen, Unseen())

    write_columns(
        counted(reader.stream(paths)),
        encode,
        output,
        to,
        reader.threads,
        check=lambda: unseen_of_all().refuse_all(),
    )
    unseen_of_all().warn()
    return left_out
