"""What is wanted of speed and memory, and whether this machine meets it: one table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from chromatic._files import make_folder
from chromatic._processes import in_a_process
from chromatic.errors import InputError
from chromatic.lab.benchmarks import contests, ours, peers
from chromatic.lab.benchmarks.data import (
    Files,
    plain,
    repeated,
    synthetic,
    write_heavy_tail,
    write_npm_sample,
)
from chromatic.lab.benchmarks.measure import Contender, Measured, Say, machine, race
from chromatic.lab.datasets.registry import DATASETS
from chromatic.learn.results import Record

TENTH = 840_775  # rows, of kdda's 8,407,752
LARGE = 500_000_000  # bytes of text
HEAVY = 300_000  # rows of some 300 pairs
ONE = 60_000  # rows that `encode_one` learns from
FIELDS = 36
FULL = {"kdda": 40, "kddb": 75, "kdd12": 260}  # seconds
PLAIN = ("--linear", "0")  # without the weights of a linear model
SMALL = 500  # rows of a job that is little but its start


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    wanted: str
    measured: str
    met: bool | None  # None: not measured
    note: str = ""

    def line(self) -> str:
        told = {True: "met", False: "missed", None: "not run"}[self.met]
        note = f"  ({self.note})" if self.note else ""
        return f"{self.what:<66}{self.wanted:>12}{self.measured:>12}  {told}{note}"


def at_least(what: str, limit: float, value: float, note: str = "") -> Row:
    """Return the row of a ratio that should be high."""
    return Row(what, f">= {limit:g}x", f"{value:.2f}x", value >= limit, note)


def at_most(what: str, limit: float, value: float, unit: str = "x", note: str = "") -> Row:
    """Return the row of a figure that should be low."""
    return Row(what, f"<= {limit:g}{unit}", f"{value:.2f}{unit}", value <= limit, note)


def run(rows: int | None, npm: str | None, full: str | None, runs: int, say: Say) -> list[Row]:
    """Measure all that is wanted, on one thread and on two; `rows` makes it a smaller, quicker run."""
    say(f"{'':<66}{'wanted':>12}{'measured':>12}")
    table = []
    for part in (
        _kdda(rows or TENTH, runs, say),
        _full_size(full),
        _npm(npm, runs, say),
        _heavy(min(rows or HEAVY, HEAVY), runs, say),
        _one(min(rows or ONE, ONE), runs, say),
        _start(runs, say),
    ):
        for row in part:
            say(row.line())
            table.append(row)
    return table


def records(rows: list[Row]) -> Iterator[Record]:
    """Return a record to keep for each line of the table."""
    facts = machine()
    for row in rows:
        yield {"benchmark": "table", **asdict(row), **facts}


def _fewer(rows: int, wanted: int) -> str:
    return "" if rows == wanted else f"on {rows:,} rows, not {wanted:,}"


def _seconds(measured: list[Measured]) -> list[float]:
    return [one.seconds for one in measured]


def _kdda(rows: int, runs: int, say: Say) -> Iterator[Row]:
    """Reading, and the whole job, on rows in the shape of kdda."""
    note = _fewer(rows, TENTH)
    with tempfile.TemporaryDirectory() as folder:
        files = synthetic("kdda", rows, folder, 2)
        one, two, strings_one, strings_two, peer = _seconds(
            race(
                [
                    Contender("", ours.parse, files.train, (1,), sample=files.sample),
                    Contender("", ours.parse, files.train, (2,), sample=files.sample),
                    Contender("", ours.read, files.strings, (1,), sample=files.strings_sample),
                    Contender("", ours.read, files.strings, (2,), sample=files.strings_sample),
                    Contender("", peers.sklearn_read, files.train),
                ],
                runs,
                say,
            )
        )
        yield at_least("read integers, one thread, against scikit-learn", 15, peer / one, note)
        yield at_least("  two threads against one", 1.7, one / two, note)
        yield at_least("read strings with their vocabulary, one thread", 4, peer / strings_one, note)
        yield at_least("  two threads", 7, peer / strings_two, note)
        os.remove(files.strings)
        yield _memory_of_reading(files, min(LARGE, 600 * rows), runs, say)
        yield from _job_on_kdda(files, runs, say, note)


def _memory_of_reading(files: Files, size: int, runs: int, say: Say) -> Row:
    path = repeated(files.train, size, os.path.join(files.folder, "large.svm"))
    [read] = race([Contender("", ours.read, path, (2,), sample=files.sample)], runs, say)
    size = os.path.getsize(path)
    os.remove(path)
    note = "" if size >= LARGE else f"on {size / 1e6:,.0f} MB, not {LARGE / 1e6:,.0f}"
    what = "memory of reading integers, against the text"
    return at_most(what, 1.2, read.memory_mb * 2**20 / size, note=note)


def _job_on_kdda(files: Files, runs: int, say: Say, note: str) -> Iterator[Row]:
    one, parsed, warm, peer = race(
        [
            Contender("", ours.job, files.train, (files.test, 1, *PLAIN), sample=files.sample),
            Contender("", ours.parse_alone, files.train),
            Contender("", ours.parse, files.train, (1,), sample=files.sample),
            Contender("", peers.sklearn_read, files.train, (files.test,)),
        ],
        runs,
        say,
    )
    text = os.path.getsize(files.train) + os.path.getsize(files.test)
    anonymous = one.more["anonymous_mb"] * 2**20 / text
    again = f"{one.seconds / warm.seconds:.1f}x a parse in a process that has parsed before"
    yield at_most(
        "chromatic encode, kdda/10, linear 0, one thread, against a bare parse",
        8,
        one.seconds / parsed.seconds,
        note=f"{note}, {again}" if note else again,
    )
    yield at_most("  against scikit-learn's read", 0.5, one.seconds / peer.seconds, note=note)
    yield at_most("  its anonymous memory, against the text", 2, anonymous, note=note)


def _full_size(folder: str | None) -> Iterator[Row]:
    """The whole job on as many rows as the paper's sets have."""
    for name, limit in FULL.items():
        of = DATASETS[name]
        what, wanted = f"chromatic encode, linear 0, {name}, {of.train_rows:,} rows", f"<= {limit} s"
        if folder is None:
            yield Row(what, wanted, "", None, "--full FOLDER makes and runs it")
            continue
        try:
            figures = in_a_process(_run_in_full, name, of.train_rows, of.test_rows, folder)
        except RuntimeError as error:
            yield Row(what, wanted, "failed", False, str(error))
            continue
        note = f"{figures['memory_mb'] / 1024:.1f} GB at most"
        yield at_most(what, limit, figures["seconds"], " s", note)


def _run_in_full(name: str, rows: int, test_rows: int, folder: str) -> dict[str, float]:
    """Make a set unless it is there, and run the job on it."""
    from chromatic.lab.datasets.synthetic import make, shape_of

    make_folder(folder)
    train, test = (os.path.join(folder, f"{name}{part}.svm") for part in ("", ".t"))
    for path, count, first in ((train, rows, 0), (test, test_rows, rows)):
        if not os.path.exists(path):
            make(shape_of(name), path, count, first, threads=2)
    with tempfile.TemporaryDirectory(dir=folder) as out:
        within = ["--memory", "8G", "--cache", folder] if name == "kdd12" else []
        return ours.command(["encode", train, "--test", test, "-o", out, "--threads", "2", *PLAIN, *within])


def _npm(folder: str | None, runs: int, say: Say) -> Iterator[Row]:
    """The whole job, colors and collisions on names of packages."""
    note = "" if folder else "on the packaged sample, not --npm FOLDER"
    with tempfile.TemporaryDirectory() as there:
        train, test = in_a_process(write_npm_sample, there) if folder is None else _parts(folder, there)
        files = Files(train, test, there)
        two, linear, peer = race(
            [
                Contender("", ours.job, files.train, (files.test, 2, *PLAIN), sample=files.sample),
                Contender("", ours.job, files.train, (files.test, 2), sample=files.sample),
                Contender("", peers.sklearn_read, files.train, (files.test,)),
            ],
            runs,
            say,
        )
        what = "chromatic encode, npm, linear 0, two threads, against scikit-learn's read"
        yield at_most(what, 0.45, two.seconds / peer.seconds, note=note)
        yield at_most("  its memory", 350, two.memory_mb, " MB", note)
        yield at_most("  with linear columns", 0.9, linear.seconds / peer.seconds, note=note)
        weights = (linear.seconds - two.seconds) / two.seconds
        yield at_most("  what these take, against the rest of the job", 1, weights, note=note)
        transposed, first_fit, balanced = _seconds(
            race(
                [
                    Contender("", ours.transposed, files.train, (1,), sample=files.sample),
                    *(
                        Contender("", ours.colored, files.train, (fit, "proper"), sample=files.sample)
                        for fit in ("first-fit", "balanced")
                    ),
                ],
                max(runs, 3),
                say,
            )
        )
        yield at_most("first-fit on npm, against a transposition", 3, first_fit / transposed, note=note)
        yield at_most("balanced on npm, against a transposition", 5, balanced / transposed, note=note)
        collisions, colors = in_a_process(balanced_against_first_fit, files.train, files.test)
        yield at_most(
            "collisions of npm's test rows, balanced against first-fit", 0.33, collisions, note=note
        )
        yield at_most("  its colors against those of first-fit", 1.4, colors, note=note)


def _parts(folder: str, there: str) -> tuple[str, str]:
    """Return the two files of a folder, decompressed where needed."""
    parts = []
    for name in ("train.svm", "test.svm"):
        paths = [os.path.join(folder, name + suffix) for suffix in ("", ".xz")]
        path = next((path for path in paths if os.path.exists(path)), None)
        if path is None:
            raise InputError(f"{folder}: has no {name} and no {name}.xz; expected one of them")
        parts.append(plain(path, there))
    return parts[0], parts[1]


def balanced_against_first_fit(train: str, test: str) -> tuple[float, float]:
    """Return the collisions on test rows and the colors of balanced, as shares of those of first-fit."""
    from chromatic.coloring import Request, collisions, color
    from chromatic.data import Reader

    data = Reader().read(train, keep_names=False)
    rows = Reader().read(test, vocabulary=data.vocabulary).rows
    first, balanced = (color(data.rows, Request(strategy)) for strategy in ("first-fit", "balanced"))
    means = [collisions(rows, coloring).mean for coloring in (first, balanced)]
    return means[1] / max(means[0], 1e-9), balanced.n_colors / first.n_colors


def _heavy(rows: int, runs: int, say: Say) -> Iterator[Row]:
    """Coloring against building the graph first."""
    note = _fewer(rows, HEAVY)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "heavy.svm")
        in_a_process(write_heavy_tail, path, rows, 5 * rows)
        pairs, same = in_a_process(same_colors, path)
        ours_, graph = _seconds(
            race(
                [
                    Contender("", ours.colored, path, ("first-fit", "proper")),
                    Contender("", peers.graph_first, path, (1,)),
                ],
                max(runs, 2),
                say,
            )
        )
    yield at_least(f"first-fit against the graph first, {pairs:.0f} pairs a row", 10, graph / ours_, note)
    yield Row("  the same colors", "yes", "yes" if same else "no", same)


def same_colors(path: str) -> tuple[float, bool]:
    """Return the pairs a row, and whether first-fit gives the same colors with the graph and without."""
    from chromatic.coloring import Request, color, graph, transpose
    from chromatic.data import Reader

    rows = Reader().read(path, keep_names=False).rows
    request = Request("first-fit")
    with_graph, without = graph.color(rows, request, transpose(rows)), color(rows, request)
    return rows.pairs_per_row, bool((with_graph.colors == without.colors).all())


def _one(rows: int, runs: int, say: Say) -> Iterator[Row]:
    """One row of 36 strings."""
    [one] = race([Contender("", ours.one_of_fields, "", (rows, FIELDS, 20_000))], runs, say)
    note = _fewer(rows, ONE)
    yield at_most(f"encode_one, {FIELDS} strings, median", 10, one.seconds * 1e6, " µs", note)
    yield at_most("  99th percentile", 50, one.more["p99_us"], " µs", note)


def _start(runs: int, say: Say) -> Iterator[Row]:
    """What it costs to start."""
    with tempfile.TemporaryDirectory() as folder:
        files = synthetic("kdda", 1000, folder, 1)
        wanted = {
            "import chromatic": ("import chromatic", 0.5),
            "chromatic --help": ("chromatic --help", 0.5),
            "chromatic warmup, nothing compiled": ("first-ever compile of the whole main way", 30),
        }
        make_folder(os.path.join(folder, "small"))
        small = synthetic("kdda", SMALL, os.path.join(folder, "small"), 1)
        contenders = [one for one in contests.start(files, 2) if one.what in wanted]
        contenders.append(Contender(f"job of {SMALL} rows", ours.job, small.train, (small.test, 2)))
        wanted[f"job of {SMALL} rows"] = (f"chromatic encode, {SMALL} rows, kernels compiled", 0.8)
        for one in race(contenders, runs, say):
            what, limit = wanted[one.what]
            yield at_most(what, limit, one.seconds, " s")
