"""`chromatic reproduce`: the tables and figures of the paper, ours beside its numbers."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from chromatic.cli import options


def reproduce(
    reading: options.Reading,
    name: Annotated[str | None, typer.Argument(help="Which; without a name, they are listed.")] = None,
    train: Annotated[str | None, typer.Option(help="A file of your own to train on.")] = None,
    test: Annotated[str | None, typer.Option(help="The file to test on.")] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(help="Synthetic rows in the shape of url, kdda, kddb or kdd12; several times: each."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="A set of the paper, in the cache; by default all of its sets that are there."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Of a shape, how many (20,000); else at most so many, around the cut in time."),
    ] = None,
    out: Annotated[
        str, typer.Option(help="The folder to write to; results in it are not computed again.")
    ] = ("reproduced"),
    json_: options.Json = False,
) -> None:
    """Reproduce a table or a figure of the paper: results, a table beside the paper's numbers, a figure.

    Example: chromatic reproduce fig-linear --shape kdda --rows 50000
    """
    from chromatic.errors import InputError
    from chromatic.lab.experiments.data import sources
    from chromatic.lab.experiments.frame import reproduce as run
    from chromatic.lab.experiments.registry import EXPERIMENTS, experiment_of

    if name is None:
        for experiment in EXPERIMENTS.values():
            print(f"{experiment.name:<19}{experiment.what} ({experiment.where})")
        return
    experiment = experiment_of(name)
    if (train is None) != (test is None):
        raise InputError("one of --train and --test is given; expected both")
    files = None if train is None or test is None else (train, test)
    chosen = sources(experiment.sets, files=files, shapes=shape or (), names=data or (), rows=rows)
    outcome = run(experiment, chosen, out, reading.reader, _tell)
    if json_:
        told = [{"data": one.name, "about": one.about, "records": one.records} for one in outcome.findings]
        print(json.dumps({"experiment": name, "found": told, "files": outcome.files}))
        return
    print(outcome.text)
    for path in outcome.files:
        print(path)


def _tell(line: str) -> None:
    """Say on a terminal how far it is."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr)
    else:
        options.log.info("%s", line)
