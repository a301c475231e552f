"""The flags that commands share, and the reader that they make."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from chromatic.data import Dataset, Reader
    from chromatic.encoding.encoded import Encoded

log = logging.getLogger("chromatic")

Inputs = Annotated[
    list[str], typer.Argument(help="Files, one data set in their order; - is standard input.")
]
Format = Annotated[
    str | None,
    typer.Option(
        help="svmlight, vw, tokens, parquet, arrow, csv, tsv, criteo or npz; by default told by suffix "
        "and content."
    ),
]
Features = Annotated[
    str, typer.Option(help="Features of text: auto, integer (anything else is an error), or string.")
]
Label = Annotated[str | None, typer.Option(help="The label's column in a table; by default 'label'.")]
OnBadLine = Annotated[str, typer.Option(help="raise, or skip bad lines and say how many.")]
Threads = Annotated[int | None, typer.Option(help="Threads; by default all cores.")]
DenseThreshold = Annotated[
    float, typer.Option(help="A feature in more than this share of the rows is dense.")
]
MinCount = Annotated[int, typer.Option(help="Drop sparse features found in fewer rows.")]
Values = Annotated[
    str, typer.Option(help="Values of sparse features: elide, or distinct (each a feature of its own).")
]
To = Annotated[
    str | None, typer.Option(help="svmlight, vw, parquet or npz; by default told by the suffix.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@contextlib.contextmanager
def reader(paths: list[str], **options: Any) -> Iterator[Reader]:
    """A reader with these options that shows on a terminal how far it is."""
    from chromatic.data import Reader
    from chromatic.data.source import total_size
    from chromatic.errors import InputError

    if paths.count("-") > 1:
        raise InputError("standard input (-) is named twice; expected it once at most")
    with progress_bar("reading", total_size(paths)) as progress:
        yield Reader(progress=progress, **options)


@contextlib.contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Any]:
    """A bar of bytes on a terminal, and nothing on a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def number_or_word(text: str | None, kind: type[Any] = int) -> Any:
    """A flag that takes a number or a word; what is neither number nor known is refused later."""
    try:
        return None if text is None else kind(text)
    except ValueError:
        return text


def write_columns(columns: Encoded, labels: Any, path: str, to: str, threads: int) -> None:
    """Write encoded rows. Columns are numbered from 1 in text, as LIBSVM has it, and from 0 elsewhere."""
    from chromatic.data.writers import write

    first = 1 if to in ("svmlight", "vw") else 0
    write(list(columns.to_batches(labels, first)), path, to, threads)


def size_of(data: Dataset) -> dict[str, Any]:
    """The paper's figures of a data set; those of nnz are of sparse features only."""
    if data.rows.labels is None:
        log.warning("the rows have no labels; in a table, --label names their column")
    if not len(data.vocabulary) and data.vocabulary.dense_names:
        log.warning("all features are dense; a higher --dense-threshold makes them sparse")
    return {
        "rows": data.rows.n_rows,
        "dense_features": len(data.vocabulary.dense_names),
        "sparse_features": len(data.vocabulary),
        "avg_nnz": data.rows.average_nnz,
        "max_nnz": data.rows.largest_nnz,
    }


def show(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, a line each or as JSON."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max([22, *(len(name) + 1 for name in figures)])
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):<{width}}{shown(value):>15}")


def shown(value: Any) -> str:
    """A figure as people write it."""
    if value is None:
        return "-"
    if isinstance(value, float):
        digits = 7 if 0.9995 <= value < 1 else 4  # a share close to all is not all
        return f"{value:,.{digits}g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def say_what_was_left_out(skipped_lines: int, ignored: int, missing: int) -> None:
    """Nothing is dropped silently."""
    if skipped_lines:
        log.warning("skipped %s bad lines", f"{skipped_lines:,}")
    if ignored:
        log.warning("ignored %s query ids, importance weights or bases", f"{ignored:,}")
    if missing:
        log.warning("read %s empty numeric cells as 0", f"{missing:,}")
