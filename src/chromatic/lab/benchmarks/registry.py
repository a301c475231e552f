"""The benchmarks by name, and what `chromatic benchmark` does with one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chromatic._files import check_target
from chromatic.errors import InputError
from chromatic.lab.benchmarks import columns, contests, growth, serve, shapes, spark, table, train
from chromatic.lab.benchmarks.data import Files, files
from chromatic.lab.benchmarks.measure import Say
from chromatic.learn.results import Record, append_lines

ROWS = 100_000
ON_ROWS = (*contests.CONTESTS, "growth", "train", "spark", "serve")
OTHERS = ("columns", "shapes", "table")  # these have rows of their own


@dataclass(frozen=True)
class Asked:
    """What is asked of a benchmark."""

    threads: int
    train: str | None = None
    test: str | None = None
    rows: int | None = None
    runs: int = 3
    results: str | None = None
    plot: str | None = None
    npm: str | None = None
    full: str | None = None
    folders: tuple[str, ...] = ()
    last: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse numbers and paths that cannot be."""
        if self.runs < 1:
            raise InputError(f"the runs are {self.runs}; expected 1 or more")
        if self.rows is not None and self.rows < 1:
            raise InputError(f"the rows are {self.rows}; expected 1 or more")
        for path in (self.results, self.plot):
            if path is not None:
                check_target(path)

    def keep(self, records: Iterable[Record]) -> None:
        """Append what was measured to the file of results, where one is named."""
        if self.results is not None:
            append_lines(self.results, records)


def run(name: str | None, asked: Asked, say: Say) -> None:
    """Run a benchmark, or without a name every contest; say what is measured, and keep it."""
    asked.check()
    if name is not None and name not in (*ON_ROWS, *OTHERS):
        known = ", ".join((*ON_ROWS, *OTHERS))
        raise InputError(f"there is no benchmark {name!r}; expected one of {known}")
    if (asked.folders or asked.last) and name != "columns":
        raise InputError(f"there are folders, and {name or 'every benchmark'} takes none; expected columns")
    if name == "columns":
        columns.run(asked.folders, asked.last, asked.results, asked.threads, say)
        return
    if name == "table":
        asked.keep(table.records(table.run(asked.rows, asked.npm, asked.full, asked.runs, say)))
        return
    if name == "shapes":
        sizes = shapes.ROWS if asked.rows is None else (max(1, asked.rows // 8), asked.rows)
        asked.keep(shapes.run(sizes, asked.runs, say))
        return
    with files(asked.train, asked.test, asked.rows or ROWS, asked.threads) as data:
        size = data.size
        say(f"{size.rows:,} rows, {size.nonzeros:,} nonzeros, {size.bytes / 1e6:,.1f} MB of text")
        for one in contests.CONTESTS if name is None else (name,):
            asked.keep(_on_rows(one, data, asked, say))


def _on_rows(name: str, data: Files, asked: Asked, say: Say) -> Iterable[Record]:
    if name == "growth":
        return growth.records(growth.run(data, asked.threads, asked.runs, asked.plot, say))
    if name == "train":
        return train.run(data, asked.runs, say)
    if name == "spark":
        return spark.run(data, say)
    if name == "serve":
        return serve.run(data, say)
    return contests.records(name, contests.run(name, data, asked.threads, asked.runs, say))
