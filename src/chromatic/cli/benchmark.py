"""`chromatic benchmark`: seconds, memory and peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chromatic.cli import options, terminal

if TYPE_CHECKING:
    from chromatic.parameters import Settings


@options.argument(
    "name",
    "read, color, graph, quantize, encode, job, one or start; without a name, all of them. growth: how "
    "stages grow with the data. train: networks beside plain torch. spark: Spark beside the local fit. "
    "serve: a load test of the server. "
    "shapes: synthetic rows beside the paper's. table: what is wanted, and whether it is met. columns: "
    "learners on the columns of each encoder, and on all features.",
    required=False,
)
@options.argument(
    "folders",
    "Of columns: folders with files train* and test*, whose test rows were drawn at random.",
    several=True,
    required=False,
)
@options.option(
    "--last",
    several=True,
    help="Of columns: such a folder whose test rows come after the training rows; may be given again.",
)
@options.option("--train", help="svmlight text to train on.")
@options.option("--test", help="svmlight text to test on.")
@options.option(
    "--rows",
    number=int,
    help="Without files, so many synthetic rows in the shape of kdda (100,000).",
)
@options.option("--runs", number=int, default=3, help="The best of so many is told.")
@options.option(
    "--results",
    help="Append what was measured to this file, as lines of JSON. Of columns: a Parquet file; the cells "
    "in it are not run again.",
)
@options.option("--plot", help="Of growth: the PNG or SVG file to draw.")
@options.option("--npm", help="Of table: the folder of train.svm and test.svm, or .xz, of npm names.")
@options.option(
    "--full", help="Of table: a folder for kdda, kddb and kdd12 in full size, which are made and run."
)
@options.parameters("threads")
def benchmark(
    name: str | None,
    folders: list[str],
    *,
    last: list[str],
    train: str | None,
    test: str | None,
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
    from chromatic._threads import thread_count
    from chromatic.lab.benchmarks.registry import Asked, run

    asked = Asked(
        threads=thread_count(settings.threads),
        train=train,
        test=test,
        rows=rows,
        runs=runs,
        results=results,
        plot=plot,
        npm=npm,
        full=full,
        folders=tuple(folders),
        last=tuple(last),
    )
    run(name, asked, _say)


def _say(line: str) -> None:
    terminal.say(*line.split("\n"))
