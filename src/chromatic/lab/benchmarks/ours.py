"""What is measured of us: each function prepares, and returns what is timed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chromatic.data.reader import Dataset, Reader
from chromatic.data.rows import Rows
from chromatic.data.transpose import transpose
from chromatic.fitting import Fitted, LocalSource, fit
from chromatic.lab.benchmarks.data import token_lists
from chromatic.lab.benchmarks.measure import Figures, Run, status_mb
from chromatic.parameters import Settings

WATCH_SECONDS = 0.01  # at most between two looks at the memory of another process


def parse(path: str, threads: int) -> Run:
    """Text to batches, as a bare parser does."""
    return lambda: Reader(n_jobs=threads).batches(path)


def read(path: str, threads: int) -> Run:
    """Text to rows under a vocabulary."""
    return lambda: Reader(n_jobs=threads).read(path)


def transposed(path: str, threads: int) -> Run:
    """Rows of features to columns of rows."""
    rows = _rows(path)
    return lambda: transpose(rows, threads)


def colored(path: str, coloring: str, max_colors: int | str) -> Run:
    """Colors, from rows that are transposed already."""
    from chromatic.coloring import Request, color

    rows = _rows(path)
    transposed = transpose(rows)
    return lambda: color(rows, Request(coloring, max_colors), transposed=transposed)


def counted(path: str, max_k: int, threads: int) -> Run:
    """Histogram and degrees of the graph for every k up to `max_k`, from transposed rows."""
    from chromatic.graph.pairs import count

    rows = _rows(path)
    transposed = transpose(rows, threads)
    return lambda: count(rows, max_k, transposed=transposed, threads=threads)


def held_out(path: str, max_k: int, threads: int) -> Run:
    """The features to hold out for every k up to `max_k`, from the counted graph."""
    from chromatic.graph.order import hold_out
    from chromatic.graph.pairs import count

    rows = _rows(path)
    transposed = transpose(rows, threads)
    pairs = count(rows, max_k, transposed=transposed, threads=threads)
    return lambda: hold_out(rows, pairs, transposed=transposed, threads=threads)


def thinned(path: str, k: int, threads: int) -> Run:
    """The graph of the pairs seen k times, held, from rows that are transposed already."""
    from chromatic.graph.thinned import thin

    rows = _rows(path)
    transposed = transpose(rows, threads)
    return lambda: thin(rows, k, transposed=transposed, threads=threads)


def quantized(path: str, categories: int, quantizer: str) -> Run:
    """A codebook of 1024 columns from many categories of 22 colors; the file plays no part."""
    from chromatic.encoding.codebook import learn_codebook, merged

    def learn(coloring: Any, totals: Any, budget: int) -> None:
        of_null = np.full(coloring.n_colors, totals[-1])
        np.subtract.at(of_null, coloring.colors, totals[:-1])
        given = coloring, totals, of_null, merged(coloring, totals)
        learn_codebook(*given, budget=budget, smoothing=3.0, quantizer=quantizer)

    learn(*made_up(1000), 64)
    many = made_up(categories)
    return lambda: learn(*many, 1024)


def made_up(categories: int, n_colors: int = 22, seed: int = 0) -> tuple[Any, Any]:
    """Return a coloring, and packed counts of a heavy tail with rates of all kinds."""
    from chromatic.coloring import Request
    from chromatic.coloring.coloring import coloring_of
    from chromatic.encoding.statistics import packed

    random = np.random.default_rng(seed)
    counts = -np.sort(-np.minimum(random.zipf(2.0, categories), 200_000))
    positives = random.binomial(counts, random.beta(0.6, 1.8, categories))
    colors = random.integers(0, n_colors, categories).astype(np.int32)
    rows = int(np.bincount(colors, counts).max()) + 1000
    all_positives = int(np.bincount(colors, positives).max()) + 250
    request = Request("balanced", n_colors)
    coloring = coloring_of(request, colors, n_colors, lower_bound=1, vocabulary=0)
    return coloring, packed(np.append(positives, all_positives), np.append(counts, rows))


def learned(path: str, threads: int) -> Run:
    """Colors, labels and quantizing: a fit, from rows that are read already."""
    data = Reader().read(path)
    return lambda: fit(LocalSource(data, threads=threads), Settings())


def encoded(path: str, threads: int) -> Run:
    """Encode rows that are read already."""
    data, fitted = _fitted(path, threads)
    return lambda: fitted.encoding.encode(data.rows, threads)


def written(path: str, threads: int) -> Run:
    """Encode rows that are read already, and write the columns as svmlight text."""
    from chromatic.data.writers import write_text

    data, fitted = _fitted(path, threads)
    folder = tempfile.TemporaryDirectory()

    def run() -> None:
        columns = fitted.encoding.encode(data.rows, threads)
        out = os.path.join(folder.name, "columns.svm")
        write_text(columns.to_batches(data.rows.labels, 1, fold=True), out, "svmlight", threads)

    return run


def transformed(path: str, threads: int, most: int) -> Run:
    """Encode lists of strings by the estimator."""
    from chromatic import ChromaticEncoder

    rows, labels = token_lists(path, most)
    encoder = ChromaticEncoder(n_jobs=threads).fit(rows, labels)
    return lambda: encoder.transform(rows)


def parse_alone(path: str) -> Run:
    """The bare parse of a file by one thread, in a process of its own."""
    read = "import sys; from chromatic.data import Reader; Reader(n_jobs=1).batches(sys.argv[1])"
    return lambda: process([sys.executable, "-c", read, path])


def job(path: str, test: str, threads: int, *others: str) -> Run:
    """`chromatic encode`, files to files, in a process of its own."""
    arguments = ["encode", path, "--test", test, "--threads", str(threads), "-o", None, *others]
    return lambda: command(arguments)


def one(path: str, most: int) -> Run:
    """Encode rows of strings one by one by `encode_one`."""
    from chromatic import ChromaticEncoder

    rows, labels = token_lists(path, most)
    encoder = ChromaticEncoder().fit(rows, labels)
    return lambda: one_by_one(encoder.encode_one, rows)


def one_of_fields(path: str, rows: int, fields: int, most: int) -> Run:
    """Encode made-up rows, a value for each field, by `encode_one`; the file plays no part."""
    from chromatic import ChromaticEncoder

    random = np.random.default_rng(0)
    values = random.zipf(1.3, (rows, fields)) % 200_000
    lists = [[f"field{j}=value{value}" for j, value in enumerate(row)] for row in values]
    labels = random.random(rows) < 0.1 + 0.8 * (values[:, :4] % 2).mean(axis=1)
    encoder = ChromaticEncoder().fit(lists, labels)
    return lambda: one_by_one(encoder.encode_one, lists[:most])


def one_by_one(function: Callable[[Any], Any], rows: Sequence[Any]) -> Figures:
    """Return the median seconds of a call, and the microseconds at the 99th percentile."""
    times = np.empty(len(rows))
    for i, row in enumerate(rows):
        start = time.perf_counter()
        function(row)
        times[i] = time.perf_counter() - start
    return {"seconds": float(np.median(times)), "p99_us": float(np.percentile(times, 99) * 1e6)}


def python(path: str, statement: str) -> Run:
    """Start an interpreter that runs a statement and ends."""
    return lambda: process([sys.executable, "-c", statement])


def starting(path: str, *arguments: str | None) -> Run:
    """Run a command; an argument of None stands for a new folder."""
    return lambda: command(arguments)


def compiling(path: str, *arguments: str | None) -> Run:
    """Run a command as `starting` does, with an empty cache of kernels."""

    def run() -> Figures:
        with tempfile.TemporaryDirectory() as folder:
            return command(arguments, NUMBA_CACHE_DIR=folder)

    return run


def command(arguments: Sequence[str | None], **environment: str) -> Figures:
    """Run `chromatic`; an argument of None stands for a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        called = [folder if argument is None else argument for argument in arguments]
        return process([sys.executable, "-m", "chromatic.cli.main", *called], **environment)


def process(called: list[str], **environment: str) -> Figures:
    """Run a process: its seconds, the most memory it had, and of that what no file backs."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            called, stdout=subprocess.DEVNULL, stderr=errors, env=os.environ | environment
        )
        most, anonymous = _watch(child)
        seconds = time.perf_counter() - start
        if child.wait():
            errors.seek(0)
            told = errors.read().decode(errors="replace").strip().splitlines()[-1:]
            raise RuntimeError(f"exit code {child.returncode}: {' '.join(told)}")
    return {"seconds": seconds, "memory_mb": most, "anonymous_mb": anonymous}


def _watch(child: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Wait until a process ends; return the most memory it had, and of that what no file backs.

    What the system tells afterwards (`ru_maxrss`) would be too much: it begins with this process's memory.
    Where there is no /proc, both are 0.
    """
    most, anonymous, pause = 0.0, 0.0, 0.0005
    while child.poll() is None:
        with contextlib.suppress(OSError):
            most = max(most, status_mb("VmHWM", child.pid))
            anonymous = max(anonymous, status_mb("RssAnon", child.pid))
        time.sleep(pause)
        pause = min(WATCH_SECONDS, pause * 1.05)  # what ends soon is seen to end
    return most, anonymous


def _rows(path: str) -> Rows:
    return Reader().read(path, keep_names=False).rows


def _fitted(path: str, threads: int) -> tuple[Dataset, Fitted]:
    data = Reader().read(path)
    return data, fit(LocalSource(data, threads=threads), Settings())
