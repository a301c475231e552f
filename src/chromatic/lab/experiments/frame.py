"""How an experiment runs: data set by data set, from records to a Markdown table and a figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from chromatic._extras import optional
from chromatic._figures import shown
from chromatic._files import make_folder, replacing
from chromatic.data.limit import limited
from chromatic.data.reader import Reader
from chromatic.errors import InputError
from chromatic.lab.experiments.data import Data, Running, Source
from chromatic.learn.results import Record, Results

Line = dict[str, Any]  # of a table: what it is of, then `paper` and `ours`


@dataclass(frozen=True)
class Findings:
    """The records of an experiment on one data set."""

    name: str
    paper: str | None  # the paper's set that it is held against
    about: str
    records: list[Record]
    is_synthetic: bool = False  # then a difference from the paper means nothing


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper."""

    name: str
    what: str
    where: str  # in the paper
    sets: tuple[str, ...]  # the paper's
    run: Callable[[Data, Results], list[Record]]
    lines: Callable[[Findings], list[Line]]
    draw: Callable[[Any, Findings], None] | None = None
    remarks: Callable[[Findings], list[str]] = lambda findings: []
    needs: tuple[str, ...] = ()  # packages of extras
    shares: str | None = None  # the name of the file of results, where several experiments share one

    @property
    def results_file(self) -> str:
        """The name of the file of results."""
        return f"{self.shares or self.name}.parquet"

    def check(self) -> None:
        """Refuse to begin without the packages that it needs."""
        for package in self.needs:
            optional(package)
        if self.draw is not None:
            from chromatic.report.figures import check_matplotlib

            check_matplotlib()


@dataclass(frozen=True)
class Outcome:
    """The findings of every data set, the same in Markdown, and the files that were written."""

    findings: list[Findings] = field(default_factory=list)
    text: str = ""
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Conditions:
    """Under which experiments run."""

    reading: Callable[[list[str]], AbstractContextManager[Reader]] = lambda paths: nullcontext(Reader())
    tell: Callable[[str], None] = lambda line: None
    device: str = "cpu"  # where networks are trained
    memory: str | None = None  # the limit, such as 8G; then rows are on disk
    cache: str | None = None


def reproduce(
    experiment: Experiment, sources: Iterable[Source], folder: str, conditions: Conditions | None = None
) -> Outcome:
    """Run an experiment on one data set after the other, and write its table and figure after each."""
    conditions = conditions or Conditions()
    experiment.check()
    check_folder(folder)
    results = _results(experiment, folder, conditions.tell)
    outcome = Outcome()
    for source in sources:
        with _loaded(source, conditions) as data:
            conditions.tell(data.about)
            records = experiment.run(data, results)
            found = Findings(data.name, data.paper, data.about, records, data.is_synthetic)
        del data  # before the next comes
        outcome = _written(experiment, [*outcome.findings, found], folder)
    return outcome


@contextmanager
def _loaded(source: Source, conditions: Conditions) -> Iterator[Data]:
    """Read a data set; with a limit of memory it is on disk, for the time of the block."""
    with ExitStack() as stack:
        memory = None
        if conditions.memory is not None:
            memory = stack.enter_context(limited(conditions.memory, conditions.cache))
        with conditions.reading(source.paths) as reader:
            data = source.load(Running(reader, conditions.device, memory))
        yield data


def _results(experiment: Experiment, folder: str, tell: Callable[[str], None]) -> Results:
    """Open the experiment's file of results; every cell that is done is told in a line."""
    name = experiment.shares or experiment.name

    def tell_cell(cell: Record) -> None:
        tell(f"{name}: {', '.join(f'{key} {value}' for key, value in cell.items() if key != 'data')}")

    return Results(os.path.join(folder, experiment.results_file), tell=tell_cell)


def check_folder(folder: str) -> None:
    """Make a folder where it is missing, and refuse one that nothing can be written to."""
    try:
        make_folder(folder)
        probe = os.path.join(folder, ".writable")
        with replacing(probe):
            pass
        os.unlink(probe)
    except OSError as error:
        raise InputError(
            f"cannot write to the folder {folder} ({error.strerror}); name another with --out"
        ) from error


def _written(experiment: Experiment, findings: list[Findings], folder: str) -> Outcome:
    """Write the table and the figure."""
    text = markdown(experiment, findings)
    path = os.path.join(folder, experiment.name)
    files = [os.path.join(folder, experiment.results_file), f"{path}.md"]
    with replacing(files[-1]) as file:
        file.write(text.encode())
    if experiment.draw is not None:
        from chromatic.report.figures import panels

        drawn = [f"{path}.png", f"{path}.svg"]
        with panels(len(findings), drawn, experiment.what) as axes:
            for each, one in zip(axes, findings, strict=True):
                experiment.draw(each, one)
                each.set_title(one.name)
        files += drawn
    return Outcome(findings, text, files)


def markdown(experiment: Experiment, findings: list[Findings]) -> str:
    """Return the findings beside the paper's numbers, as Markdown."""
    lines: list[Line] = [
        {"data": one.name}
        | line
        | {"difference": None if one.is_synthetic else difference(line["paper"], line["ours"])}
        for one in findings
        for line in experiment.lines(one)
    ]
    if all(line["difference"] is None for line in lines):
        lines = [{name: cell for name, cell in line.items() if name != "difference"} for line in lines]
    table = [list(lines[0]), ["---"] * len(lines[0])] + [
        [shown(cell).replace("|", r"\|") for cell in line.values()] for line in lines
    ]
    parts = [
        f"# {experiment.name}",
        f"{experiment.what} ({experiment.where}).",
        "\n".join(f"- {one.about}" for one in findings),
        "\n".join(f"| {' | '.join(cells)} |" for cells in table),
    ]
    remarks = [f"- {one.name}: {remark}" for one in findings for remark in _remarks(experiment, one)]
    return "\n\n".join([*parts, *(["\n".join(remarks)] if remarks else [])]) + "\n"


def _remarks(experiment: Experiment, findings: Findings) -> list[str]:
    base = findings.records[0].get("base_log_loss")
    known = [] if base is None else [f"to know the rate of the training labels alone gives {base:.4f}"]
    return [*experiment.remarks(findings), *known]


def difference(paper: Any, ours: Any) -> str | None:
    """Return by how much ours differs from the paper's, in percent; None where one is no number.

    >>> difference(0.296, 0.291), difference("plotted only", 3)
    ('-1.7 %', None)
    """
    if not all(isinstance(value, (int, float)) for value in (paper, ours)) or not paper:
        return None
    change = 100 * (ours / paper - 1)
    return f"{change:+,.1f} %" if abs(change) < 1000 else f"{change:+,.0f} %"
