"""`chromatic reproduce`: the tables and figures of the paper, ours beside its numbers."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from chromatic.cli import options, terminal

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.lab.experiments.frame import Outcome
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")


@options.argument("name", "Which, or all of them; without a name, they are listed.", required=False)
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
@options.device
@options.output(
    "The folder to write to; results in it are not computed again.", "--out", default="reproduced"
)
@options.as_json
@options.parameters("threads", "memory", "cache")
@options.reading
def reproduce(
    name: str | None,
    train: str | None,
    test: str | None,
    *,
    shape: list[str],
    data: list[str],
    rows: int | None,
    device: str,
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
    from chromatic.lab.experiments.frame import Conditions
    from chromatic.lab.experiments.registry import EXPERIMENTS, experiments_of

    if name is None:
        for experiment in EXPERIMENTS.values():
            terminal.say(f"{experiment.name:<19}{experiment.what} ({experiment.where})")
        return
    chosen = experiments_of(name)
    if (train is None) != (test is None):
        raise InputError("one of --train and --test is given; expected both")
    files = None if train is None or test is None else (train, test)
    sources_of = partial(sources, files=files, shapes=shape, names=data, rows=rows)
    if device != "cpu":
        _check_device(device)
    reader_of = partial(opened, reading=reading, threads=settings.threads)
    conditions = Conditions(reader_of, _tell, device, settings.memory, settings.cache)
    told, failed = [], []
    for experiment in chosen:
        experiment.check()
    for experiment in chosen:
        try:
            outcome = run(experiment, sources_of(experiment.sets), output, conditions)
        except InputError as error:
            if len(chosen) == 1:
                raise
            failed.append(f"{experiment.name}: {error}")
            continue
        if as_json:
            told.append(_record(experiment.name, outcome))
        else:
            _print(outcome)
    if as_json:
        terminal.say_json(told if len(chosen) > 1 else told[0])
    if failed:
        raise InputError(f"{len(failed)} of {len(chosen)} could not be run; {'; '.join(failed)}")


def run(*given: Any) -> Outcome:
    """Run one experiment."""
    from chromatic.lab.experiments.frame import reproduce

    return reproduce(*given)


def _check_device(device: str) -> None:
    from chromatic.learn.evaluate import Networks

    Networks(device).check()


def _record(name: str, outcome: Outcome) -> dict[str, Any]:
    found = [{"data": one.name, "about": one.about, "records": one.records} for one in outcome.findings]
    return {"experiment": name, "found": found, "files": outcome.files}


def _print(outcome: Outcome) -> None:
    terminal.say(*outcome.text.split("\n"), *outcome.files)


def _tell(line: str) -> None:
    """Say on a terminal how far it is."""
    log.log(logging.WARNING if sys.stderr.isatty() else logging.INFO, "%s", line)
