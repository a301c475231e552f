"""`chromatic demo`: what it does, on real data that comes with it."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    out: Annotated[str, typer.Option(help="The folder for report and figures.")] = "chromatic-demo",
    threads: Annotated[int | None, typer.Option(help="Threads; by default all cores.")] = None,
) -> None:
    """Compare ways to make columns, on names of npm packages, and show a model.

    Example: chromatic demo
    """
    from chromatic._threads import thread_count
    from chromatic.lab.demo import run

    run(out, thread_count(threads), _say)


def _say(line: str) -> None:
    print(line, flush=True)
