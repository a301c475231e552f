"""The contests: who runs against whom on which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from chromatic.graph.study import MAX_K
from chromatic.lab.benchmarks import ours, peers
from chromatic.lab.benchmarks.data import Files
from chromatic.lab.benchmarks.measure import Contender, Measured, Say, Size, machine, race
from chromatic.learn.results import Record

LISTS = 50_000  # rows at most that are lists of strings, which are large
ONES = 20_000  # rows at most that go one by one
BUDGET = 1024

Maker = Callable[..., Any]
SKLEARN = "scikit-learn's load_svmlight_file"
HASHER = "scikit-learn's FeatureHasher"


def _each(threads: int) -> Iterator[tuple[int, str]]:
    """Yield one thread and all threads, each with its name."""
    for count in dict.fromkeys((1, threads)):
        yield count, "one thread" if count == 1 else f"{count} threads"


def _some(size: Size, rows: int) -> Size:
    """Return about the size of the first rows."""
    kept = min(rows, size.rows)
    return Size(kept, size.nonzeros * kept // size.rows, size.bytes * kept // size.rows)


def read(files: Files, threads: int) -> list[Contender]:
    """Text to CSR, to rows under a vocabulary, and the same with names for numbers."""
    return [
        *(
            Contender(f"{what}, {told}", make, path, (count,), size=files.size, sample=sample)
            for what, make, path, sample in (
                ("integers to CSR", ours.parse, files.train, files.sample),
                ("integers to counted, coded rows", ours.read, files.train, files.sample),
                ("strings to counted, coded rows", ours.read, files.strings, files.strings_sample),
            )
            for count, told in _each(threads)
        ),
        Contender(SKLEARN, peers.sklearn_read, files.train, size=files.size, peer=True),
    ]


def color(files: Files, threads: int) -> list[Contender]:
    """Colors without a graph, from transposed rows."""
    train, size, sample = files.train, files.size, files.sample

    def of(what: str, make: Maker, *args: Any, peer: bool = False, does: str = "color") -> Contender:
        return Contender(what, make, train, args, size=size, sample=sample, peer=peer, does=does)

    return [
        of("transposition, one thread", ours.transposed, 1, does="transpose"),
        of("first-fit, as many colors as needed", ours.colored, "first-fit", "proper"),
        of("balanced, as many colors as needed", ours.colored, "balanced", "proper"),
        of("balanced, palette of 128", ours.colored, "balanced", 128),
        of("the graph first, then first-fit, one thread", peers.graph_first, 1, peer=True),
        of("LightGBM's Dataset", peers.lightgbm_dataset, threads, peer=True),
    ]


def graph(files: Files, threads: int) -> list[Contender]:
    """The co-occurrence graph, counted from transposed rows without holding its pairs."""
    train, size, sample = files.train, files.size, files.sample

    def of(what: str, make: Maker, *args: Any, does: str = "graph") -> Contender:
        return Contender(what, make, train, args, size=size, sample=sample, does=does)

    return [
        *(
            of(f"histogram and degrees, {told}", ours.counted, 1, count, does="count")
            for count, told in _each(threads)
        ),
        of(f"degrees for every k up to {MAX_K}", ours.counted, MAX_K, threads),
        of(f"held-out features for every k up to {MAX_K}", ours.held_out, MAX_K, threads),
        of("the graph of pairs seen twice, held", ours.thinned, 2, threads),
        Contender(
            "sorting all pairs with numpy",
            peers.pairs_by_sorting,
            train,
            size=size,
            peer=True,
            does="count",
        ),
    ]


def quantize(files: Files, threads: int) -> list[Contender]:
    """Categories to 1024 columns; the paper's two quantizers beside the exact one."""
    categories = 50 * files.size.rows
    size = Size(categories, categories, 0)

    def of(quantizer: str, what: str, peer: bool) -> Contender:
        args = categories, quantizer
        return Contender(what, ours.quantized, files.train, args, size=size, peer=peer)

    return [
        of("optimal", f"{categories:,} categories, exactly", False),
        of("greedy", "the paper's lazy greedy", True),
        of("sort", "sort (Bateni et al. 2019)", True),
    ]


def encode(files: Files, threads: int) -> list[Contender]:
    """A fit and a transform of rows that are read already, and of lists of strings."""
    train, size, sample = files.train, files.size, files.sample
    lists = _some(size, LISTS)
    stages = (
        ("fit of read rows", ours.learned),
        ("read rows to columns", ours.encoded),
        ("read rows to columns to svmlight text", ours.written),
    )
    return [
        *(
            Contender(f"{what}, {told}", make, train, (count,), size=size, sample=sample)
            for what, make in stages
            for count, told in _each(threads)
        ),
        Contender(
            "lists of strings to columns",
            ours.transformed,
            train,
            (threads, LISTS),
            size=lists,
            sample=sample,
            does="lists",
        ),
        Contender(HASHER, peers.sklearn_hash, train, (BUDGET, LISTS), size=lists, peer=True, does="lists"),
    ]


def job(files: Files, threads: int) -> list[Contender]:
    """`chromatic encode` from start to end, against a bare read of both files and a bare pass."""
    both = files.sizes[0] + files.sizes[1]
    return [
        *(
            Contender(
                f"chromatic encode, {told}",
                ours.job,
                files.train,
                (files.test, count),
                size=both,
                sample=files.sample,
            )
            for count, told in _each(threads)
        ),
        Contender(SKLEARN, peers.sklearn_read, files.train, (files.test,), size=both, peer=True),
        Contender(
            "a pass of Vowpal Wabbit over the training rows",
            peers.vowpal_wabbit,
            files.train,
            size=files.size,
            peer=True,
        ),
    ]


def one(files: Files, threads: int) -> list[Contender]:
    """One row: the median of many, each alone."""
    row = _some(files.size, 1)
    return [
        Contender("encode_one", ours.one, files.train, (ONES,), size=row),
        Contender(HASHER, peers.sklearn_hash_one, files.train, (BUDGET, ONES // 10), size=row, peer=True),
    ]


def start(files: Files, threads: int) -> list[Contender]:
    """What it costs to start, and to start for the first time."""
    sample = files.sample
    return [
        Contender("python alone", ours.python, sample, ("",)),
        Contender("import chromatic", ours.python, sample, ("import chromatic",)),
        Contender("chromatic --help", ours.starting, sample, ("--help",)),
        Contender("chromatic encode of 500 rows", ours.starting, sample, _encode(sample), sample=sample),
        Contender(
            "the same, nothing compiled",
            ours.compiling,
            sample,
            _encode(sample),
        ),
        Contender("chromatic warmup, nothing compiled", ours.compiling, sample, ("warmup",)),
    ]


def _encode(sample: str) -> tuple[str | None, ...]:
    return "encode", sample, "--test", sample, "-o", None


CONTESTS: dict[str, Callable[[Files, int], list[Contender]]] = {
    contest.__name__: contest for contest in (read, color, graph, quantize, encode, job, one, start)
}


def run(name: str, files: Files, threads: int, runs: int, say: Say) -> list[Measured]:
    """Measure a benchmark, and say what was measured."""
    contest = CONTESTS[name]
    say(f"\n{name}: {(contest.__doc__ or '').strip()}")
    measured = race(contest(files, threads), runs, say)
    for line in lines(measured):
        say(line)
    return measured


def lines(measured: list[Measured]) -> Iterator[str]:
    """Return a table of what was measured, line by line."""
    yield f"{'':<52}{'seconds':>11}{'rows/s':>13}{'MB/s':>8}{'MB':>8}"
    numbers = {one.what: f"[{i}]" for i, one in enumerate((one for one in measured if one.peer), 1)}
    for one in measured:
        rows, mb = one.rows_per_second, one.mb_per_second
        seconds = f"{one.seconds:.3f}" if one.seconds >= 0.001 else f"{one.seconds * 1e6:.1f} µs"
        more = f"  (p99 {one.more['p99_us']:.1f} µs)" if "p99_us" in one.more else ""
        told = f"{one.what} {numbers.get(one.what, '')}"
        ratios = ", ".join(f"{numbers[peer]} takes {ratio:.3g}x" for peer, ratio in one.ratios.items())
        yield (
            f"{told:<52}{seconds:>11}{'' if rows is None else f'{rows:,.0f}':>13}"
            f"{'' if mb is None else f'{mb:,.0f}':>8}{one.memory_mb:>8,.0f}  {ratios}{more}".rstrip()
        )


def records(name: str, measured: list[Measured]) -> Iterator[Record]:
    """Return a record to keep for each contender."""
    facts = machine()
    for one in measured:
        size = one.size
        yield {
            "benchmark": name,
            "what": one.what,
            "peer": one.peer,
            **facts,
            "rows": size and size.rows,
            "nonzeros": size and size.nonzeros,
            "bytes": size and size.bytes,
            "seconds": one.seconds,
            "rows_per_second": one.rows_per_second,
            "mb_per_second": one.mb_per_second,
            "peak_mb": one.memory_mb,
            "ratios": one.ratios,
            **one.more,
        }
