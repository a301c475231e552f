"""`chromatic graph`: how the features of a data set color, what that costs, and what it guarantees."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chromatic.cli import options

if TYPE_CHECKING:
    from chromatic.coloring import Coloring, Columns
    from chromatic.data import Rows
    from chromatic.graph.study import Study

MAX_K = 64  # of figures


def graph(
    train: options.Inputs,
    reading: options.Reading,
    limits: options.Limits,
    test: Annotated[
        list[str] | None, typer.Option(help="Rows to count collisions on; may be given several times.")
    ] = None,
    coloring: Annotated[str, typer.Option(help="balanced, first-fit, random or uniform.")] = "balanced",
    max_colors: Annotated[
        str,
        typer.Option(help="A number, or proper: as many as needed (random: twice what balanced needs)."),
    ] = "proper",
    min_edge_count: Annotated[
        int, typer.Option(help="Pairs of features seen in fewer rows may share a color.")
    ] = 1,
    order: Annotated[
        str,
        typer.Option(help="Of first-fit, balanced, random: count, degree, largest-first, smallest-last."),
    ] = "count",
    max_k: Annotated[
        int | None, typer.Option(help="Count the graph of pairs seen k times, for every k up to this.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Colors needed are right but for this probability.")] = 0.01,
    compare: Annotated[bool, typer.Option(help="Tell what each coloring costs and promises.")] = False,
    plots: Annotated[
        str | None, typer.Option(help=f"Draw figures into this folder; --max-k is then {MAX_K} by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For random and uniform colorings.")] = 0,
    json_: options.Json = False,
) -> None:
    """Color the features of TRAIN so that features of one row differ, and count collisions on TEST.

    Example: chromatic graph train.svm.gz --test test.svm.gz --max-k 64 --plots figures --json
    """
    from chromatic.coloring import transpose
    from chromatic.errors import InputError
    from chromatic.graph.bounds import deviation

    palette: int | str = options.number_or_word(max_colors)
    if palette != "proper" and not isinstance(palette, int):
        raise InputError(f"max_colors is {max_colors!r}; expected a number, or proper")
    if max_k is not None and not 1 <= max_k < 65_535:
        raise InputError(f"max_k is {max_k}; expected 1 to 65,534")
    if max_k is None and (plots is not None or compare):
        max_k = MAX_K
    if plots is not None:
        from chromatic.report.figures import folder_for_figures

        folder_for_figures(plots)
    deviation(1, 1, 1, delta)  # refuses a delta that the theorem does not cover
    test = test or []
    with reading.reader([*train, *test]) as reader:
        data = reader.read(train, **asdict(limits), keep_names=False)
    options.say_what_was_left_out(data.left_out)
    others = reading.code(test, data.vocabulary) if test else None
    rows, test_rows = data.rows, None if others is None else others.rows
    columns = transpose(rows, reader.threads)
    found, promised = _color(rows, columns, coloring, palette, min_edge_count, order, seed, reader.threads)
    figures = options.size_of(data) | {
        "pairs_per_row": rows.pairs_per_row,
        "colors": found.n_colors,
        "color_lower_bound": found.lower_bound,
        "forced": found.forced,
        "conflicts": found.conflicts,
    }
    figures |= promised
    if test_rows is not None:
        from chromatic.coloring import collisions

        figures |= {
            "test_rows": test_rows.n_rows,
            "collisions": collisions(test_rows, found, reader.threads).mean,
            "unseen_features": test_rows.unseen,
        }
    if max_k is None:
        options.show(figures, json_)
        return
    from chromatic.coloring.prices import prices
    from chromatic.graph.study import study

    studied = study(rows, max_k, test=test_rows, delta=delta, columns=columns, threads=reader.threads)
    figures |= _studied(studied) | _split_in_time(rows, reader.threads)
    if compare or plots is not None:
        best = studied.suggested_k
        figures["colorings"] = prices(
            rows, best, columns, test=test_rows, seed=seed, threads=reader.threads
        )
    if plots is not None:
        from chromatic.report.figures import draw_graph_figures

        figures["figures"] = draw_graph_figures(studied, figures["colorings"], plots)
    _show(figures, json_)


def _color(
    rows: Rows,
    columns: Columns,
    fit: str,
    palette: int | str,
    k: int,
    order: str,
    seed: int,
    threads: int,
) -> tuple[Coloring, dict[str, Any]]:
    """The coloring that was asked for, and what it promises."""
    from chromatic.coloring import certify, color
    from chromatic.coloring.certificate import ASSUMES
    from chromatic.coloring.thinned import color_thinned
    from chromatic.coloring.uniform import color_uniform

    start = time.perf_counter()
    if fit == "uniform":
        found, how = color_uniform(rows, palette, k, seed=seed, columns=columns, threads=threads)
        told: dict[str, Any] = {
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
        return found, told
    if fit == "random" and palette == "proper":
        palette = max(1, 2 * color(rows, columns=columns).n_colors)
        start = time.perf_counter()
    given: dict[str, Any] = {"seed": seed, "order": order, "columns": columns, "threads": threads}
    if k == 1:
        found = color(rows, fit, palette, **given)
    else:
        found = color_thinned(rows, k, fit, palette, **given)
    if fit != "random" or k > 1:
        return found, {}
    seconds = time.perf_counter() - start
    told = {"coloring_seconds": seconds}
    if order == "count":
        certificate = certify(rows, columns, found, threads=threads)
        told["expected_collisions"] = certificate.expected
        told["standard_error"] = certificate.standard_error
        options.log.warning("expected collisions: %s", ASSUMES)
    return found, told


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
    (options.log.info if split.holds else options.log.warning)("%s", split.sentence)
    told = {"rows": split.rows, "good_turing": split.estimated, "new_edges": split.seen}
    return {"time_split": told | {"holds": split.holds}}


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
