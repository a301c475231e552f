"""The figures of the paper's appendix, for any data, and the style of all figures."""

from __future__ import annotations

import contextlib
import math
import os
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from chromatic._extras import optional
from chromatic._files import make_folder, replacing
from chromatic.graph.study import Series, Study

BLUE, ORANGE, GREEN, RED, GRAY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"
STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "axes.axisbelow": True,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.hashsalt": "chromatic",
}


def check_matplotlib() -> None:
    """Refuse early what would fail late."""
    optional("matplotlib")


def folder_for_figures(folder: str | os.PathLike[str]) -> str:
    """Make a folder for figures where it is missing; refuse early what would fail late."""
    check_matplotlib()
    folder = os.fspath(folder)
    make_folder(folder)
    return folder


def draw_graph_figures(
    study: Study, prices: list[dict[str, Any]], folder: str | os.PathLike[str]
) -> list[str]:
    """Write the figures into a folder, which is made where it is missing; return their paths."""
    per_k, filtered, k = study.per_k, study.filtered, study.suggested_k
    held = filtered["held_out"][k - 1], filtered["max_degree"][k - 1]

    def titled(title: str, draw: Callable[..., None], *of: Any) -> Callable[[Any], None]:
        def drawing(axes: Any) -> None:
            draw(axes, *of)
            axes.set_title(title)

        return drawing

    return write_figures(
        {
            "new-edges": titled("New edges of a row, all features", draw_new_edges, per_k),
            "colors-needed": titled(
                "Colors that a guarantee needs, all features colored", draw_colors_needed, per_k
            ),
            "new-edges-filtered": titled(
                "New edges of a row, without the held-out features", draw_new_edges, filtered
            ),
            "colors-needed-filtered": titled(
                "Colors that a guarantee needs, with and without held-out features",
                draw_colors_needed_filtered,
                per_k,
                filtered,
            ),
            "collisions": titled("Collisions against colors", draw_collisions, prices, k, *held),
        },
        folder,
    )


def write_figures(drawings: dict[str, Callable[[Any], None]], folder: str | os.PathLike[str]) -> list[str]:
    """Write a PNG file for each drawing, which is given its axes; return their paths."""
    folder = folder_for_figures(folder)
    paths = []
    for name, draw in drawings.items():
        paths.append(os.path.join(folder, f"{name}.png"))
        with panels(1, [paths[-1]]) as [axes]:
            draw(axes)
    return paths


@contextlib.contextmanager
def panels(count: int, paths: list[str], title: str | None = None) -> Iterator[list[Any]]:
    """Give axes to draw on, two in a line, then write PNG or SVG files: the same bytes every time."""
    import matplotlib
    from matplotlib.figure import Figure

    across = min(2, count)
    down = -(-count // across)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4 * across, 4.2 * down), dpi=120, layout="constrained")
        places = figure.subplots(down, across, squeeze=False).ravel()
        for unused in places[count:]:
            unused.set_axis_off()
        if title is not None:
            figure.suptitle(textwrap.fill(title, 72 * across), x=0.01, ha="left", fontsize=12)
        yield list(places[:count])
        for path in paths:
            kind = path.rsplit(".", 1)[1]
            with replacing(path) as file:
                figure.savefig(file, format=kind, metadata={"Date" if kind == "svg" else "Software": None})


def draw_new_edges(axes: Any, series: Series) -> None:
    """Draw the new edges of a row, estimated and seen, against k."""
    ks = series["k"]
    for color, name, estimate, seen in (
        (BLUE, "all pairs", "good_turing", "new_edges"),
        (GREEN, "pairs of known features", "good_turing_seen", "new_edges_seen"),
    ):
        axes.plot(ks, series[estimate], color=color, label=f"estimated, {name}")
        if seen in series:
            some = [i for i, k in enumerate(ks) if k <= 8 or k % 2 ** (k.bit_length() - 3) == 0]
            points = [ks[i] for i in some], [series[seen][i] for i in some]
            options = {"marker": "o", "markersize": 5, "linestyle": "none", "markerfacecolor": "white"}
            axes.plot(*points, color=color, label=f"in test rows, {name}", **options)
    _over_k(axes, ks)
    axes.set(ylabel="pairs seen fewer than k times, a row")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best", ncols=2 if "new_edges" in series else 1)


def draw_colors_needed(axes: Any, series: Series) -> None:
    """Draw the colors that the theorem needs, and what they are made of, against k."""
    ks = series["k"]
    axes.plot(ks, series["colors_needed"], color=BLUE, label="$m$, colors needed")
    degrees = _positive(series["max_degree"])
    axes.plot(ks, degrees, "--", color=ORANGE, label=r"$\Delta$, the largest degree")
    parts = zip(series["colors_needed"], series["max_degree"], series["good_turing"], strict=True)
    deviation = [needed - 2 * degree - new for needed, degree, new in parts]
    axes.plot(ks, deviation, "-.", color=RED, label="deviation of the estimate")
    axes.plot(ks, series["good_turing"], ":", color=GREEN, label="new edges of a row")
    _over_k(axes, ks)
    _log(axes)
    axes.set(ylabel="colors")
    axes.legend(loc="best")


def draw_colors_needed_filtered(axes: Any, per_k: Series, filtered: Series) -> None:
    """Draw the colors that the theorem needs with features held out and without, against k."""
    ks = per_k["k"]
    axes.plot(ks, per_k["colors_needed"], color=GRAY, label="$m$, nothing held out")
    axes.plot(ks, filtered["colors_needed"], color=BLUE, label="$m_f$, with held-out features")
    for name, style, color, label in (
        ("held_out", "--", ORANGE, "$|W|$, held-out features"),
        ("max_degree", ":", GREEN, r"$\Delta_f$, the largest degree without them"),
    ):
        axes.plot(ks, _positive(filtered[name]), style, color=color, label=label)
    fewest = min(filtered["colors_needed"])
    best = ks[filtered["colors_needed"].index(fewest)]
    axes.plot([best], [fewest], "o", color=RED, markersize=7)
    axes.annotate(
        f"fewest: {fewest:,.0f} at k = {best}",
        (best, fewest),
        xytext=(8, -14),
        textcoords="offset points",
        color=RED,
    )
    _over_k(axes, ks)
    _log(axes)
    axes.set(ylabel="colors")
    axes.legend(loc="best")


def draw_collisions(
    axes: Any, prices: list[dict[str, Any]], k: int, held_out: int, max_degree: int
) -> None:
    """Draw the collisions in test rows and promised ones, against the colors of each coloring."""
    tested = any(price["collisions"] is not None for price in prices)
    for strategy, color in (("random", GREEN), ("uniform", BLUE)):
        chosen = [price for price in prices if price["coloring"] == strategy]
        label = "random" if strategy == "random" else f"uniform, k = {k}"
        colors = [price["colors"] for price in chosen]
        if tested:
            seen = _positive([price["collisions"] for price in chosen])
            axes.plot(colors, seen, "o-", color=color, markersize=5, label=f"{label}: in test rows")
        expected = _positive([price["expected"] for price in chosen])
        axes.plot(colors, expected, "--", color=color, label=f"{label}: promised")
    for strategy, color in (("first-fit", RED), ("balanced", ORANGE)):
        [price] = [price for price in prices if price["coloring"] == strategy]
        label = f"{strategy}: {price['colors']:,} colors"
        if price["collisions"]:
            axes.plot(price["colors"], price["collisions"], "s", color=color, markersize=7, label=label)
        else:
            axes.axvline(price["colors"], color=color, linewidth=1, label=label)
    for at, style, label in (
        (held_out, "-.", "$|W|$"),
        (held_out + 2 * max_degree, ":", "$|W| + 2\\Delta_f$"),
    ):
        if at:
            axes.axvline(at, color=GRAY, linewidth=1, linestyle=style, label=f"{label} = {at:,}")
    axes.set_xscale("log")
    _log(axes)
    plain_numbers(axes.xaxis)
    what = "collisions of a test row" if tested else "collisions promised for a new row"
    axes.set(xlabel="colors", ylabel=what)
    axes.legend(loc="best")


def over_columns(axes: Any, budgets: list[int]) -> None:
    """Make the x axis logarithmic, with each budget, a power of two, on it."""
    axes.set_xscale("log", base=2)
    plain_numbers(axes.xaxis)
    if max(budgets) > 10_000:
        axes.set_xticks(budgets, [f"$2^{{{budget.bit_length() - 1}}}$" for budget in budgets])
    else:
        axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])


def over_hundreds(axes: Any, budgets: list[int]) -> None:
    """Put every second budget on the x axis, which is linear."""
    axes.set_xticks(budgets[1::2], [f"{budget:,}" for budget in budgets[1::2]])


def _over_k(axes: Any, ks: list[int]) -> None:
    axes.set_xlabel("k: pairs seen in k rows or more are edges")
    if len(ks) > 16:
        axes.set_xscale("log", base=2)
    plain_numbers(axes.xaxis)
    axes.set_xticks([k for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096) if k <= ks[-1]])


def _positive(values: list[Any]) -> list[float]:
    """Return values for a logarithmic axis, with gaps where there is none."""
    return [value if value else math.nan for value in values]


def _log(axes: Any) -> None:
    heights = [y for line in axes.get_lines() if len(line.get_xdata()) > 2 for y in line.get_ydata()]
    if any(y > 0 for y in heights):
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)


def plain_numbers(axis: Any) -> None:
    """Write numbers as people do; on a short logarithmic axis also 2 and 5 of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if axis.get_scale() == "log" and axis.axis_name == "x" and high < 200 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    )
    axis.set_minor_formatter(NullFormatter())
