"""`chromatic update` and `chromatic merge`: models that later rows, or other models, are added to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from chromatic.cli import options
from chromatic.errors import InputError

if TYPE_CHECKING:
    from chromatic._paths import RowFiles
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings


@options.model
@options.argument("new", "Files of new rows with labels; - is standard input.", several=True)
@options.output("The model file to write; it may be that of the model.")
@options.option(
    "--decay",
    number=float,
    default=1.0,
    help="How much earlier rows count from now on, above 0 and up to 1.",
)
@options.option(
    "--drop-after",
    number=int,
    help="Drop features that were in no row of so many updates, this one included; by default none.",
)
@options.parameters("threads", "Rows")
@options.of_rows
@options.reading
def update(
    model: str,
    new: list[str],
    output: str,
    *,
    decay: float,
    drop_after: int | None,
    settings: Settings,
    of_rows: RowFiles,
    reading: Reading,
) -> None:
    """Add rows to those of a model that was fitted with --keep-statistics.

    Columns keep their numbers, names and meanings, so that a model trained on them stays valid. Known
    features keep their colors and their rates move; new ones get colors by the rows in which they come.

    Example: chromatic update model.chroma today.svm.gz -o model.chroma --decay 0.95 --drop-after 30
    """
    from chromatic import jobs
    from chromatic._files import check_target
    from chromatic.modelfile import load

    check_target(output)
    replace(of_rows, weights=None).refuse("and an update makes no folds; expected none")
    forget = {"decay": decay, "drop_after": drop_after}
    updated = jobs.update_files(load(model), new, reading, settings, of_rows, **forget)
    jobs.save_model(updated, output)


@options.argument("models", "Model files that were fitted like one another.", several=True)
@options.output("The model file to write.")
def merge(models: list[str], output: str) -> None:
    """Make one model of several that were fitted like one another with --keep-statistics.

    Their statistics add up, and columns are learned anew from the sums. One model gives the features and
    colors: chromatic fit monday.svm --keep-statistics -o a.chroma, then chromatic fit tuesday.svm --like
    a.chroma -o b.chroma.

    Example: chromatic merge a.chroma b.chroma -o both.chroma
    """
    from chromatic import jobs
    from chromatic._files import check_target
    from chromatic.model import merged
    from chromatic.modelfile import load

    if len(models) < 2:
        raise InputError("one model is named; expected two or more to merge")
    check_target(output)
    jobs.save_model(merged([load(path) for path in models]), output)
