"""How the stages grow with the data: exponents of seconds and of memory, and what threads bring."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chromatic._files import peak_memory, used_memory
from chromatic._processes import in_a_process
from chromatic.errors import InputError
from chromatic.lab.benchmarks.data import Files, head, size_of
from chromatic.lab.benchmarks.measure import Say, Size, forget_peak, machine
from chromatic.parameters import Settings

SHARES = (8, 4, 2, 1)  # of the rows, one of so many
STAGES = (
    "parse",
    "vocabulary and coding",
    "coloring",
    "labels and quantizing",
    "encode and write",
    "total",
)

Stages = dict[str, tuple[float, float]]  # seconds, and MB on top of what a process has before it starts


@dataclass(frozen=True)
class Point:
    """Seconds and memory of each stage at a size, with so many threads: the best of several runs."""

    size: Size
    threads: int
    stages: Stages


def run(files: Files, threads: int, runs: int, plot: str | None, say: Say) -> list[Point]:
    """Measure at an eighth, a quarter, a half and all of the rows, and with one thread at all of them."""
    if plot is not None:
        from chromatic.report.figures import check_matplotlib

        check_matplotlib()
        if os.path.splitext(plot)[1] not in (".svg", ".png"):
            raise InputError(f"{plot}: is no name of a figure; expected .svg or .png")
    points = measure(files, threads, runs)
    for line in lines(points):
        say(line)
    if plot is not None:
        draw(points, plot)
        say(plot)
    return points


def measure(files: Files, threads: int, runs: int) -> list[Point]:
    """Measure a point for each size and, where there are several threads, one more with a single thread."""
    parts = []
    for share in SHARES:
        paths = []
        for path, whole in zip((files.train, files.test), files.sizes, strict=True):
            out = os.path.join(files.folder, f"{share}-{os.path.basename(path)}")
            paths.append(head(path, max(1, whole.rows // share), out))
        parts.append((paths, in_a_process(size_of, paths[0]), threads))
    if threads > 1:
        parts.append((*parts[-1][:2], 1))
    rounds = [
        [in_a_process(stages, *paths, files.sample, count) for paths, _, count in parts]
        for _ in range(runs)
    ]
    return [
        Point(size, count, _best([round[i] for round in rounds]))
        for i, (_, size, count) in enumerate(parts)
    ]


def _best(runs: Sequence[Stages]) -> Stages:
    return {
        stage: (min(run[stage][0] for run in runs), min(run[stage][1] for run in runs)) for stage in STAGES
    }


def stages(train: str, test: str, sample: str, threads: int) -> Stages:
    """Time `chromatic encode` stage by stage in a new process; first on a few rows, to compile."""
    with tempfile.TemporaryDirectory() as folder:
        _main_way(sample, sample, folder, threads, _Clock())
        clock = _Clock()
        _main_way(train, test, folder, threads, clock)
    total = sum(seconds for seconds, _ in clock.stages.values())
    most = max(mb for _, mb in clock.stages.values())
    return clock.stages | {"total": (total, most)}


class _Clock:
    """A clock for stages that follow each other: their seconds and their most memory."""

    def __init__(self) -> None:
        self.stages: Stages = {}
        self._begin()
        self.base = used_memory()

    def _begin(self) -> None:
        forget_peak()
        self.start = time.perf_counter()

    def done(self, stage: str) -> None:
        """End a stage; the seconds of stages of one name add up."""
        seconds, mb = time.perf_counter() - self.start, (peak_memory() - self.base) / 2**20
        before = self.stages.get(stage, (0.0, 0.0))
        self.stages[stage] = before[0] + seconds, max(before[1], mb)
        self._begin()


def _main_way(train: str, test: str, folder: str, threads: int, clock: _Clock) -> None:
    """Do what `chromatic encode` does, from files to files."""
    from chromatic.data import Reader
    from chromatic.data.reader import Dataset
    from chromatic.data.vocabulary import learn
    from chromatic.encoding.files import transform_files, write_columns
    from chromatic.fitting import LocalSource, fit

    class Clocked(LocalSource):
        def color(self, request: Any) -> Any:
            clock.done("labels and quantizing")  # what a fit does before it colors
            coloring = super().color(request)
            clock.done("coloring")
            return coloring

    reader = Reader(n_jobs=threads)
    batches = reader.batches(train)
    clock.done("parse")
    vocabulary, rows = learn(batches, threads=threads)
    clock.done("vocabulary and coding")
    fitted = fit(Clocked(Dataset(rows, vocabulary), threads=threads), Settings())
    clock.done("labels and quantizing")
    train_columns, test_columns = (os.path.join(folder, f"{name}.svm") for name in ("train", "test"))
    write_columns(fitted.rows(), fitted.encode_to_train_on, train_columns, "svmlight", threads)
    transform_files(reader, [test], fitted.encoding, test_columns, "svmlight")
    clock.done("encode and write")


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the power of the size that fits the values best: least squares on logarithms.

    >>> round(exponent([1, 2, 4, 8], [3, 6, 12, 24]), 6)
    1.0
    """
    x, y = (np.log(np.maximum(numbers, 1e-9)) for numbers in (sizes, values))
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def exponents(points: Sequence[Point]) -> dict[str, tuple[float, float]]:
    """Return the exponents of seconds and of memory against the nonzeros, for each stage."""
    many, _ = _split(points)
    sizes = [float(point.size.nonzeros) for point in many]
    return {
        stage: (
            exponent(sizes, [point.stages[stage][0] for point in many]),
            exponent(sizes, [point.stages[stage][1] for point in many]),
        )
        for stage in STAGES
    }


def _split(points: Sequence[Point]) -> tuple[Sequence[Point], Point | None]:
    """Return the points of all sizes, and that of one thread where there is one."""
    return points[: len(SHARES)], points[len(SHARES)] if len(points) > len(SHARES) else None


def lines(points: Sequence[Point]) -> Iterator[str]:
    """Return a table: seconds and memory of each stage at each size, exponents, speed-up."""
    many, alone = _split(points)
    powers = exponents(points)
    for k, (what, form) in enumerate(
        (("seconds", ",.3f"), ("MB on top of a process that has begun", ",.0f"))
    ):
        yield f"\n{what}; nonzeros:"
        heads = "".join(f"{point.size.nonzeros:>13,}" for point in many)
        yield f"{'':<24}{heads}{'exponent':>10}{'speed-up' if alone and not k else '':>10}".rstrip()
        for stage in STAGES:
            cells = "".join(f"{point.stages[stage][k]:>13{form}}" for point in many)
            more = ""
            if alone is not None and not k:
                more = f"{alone.stages[stage][0] / many[-1].stages[stage][0]:.2f}x"
            yield f"{stage:<24}{cells}{powers[stage][k]:>10.2f}{more:>10}".rstrip()
    if alone is not None:
        yield f"\nspeed-up: one thread against {many[-1].threads}, at the largest size"


def draw(points: Sequence[Point], path: str) -> None:
    """Draw seconds and memory against nonzeros, on logarithmic axes."""
    from chromatic.report.figures import BLUE, GRAY, GREEN, ORANGE, RED, panels, plain_numbers

    many, _ = _split(points)
    powers = exponents(points)
    colors = (BLUE, ORANGE, GREEN, RED, "#CC79A7", GRAY)
    with panels(2, [path]) as both:
        for k, (axes, what) in enumerate(zip(both, ("seconds", "MB"), strict=True)):
            for stage, color in zip(STAGES, colors, strict=True):
                curve = [(p.size.nonzeros, p.stages[stage][k]) for p in many if p.stages[stage][k] > 0]
                label = f"{stage}: exponent {powers[stage][k]:.2f}"
                axes.plot(*zip(*curve, strict=True), "o-", color=color, markersize=4, label=label)
            axes.set(xscale="log", yscale="log", xlabel="nonzeros", ylabel=what)
            plain_numbers(axes.xaxis)
            plain_numbers(axes.yaxis)
            axes.legend(loc="best")


def records(points: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """Return a record to keep for each stage at each size."""
    facts, powers = machine(), exponents(points)
    for point in points:
        for stage, (seconds, mb) in point.stages.items():
            size = point.size
            yield {
                "benchmark": "growth",
                "what": stage,
                "threads": point.threads,
                **facts,
                "rows": size.rows,
                "nonzeros": size.nonzeros,
                "bytes": size.bytes,
                "seconds": seconds,
                "rows_per_second": size.rows / seconds if seconds else None,
                "mb_per_second": size.bytes / 1e6 / seconds if seconds else None,
                "peak_mb": mb,
                "exponents": dict(zip(("seconds", "memory"), powers[stage], strict=True)),
            }
