"""The sections of a report as HTML; everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from chromatic.encoding.fitting import SubmodularEncoding
from chromatic.encoding.frequency import FrequencyEncoding
from chromatic.encoding.target import TargetEncoding
from chromatic.modelfile import Model
from chromatic.report.contents import Columns, Integers, most_lost, name_of, prior_of, shortened
from chromatic.report.information import information
from chromatic.report.observed import Observed, Pooled, pool
from chromatic.report.svg import Axis, Plot, bars, dots, line

MOST_DENSE = 200
ENOUGH_ROWS = 30  # to draw a column's rate
COUNTS = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Subject:
    """What a report is about."""

    name: str  # of the model's file
    model: Model
    columns: Columns
    observed: Observed | None

    @property
    def binary(self) -> bool:
        """Whether labels are of two kinds, as far as the model or the test rows tell."""
        return isinstance(self.model.encoding, SubmodularEncoding) or (
            self.observed is not None and self.observed.positive_rate is not None
        )


def header(subject: Subject) -> str:
    """What became of what, in one sentence, and a stripe for each color."""
    encoding = subject.model.encoding
    vocabulary, coloring = encoding.vocabulary, encoding.coloring
    n_dense = len(vocabulary.dense_names)
    dense = f" and {_count(n_dense)} dense {_plural(n_dense, 'one')}" if n_dense else ""
    mass = np.bincount(coloring.colors, vocabulary.counts, coloring.n_colors)
    stripes = "".join(
        f'<i style="flex-grow:{share:.5f};--hue:{(137.5 * color) % 360:.0f}deg"></i>'
        for color, share in enumerate(mass / max(mass.sum(), 1))
    )
    return (
        f'<p class="eyebrow">chromatic report · {escape(subject.name)}</p>'
        f"<h1><b>{_count(len(vocabulary))}</b> sparse {_plural(len(vocabulary), 'feature')} in "
        f"<b>{_count(coloring.n_colors)}</b> {_plural(coloring.n_colors, 'color')}, as "
        f"<b>{_count(encoding.n_sparse_columns)}</b> {_plural(encoding.n_sparse_columns, 'column')}{dense}"
        f'</h1><div class="stripes" aria-hidden="true">{stripes}</div>'
        '<p class="soft">A stripe is a color: a group of features that hardly ever share a row, '
        "so that they can be one variable. Its width is its share of all occurrences.</p>"
    )


def glance(subject: Subject) -> str:
    """The data at a glance."""
    vocabulary, observed = subject.model.encoding.vocabulary, subject.observed
    occurrences, prior = int(vocabulary.counts.sum()), prior_of(subject.model.encoding)
    tiles = [
        ("training rows", _count(vocabulary.n_rows), ""),
        ("sparse features", _count(len(vocabulary)), "integers" if vocabulary.integers else ""),
        ("of them in a row", f"{occurrences / max(vocabulary.n_rows, 1):.1f}", "on average"),
        ("dense columns", _count(len(vocabulary.dense_names)), "passed through"),
    ]
    if vocabulary.dropped_features:
        tiles.append(("too rare, dropped", _count(vocabulary.dropped_features), "features"))
    if prior is not None:
        shown = _percent(prior) if subject.binary else f"{prior:.4g}"
        tiles.append(("positive" if subject.binary else "mean label", shown, "in training"))
    html = _tiles(tiles)
    if observed is not None:
        tiles = [
            ("test rows", _count(observed.n_rows), ""),
            ("known features in a row", f"{observed.average_nnz:.1f}", "on average"),
            ("unseen features in a row", f"{observed.unseen / max(observed.n_rows, 1):.1f}",
             f"{_percent(observed.unseen_share)} of occurrences"),
        ]  # fmt: skip
        if observed.positive_rate is not None:
            tiles.append(("positive", _percent(observed.positive_rate), "in the test rows"))
        html += _tiles(tiles)
    return html + _rarity(vocabulary.counts) + _dense(subject) + _settings(subject)


def _rarity(counts: Integers) -> str:
    """How many features are how frequent, and how much of the data they are."""
    if not len(counts):
        return ""
    rows, low = [], 1
    for high in (*COUNTS, int(max(counts.max(), COUNTS[-1] + 1))):
        some = (counts >= low) & (counts <= high)
        if some.any():
            name = _count(low) if low == high else f"{_count(low)} to {_count(min(high, counts.max()))}"
            of_features, of_data = some.mean(), counts[some].sum() / counts.sum()
            shares = _share(of_features, "of-features"), _share(of_data, "of-data")
            rows.append([name, _count(int(some.sum())), *shares])
        low = high + 1
    head = ["rows that have it", "features", "share of features", "share of occurrences"]
    return "<h3>How frequent features are</h3>" + _table(head, rows)


def _dense(subject: Subject) -> str:
    names = subject.model.encoding.vocabulary.dense_names
    if not names:
        return ""
    chips = "".join(f'<span class="chip">{escape(shortened(name))}</span>' for name in names[:MOST_DENSE])
    rest = f" and {_count(len(names) - MOST_DENSE)} more" if len(names) > MOST_DENSE else ""
    return (
        f'<details class="plain"><summary>The {_count(len(names))} dense columns</summary><p class="soft">Numbers, '
        "or features in so many rows that they pass through with their values.</p>"
        f'<div class="chips">{chips}{rest}</div></details>'
    )


def _settings(subject: Subject) -> str:
    told = {name: value for name, value in sorted(subject.model.parameters.items())}
    if not told:
        return ""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape('default' if value is None else str(value))}</dd></div>"
        for name, value in told.items()
    )
    return f'<details class="plain"><summary>How it was fitted</summary><dl class="settings">{items}</dl></details>'


def colors(subject: Subject) -> str:
    """Sizes, mass and collisions of the colors."""
    encoding, observed = subject.model.encoding, subject.observed
    coloring = encoding.coloring
    if not coloring.n_colors:
        return '<p class="hint">There are no sparse features, and so no colors.</p>'
    sizes = coloring.sizes
    mass = np.bincount(coloring.colors, encoding.vocabulary.counts, coloring.n_colors)
    tiles = [
        ("colors", _count(coloring.n_colors), f"by the {coloring.fit} coloring"),
        ("largest row", _count(coloring.lower_bound), "features: no collision at all needs as many colors"),
        ("features forced", _count(coloring.forced), "found no free color"),
        (
            "collisions in training",
            f"{coloring.conflicts / max(encoding.vocabulary.n_rows, 1):.3g}",
            "a row",
        ),
    ]
    if observed is not None:
        tiles.append(("collisions in test", f"{observed.mean:.3g}", f"a row, ± {observed.std:.3g}"))
        tiles.append(("test rows with any", _percent(observed.share_of_rows), ""))
    strips = [
        _strip(mass / max(encoding.vocabulary.n_rows, 1), "mass", "occurrences, a training row"),
        _strip(sizes, "size", "features", last=observed is None),
    ]
    if observed is not None:
        strips.append(_strip(observed.lost_by_color, "lost", "features dropped from test rows", last=True))
    caption = (
        f"A bar is a color, from 0 to {coloring.n_colors - 1}. The largest has {_count(sizes.max())} "
        f"features (color {int(sizes.argmax())}), the smallest {_count(sizes.min())}."
    )
    return (
        "<p>Where two features of one color do meet in a row, the rarer is kept and the other is "
        f"dropped: a collision.</p>{_tiles(tiles)}"
        f'<figure class="card">{"".join(strips)}<figcaption>{caption}</figcaption></figure>'
    )


def _strip(values: np.ndarray, class_: str, title: str, last: bool = False) -> str:  # type: ignore[type-arg]
    y = Axis(0, float(values.max()) or 1.0)
    x = Axis(0, len(values)) if last else None
    plot = Plot([bars(values.tolist(), y, class_)], x, y, y_title=title, x_title="color" if last else "",
                class_="strip last" if last else "strip")  # fmt: skip
    return plot.html(f"{title}, for each color")


def budget(subject: Subject) -> str:
    """Mutual information against the number of columns, with the chosen point."""
    encoding = subject.model.encoding
    if not isinstance(encoding, SubmodularEncoding):
        return (
            '<p class="hint">Only the submodular encoding chooses its columns by what they tell of the '
            "label; this model has a column for each color.</p>"
        )
    found = information(encoding)
    if not found.columns:
        return '<p class="hint">No column tells more of the label than it costs.</p>'
    limit = subject.model.parameters.get("budget")
    room = None if limit is None else int(limit) - len(encoding.vocabulary.dense_names)
    points = _evenly([(0, 0.0), *found.curve])
    x = Axis(1, max(points[-1][0], found.columns, room or 0, 2), log=True)
    y = Axis(0, 1.08 * max(found.whole, found.chosen, points[-1][1]))
    shapes = [
        line([(x.low, found.whole), (x.high, found.whole)], x, y, "whole"),
        line([(room, 0), (room, y.high)], x, y, "budget") if room else "",
        line(points, x, y, "curve"),
        dots([(found.columns, found.chosen)], x, y, "chosen"),
    ]
    plot = Plot(shapes, x, y, x_title="columns", y_title="nats a row", y_format="{:.2g}")
    share = _percent(found.chosen / found.whole) if found.whole > 0 else "-"
    stopped = ""
    if room and found.columns < room and subject.model.parameters.get("quantizer") == "optimal":
        stopped = (
            f" The budget had room for {_count(room)}; a further one would have told less than it costs."
        )
    return (
        f"<p>The model's <b>{_count(found.columns)}</b> columns keep <b>{share}</b> of what its colors tell of the "
        f"label, each with all its features told apart.{stopped}</p>"
        f'<figure class="card">{plot.html("mutual information against the number of columns")}<figcaption>'
        '<span class="key curve"></span> The most that so many columns can tell of the label: mutual information, '
        'summed over colors. <span class="key chosen"></span> This model. Dashed: all features told apart'
        f"{', and the budget' if room else ''}. Computed from the model's rates and counts; counts are from "
        "before collisions, so levels are a little high where many features collide.</figcaption></figure>"
    )


def _evenly(curve: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """Points of a curve that is straight between those given, close enough to draw by logarithms."""
    columns, told = (np.array(values, np.float64) for values in zip(*curve, strict=True))
    at = np.unique(np.concatenate((np.geomspace(1, max(columns[-1], 1), 120), columns[columns >= 1])))
    return list(zip(at.tolist(), np.interp(at, columns, told).tolist(), strict=True))


def lookup() -> str:
    """The box to look a feature up; the page's script fills it."""
    return (
        '<input type="search" id="feature" class="wide" placeholder="the name of a feature" '
        'aria-label="Feature" autocomplete="off" autocapitalize="off" spellcheck="false">'
        '<div id="suggestions" class="chips"></div><div id="found" aria-live="polite"></div>'
    )


def columns(subject: Subject, n_listed: int) -> str:
    """The list of columns; the page's script fills it."""
    encoding, n = subject.model.encoding, len(subject.columns)
    if isinstance(encoding, SubmodularEncoding):
        words = (
            "A column is 1 in rows that have one of its features: features of one color with about "
            "the same rate of positives. The bar runs from the overall rate to the column's."
        )
        orders = [
            ("tells", "tells most"),
            ("high", "highest rate"),
            ("low", "lowest rate"),
            ("rows", "most rows"),
        ]
    elif isinstance(encoding, TargetEncoding):
        words = (
            "A column is a color. A row has in it the value of its feature of that color: how the label "
            "behaves there, against rows without any. Shown is the mean over training."
        )
        orders = [
            ("tells", "strongest"),
            ("high", "highest mean"),
            ("low", "lowest mean"),
            ("rows", "most rows"),
        ]
    else:
        words = (
            "A column is a color. A row has in it the code of its feature of that color, 0 where there is "
            f"none. {_count(encoding.n_kept)} features have a code, those that are most frequent."
        )
        orders = [("tells", "most rows")]
    orders += [("features", "most features"), ("number", "number")]
    options = "".join(f'<option value="{value}">{text}</option>' for value, text in orders)
    left_out = ""
    if n_listed < n:
        left_out = f'<p class="soft">The page has the {_count(n_listed)} of {_count(n)} columns that tell most.</p>'
    return (
        f'<p>{words}</p>{left_out}<div class="controls"><input type="search" id="search" '
        'placeholder="search columns by a feature" aria-label="Search columns by a feature" '
        'autocomplete="off" autocapitalize="off" spellcheck="false">'
        f'<label>order <select id="sort">{options}</select></label></div>'
        '<p class="soft" id="status" aria-live="polite"></p><div id="columns-list"></div>'
        '<button type="button" class="more" id="more">Show more</button>'
    )


def lost(subject: Subject) -> str:
    """The features that collisions cost most."""
    observed, encoding = subject.observed, subject.model.encoding
    if observed is None:
        return _needs_test(subject, "Which features are lost to collisions is counted on test rows.")
    codes = most_lost(observed)
    if not len(codes):
        return "<p>No feature of the test rows was dropped by a collision.</p>"
    rates = encoding.codebook.rates if isinstance(encoding, SubmodularEncoding) else None
    rows = [
        [
            escape(name_of(encoding.vocabulary, int(code))),
            _count(int(encoding.coloring.colors[code])),
            _count(observed.lost[code]),
            _count(observed.seen[code]),
            _percent(observed.lost[code] / observed.seen[code]),
            *([] if rates is None else [_percent(float(rates[code]))]),
        ]
        for code in codes
    ]
    head = ["feature", "color", "dropped", "test rows", "share", *([] if rates is None else ["rate"])]
    every = int(observed.lost.sum())
    return (
        f"<p>In the test rows {_count(every)} occurrences of {_count(int((observed.lost > 0).sum()))} features were "
        "dropped because a rarer feature of the same color was there too: "
        f"{_percent(every / max(int(observed.seen.sum()), 1))} of all occurrences of known features.</p>"
        + _table(head, rows)
    )


def calibration(subject: Subject) -> str:
    """What the model tells of columns, against test labels."""
    observed, encoding = subject.observed, subject.model.encoding
    if isinstance(encoding, FrequencyEncoding):
        return '<p class="hint">This encoding uses no labels, so there is nothing to hold against them.</p>'
    if observed is None:
        return _needs_test(subject, "Rates of training are held against the labels of test rows.")
    if observed.labels is None:
        return '<p class="hint">The test rows have no labels.</p>'
    if isinstance(encoding, TargetEncoding):
        return _calibration_of_values(encoding, observed)
    if observed.positive_rate is None:
        kinds = len(np.unique(observed.labels))
        return f'<p class="hint">The test labels are of {_count(kinds)} kinds; two are needed here.</p>'
    return _calibration_of_columns(subject, observed)


def _calibration_of_columns(subject: Subject, observed: Observed) -> str:
    table = subject.columns
    assert table.test_rows is not None and table.test_sums is not None
    enough = np.flatnonzero(table.test_rows >= ENOUGH_ROWS)
    if not len(enough):
        return f'<p class="hint">No column is 1 in {ENOUGH_ROWS} test rows or more.</p>'
    rows, told = table.test_rows[enough], table.rates[enough]
    seen = table.test_sums[enough] / rows
    error = np.sqrt(np.maximum(told * (1 - told), 1e-9) / rows)
    off = (seen - told) / error
    pooled = pool(told, rows, table.test_sums[enough])
    axis = Axis(0, 1.04 * float(max(told.max(), seen.max())))
    sizes = np.digitize(rows, (300, 3000))
    shapes = [line([(0, 0), (axis.high, axis.high)], axis, axis, "even")]
    for size, class_ in enumerate(("few", "some", "many")):
        chosen = sizes == size
        shapes.append(dots(zip(told[chosen], seen[chosen], strict=True), axis, axis, class_))
    shapes += _pooled_shapes(pooled, axis, axis)
    plot = Plot(
        shapes, axis, axis, "{:.0%}", "{:.0%}", "rate in training", "rate in the test rows", "square"
    )
    tiles = [
        ("mean gap", f"{100 * float((np.abs(seen - told) * rows).sum() / rows.sum()):.1f} points", "weighted by rows"),
        ("within two standard errors", _percent(float((np.abs(off) <= 2).mean())), "95 % if nothing changed"),
        ("positive, training to test",
         f"{_percent(prior_of(subject.model.encoding) or 0.0)} → {_percent(observed.positive_rate or 0.0)}", "all rows"),
    ]  # fmt: skip
    left_out = len(table) - len(enough)
    return (
        "<p>Does a column mean in new rows what it meant in training? Its training rate is held against "
        f"the positives among the test rows where it is 1.</p>{_tiles(tiles)}"
        f'<div class="beside"><figure class="card">{plot.html("rate of columns in training and test")}<figcaption>'
        '<span class="key"></span> A column; larger ones are 1 in 300, and in 3,000 test rows or more. '
        '<span class="key pooled"></span> Columns pooled by their rate into groups of about as many rows. '
        f"{_count(left_out)} columns that are 1 in fewer than {ENOUGH_ROWS} test rows are not drawn."
        f"</figcaption></figure><div>{_furthest_off(subject, enough, told, seen, off)}</div></div>"
    )


def _furthest_off(subject: Subject, enough: Integers, told, seen, off) -> str:  # type: ignore[no-untyped-def]
    table, rows = subject.columns, []
    assert table.test_rows is not None
    for i in np.argsort(-np.abs(off), kind="stable")[:10]:
        number = int(enough[i])
        cells = _count(table.test_rows[number]), _percent(told[i]), _percent(seen[i]), f"{off[i]:+.1f}"
        rows.append([f'<a href="#column={number}">column {number}</a>', *cells])
    head = ["", "test rows", "training", "test", "st. errors"]
    return "<h3>Furthest off</h3>" + _table(head, rows)


def _calibration_of_values(encoding: TargetEncoding, observed: Observed) -> str:
    assert observed.labels is not None
    kept, n = observed.kept, len(encoding.vocabulary)
    rows = np.bincount(kept.codes, minlength=n)
    sums = np.bincount(kept.codes, np.repeat(observed.labels, np.diff(kept.indptr)), n)
    if not rows.sum():
        return '<p class="hint">The test rows have no feature that the model knows.</p>'
    pooled = pool(encoding.values, rows, sums, 20)
    binary = observed.positive_rate is not None
    low, high = float(pooled.told.min()), float(pooled.told.max())
    x = Axis(low, high if high > low else low + 1)
    bottom, top = float(min(pooled.seen.min(), 0)), float(pooled.seen.max())
    y = Axis(bottom, 1.08 * top if top > bottom else bottom + 1)
    mean = float(observed.labels.mean())
    shapes = [line([(x.low, mean), (x.high, mean)], x, y, "even"), *_pooled_shapes(pooled, x, y)]
    title = "rate of positives in the test rows" if binary else "mean label in the test rows"
    plot = Plot(shapes, x, y, "{:.2g}", "{:.0%}" if binary else "{:.3g}", "value of the feature", title)
    return (
        "<p>Do high values still mean high labels? Features are pooled by their value into groups of about "
        "as many test rows; each group is held against the labels of the rows that have one of its features.</p>"
        f'<figure class="card">{plot.html("labels of test rows against values")}<figcaption><span class="key pooled">'
        "</span> A group of features. Dashed: all test rows. The model keeps values against absence, "
        "not rates, so a rising line is what to expect, not the diagonal.</figcaption></figure>"
    )


def _pooled_shapes(pooled: Pooled, x: Axis, y: Axis) -> list[str]:
    points = list(zip(pooled.told.tolist(), pooled.seen.tolist(), strict=True))
    return [line(points, x, y, "pooled"), dots(points, x, y, "pooled")]


def _needs_test(subject: Subject, why: str) -> str:
    command = f"chromatic report {subject.name} --test test.svm -o report.html"
    return f'<p class="hint">{why} Give some: <code>{escape(command)}</code></p>'


def _tiles(tiles: Iterable[tuple[str, str, str]]) -> str:
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{f'<small>{escape(note)}</small>' if note else ''}</dd></div>"
        for name, value, note in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    heads = "".join(f"<th>{escape(text)}</th>" for text in head)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _share(share: float, class_: str) -> str:
    """A bar and its number."""
    bar = f'<i class="{class_}" style="width:{100 * share:.1f}%"></i>'
    return f'<span class="share"><span class="track">{bar}</span><span>{_percent(share)}</span></span>'


def _count(number: float) -> str:
    return f"{int(number):,}"


def _plural(number: int, word: str) -> str:
    return word if number == 1 else f"{word}s"


def _percent(share: float) -> str:
    return f"{100 * share:.{2 if 0 < share < 0.01 else 1}f} %"
