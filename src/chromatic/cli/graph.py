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
    from chromatic.data import Rows
    from chromatic.graph.study import Study
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")

MAX_K = 64  # of figures


@dataclass(frozen=True)
class Studied:
    """What is to be told of the graph."""

    max_k: int | None
    delta: float
    compare: bool
    plots: str | None
    export: str | None

    @property
    def prices_colorings(self) -> bool:
        return self.compare or self.plots is not None

    @property
    def last_k(self) -> int | None:
        """The largest k of figures; None where there are none."""
        return MAX_K if self.max_k is None and self.prices_colorings else self.max_k

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
        deviation(1, 1, 1, self.delta)  # refuses a delta that the theorem does not cover


studied_flags = options.gathered(
    "studied",
    Studied,
    {
        "max_k": options.option(
            "--max-k", number=int, help="Count the graph of pairs seen k times, for every k up to this."
        ),
        "delta": options.option(
            "--delta", number=float, default=0.01, help="Colors needed are right but for this probability."
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
            help=f"Draw figures into this folder; --max-k is then {MAX_K} by default.",
        ),
        "export": options.option(
            "--export",
            section="Output",
            help="Write the pairs seen in --min-edge-count rows or more to this file: .csv or .parquet by "
            "name, .npz as a scipy matrix.",
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
@options.option(
    "--order",
    words=("count", "degree", "largest-first", "smallest-last"),
    default="count",
    section="Colors",
    help="The order in which first-fit, balanced and random take the features.",
)
@studied_flags
@options.as_json
@options.parameters("min_edge_count", "dense_threshold", "min_count", "threads", "seed")
@options.reading
def graph(
    train: list[str],
    test: list[str],
    *,
    coloring: str,
    max_colors: int | str,
    order: str,
    studied: Studied,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Color the features of TRAIN so that features of one row differ, and count collisions on TEST.

    Example: chromatic graph train.svm.gz --test test.svm.gz --max-k 64 --plots figures --json
    """
    from chromatic import jobs
    from chromatic._threads import thread_count
    from chromatic.coloring import Request, transpose

    studied.check()
    seed, k = settings.seed, settings.min_edge_count
    is_open = coloring == "random" and max_colors == "proper"  # its palette is found later
    request = Request(coloring, 1 if is_open else max_colors, seed=seed, min_edge_count=k, order=order)
    jobs.check_paths([*train, *test])
    data = jobs.read(train, reading, replace(settings, names=studied.export is not None))
    rows, threads = data.rows, thread_count(settings.threads)
    test_rows = jobs.code(test, data.vocabulary, reading, threads).rows if test else None
    how: dict[str, Any] = {"transposed": transpose(rows, threads), "threads": threads}
    colored, promised = _color(rows, request, is_open=is_open, **how)
    figures = size_of(data) | _colored(rows, colored) | promised
    if test_rows is not None:
        figures |= _collisions(test_rows, colored, threads)
    if studied.export is not None:
        from chromatic.graph.export import export

        n_edges = export(rows, studied.export, k, vocabulary=data.vocabulary, **how)
        log.info("%s: %s pairs of features", studied.export, f"{n_edges:,}")
        figures["exported_edges"] = n_edges
    if studied.last_k is None:
        terminal.show(figures, as_json)
        return
    _show(figures | _study(rows, test_rows, studied, seed=seed, **how), as_json)


def _colored(rows: Rows, coloring: Coloring) -> dict[str, Any]:
    return {
        "pairs_per_row": rows.pairs_per_row,
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
    rows: Rows, request: Request, *, is_open: bool, transposed: Transposed, threads: int
) -> tuple[Coloring, dict[str, Any]]:
    """Return the coloring that was asked for, and what it promises.

    Where the palette is open, it is twice what a balanced coloring needs.
    """
    from chromatic.coloring import color

    if request.strategy == "uniform":
        return _color_uniformly(rows, request, transposed, threads)
    if is_open:
        balanced = color(rows, transposed=transposed)
        request = replace(request, palette=max(1, 2 * balanced.n_colors))
    start = time.perf_counter()
    colored = color(rows, request, transposed=transposed, threads=threads)
    if request.strategy != "random" or request.min_edge_count > 1:
        return colored, {}
    promised: dict[str, Any] = {"coloring_seconds": time.perf_counter() - start}
    if request.order == "count":
        promised |= _certified(rows, colored, transposed, threads)
    return colored, promised


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
    rows: Rows, request: Request, transposed: Transposed, threads: int
) -> tuple[Coloring, dict[str, Any]]:
    from chromatic.coloring.certificate import ASSUMES
    from chromatic.coloring.uniform import color_uniform

    start = time.perf_counter()
    colored, how = color_uniform(rows, request, transposed=transposed, threads=threads)
    promised: dict[str, Any] = {
        "coloring_seconds": time.perf_counter() - start,
        "expected_collisions": how.expected_collisions,
        "bound": how.bound.paper,
        "bound_mcdiarmid": how.bound.mcdiarmid,
        "held_out": how.held_out,
        "max_degree_left": how.max_degree,
        "steps": how.steps,
        "steps_of_the_paper": how.paper_steps,
        "updates_at_once": how.at_once,
        "updates_at_once_of_the_paper": how.paper_at_once,
    }
    log.warning("expected collisions: %s", ASSUMES)
    return colored, promised


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
        print(path)
    for name, told in (("per_k", "all features"), ("filtered", "without the held-out features")):
        series = figures[name]
        print(f"\npairs seen in k rows or more, {told} (some k; --json tells all)")
        last = len(series["k"])
        some = [k for k in range(1, last + 1) if k & (k - 1) == 0 or k in (figures["suggested_k"], last)]
        terminal.show_table([{key: values[k - 1] for key, values in series.items()} for k in some])
    if "colorings" in figures:
        print("\nwhat each coloring costs and promises")
        terminal.show_table(figures["colorings"])
