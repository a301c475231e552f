"""`chromatic evaluate`: encoders and learners compared on data of your own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from chromatic.cli import options, terminal
from chromatic.registry import ENCODINGS

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

VARIANTS = ("submodular-bins", "submodular-drop", "target-rates", "target-drop")
OTHERS = ("paper", "paper-target", "truncation", "hashing", "sklearn-target", "none")
ENCODERS = (*ENCODINGS, *VARIANTS, *OTHERS)
SHORT = ("cl-sm", "cl-sm-paper", "cl-te", "cl-te-paper", "cl-ft", "ft", "ht")  # the paper's names for them
LEARNERS = ("vw", "lr", "lr-net", "fm", "nfm", "deepfm", "wd", "lightgbm")
CELL = {"encoder": "<17", "learner": "<9", "budget": ">9"}
FORMS = {
    "columns": ">10",
    "parameters": ">12",
    "log_loss": ">9.4f",
    "train_log_loss": ">15.4f",
    "auc": ">8.4f",
    "accuracy": ">9.4f",
    "rmse": ">10.4g",
    "train_rmse": ">12.4g",
    "r2": ">8.4f",
    "encode_seconds": ">15.1f",
    "train_seconds": ">14.1f",
    "peak_mb": ">8.0f",
}


@options.argument("train", "The file to train on.")
@options.argument("test", "The file to measure on.")
@options.option(
    "--encoder",
    words=(*ENCODERS, *SHORT),
    several=True,
    default=["submodular"],
    help="What makes the columns, by its name or the paper's short one; several times makes a grid.",
)
@options.option(
    "--learner",
    words=LEARNERS,
    several=True,
    help="What learns from them, vw unless you name one; several classes and numbers are for lr, which is "
    "then what you get, and lightgbm. Several times makes a grid.",
)
@options.option(
    "--budget",
    number=int,
    several=True,
    default=[1024],
    help="The most columns; several times makes a grid.",
)
@options.option(
    "--validation",
    words=("random", "last"),
    default="random",
    help="The fifth of TRAIN that chooses C of lr: random rows, or the last, as TEST will be.",
)
@options.device
@options.output("A Parquet file of results; the cells in it are not run again.", "--out", default=None)
@options.as_json
@options.parameters("dense_threshold", "min_count", "target_type", "threads", "seed")
@options.reading
def evaluate(
    train: str,
    test: str,
    *,
    encoder: list[str],
    learner: list[str],
    budget: list[int],
    validation: str,
    device: str,
    output: str | None,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Train learners on encoded TRAIN and measure them on TEST, every pair in the same way.

    Example: chromatic evaluate train.svm test.svm --encoder submodular --encoder truncation --learner vw
    """
    from chromatic import jobs
    from chromatic._threads import thread_count
    from chromatic.data.batch import LeftOut
    from chromatic.learn.evaluate import Networks, figures_of
    from chromatic.learn.evaluate import evaluate as run
    from chromatic.learn.results import check_store
    from chromatic.learn.splits import Split

    if output is not None:
        check_store(output)
    with jobs.opened([train, test], reading, settings.threads) as reader:
        taken = ("dense_threshold", "min_count", "target_type")
        given: dict[str, Any] = {name: getattr(settings, name) for name in taken}
        split = Split.read(train, test, reader, **given)
    for batches in (split.train_batches, split.test_batches):
        LeftOut.of(batches).warn()
    results = run(
        split,
        encoder,
        learner or (["vw"] if split.target.refused is None else ["lr"]),
        budget,
        out=output,
        validation=validation,
        seed=settings.seed,
        threads=thread_count(settings.threads),
        networks=Networks(device),
    )
    if as_json:
        cells = list(results)
        terminal.say_json(cells)
    else:
        told = f"{split.target.base_name} is {split.base_loss:.4{'f' if split.target.n_classes else 'g'}}"
        shown = CELL | {name: FORMS[name] for name in figures_of(split.target)}
        cells = list(_printed(results, told, shown))
    if cells and all(cell["error"] is not None for cell in cells):
        sys.exit(1)


def _printed(
    results: Iterable[dict[str, Any]], told: str, shown: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Print what is told of all results, then these as they come, and hand them on."""
    head = "".join(f"{name.replace('_', ' '):{form.split('.')[0]}}" for name, form in shown.items())
    for i, result in enumerate(results):
        if i == 0:
            terminal.say(told, head)
        terminal.say(_line(result, shown))
        yield result


def _line(result: dict[str, Any], shown: dict[str, str]) -> str:
    if result["error"] is not None:
        names = "".join(f"{result[name] or '-':{form}}" for name, form in CELL.items())
        return f"{names}  {result['error']}"
    return "".join(
        f"{'-':{form.split('.')[0]}}" if result[name] is None else f"{result[name]:{form}}"
        for name, form in shown.items()
    )
