"""`chromatic benchmark`: seconds, memory and peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.parameters import Settings


@options.argument(
    "name",
    "read, color, quantize, encode, job, one or start; without a name, all of them. "
    "growth: how stages grow with the data. table: what is wanted, and whether it is met.",
    required=False,
)
@options.option("--train", help="svmlight text to train on.")
@options.option("--test", help="svmlight text to test on.")
@options.option(
    "--rows",
    number=int,
    help="Without files, so many synthetic rows in the shape of kdda (100,000).",
)
@options.option("--runs", number=int, default=3, help="The best of so many is told.")
@options.option("--results", help="Append what was measured to this file, as lines of JSON.")
@options.option("--plot", help="Of growth: the PNG or SVG file to draw.")
@options.option("--npm", help="Of table: the folder of train.svm and test.svm, or .xz, of npm names.")
@options.option(
    "--full", help="Of table: a folder for kdda, kddb and kdd12 in full size, which are made and run."
)
@options.parameters("threads")
def benchmark(
    name: str | None,
    train: str | None,
    test: str | None,
    *,
    rows: int | None,
    runs: int,
    results: str | None,
    plot: str | None,
    npm: str | None,
    full: str | None,
    settings: Settings,
) -> None:
    """Measure on this machine how fast it is and what memory it takes, beside others on the same rows.

    Example: chromatic benchmark read --rows 500000 --results results.jsonl
    """
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.benchmarks import contests, growth, table
    from chromatic.benchmarks.data import files
    from chromatic.errors import InputError

    count = thread_count(settings.threads)
    if runs < 1:
        raise InputError(f"the runs are {runs}; expected 1 or more")
    if rows is not None and rows < 1:
        raise InputError(f"the rows are {rows}; expected 1 or more")
    for path in (results, plot):
        if path is not None:
            check_target(path)
    if name == "table":
        measures = table.run(rows, npm, full, runs, _say)
        if results is not None:
            contests.append(results, table.records(measures))
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
