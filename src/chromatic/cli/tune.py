"""`chromatic tune`: choose settings on held-out rows, and fit with them."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from chromatic.cli import options, terminal
from chromatic.errors import InputError
from chromatic.parameters import PARAMETERS

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.learn.tuning import Trial, Tuner
    from chromatic.parameters import Settings

HELD_OUT = ("random", "last")
CHOSEN = ("Columns", "Colors", "Labels", "Features", "threads", "seed")  # rows are in memory
FLAGS = {one.name: one.flag for one in PARAMETERS}


@options.inputs("train")
@options.option(
    "--validation",
    default="random",
    help="The rows that judge: a random fifth of TRAIN, the last fifth, or a file of later rows. With "
    "--engine spark, Parquet of later rows.",
    metavar="random|last|FILE",
)
@options.output("The model file to write, fitted to all of TRAIN.")
@options.as_json
@options.parameters(*CHOSEN)
@options.reading
@options.engine
def tune(
    train: list[str],
    validation: str,
    output: str,
    *,
    as_json: bool,
    settings: Settings,
    reading: Reading,
    engine: options.Engine,
) -> None:
    """Try some settings on held-out rows, and write a model of TRAIN with the best of them.

    Tried are no linear columns, 16, 32 or 64 colors, stronger smoothing, a dearer column and a smaller
    budget, one after the other, each with the best of those before. What you set stays as it is. Rows are
    held in memory; with --engine spark, at most 100,000 encoded rows of TRAIN and as many that judge.

    Example: chromatic tune june.svm.gz --validation july.svm.gz -o model.chroma --budget 1024
    """
    if engine.is_spark:
        _tune_on_spark(
            train, validation, output, as_json=as_json, settings=settings, reading=reading, engine=engine
        )
        return
    from chromatic import jobs
    from chromatic._files import check_target
    from chromatic.data.batch import LeftOut
    from chromatic.fitting import MemorySource, fit
    from chromatic.learn.tuning import Tuner

    files = [] if validation in HELD_OUT else [validation]
    if files and validation != "-" and not os.path.exists(validation):
        raise InputError(
            f"--validation is {validation!r}, and there is no such file; expected random, last or a file"
        )
    check_target(output)
    with jobs.opened([*train, *files], reading, settings.threads) as reader:
        batches = reader.batches(train)
        others = reader.like(batches).batches(files) if files else []
    LeftOut.of(others).warn()
    chosen = _tried(Tuner.of(batches, others or validation, settings), as_json=as_json)[0].settings
    fitted = fit(MemorySource(batches, threads=settings.threads), chosen)
    jobs.save_model(jobs.model_of(fitted, reading), output)


def _tune_on_spark(
    train: list[str],
    validation: str,
    output: str,
    *,
    as_json: bool,
    settings: Settings,
    reading: Reading,
    engine: options.Engine,
) -> None:
    from chromatic import jobs
    from chromatic.spark import check_installed

    if validation in HELD_OUT:
        raise InputError(
            f"--validation is {validation}; expected Parquet of other rows with --engine spark, or "
            "--engine local"
        )
    jobs.check_for_spark(reading, None, settings)
    check_installed()
    from chromatic.spark import commands

    commands.tune(
        train,
        validation,
        output,
        partial(_tried, as_json=as_json),
        settings=replace(settings, categorical=reading.categorical),  # type: ignore[arg-type]
        features=engine.input_col,
        label=reading.label or "label",
        master=engine.master,
    )


def _tried(tuner: Tuner, *, as_json: bool) -> list[Trial]:
    """Try settings, print what was tried, and return it, best first."""
    from chromatic.learn.tuning import best_first

    trials = []
    with terminal.progress_bar("tuning", tuner.n_trials, of_bytes=False) as advance:
        for trial in tuner.trials():
            trials.append(trial)
            if advance is not None:
                advance(1)
    _show(tuner, best_first(trials), as_json=as_json)
    return best_first(trials)


def _show(tuner: Tuner, trials: list[Trial], *, as_json: bool) -> None:
    """Print what was tried, best first."""
    if as_json:
        terminal.say_json({**tuner.figures, "tried": [_record(trial, tuner) for trial in trials]})
        return
    terminal.say(tuner.sentence)
    terminal.show_table([_shown(trial, tuner) for trial in trials])
    for trial in trials:
        if trial.error is not None:
            terminal.say(f"{_flags(trial)}: {trial.error}")
    terminal.say(f"best: {_flags(trials[0])}")


def _record(trial: Trial, tuner: Tuner) -> dict[str, Any]:
    return {
        "settings": trial.changed,
        tuner.split.target.loss_key: trial.loss,
        "columns": trial.columns,
        "C": trial.strength,
        "seconds": round(trial.seconds, 3),
        "error": trial.error,
    }


def _shown(trial: Trial, tuner: Tuner) -> dict[str, Any]:
    return {
        tuner.split.target.loss_name: None if trial.loss is None else f"{trial.loss:.5f}",
        "columns": trial.columns,
        "C": trial.strength,
        "seconds": f"{trial.seconds:.1f}",
        "settings": _flags(trial),
    }


def _flags(trial: Trial) -> str:
    """Return what differs from the settings that were given, as flags of `chromatic fit`."""
    return " ".join(f"{FLAGS[name]} {value:g}" for name, value in trial.changed.items()) or "as given"
