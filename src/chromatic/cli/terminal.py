"""What people see on a terminal: figures, tables and the progress bar."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from chromatic._figures import shown


@contextlib.contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """Show a bar of bytes on a terminal, and nothing on a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def show(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, a line each or as JSON."""
    if as_json:
        print(json.dumps(figures))
        return
    width = max([22, *(len(name) + 1 for name in figures)])
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):<{width}}{shown(value):>15}")


def show_table(records: list[dict[str, Any]]) -> None:
    """Print records with the same keys as a table; importing rich's takes longer than most commands."""
    head = [name.replace("_", " ") for name in records[0]]
    cells = [head, *([shown(value) for value in record.values()] for record in records)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
