"""`chromatic evaluate`: encoders and learners compared on data of your own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from chromatic.cli import options
from chromatic.registry import ENCODINGS

if TYPE_CHECKING:
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

ENCODERS = (*ENCODINGS, "paper", "truncation", "hashing", "none")
SHORT = ("cl-sm", "cl-sm-paper", "cl-te", "cl-ft", "ft", "ht")  # the paper's names for them
LEARNERS = ("vw", "lr", "fm", "nfm", "deepfm", "wd", "lightgbm")
SHOWN = {
    "encoder": "<12",
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
    output: str | None,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Train learners on encoded TRAIN and measure them on TEST, every pair in the same way.

    Example: chromatic evaluate train.svm test.svm --encoder submodular --encoder truncation --learner vw
    """
    from chromatic import jobs
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.data.batch import LeftOut
    from chromatic.learn.encoders import Split
    from chromatic.learn.evaluate import evaluate as run

    if output is not None:
        check_target(output)
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
    )
    if as_json:
        cells = list(results)
        print(json.dumps(cells))
    else:
        cells = list(_printed(results, split.base_log_loss))
    if cells and all(cell["error"] is not None for cell in cells):
        sys.exit(1)


def _printed(results: Iterable[dict[str, Any]], base_log_loss: float) -> Iterator[dict[str, Any]]:
    """Print results as they come, and hand them on."""
    head = "".join(f"{name.replace('_', ' '):{form.split('.')[0]}}" for name, form in SHOWN.items())
    for i, result in enumerate(results):
        if i == 0:
            print(f"the base rate's log loss is {base_log_loss:.4f}\n{head}")
        print(_line(result), flush=True)
        yield result


def _line(result: dict[str, Any]) -> str:
    if result["error"] is not None:
        names = "".join(f"{result[name] or '-':{SHOWN[name]}}" for name in ("encoder", "learner", "budget"))
        return f"{names}  {result['error']}"
    return "".join(
        f"{'-':{form.split('.')[0]}}" if result[name] is None else f"{result[name]:{form}}"
        for name, form in SHOWN.items()
    )
