"""The figures of the paper's appendix, for any data: PNG files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from chromatic._files import replacing
from chromatic.errors import InputError
from chromatic.graph.study import Study

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
}


def draw_graph_figures(
    study: Study, prices: list[dict[str, Any]], folder: str | os.PathLike[str]
) -> list[str]:
    """Write the figures into a folder, which is made where it is missing; their paths."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            "matplotlib is not installed; expected it for figures: pip install 'chromatic-learning[report]'"
        ) from error
    folder = os.fspath(folder)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InputError(f"{folder}: is a file; expected a folder for the figures")
    os.makedirs(folder, exist_ok=True)
    k = study.suggested_k
    drawings: dict[str, Callable[[Any], None]] = {
        "new-edges": lambda axes: _new_edges(axes, study.per_k, "New edges of a row, all features"),
        "colors-needed": lambda axes: _colors_needed(axes, study),
        "new-edges-filtered": lambda axes: _new_edges(
            axes, study.filtered, "New edges of a row, without the held-out features"
        ),
        "colors-needed-filtered": lambda axes: _colors_needed_filtered(axes, study),
        "collisions": lambda axes: _collisions(axes, prices, study.held_out[k - 1]),
    }
    paths = []
    with matplotlib.rc_context(STYLE):
        for name, draw in drawings.items():
            figure = Figure(figsize=(6.4, 4.2), dpi=150, layout="constrained")
            draw(figure.subplots())
            paths.append(os.path.join(folder, f"{name}.png"))
            with replacing(paths[-1]) as file:
                figure.savefig(file, format="png", metadata={"Software": None})
    return paths


def _new_edges(axes: Any, series: dict[str, list[Any]], title: str) -> None:
    ks = series["k"]
    for color, name, estimate, seen in (
        (BLUE, "all pairs", "good_turing", "new_edges"),
        (GREEN, "pairs of known features", "good_turing_seen", "new_edges_seen"),
    ):
        axes.plot(ks, series[estimate], color=color, label=f"estimated, {name}")
        if seen in series:
            options = {"marker": "o", "markersize": 4.5, "linestyle": "none", "markerfacecolor": "white"}
            axes.plot(ks, series[seen], color=color, label=f"in test rows, {name}", **options)
    _over_k(axes, ks)
    axes.set(title=title, ylabel="pairs seen fewer than k times, a row")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best", ncols=2 if "new_edges" in series else 1)


def _colors_needed(axes: Any, study: Study) -> None:
    series, ks = study.per_k, study.per_k["k"]
    axes.plot(ks, series["colors_needed"], color=BLUE, label="m, colors needed")
    axes.plot(
        ks,
        [2 * d or None for d in series["max_degree"]],
        "--",
        color=ORANGE,
        label="twice the largest degree",
    )
    axes.plot(ks, series["good_turing"], ":", color=GREEN, label="new edges of a row")
    _over_k(axes, ks)
    _log(axes)
    axes.set(title="Colors that a guarantee needs, all features colored", ylabel="colors")
    axes.legend(loc="best")


def _colors_needed_filtered(axes: Any, study: Study) -> None:
    ks = study.per_k["k"]
    axes.plot(ks, study.per_k["colors_needed"], color=GRAY, label="m, nothing held out")
    axes.plot(ks, study.filtered["colors_needed"], color=BLUE, label="m_f, with held-out features")
    axes.plot(
        ks,
        [n or None for n in study.filtered["held_out"]],
        "--",
        color=ORANGE,
        label="|W|, held-out features",
    )
    best = study.suggested_k
    fewest = study.filtered["colors_needed"][best - 1]
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
    axes.set(title="Colors that a guarantee needs, with and without held-out features", ylabel="colors")
    axes.legend(loc="best")


def _collisions(axes: Any, prices: list[dict[str, Any]], held: Any) -> None:
    tested = any(price["collisions"] is not None for price in prices)
    for fit, color in (("random", GREEN), ("uniform", BLUE)):
        chosen = [price for price in prices if price["coloring"] == fit]
        label = "random" if fit == "random" else f"uniform, k = {held.k}"
        colors = [price["colors"] for price in chosen]
        if tested:
            seen = [price["collisions"] or None for price in chosen]
            axes.plot(colors, seen, "o-", color=color, markersize=5, label=f"{label}: in test rows")
        expected = [price["expected"] or None for price in chosen]
        axes.plot(colors, expected, "--", color=color, label=f"{label}: promised")
    for fit, color in (("first-fit", RED), ("balanced", ORANGE)):
        [price] = [price for price in prices if price["coloring"] == fit]
        if price["collisions"]:
            axes.plot([price["colors"]], [price["collisions"]], "s", color=color, markersize=7)
            axes.annotate(
                f"{fit}, {price['colors']:,}",
                (price["colors"], price["collisions"]),
                xytext=(9, -3),
                textcoords="offset points",
                color=color,
            )
        else:
            axes.axvline(
                price["colors"], color=color, linewidth=1, label=f"{fit}: {price['colors']:,} colors"
            )
    at = len(held.features) + 2 * held.max_degree
    if at:
        axes.axvline(at, color=GRAY, linewidth=1, linestyle=":", label=f"|W| + 2Δ_f = {at:,}")
    axes.set_xscale("log")
    _log(axes)
    _plain(axes.xaxis)
    what = "collisions of a test row" if tested else "collisions promised for a new row"
    axes.set(title="Collisions against colors", xlabel="colors", ylabel=what)
    axes.legend(loc="best")


def _over_k(axes: Any, ks: list[int]) -> None:
    axes.set_xlabel("k: pairs seen in k rows or more are edges")
    if len(ks) > 16:
        axes.set_xscale("log", base=2)
    axes.set_xticks([k for k in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096) if k <= ks[-1]])
    _plain(axes.xaxis)


def _log(axes: Any) -> None:
    if any((line.get_ydata() > 0).any() for line in axes.get_lines() if len(line.get_ydata()) > 2):
        axes.set_yscale("log")
        _plain(axes.yaxis)


def _plain(axis: Any) -> None:
    """Numbers as people write them."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    )
    axis.set_minor_formatter(NullFormatter())
