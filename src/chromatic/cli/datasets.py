"""`chromatic datasets`: the paper's data sets, and synthetic ones in their shape."""

from __future__ import annotations

import os
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
    import json

    from chromatic._files import cache_folder
    from chromatic.datasets.fetch import cached
    from chromatic.datasets.registry import DATASETS

    here = {name: cached(data_set) for name, data_set in DATASETS.items()}
    if as_json:
        told = ("name", "what", "train_rows", "test_rows", "features", "license", "page")
        figures = [
            {key: getattr(data_set, key) for key in told}
            | {"paths": None if (paths := here[name]) is None else asdict(paths)}
            for name, data_set in DATASETS.items()
        ]
        print(json.dumps(figures))
        return
    for name, data_set in DATASETS.items():
        print(f"{name:<8}{data_set.what}")
        print(
            f"        {data_set.train_rows:,} rows to train on, {data_set.test_rows:,} to test; "
            f"{data_set.features:,} {'columns' if data_set.format == 'criteo' else 'features'}"
        )
        print(f"        license: {data_set.license}")
        print(f"        from {data_set.page}")
        print(f"        {'is in the cache' if here[name] else f'chromatic datasets get {name}'}")
    print(f"\nThe cache is {cache_folder()}; the environment variable CHROMATIC_DATA names another.")


@options.argument("name", "url, kdda, kddb, kdd12 or criteo.")
@options.as_json
def get(name: str, as_json: bool) -> None:
    """Download a data set into the cache, check it, split it as in the paper, and print where it is.

    A download that was cut goes on where it stopped. CHROMATIC_DATA names the cache's folder, and
    CHROMATIC_DATA_URL a mirror.

    Example: chromatic datasets get kdda
    """
    from chromatic.datasets import fetch
    from chromatic.datasets.registry import data_set_of

    data_set = data_set_of(name)
    paths = fetch.get(data_set, terminal.progress_bar)
    if as_json:
        terminal.show(asdict(paths), True)
        return
    print(f"train  {paths.train}\ntest   {paths.test}")
    if data_set.format == "criteo":
        print("read them with --format criteo")


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
    from chromatic._files import check_target
    from chromatic._threads import thread_count
    from chromatic.data.writers import format_to_write
    from chromatic.datasets import synthetic
    from chromatic.errors import InputError

    made = synthetic.shape_of(shape)
    output = output or f"{shape}.svm"
    jobs = [(output, rows, 0)]
    if test_rows < 0:
        raise InputError(f"the test rows are {test_rows}; expected 0 or more")
    if test_rows:
        jobs.append((test_path(output), test_rows, rows))
    for path, count, first in jobs:
        synthetic.check_rows(count, first, seed)
        if path != "-":
            if format_to_write(path) != "svmlight":
                raise InputError(f"{path}: would be svmlight text; expected a name such as {shape}.svm")
            check_target(path)
    for path, count, first in jobs:
        size = synthetic.expected_bytes(made, count, first, seed)
        with terminal.progress_bar(f"making {os.path.basename(path)}", size) as progress:
            threads = thread_count(settings.threads)
            synthetic.make(made, path, count, first, seed=seed, threads=threads, progress=progress)


def test_path(path: str) -> str:
    """Where test rows go, as LIBSVM names them.

    >>> test_path("here/kdda.svm.gz")
    'here/kdda.t.svm.gz'
    """
    from chromatic.errors import InputError

    if path == "-":
        raise InputError("test rows need a file of their own; expected -o FILE, not -")
    folder, name = os.path.split(path)
    stem, dot, suffixes = name.partition(".")
    return os.path.join(folder, f"{stem}.t{dot}{suffixes}")
