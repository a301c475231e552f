"""`chromatic benchmark`: seconds, memory and peers."""

from __future__ import annotations

from typing import Annotated

import typer


def benchmark(
    name: Annotated[
        str | None,
        typer.Argument(
            help="read, color, graph, quantize, encode, job, one or start; without a name, all of them. "
            "growth: how stages grow with the data. train: networks beside plain torch. spark: Spark "
            "beside the local fit. shapes: synthetic rows beside the paper's. table: what is wanted, and "
            "whether it is met."
        ),
    ] = None,
    train: Annotated[str | None, typer.Option(help="svmlight text to train on.")] = None,
    test: Annotated[str | None, typer.Option(help="svmlight text to test on.")] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Without files, so many synthetic rows in the shape of kdda (100,000)."),
    ] = None,
    runs: Annotated[int, typer.Option(help="The best of so many is told.")] = 3,
    threads: Annotated[int | None, typer.Option(help="Threads; by default all cores.")] = None,
    results: Annotated[
        str | None, typer.Option(help="Append what was measured to this file, as lines of JSON.")
    ] = None,
    plot: Annotated[str | None, typer.Option(help="Of growth: the PNG or SVG file to draw.")] = None,
    npm: Annotated[
        str | None,
        typer.Option(help="Of table: the folder of train.svm and test.svm, or .xz, of npm names."),
    ] = None,
    full: Annotated[
        str | None,
        typer.Option(
            help="Of table: a folder for kdda, kddb and kdd12 in full size, which are made and run."
        ),
    ] = None,
) -> None:
    """Measure on this machine how fast it is and what memory it takes, beside others on the same rows.

    Example: chromatic benchmark read --rows 500000 --results results.jsonl
    """
    from chromatic._threads import thread_count
    from chromatic.lab.benchmarks.registry import Asked, run

    asked = Asked(
        threads=thread_count(threads),
        train=train,
        test=test,
        rows=rows,
        runs=runs,
        results=results,
        plot=plot,
        npm=npm,
        full=full,
    )
    run(name, asked, _say)


def _say(line: str) -> None:
    print(line, flush=True)
