"""What people see on a terminal: figures, tables and the progress bar."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

from chromatic._figures import shown


@contextlib.contextmanager
def progress_bar(
    what: str, total: int | None, *, of_bytes: bool = True
) -> Iterator[Callable[[int], None] | None]:
    """Show a bar of bytes, or of steps, on a terminal, and nothing on a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    done = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = TextColumn("{task.description}"), BarColumn(), done, TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def say(*lines: str) -> None:
    """Print lines for people: the one place where commands print text."""
    _print("".join(f"{visible(line)}\n" for line in lines))


def say_json(value: Any) -> None:
    """Print a value for programs, as one line of JSON."""
    _print(f"{json.dumps(value)}\n")


def _print(text: str) -> None:
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.write(text)
    sys.stdout.flush()


def tell_of_compiling() -> None:
    """Let people know, once, that they wait for kernels."""
    logging.getLogger("chromatic.compiling").setLevel(logging.INFO)


def visible(line: str) -> str:
    r"""Return a line with its control characters escaped: a name must not move the cursor or change colors.

    >>> print(visible("r\x1b[31med\n"), visible("\u202eleft"), visible("prix=5 €"))
    r\x1b[31med\n \u202eleft prix=5 €
    """
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def show(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, a line each or as JSON."""
    if as_json:
        say_json(figures)
        return
    width = max([22, *(len(name) + 1 for name in figures)])
    for name, value in figures.items():
        say(f"{name.replace('_', ' '):<{width}}{shown(value):>15}")


def show_table(records: list[dict[str, Any]]) -> None:
    """Print records with the same keys as a table; importing rich's takes longer than most commands."""
    head = [name.replace("_", " ") for name in records[0]]
    cells = [head, *([shown(value) for value in record.values()] for record in records)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        say("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
