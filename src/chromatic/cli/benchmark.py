"""`chromatic benchmark`: seconds, memory and peers."""

from __future__ import annotations

from typing import Annotated

import typer


def benchmark(
    name: Annotated[
        str | None,
        typer.Argument(
            help="read, color, quantize, encode, job, one or start; without a name, all of them. "
            "growth: how stages grow with the data. table: what is wanted, and whether it is met."
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
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.errors import InputError
    from chromatic.lab.benchmarks import contests, growth, table
    from chromatic.lab.benchmarks.data import files

    count = thread_count(threads)
    if runs < 1:
        raise InputError(f"the runs are {runs}; expected 1 or more")
    if rows is not None and rows < 1:
        raise InputError(f"the rows are {rows}; expected 1 or more")
    for path in (results, plot):
        if path is not None:
            check_target(path)
    if name == "table":
        found = table.run(rows, npm, full, runs, _say)
        if results is not None:
            contests.append(results, table.records(found))
        return
    names = list(contests.CONTESTS) if name is None else [name]
    if name != "growth":
        contests.contest_of(names[0])
    with files(train, test, rows or 100_000, count) as data:
        size = data.size
        _say(f"{size.rows:,} rows, {size.nonzeros:,} nonzeros, {size.bytes / 1e6:,.1f} MB of text")
        if name == "growth":
            grown = growth.run(data, count, runs, plot, _say)
            if results is not None:
                contests.append(results, growth.records(grown))
            return
        for one in names:
            measured = contests.run(one, data, count, runs, _say)
            if results is not None:
                contests.append(results, contests.records(one, measured))


def _say(line: str) -> None:
    print(line, flush=True)
