"""The sections of a report as HTML; everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from chromatic.encoding.fitting import SubmodularEncoding
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.encoding.target import TargetEncoding
from chromatic.report.contents import Floats, Integers, Subject, most_lost, name_of, prior_of, shortened
from chromatic.report.information import Information, information
from chromatic.report.markup import (
    count,
    figure,
    folded,
    hint,
    key,
    percent,
    share_bar,
    small,
    table,
    tiles,
)
from chromatic.report.observed import Observed, sums_by
from chromatic.report.svg import Axis, Plot, bars, dots, line

MOST_DENSE = 200
COUNTS = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000)
GOLDEN_ANGLE = 137.508  # neighbors get hues that lie far apart
BOX = 'autocomplete="off" autocapitalize="off" spellcheck="false"'


def header(subject: Subject) -> str:
    """What became of what, in one sentence, and a stripe for each color."""
    encoding = subject.model.encoding
    n_dense = len(encoding.vocabulary.dense_names)
    numbers = [
        f"<b>{number:,}</b> {word}{'' if number == 1 else 's'}"
        for number, word in (
            (len(encoding.vocabulary), "sparse feature"),
            (encoding.coloring.n_colors, "color"),
            (encoding.n_sparse_columns, "column"),
        )
    ]
    dense = f" and {count(n_dense, 'dense one')}" if n_dense else ""
    mass = _mass(subject)
    stripes = "".join(
        f'<i style="flex-grow:{share:.5f};--hue:{GOLDEN_ANGLE * color % 360:.0f}deg"></i>'
        for color, share in enumerate(mass / max(mass.sum(), 1))
    )
    return (
        f'<p class="eyebrow">chromatic report · {escape(subject.name)}</p>'
        f"<h1>{numbers[0]} in {numbers[1]}, as {numbers[2]}{dense}</h1>"
        f'<div class="stripes" aria-hidden="true">{stripes}</div>'
        '<p class="soft">A stripe is a color: a group of features that hardly ever share a row, '
        "so that they can be one variable. Its width is its share of all occurrences.</p>"
    )


def glance(subject: Subject) -> str:
    """The data at a glance."""
    vocabulary, prior = subject.model.encoding.vocabulary, prior_of(subject.model.encoding)
    in_a_row = vocabulary.counts.sum() / max(vocabulary.n_rows, 1)
    figures = [
        ("training rows", count(vocabulary.n_rows), ""),
        ("sparse features", count(len(vocabulary)), "integers" if vocabulary.integers else ""),
        ("of them in a row", f"{in_a_row:.1f}", "on average"),
        ("dense columns", count(len(vocabulary.dense_names)), "passed through"),
    ]
    if vocabulary.dropped_features:
        figures.append(("too rare, dropped", count(vocabulary.dropped_features), "features"))
    if prior is not None and subject.binary:
        figures.append(("positive", percent(prior), "in training"))
    elif prior is not None:
        figures.append(("mean label", f"{prior:.4g}", "in training"))
    test = "" if subject.observed is None else _test_at_a_glance(subject.observed)
    return tiles(figures) + test + _rarity(vocabulary.counts) + _dense(subject) + _settings(subject)


def _test_at_a_glance(observed: Observed) -> str:
    unseen = observed.unseen / max(observed.n_rows, 1)
    figures = [
        ("test rows", count(observed.n_rows), ""),
        ("known features in a row", f"{observed.average_nnz:.1f}", "on average"),
        ("unseen features in a row", f"{unseen:.1f}", f"{percent(observed.unseen_share)} of occurrences"),
    ]
    if observed.positive_rate is not None:
        figures.append(("positive", percent(observed.positive_rate), "in the test rows"))
    return tiles(figures)


def _rarity(counts: Integers) -> str:
    """How many features are how frequent, and how much of the data they are."""
    rows, low = [], 1
    most = int(counts.max(initial=0))
    for high in (*(bound for bound in COUNTS if bound < most), most):
        some = (counts >= low) & (counts <= high)
        if some.any():
            name = count(low) if low == high else f"{count(low)}–{count(high)}"
            shares = some.mean(), counts[some].sum() / counts.sum()
            share_bars = (share_bar(s, c) for s, c in zip(shares, ("of-features", "of-data"), strict=True))
            rows.append([name, count(int(some.sum())), *share_bars])
        low = high + 1
    head = ["rows that have it", "features", "share of features", "share of occurrences"]
    return "<h3>How frequent features are</h3>" + table(head, rows) if rows else ""


def _dense(subject: Subject) -> str:
    names = subject.model.encoding.vocabulary.dense_names
    if not names:
        return ""
    chips = "".join(f'<span class="chip">{escape(shortened(name))}</span>' for name in names[:MOST_DENSE])
    rest = f"<span>and {count(len(names) - MOST_DENSE)} more</span>" if len(names) > MOST_DENSE else ""
    what = "Numbers, or features in so many rows that they pass through with their values."
    return folded(
        f"The {count(len(names), 'dense column')}",
        f'<p class="soft">{what}</p><div class="chips">{chips}{rest}</div>',
    )


def _settings(subject: Subject) -> str:
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape('default' if value is None else str(value))}</dd></div>"
        for name, value in sorted(subject.model.parameters.items())
    )
    return folded("How it was fitted", f'<dl class="settings">{items}</dl>') if items else ""


def colors(subject: Subject) -> str:
    """Sizes, mass and collisions of the colors."""
    encoding, observed = subject.model.encoding, subject.observed
    coloring, n_rows = encoding.coloring, max(encoding.vocabulary.n_rows, 1)
    if not coloring.n_colors:
        return hint("There are no sparse features, and so no colors.")
    figures = [
        ("colors", count(coloring.n_colors), f"by the {coloring.strategy} coloring"),
        (
            "largest row",
            count(coloring.lower_bound),
            "features; without collisions, at least as many colors",
        ),
        ("features forced", count(coloring.forced), "found no free color"),
    ]
    if not isinstance(encoding, FrequencyEncoding) or encoding.n_kept == len(encoding.vocabulary):
        figures.append(("collisions in training", small(coloring.conflicts / n_rows), "a row"))
    if observed is not None:
        figures.append(("collisions in test", small(observed.mean), f"a row, ± {small(observed.std)}"))
        figures.append(("test rows with any", percent(observed.share_of_rows), ""))
    sizes = coloring.sizes
    strips = [
        _strip(_mass(subject) / n_rows, "mass", "occurrences, a training row"),
        _strip(sizes, "size", "features", last=observed is None),
    ]
    if observed is not None:
        strips.append(_strip(observed.lost_by_color, "lost", "features dropped from test rows", last=True))
    caption = (
        f"A bar is a color, from 0 to {coloring.n_colors - 1}. The largest has {count(sizes.max())} "
        f"features (color {int(sizes.argmax())}), the smallest {count(sizes.min())}."
    )
    return (
        "<p>Where two features of one color do meet in a row, the rarer is kept and the other is "
        f"dropped: a collision.</p>{tiles(figures)}{figure(''.join(strips), caption)}"
    )


def _mass(subject: Subject) -> Floats:
    coloring = subject.model.encoding.coloring
    return sums_by(coloring.colors, subject.model.encoding.vocabulary.counts, coloring.n_colors)


def _strip(values: Floats | Integers, class_: str, title: str, last: bool = False) -> str:
    y = Axis(0, float(values.max()) or 1.0)
    x = Axis(0, len(values)) if last else None
    shapes = [bars(values.tolist(), y, class_)]
    x_title, place = ("color", "strip last") if last else ("", "strip")
    return Plot(shapes, x, y, x_title=x_title, y_title=title, class_=place).html(f"{title}, for each color")


def budget(subject: Subject) -> str:
    """Mutual information against the number of columns, with the chosen point."""
    encoding, parameters = subject.model.encoding, subject.model.parameters
    if not isinstance(encoding, SubmodularEncoding):
        return hint(
            "Only the submodular encoding chooses its columns by what they tell of the label; "
            "this model has a column for each color."
        )
    if not encoding.n_sparse_columns:
        return hint("No column tells more of the label than it costs.")
    found = information(encoding)
    room = int(parameters.get("budget", 0)) - len(encoding.vocabulary.dense_names)
    share = percent(found.chosen / found.whole if found.whole > 0 else 1.0)
    words = (
        f"With <b>{count(found.columns, 'column')}</b> the model keeps <b>{share}</b> of what its colors "
        "tell of the label, each with all its features told apart."
    )
    if found.columns < room and parameters.get("quantizer") == "optimal":
        words += f" The budget had room for {count(room)}, but one more would tell less than it costs."
    caption = (
        f"{key('curve')} The most that so many columns can tell of the label: mutual information, summed "
        f"over colors. {key('chosen')} This model. Dashed: all features told apart"
        f"{', and the budget' if room > 0 else ''}. Computed from the model's rates and counts; counts are "
        "from before collisions, so levels are a little high where many features collide."
    )
    return f"<p>{words}</p>" + figure(_curve(found, room), caption)


def _curve(found: Information, room: int) -> str:
    points = _evenly([(0, 0.0), *found.curve])
    x = Axis(1, max(points[-1][0], found.columns, room, 2), log=True)
    y = Axis(0, 1.08 * max(found.whole, found.chosen, points[-1][1], 1e-9))
    shapes = [
        line([(x.low, found.whole), (x.high, found.whole)], x, y, "whole"),
        line([(room, 0), (room, y.high)], x, y, "budget") if room > 0 else "",
        line(points, x, y, "curve"),
        dots([(found.columns, found.chosen)], x, y, "chosen"),
    ]
    plot = Plot(shapes, x, y, x_title="columns", y_title="nats a row", y_format="{:.2g}")
    return plot.html("mutual information against the number of columns")


def _evenly(curve: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """Points of a curve that is straight between those given, close enough to draw by logarithms."""
    columns, told = (np.array(values, np.float64) for values in zip(*curve, strict=True))
    at = np.unique(np.concatenate((np.geomspace(1, max(columns[-1], 1), 120), columns[columns >= 1])))
    return list(zip(at.tolist(), np.interp(at, columns, told).tolist(), strict=True))


def lookup(subject: Subject) -> str:
    """The box to look a feature up; the page's script fills it."""
    vocabulary, words = subject.model.encoding.vocabulary, ""
    if vocabulary.names is None and not vocabulary.integers:
        words = hint(
            "The model has hashes in place of names. <code>chromatic inspect --feature</code> finds a name."
        )
    return (
        f"{words}"
        '<input type="search" id="feature" class="wide" placeholder="the name of a feature" '
        f'aria-label="Feature" {BOX}>'
        '<div id="found" aria-live="polite"></div><div id="suggestions" class="chips"></div>'
    )


def columns(subject: Subject, n_listed: int) -> str:
    """The list of columns; the page's script fills it."""
    encoding, n = subject.model.encoding, len(subject.columns)
    if isinstance(encoding, SubmodularEncoding):
        words = (
            "A column is 1 in rows that have one of its features: features of one color with about "
            "the same rate of positives. The bar runs from the overall rate to the column's."
        )
        measure, first, values = "rate", "tells most", "rate"
    elif isinstance(encoding, TargetEncoding):
        words = (
            "A column is a color. A row has in it the value of its feature of that color: how the label "
            "behaves there, against rows without any. Shown is the mean over training."
        )
        measure, first, values = "mean value", "strongest", "mean"
    else:
        words = (
            "A column is a color. A row has in it the code of its feature of that color, 0 where there is "
            f"none. The {count(encoding.n_kept, 'most frequent feature')} have a code."
        )
        measure, first, values = "codes", "most rows", ""
    orders = {"tells": first}
    if values:
        orders |= {"high": f"highest {values}", "low": f"lowest {values}", "rows": "most rows"}
    orders |= {"features": "most features", "number": "number"}
    options = "".join(f'<option value="{value}">{text}</option>' for value, text in orders.items())
    if n_listed < n:
        words += f" The page has the {count(n_listed)} that tell most, of {count(n)}."
    label = "search columns by a feature"
    return (
        f'<p>{words}</p><div class="controls"><input type="search" id="search" placeholder="{label}" '
        f'aria-label="{label}" {BOX}><label>order <select id="sort">{options}</select></label></div>'
        '<p class="soft" id="status" aria-live="polite"></p>'
        '<div class="columns-head" aria-hidden="true"><span>column</span><span>features</span><span></span>'
        f"<span>{measure}</span><span>in training</span></div>"
        '<div id="columns-list"></div><button type="button" class="more" id="more">Show more</button>'
    )


def lost(subject: Subject) -> str:
    """The features that collisions cost most."""
    observed, encoding = subject.observed, subject.model.encoding
    if observed is None:
        return subject.needs_test("Which features are lost to collisions is counted on test rows.")
    codes = most_lost(observed)
    if not len(codes):
        return "<p>No feature of the test rows was dropped by a collision.</p>"
    rates = encoding.codebook.rates if isinstance(encoding, SubmodularEncoding) else None
    rows = [
        [
            escape(name_of(encoding.vocabulary, int(code))),
            count(int(encoding.coloring.colors[code])),
            count(observed.lost[code]),
            count(observed.seen[code]),
            percent(observed.lost[code] / observed.seen[code]),
            *([] if rates is None else [percent(float(rates[code]))]),
        ]
        for code in codes
    ]
    head = ["feature", "color", "dropped", "test rows", "share", *([] if rates is None else ["rate"])]
    every, n_lost = int(observed.lost.sum()), int((observed.lost > 0).sum())
    return (
        f"<p>In the test rows {count(every, 'occurrence')} of {count(n_lost, 'feature')} were "
        "dropped because a rarer feature of the same color was there too: "
        f"{percent(every / int(observed.seen.sum()))} of all occurrences of known features.</p>"
    ) + table(head, rows)
