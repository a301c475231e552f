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
SHOWN = {
    "encoder": "<17",
    "learner": "<9",
    "budget": ">9",
    "columns": ">10",
    "parameters": ">12",
    "log_loss": ">9.4f",
    "train_log_loss": ">15.4f",
    "auc": ">8.4f",
    "accuracy": ">9.4f",
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
    default=["vw"],
    help="What learns from them; several times makes a grid.",
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
@options.parameters("dense_threshold", "min_count", "threads", "seed")
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
    from chromatic.learn.evaluate import Networks
    from chromatic.learn.evaluate import evaluate as run
    from chromatic.learn.results import check_store
    from chromatic.learn.splits import Split

    if output is not None:
        check_store(output)
    with jobs.opened([train, test], reading, settings.threads) as reader:
        limits: dict[str, Any] = {"dense_threshold": settings.dense_threshold}
        split = Split.read(train, test, reader, **limits, min_count=settings.min_count)
    for batches in (split.train_batches, split.test_batches):
        LeftOut.of(batches).warn()
    results = run(
        split,
        encoder,
        learner,
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
        cells = list(_printed(results, split.base_log_loss))
    if cells and all(cell["error"] is not None for cell in cells):
        sys.exit(1)


def _printed(results: Iterable[dict[str, Any]], base_log_loss: float) -> Iterator[dict[str, Any]]:
    """Print results as they come, and hand them on."""
    head = "".join(f"{name.replace('_', ' '):{form.split('.')[0]}}" for name, form in SHOWN.items())
    for i, result in enumerate(results):
        if i == 0:
            terminal.say(f"the base rate's log loss is {base_log_loss:.4f}", head)
        terminal.say(_line(result))
        yield result


def _line(result: dict[str, Any]) -> str:
    if result["error"] is not None:
        names = "".join(f"{result[name] or '-':{SHOWN[name]}}" for name in ("encoder", "learner", "budget"))
        return f"{names}  {result['error']}"
    return "".join(
        f"{'-':{form.split('.')[0]}}" if result[name] is None else f"{result[name]:{form}}"
        for name, form in SHOWN.items()
    )
