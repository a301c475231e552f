"""`chromatic graph`: how the features of a data set color, what that costs, and what it guarantees."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from chromatic.cli import options, terminal
from chromatic.cli.describe import size_of

if TYPE_CHECKING:
    from chromatic.coloring import Coloring, Columns
    from chromatic.data import Rows
    from chromatic.graph.study import Study
    from chromatic.jobs import Reading
    from chromatic.parameters import Settings

log = logging.getLogger("chromatic")

MAX_K = 64  # of figures


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
@options.option(
    "--max-k", number=int, help="Count the graph of pairs seen k times, for every k up to this."
)
@options.option(
    "--delta", number=float, default=0.01, help="Colors needed are right but for this probability."
)
@options.option(
    "--compare/--no-compare",
    is_flag=True,
    default=False,
    help="Tell what each coloring costs and promises.",
)
@options.option(
    "--plots",
    section="Output",
    help=f"Draw figures into this folder; --max-k is then {MAX_K} by default.",
)
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
    max_k: int | None,
    delta: float,
    compare: bool,
    plots: str | None,
    as_json: bool,
    settings: Settings,
    reading: Reading,
) -> None:
    """Color the features of TRAIN so that features of one row differ, and count collisions on TEST.

    Example: chromatic graph train.svm.gz --test test.svm.gz --max-k 64 --plots figures --json
    """
    from chromatic import jobs
    from chromatic._threads import thread_count
    from chromatic.coloring import transpose

    if max_k is None and (plots is not None or compare):
        max_k = MAX_K
    _check(max_k, delta, plots)
    jobs.check_paths([*train, *test])
    data = jobs.read(train, reading, replace(settings, names=False))
    rows, threads = data.rows, thread_count(settings.threads)
    test_rows = jobs.code(test, data.vocabulary, reading, threads).rows if test else None
    columns = transpose(rows, threads)
    asked = _Asked(
        strategy=coloring,
        palette=max_colors,
        k=settings.min_edge_count,
        order=order,
        seed=settings.seed,
    )
    colored, promised = _color(rows, columns, asked, threads)
    figures = size_of(data) | _colored(rows, colored) | promised
    if test_rows is not None:
        figures |= _collisions(test_rows, colored, threads)
    if max_k is None:
        terminal.show(figures, as_json)
        return
    from chromatic.graph.study import study

    studied = study(rows, max_k, test=test_rows, delta=delta, columns=columns, threads=threads)
    figures |= _studied(studied) | _split_in_time(rows, threads)
    if compare or plots is not None:
        from chromatic.coloring.prices import prices

        drawn: dict[str, Any] = {"test": test_rows, "seed": settings.seed, "threads": threads}
        figures["colorings"] = prices(rows, studied.suggested_k, columns, **drawn)
    if plots is not None:
        from chromatic.report.figures import draw_graph_figures

        figures["figures"] = draw_graph_figures(studied, figures["colorings"], plots)
    _show(figures, as_json)


def _check(max_k: int | None, delta: float, plots: str | None) -> None:
    """Refuse, before any work, what cannot be studied or drawn."""
    from chromatic.errors import InputError
    from chromatic.graph.bounds import deviation

    if max_k is not None and not 1 <= max_k < 65_535:
        raise InputError(f"max_k is {max_k}; expected 1 to 65,534")
    if plots is not None:
        from chromatic.report.figures import folder_for_figures

        folder_for_figures(plots)
    deviation(1, 1, 1, delta)  # refuses a delta that the theorem does not cover


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


@dataclass(frozen=True)
class _Asked:
    """The coloring that is asked for."""

    strategy: str
    palette: int | str
    k: int  # only pairs seen in so many rows need different colors
    order: str
    seed: int


def _color(rows: Rows, columns: Columns, asked: _Asked, threads: int) -> tuple[Coloring, dict[str, Any]]:
    """Return the coloring that was asked for, and what it promises."""
    from chromatic.coloring import certify, color
    from chromatic.coloring.certificate import ASSUMES
    from chromatic.coloring.thinned import color_thinned

    start = time.perf_counter()
    strategy, palette, k = asked.strategy, asked.palette, asked.k
    if strategy == "uniform":
        return _color_uniformly(rows, columns, asked, threads)
    if strategy == "random" and palette == "proper":
        palette = max(1, 2 * color(rows, columns=columns).n_colors)
        start = time.perf_counter()
    given: dict[str, Any] = {"seed": asked.seed, "order": asked.order}
    given |= {"columns": columns, "threads": threads}
    if k == 1:
        colored = color(rows, strategy, palette, **given)
    else:
        colored = color_thinned(rows, k, strategy, palette, **given)
    if strategy != "random" or k > 1:
        return colored, {}
    promised = {"coloring_seconds": time.perf_counter() - start}
    if asked.order == "count":
        certificate = certify(rows, columns, colored, threads=threads)
        promised["expected_collisions"] = certificate.expected
        promised["standard_error"] = certificate.standard_error
        log.warning("expected collisions: %s", ASSUMES)
    return colored, promised


def _color_uniformly(
    rows: Rows, columns: Columns, asked: _Asked, threads: int
) -> tuple[Coloring, dict[str, Any]]:
    """Return a uniform coloring, and what it promises."""
    from chromatic.coloring.certificate import ASSUMES
    from chromatic.coloring.uniform import color_uniform

    start = time.perf_counter()
    given: dict[str, Any] = {"seed": asked.seed, "columns": columns, "threads": threads}
    colored, how = color_uniform(rows, asked.palette, asked.k, **given)
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


def _studied(studied: Study) -> dict[str, Any]:
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
    told = {"rows": split.rows, "good_turing": split.estimated, "new_edges": split.seen}
    return {"time_split": told | {"holds": split.holds}}


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
