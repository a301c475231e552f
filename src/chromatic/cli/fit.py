"""`chromatic fit` and `chromatic encode`: learn columns from training data."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from chromatic.cli import options
from chromatic.errors import InputError
from chromatic.parameters import PARAMETERS

if TYPE_CHECKING:
    from chromatic._paths import RowFiles
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")

GROUPS = ("Columns", "Colors", "Labels", "Rows", "Features", "Running")


@options.inputs("train")
@options.output("The model file to write.")
@options.option(
    "--encoded", section="Output", help="Also write the training rows, each encoded by the rates of others."
)
@options.to
@options.option(
    "--like",
    metavar="MODEL",
    section="Output",
    help="Take features, colors and parameters from a model that keeps its statistics, to merge both.",
)
@options.parameters(*GROUPS)
@options.of_rows
@options.reading
@options.engine
def fit(
    train: list[str],
    output: str,
    encoded: str | None,
    to: str | None,
    *,
    like: str | None,
    settings: Settings,
    of_rows: RowFiles,
    reading: Reading,
    engine: options.Engine,
) -> None:
    """Learn columns from TRAIN and write them to a model file.

    Example: chromatic fit train.svm.gz -o model.chroma --budget 1024 --encoded train-columns.svm
    """
    from chromatic import jobs
    from chromatic._files import check_target

    if like is not None:
        others = {"--encoded": encoded is not None, "--to": to is not None, "--engine": engine.is_spark}
        _check_alone(like, settings, reading, others)
        _fit_like(like, train, output, settings=settings, of_rows=of_rows, reading=reading)
        return
    if engine.is_spark:
        jobs.check_for_spark(reading, to, settings)
        of_rows.refuse("which --engine spark does not take; expected a column: --weight or --group")
        _fit_on_spark(train, output, encoded, settings=settings, reading=reading, engine=engine)
        return
    targets = [] if encoded is None else [jobs.target_of(encoded, to)]
    check_target(output)
    jobs.check_fit(settings, *targets)
    with jobs.fit_files(train, settings, reading, of_rows) as fitted:
        for target in targets:
            jobs.write_training_rows(fitted, target, settings.threads)
        model = jobs.model_of(fitted, reading)
        jobs.save_model(model, output)
        if model.kept is not None:
            size = f"{model.kept.size / 1e3:,.0f}"
            log.warning("%s kB of the model are statistics, for later rows", size)


def _fit_like(
    like: str, train: list[str], output: str, *, settings: Settings, of_rows: RowFiles, reading: Reading
) -> None:
    from chromatic import jobs
    from chromatic._files import check_target
    from chromatic.modelfile import load

    check_target(output)
    jobs.save_model(jobs.fit_files_like(load(like), train, reading, settings, of_rows), output)


def _check_alone(like: str, settings: Settings, reading: Reading, others: dict[str, bool]) -> None:
    """Refuse flags that have no say beside --like."""
    taken = [one for one in PARAMETERS if one.group not in ("Rows", "Reading") and one.name != "threads"]
    given = {one.flag: getattr(settings, one.name) != one.default for one in taken}
    given |= {"--categorical": reading.categorical != "auto"} | others
    for flag, is_given in given.items():
        if is_given:
            told = f"{flag} is given with --like, which fits in memory with the parameters of {like}"
            raise InputError(f"{told}; expected one of them")


def _fit_on_spark(
    train: list[str],
    output: str,
    encoded: str | None,
    *,
    settings: Settings,
    reading: Reading,
    engine: options.Engine,
) -> None:
    from chromatic.spark import check_installed

    check_installed()
    from chromatic.spark import commands

    commands.fit(
        train,
        output,
        encoded,
        settings=replace(settings, categorical=reading.categorical),  # type: ignore[arg-type]
        features=engine.input_col,
        label=reading.label or "label",
        master=engine.master,
    )


@options.inputs("train")
@options.option(
    "--test",
    several=True,
    required=True,
    section="Output",
    help="Rows to encode too; may be given several times.",
)
@options.output("The folder to write to.")
@options.to
@options.option(
    "--merge",
    is_flag=True,
    default=False,
    section="Output",
    help="Write equal training rows as one row with a weight; with --to vw or --to parquet.",
)
@options.parameters(*GROUPS)
@options.of_rows
@options.reading
def encode(
    train: list[str],
    test: list[str],
    output: str,
    to: str | None,
    *,
    merge: bool,
    settings: Settings,
    of_rows: RowFiles,
    reading: Reading,
) -> None:
    """Learn columns from TRAIN and write model, training rows and TEST to a folder, in one process.

    The folder gets model.chroma, train.svm and test.svm, or their suffixes for another format. Columns
    count from 1 in svmlight and Vowpal Wabbit text, and from 0 elsewhere.

    Example: chromatic encode train.svm.gz --test test.svm.gz -o columns
    """
    from chromatic.jobs import encode_files

    encode_files(
        train, test, output, settings=settings, reading=reading, of_rows=of_rows, to=to, merge=merge
    )
