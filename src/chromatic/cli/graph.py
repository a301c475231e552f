"""`chromatic graph`: how the features of a data set color, what that costs, and what it guarantees."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.coloring import Coloring, Request, Transposed
    from chromatic.data import Rows
    from chromatic.graph.study import Study

MAX_K = 64  # of figures


@dataclass(frozen=True)
class Asked:
    """The flags that say how features are colored."""

    coloring: Annotated[str, typer.Option(help="balanced, first-fit, random or uniform.")] = "balanced"
    max_colors: Annotated[
        str,
        typer.Option(help="A number, or proper: as many as needed (random: twice what balanced needs)."),
    ] = "proper"
    min_edge_count: Annotated[
        int, typer.Option(help="Pairs of features seen in fewer rows may share a color.")
    ] = 1
    order: Annotated[
        str,
        typer.Option(help="Of first-fit, balanced, random: count, degree, largest-first, smallest-last."),
    ] = "count"
    seed: Annotated[int, typer.Option(help="For random and uniform colorings.")] = 0

    @property
    def request(self) -> Request:
        """The request; its palette is still to be found where a random coloring is to be proper."""
        from chromatic.coloring import Request
        from chromatic.errors import InputError

        palette: int | str = options.number_or_word(self.max_colors)
        if palette != "proper" and not isinstance(palette, int):
            raise InputError(f"max_colors is {self.max_colors!r}; expected a number, or proper")
        return Request(
            strategy=self.coloring,
            palette=1 if self._palette_is_open else palette,
            seed=self.seed,
            min_edge_count=self.min_edge_count,
            order=self.order,
        )

    @property
    def _palette_is_open(self) -> bool:
        return self.coloring == "random" and self.max_colors == "proper"

    def color(self, rows: Rows, transposed: Transposed, threads: int) -> tuple[Coloring, dict[str, Any]]:
        """Color rows; return the coloring, and what it promises."""
        from chromatic.coloring import color

        request = self.request
        if request.strategy == "uniform":
            return _color_uniformly(rows, request, transposed, threads)
        if self._palette_is_open:
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


@dataclass(frozen=True)
class Studied:
    """The flags that say what is told of the graph."""

    max_k: Annotated[
        int | None, typer.Option(help="Count the graph of pairs seen k times, for every k up to this.")
    ] = None
    delta: Annotated[float, typer.Option(help="Colors needed are right but for this probability.")] = 0.01
    compare: Annotated[bool, typer.Option(help="Tell what each coloring costs and promises.")] = False
    plots: Annotated[
        str | None, typer.Option(help=f"Draw figures into this folder; --max-k is then {MAX_K} by default.")
    ] = None
    export: Annotated[
        str | None,
        typer.Option(
            help="Write the pairs seen in --min-edge-count rows or more to this file: .csv or .parquet "
            "by name, .npz as a scipy matrix."
        ),
    ] = None

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


def graph(
    train: options.Inputs,
    reading: options.Reading,
    limits: options.Limits,
    asked: Asked,
    studied: Studied,
    test: Annotated[
        list[str] | None, typer.Option(help="Rows to count collisions on; may be given several times.")
    ] = None,
    json_: options.Json = False,
) -> None:
    """Color the features of TRAIN so that features of one row differ, and count collisions on TEST.

    Example: chromatic graph train.svm.gz --test test.svm.gz --max-k 64 --plots figures --json
    """
    from chromatic.coloring import collisions, transpose

    studied.check()
    request = asked.request  # refuses what makes no sense, before any work
    test = test or []
    with reading.reader([*train, *test]) as reader:
        data = reader.read(train, **asdict(limits), keep_names=studied.export is not None)
    options.say_what_was_left_out(data.left_out)
    others = reading.code(test, data.vocabulary) if test else None
    rows, test_rows = data.rows, None if others is None else others.rows
    how: dict[str, Any] = {"transposed": transpose(rows, reader.threads), "threads": reader.threads}
    colored, promised = asked.color(rows, **how)
    figures = options.size_of(data) | {
        "pairs_per_row": rows.pairs_per_row,
        "colors": colored.n_colors,
        "color_lower_bound": colored.lower_bound,
        "forced": colored.forced,
        "conflicts": colored.conflicts,
    }
    figures |= promised
    if test_rows is not None:
        figures |= {
            "test_rows": test_rows.n_rows,
            "collisions": collisions(test_rows, colored, reader.threads).mean,
            "unseen_features": test_rows.unseen,
        }
    if studied.export is not None:
        from chromatic.graph.export import export

        n_edges = export(rows, studied.export, request.min_edge_count, vocabulary=data.vocabulary, **how)
        options.log.warning("%s: %s pairs of features", studied.export, f"{n_edges:,}")
        figures["exported_edges"] = n_edges
    if studied.last_k is None:
        options.show(figures, json_)
        return
    figures |= _study(rows, test_rows, studied, seed=request.seed, **how)
    _show(figures, json_)


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
    options.log.warning("expected collisions: %s", ASSUMES)
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
    options.log.warning("expected collisions: %s", ASSUMES)
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
    (options.log.info if split.holds else options.log.warning)("%s", split.sentence)
    figures = {"rows": split.rows, "good_turing": split.estimated, "new_edges": split.seen}
    return {"time_split": figures | {"holds": split.holds}}


def _show(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        options.show(figures, True)
        return
    options.show({name: value for name, value in figures.items() if _is_plain(value)}, False)
    for path in figures.get("figures", ()):
        print(path)
    for name, told in (("per_k", "all features"), ("filtered", "without the held-out features")):
        series = figures[name]
        print(f"\npairs seen in k rows or more, {told} (some k; --json tells all)")
        _table(
            [
                {key.replace("_", " "): values[i] for key, values in series.items()}
                for i in range(len(series["k"]))
                if (i + 1) & i == 0 or i + 1 in (figures["suggested_k"], len(series["k"]))
            ]
        )
    if "colorings" in figures:
        print("\nwhat each coloring costs and promises")
        _table([{key.replace("_", " "): v for key, v in each.items()} for each in figures["colorings"]])


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def _table(lines: list[dict[str, Any]]) -> None:
    """Lines with the same keys, in columns."""
    cells = [list(lines[0]), *([options.shown(value) for value in line.values()] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))
