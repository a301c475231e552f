"""`chromatic graph`: how the features of a data set color, what that costs, and what it guarantees."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chromatic.cli import options, terminal
from chromatic.cli.describe import size_of

if TYPE_CHECKING:
    from chromatic.coloring import Coloring, Request, Transposed
    from chromatic.data import Dataset, Rows
    from chromatic.data.stored import StoredDataset, StoredRows
    from chromatic.graph.study import Study
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")


@dataclass(frozen=True)
class Studied:
    """What is to be told of the graph."""

    max_k: int | None
    delta: float
    compare: bool
    plots: str | None
    export: str | None
    pairs: int | None

    @property
    def prices_colorings(self) -> bool:
        return self.compare or self.plots is not None

    @property
    def last_k(self) -> int | None:
        """The largest k of figures; None where there are none."""
        from chromatic.graph.study import MAX_K

        return MAX_K if self.max_k is None and self.prices_colorings else self.max_k

    @property
    def needs_names(self) -> bool:
        return self.export is not None or self.pairs is not None

    def check(self) -> None:
        """Refuse, before any work, what cannot be counted, promised or written."""
        from chromatic.errors import InputError
        from chromatic.graph.bounds import deviation

        if self.max_k is not None and not 1 <= self.max_k < 65_535:
            raise InputError(f"max_k is {self.max_k}; expected 1 to 65,534")
        if self.plots is not None:
            from chromatic.report.figures import folder_for_figures

            folder_for_figures(self.plots)
        if self.export is not None:
            from chromatic.graph.export import check_export

            check_export(self.export)
        if self.pairs is not None:
            from chromatic.graph.association import check_pairs

            check_pairs(self.pairs)
        deviation(1, 1, 1, self.delta)  # refuses a delta that the theorem does not cover

    def check_for_disk(self, test: list[str]) -> None:
        """Refuse what is counted in all rows at once."""
        from chromatic.errors import InputError

        asked = {"--test": test, "--max-k": self.max_k, "--compare": self.compare, "--plots": self.plots}
        for flag, given in asked.items():
            if given:
                raise InputError(f"{flag} needs all rows in memory; expected none, or no --memory")


studied_flags = options.gathered(
    "studied",
    Studied,
    {
        "max_k": options.option(
            "--max-k", number=int, help="Count the graph of pairs seen k times, for every k up to this."
        ),
        "delta": options.option(
            "--delta",
            number=float,
            default=0.01,
            help="Colors needed and bounds are right but for this probability.",
        ),
        "compare": options.option(
            "--compare/--no-compare",
            is_flag=True,
            default=False,
            help="Tell what each coloring costs and promises.",
        ),
        "plots": options.option(
            "--plots",
            section="Output",
            help="Draw figures into this folder; --max-k is then 64 by default.",
        ),
        "export": options.option(
            "--export",
            section="Output",
            help="Write the pairs seen in --min-edge-count rows or more to this file: .csv or .parquet by "
            "name, .npz as a scipy matrix.",
        ),
        "pairs": options.option(
            "--pairs",
            number=int,
            section="Output",
            help="Tell so many pairs of features that share the most rows above chance.",
        ),
    },
)


@options.inputs("train")
@options.option("--test", several=True, help="Rows to count collisions on; may be given several times.")
@options.option(
    "--coloring",
    words=("balanced", "first-fit", "random", "uniform"),
    default="balanced",
    section="Colors",
    help="How features get their colors.",
)
@options.option(
    "--max-colors",
    number=int,
    words=("proper",),
    default="proper",
    section="Colors",
    help="A number, or proper: as many as needed (random: twice what balanced needs).",
)
@studied_flags
@options.as_json
@options.parameters(
    *("order", "min_edge_count", "dense_threshold", "min_count", "memory", "cache", "threads", "seed")
)
@options.reading
def graph(
    train: list[str],
    test: list[str],
    *,
    coloring: str,
    max_colors: int | str,
    studied: Studied,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Color the features of TRAIN so that features of one row differ, and count collisions on TEST.

    Example: chromatic graph train.svm.gz --test test.svm.gz --max-k 64 --plots figures --json
    """
    from chromatic import jobs
    from chromatic._paths import check_paths
    from chromatic._threads import thread_count
    from chromatic.coloring import Request, transpose
    from chromatic.coloring.choose import chosen
    from chromatic.data.rows import Rows

    studied.check()
    if settings.memory is not None:
        studied.check_for_disk(test)
    is_open = coloring == "random" and max_colors == "proper"  # its palette is found later
    request = Request(
        coloring,
        1 if is_open else max_colors,
        seed=settings.seed,
        min_edge_count=settings.min_edge_count,
        order=settings.order,
    )
    check_paths([*train, *test])
    threads = thread_count(settings.threads)
    with jobs.read_or_store(train, reading, replace(settings, names=studied.needs_names)) as data:
        rows = data.rows
        test_rows = jobs.code(test, data.vocabulary, reading, threads).rows if test else None
        transposed = transpose(rows, threads) if isinstance(rows, Rows) else None
        how: dict[str, Any] = {"transposed": transposed, "threads": threads}
        request = chosen(rows, request, **how)
        colored, promised = _color(rows, request, is_open=is_open, delta=studied.delta, **how)
        figures = size_of(data) | _colored(rows, request, colored) | promised
        if test_rows is not None:
            figures |= _collisions(test_rows, colored, threads)
        figures |= _weighted(data, request.k, studied, **how)
        if studied.last_k is not None:
            assert isinstance(rows, Rows)
            figures |= _study(rows, test_rows, studied, seed=settings.seed, **how)
    _show(figures, as_json)


def _weighted(data: Dataset | StoredDataset, k: int, studied: Studied, **how: Any) -> dict[str, Any]:
    """What the weighted graph is asked for: a file of it, and pairs that stand out."""
    figures: dict[str, Any] = {}
    if studied.export is not None:
        from chromatic.graph.export import export

        n_edges = export(data.rows, studied.export, k, vocabulary=data.vocabulary, **how)
        log.info("%s: %s pairs of features", studied.export, f"{n_edges:,}")
        figures["exported_edges"] = n_edges
    if studied.pairs is not None:
        from chromatic.graph.association import above_chance
        from chromatic.graph.stream import edges_of

        blocks = edges_of(data.rows, k, **how)
        pairs = above_chance(blocks, data.vocabulary.counts, data.rows.n_rows, studied.pairs)
        figures["pairs"] = [pair.told(data.vocabulary) for pair in pairs]
    return figures


def _colored(rows: Rows | StoredRows, request: Request, coloring: Coloring) -> dict[str, Any]:
    return {
        "pairs_per_row": rows.pairs_per_row,
        "min_edge_count": request.k,
        "colors": coloring.n_colors,
        "color_lower_bound": coloring.lower_bound,
        "forced": coloring.forced,
        "conflicts": coloring.conflicts,
    }


def _collisions(test_rows: Rows, coloring: Coloring, threads: int) -> dict[str, Any]:
    from chromatic.coloring import collisions

    return {
        "test_rows": test_rows.n_rows,
        "collisions": collisions(test_rows, coloring, threads).mean,
        "unseen_features": test_rows.unseen,
    }


def _color(
    rows: Rows | StoredRows,
    request: Request,
    *,
    is_open: bool,
    delta: float,
    transposed: Transposed | None,
    threads: int,
) -> tuple[Coloring, dict[str, Any]]:
    """Return the coloring that was asked for, and what it promises.

    Where the palette is open, it is twice what a balanced coloring needs.
    """
    from chromatic.coloring import color
    from chromatic.data.rows import Rows

    if request.strategy == "uniform":
        return _color_uniformly(rows, request, delta, transposed=transposed, threads=threads)
    if is_open:
        balanced = color(rows, transposed=transposed)
        request = replace(request, palette=max(1, 2 * balanced.n_colors))
    start = time.perf_counter()
    colored = color(rows, request, transposed=transposed, threads=threads)
    if request.strategy != "random" or request.k > 1 or transposed is None:
        return colored, {}
    assert isinstance(rows, Rows)
    seconds = {"coloring_seconds": time.perf_counter() - start}
    return colored, seconds | _certified(rows, colored, transposed, threads)


def _study(rows: Rows, test: Rows | None, studied: Studied, *, seed: int, **how: Any) -> dict[str, Any]:
    """The figures for every k, and what the flags ask for beside them."""
    from chromatic.graph.study import study

    assert studied.last_k is not None
    study_ = study(rows, studied.last_k, test=test, delta=studied.delta, **how)
    figures = _figures(study_) | _split_in_time(rows, how["threads"])
    if studied.prices_colorings:
        from chromatic.coloring.prices import prices

        figures["colorings"] = prices(rows, study_.suggested_k, test=test, seed=seed, **how)
    if studied.plots is not None:
        from chromatic.report.figures import draw_graph_figures

        figures["figures"] = draw_graph_figures(study_, figures["colorings"], studied.plots)
    return figures


def _certified(rows: Rows, coloring: Coloring, transposed: Transposed, threads: int) -> dict[str, Any]:
    from chromatic.coloring.certificate import ASSUMES, certify

    certificate = certify(rows, transposed, coloring, threads=threads)
    log.warning("expected collisions: %s", ASSUMES)
    return {
        "expected_collisions": certificate.expected,
        "standard_error": certificate.standard_error,
    }


def _color_uniformly(
    rows: Rows | StoredRows, request: Request, delta: float, **how: Any
) -> tuple[Coloring, dict[str, Any]]:
    from chromatic.coloring.certificate import ASSUMES
    from chromatic.coloring.uniform import color_uniform

    start = time.perf_counter()
    colored, drawn = color_uniform(rows, request, delta=delta, **how)
    seconds = {"coloring_seconds": time.perf_counter() - start}
    log.warning("expected collisions: %s", ASSUMES)
    return colored, seconds | drawn.told


def _figures(studied: Study) -> dict[str, Any]:
    return {
        "edges": studied.pairs.n_edges,
        "avg_degree": studied.per_k["avg_degree"][0],
        "max_degree": studied.per_k["max_degree"][0],
        "pairs_never_seen": studied.pairs_never_seen,
        "suggested_k": studied.suggested_k,
        "per_k": studied.per_k,
        "filtered": studied.filtered,
    }


def _split_in_time(rows: Rows, threads: int) -> dict[str, Any]:
    from chromatic.graph.study import time_split

    if rows.n_rows < 2:
        return {}
    split = time_split(rows, threads=threads)
    (log.info if split.holds else log.warning)("%s", split.sentence)
    figures = {"rows": split.rows, "good_turing": split.estimated, "new_edges": split.seen}
    return {"time_split": figures | {"holds": split.holds}}


def _show(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, and as tables those that are there for every k or coloring."""
    if as_json:
        terminal.show(figures, True)
        return
    plain = {name: value for name, value in figures.items() if not isinstance(value, (dict, list))}
    terminal.show(plain, False)
    for path in figures.get("figures", ()):
        terminal.say(path)
    if figures.get("pairs"):
        terminal.say("", "pairs of features that share more rows than by chance")
        terminal.show_table(figures["pairs"])
    for name, told in (("per_k", "all features"), ("filtered", "without the held-out features")):
        if name not in figures:
            continue
        series = figures[name]
        terminal.say("", f"pairs seen in k rows or more, {told} (some k; --json tells all)")
        last = len(series["k"])
        some = [k for k in range(1, last + 1) if k & (k - 1) == 0 or k in (figures["suggested_k"], last)]
        terminal.show_table([{key: values[k - 1] for key, values in series.items()} for k in some])
    if "colorings" in figures:
        terminal.say("", "what each coloring costs and promises")
        terminal.show_table(figures["colorings"])
