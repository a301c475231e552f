"""`chromatic demo`: what it does, on real data that comes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chromatic.cli import options, terminal

if TYPE_CHECKING:
    from chromatic.parameters import Settings


@options.output("The folder for report and figures.", "--out", default="chromatic-demo")
@options.parameters("threads")
def demo(output: str, settings: Settings) -> None:
    """Compare ways to make columns, on names of npm packages, and show a model.

    Example: chromatic demo
    """
    from chromatic._threads import thread_count
    from chromatic.lab.demo import run

    terminal.tell_of_compiling()
    run(output, thread_count(settings.threads), _say)


def _say(line: str) -> None:
    terminal.say(*line.split("\n"))
