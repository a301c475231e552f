"""`chromatic datasets`: the paper's data sets, and synthetic ones in their shape."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from chromatic.cli import options, terminal

if TYPE_CHECKING:
    from chromatic.parameters import Settings


@options.as_json
def list_(as_json: bool) -> None:
    """Print what the paper's data sets are, how large, under which terms and where from.

    Example: chromatic datasets list --json
    """
    from chromatic.lab.datasets import catalog

    if as_json:
        terminal.say_json(catalog.records())
        return
    terminal.say(*catalog.lines())


@options.argument("name", "url, kdda, kddb, kdd12 or criteo.")
@options.as_json
def get(name: str, as_json: bool) -> None:
    """Download a data set into the cache, check it, split it as in the paper, and print where it is.

    A download that was cut goes on where it stopped. CHROMATIC_DATA names the cache's folder, and
    CHROMATIC_DATA_URL a mirror.

    Example: chromatic datasets get kdda
    """
    from chromatic.lab.datasets import fetch
    from chromatic.lab.datasets.registry import data_set_of

    data_set = data_set_of(name)
    paths = fetch.get(data_set, terminal.progress_bar)
    if as_json:
        terminal.show(asdict(paths), True)
        return
    terminal.say(f"train  {paths.train}", f"test   {paths.test}")
    if data_set.format == "criteo":
        terminal.say("read them with --format criteo")


@options.argument("shape", "url, kdda, kddb or kdd12.")
@options.output("The svmlight file to write; by default SHAPE.svm.", default=None)
@options.option(
    "--rows", number=int, default=100_000, help="How many; the full numbers: chromatic datasets list."
)
@options.option(
    "--test-rows",
    number=int,
    default=0,
    help="Write so many that follow in time to a second file, SHAPE.t.svm.",
)
@options.option("--seed", number=int, default=0, help="Another seed gives other rows.")
@options.parameters("threads")
def make(
    shape: str, output: str | None, *, rows: int, test_rows: int, seed: int, settings: Settings
) -> None:
    """Write synthetic data in the shape of one of the paper's data sets.

    Rows, features, features per row, co-occurrence and colors grow with the rows to what the paper says
    of the whole set. More rows are a continuation, whatever the threads.

    Example: chromatic datasets make kdda --rows 840000 --test-rows 50000 -o kdda.svm.zst
    """
    from chromatic._threads import thread_count
    from chromatic.lab.datasets.files import make_files

    make_files(
        shape,
        output or f"{shape}.svm",
        rows=rows,
        test_rows=test_rows,
        seed=seed,
        threads=thread_count(settings.threads),
        bar=terminal.progress_bar,
    )
