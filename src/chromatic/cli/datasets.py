"""`chromatic datasets`: the paper's data sets, and synthetic ones in their shape."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from chromatic.cli import options


def list_(json_: options.Json = False) -> None:
    """Print what the paper's data sets are, how large, under which terms and where from.

    Example: chromatic datasets list --json
    """
    import json

    from chromatic.lab.datasets import catalog

    if json_:
        print(json.dumps(catalog.records()))
        return
    for line in catalog.lines():
        print(line)


def get(
    name: Annotated[str, typer.Argument(help="url, kdda, kddb, kdd12 or criteo.")],
    json_: options.Json = False,
) -> None:
    """Download a data set into the cache, check it, split it as in the paper, and print where it is.

    A download that was cut goes on where it stopped. CHROMATIC_DATA names the cache's folder, and
    CHROMATIC_DATA_URL a mirror.

    Example: chromatic datasets get kdda
    """
    from chromatic.lab.datasets import fetch
    from chromatic.lab.datasets.registry import data_set_of

    data_set = data_set_of(name)
    paths = fetch.get(data_set, options.progress_bar)
    if json_:
        options.show(asdict(paths), True)
        return
    print(f"train  {paths.train}\ntest   {paths.test}")
    if data_set.format == "criteo":
        print("read them with --format criteo")


def make(
    shape: Annotated[str, typer.Argument(help="url, kdda, kddb or kdd12.")],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The svmlight file to write; by default SHAPE.svm."),
    ] = None,
    rows: Annotated[
        int, typer.Option(help="How many; the full numbers: chromatic datasets list.")
    ] = 100_000,
    test_rows: Annotated[
        int, typer.Option(help="Write so many that follow in time to a second file, SHAPE.t.svm.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Another seed gives other rows.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; by default all cores.")] = None,
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
        threads=thread_count(threads),
        bar=options.progress_bar,
    )
