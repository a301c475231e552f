"""`chromatic evaluate`: encoders and learners compared on data of your own."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from chromatic.cli import options

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


def evaluate(
    train: Annotated[str, typer.Argument(help="The file to train on.")],
    test: Annotated[str, typer.Argument(help="The file to measure on.")],
    reading: options.Reading,
    limits: options.Limits,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            help="submodular, paper, target, frequency, truncation, hashing or none, or a short name: "
            "cl-sm, cl-sm-paper, cl-te, cl-ft, ft, ht; several times makes a grid."
        ),
    ] = None,
    learner: Annotated[
        list[str] | None,
        typer.Option(help="vw, lr, fm, nfm, deepfm, wd or lightgbm; several times makes a grid."),
    ] = None,
    budget: Annotated[
        list[int] | None, typer.Option(help="The most columns; several times makes a grid.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="A Parquet file of results; the cells in it are not run again.")
    ] = None,
    validation: Annotated[
        str,
        typer.Option(help="The fifth of TRAIN that chooses C of lr: random, or last, as TEST will be."),
    ] = "random",
    seed: Annotated[int, typer.Option(help="Of folds, networks and validation rows.")] = 0,
    json_: options.Json = False,
) -> None:
    """Train learners on encoded TRAIN and measure them on TEST, every pair in the same way.

    Example: chromatic evaluate train.svm test.svm --encoder submodular --encoder truncation --learner vw
    """
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.data.batch import LeftOut
    from chromatic.learn.encoders import Split
    from chromatic.learn.evaluate import evaluate as run

    if out is not None:
        check_target(out)
    with reading.reader([train, test]) as reader:
        split = Split.read(
            train, test, reader, dense_threshold=limits.dense_threshold, min_count=limits.min_count
        )
    for batches in (split.train_batches, split.test_batches):
        options.say_what_was_left_out(LeftOut.of(batches))
    results = run(
        split,
        encoder or ["submodular"],
        learner or ["vw"],
        budget or [1024],
        out=out,
        validation=validation,
        seed=seed,
        threads=thread_count(reading.threads),
    )
    if json_:
        told = list(results)
        print(json.dumps(told))
        _fail_where_all_failed(told)
        return
    head = "".join(f"{name.replace('_', ' '):{form.split('.')[0]}}" for name, form in SHOWN.items())
    told = []
    for result in results:
        told.append(result)
        if len(told) == 1:
            print(f"the base rate's log loss is {split.base_log_loss:.4f}\n{head}")
        print(_line(result), flush=True)
    _fail_where_all_failed(told)


def _fail_where_all_failed(results: list[dict[str, Any]]) -> None:
    if results and all(result["error"] is not None for result in results):
        raise typer.Exit(1)


def _line(result: dict[str, Any]) -> str:
    if result["error"] is not None:
        names = "".join(f"{result[name] or '-':{SHOWN[name]}}" for name in ("encoder", "learner", "budget"))
        return f"{names}  {result['error']}"
    return "".join(
        f"{'-':{form.split('.')[0]}}" if result[name] is None else f"{result[name]:{form}}"
        for name, form in SHOWN.items()
    )
