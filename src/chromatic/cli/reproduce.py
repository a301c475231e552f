"""`chromatic reproduce`: the tables and figures of the paper, ours beside its numbers."""

from __future__ import annotations

import json
import logging
import sys
from functools import partial
from typing import TYPE_CHECKING

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")


@options.argument("name", "Which; without a name, they are listed.", required=False)
@options.option("--train", help="A file of your own to train on.")
@options.option("--test", help="The file to test on.")
@options.option(
    "--shape",
    several=True,
    help="Synthetic rows in the shape of url, kdda, kddb or kdd12; several times: each.",
)
@options.option(
    "--data",
    several=True,
    help="A set of the paper, in the cache; by default all of its sets that are there.",
)
@options.option(
    "--rows",
    number=int,
    help="Of a shape, how many (20,000); else at most so many, around the cut in time.",
)
@options.output(
    "The folder to write to; results in it are not computed again.", "--out", default="reproduced"
)
@options.as_json
@options.parameters("threads")
@options.reading
def reproduce(
    name: str | None,
    train: str | None,
    test: str | None,
    *,
    shape: list[str],
    data: list[str],
    rows: int | None,
    output: str,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Reproduce a table or a figure of the paper: results, a table beside the paper's numbers, a figure.

    Example: chromatic reproduce fig-linear --shape kdda --rows 50000
    """
    from chromatic.errors import InputError
    from chromatic.jobs import opened
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
    chosen = sources(experiment.sets, files=files, shapes=shape, names=data, rows=rows)
    reader_of = partial(opened, reading=reading, threads=settings.threads)
    outcome = run(experiment, chosen, output, reader_of, _tell)
    if as_json:
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
        log.info("%s", line)
