"""What a model tells of its columns, against the labels of test rows."""

from __future__ import annotations

import numpy as np

from chromatic.encoding.protocol import Encoding
from chromatic.report.contents import Floats, Integers, Subject
from chromatic.report.markup import count, figure, hint, key, percent, table, tiles
from chromatic.report.observed import Observed, Pooled, pool, sums_by
from chromatic.report.svg import Axis, Plot, dots, line

ENOUGH_ROWS = 30  # to draw a column's rate
SIZES = (300, 3000)  # rows of larger dots
FURTHEST = 10


def calibration(subject: Subject) -> str:
    """The section of a report, or why there is nothing to hold against test labels."""
    observed, encoding = subject.observed, subject.model.encoding
    if encoding.prior is None:
        return hint("This encoding uses no labels, so there is nothing to hold against them.")
    if observed is None:
        return subject.needs_test("Rates of training are held against the labels of test rows.")
    if observed.labels is None:
        return hint("The test rows have no labels.")
    if encoding.tables.values is not None:
        return _of_values(encoding, observed)
    if observed.positive_rate is None:
        kinds = len(np.unique(observed.labels))
        return hint(f"The test rows have labels of {count(kinds, 'kind')}; two are needed here.")
    return _of_columns(subject, observed, observed.positive_rate)


def _of_columns(subject: Subject, observed: Observed, positive_rate: float) -> str:
    assert subject.in_test is not None
    test_rows, test_sums = subject.in_test
    assert test_sums is not None
    enough = np.flatnonzero(test_rows >= ENOUGH_ROWS)
    if not len(enough):
        return hint(f"No column is 1 in {ENOUGH_ROWS} test rows or more.")
    rows, told = test_rows[enough], subject.facts.measure[enough]
    seen = test_sums[enough] / rows
    off = (seen - told) / np.sqrt(np.maximum(told * (1 - told), 1e-9) / rows)
    gap = float((np.abs(seen - told) * rows).sum() / rows.sum())
    prior = percent(subject.model.encoding.prior or 0.0)
    figures = [
        ("mean gap", f"{100 * gap:.1f} points", "weighted by rows"),
        ("columns within two standard errors", percent(float((np.abs(off) <= 2).mean())), "95 % if alike"),
        ("positive in all rows", f"{prior} → {percent(positive_rate)}", "from training to test"),
    ]
    plot = _plot_of_columns(told, seen, rows, pool(told, rows, test_sums[enough]))
    left_out = len(test_rows) - len(enough)
    caption = (
        f"{key('')} A column; larger dots are 1 in {SIZES[0]:,}, and in {SIZES[1]:,} test rows or more. "
        f"{key('pooled')} Columns pooled by their rate into groups of about as many rows. "
    )
    if left_out:
        caption += f"Not drawn: {count(left_out, 'column')}, 1 in fewer than {ENOUGH_ROWS} test rows."
    furthest = _furthest(rows, enough, told, seen, off)
    return (
        "<p>Does a column mean in new rows what it meant in training? Its training rate is held against "
        f"the positives among the test rows where it is 1.</p>{tiles(figures)}"
        f'<div class="beside">{figure(plot, caption)}<div>{furthest}</div></div>'
    )


def _plot_of_columns(told: Floats, seen: Floats, rows: Integers, pooled: Pooled) -> str:
    axis = Axis(0, 1.04 * float(max(told.max(), seen.max())))
    shapes = [line([(0, 0), (axis.high, axis.high)], axis, axis, "even")]
    sizes = np.digitize(rows, SIZES)
    for size, class_ in enumerate(("few", "some", "many")):
        chosen = sizes == size
        shapes.append(dots(zip(told[chosen], seen[chosen], strict=True), axis, axis, class_))
    shapes += _pooled_shapes(pooled, axis, axis)
    titles = "rate in training", "rate in the test rows"
    plot = Plot(
        shapes, axis, axis, "{:.0%}", "{:.0%}", x_title=titles[0], y_title=titles[1], class_="square"
    )
    return plot.html("rates of columns in training, and in the test rows")


def _furthest(rows: Integers, numbers: Integers, told: Floats, seen: Floats, off: Floats) -> str:
    cells = []
    for i in np.argsort(-np.abs(off), kind="stable")[:FURTHEST]:
        link = f'<a href="#column={numbers[i]}">column {numbers[i]}</a>'
        errors = f"{off[i]:+.1f}".replace("-", "−")
        cells.append([link, count(rows[i]), percent(told[i]), percent(seen[i]), errors])
    return "<h3>Furthest off</h3>" + table(["", "test rows", "training", "test", "st. errors"], cells)


def _of_values(encoding: Encoding, observed: Observed) -> str:
    assert observed.labels is not None
    kept, n = observed.kept, len(encoding.vocabulary)
    rows = np.bincount(kept.codes, minlength=n)
    sums = sums_by(kept.codes, np.repeat(observed.labels, np.diff(kept.indptr)), n)
    if not rows.sum():
        return hint("The test rows have no feature that the model knows.")
    pooled = pool(encoding.measure, rows, sums, 20)
    binary, mean = observed.positive_rate is not None, float(observed.labels.mean())
    x = _around(pooled.told)
    y = _around(np.append(pooled.seen, [0.0, 1.08 * pooled.seen.max()]))
    shapes = [line([(x.low, mean), (x.high, mean)], x, y, "even"), *_pooled_shapes(pooled, x, y)]
    title = "rate of positives in the test rows" if binary else "mean label in the test rows"
    y_format = "{:.0%}" if binary else "{:.3g}"
    plot = Plot(shapes, x, y, "{:.2g}", y_format, x_title="value of features", y_title=title)
    return (
        "<p>Do high values still mean high labels? Features are pooled by their value into groups of "
        "about as many test rows, and held against the labels of the rows that have them.</p>"
    ) + figure(
        plot.html("labels of test rows against the values of their features"),
        f"{key('pooled')} A group of features. Dashed: all test rows. The model keeps values against "
        "absence, not rates, so what to expect is a rising line, not a diagonal.",
    )


def _around(values: Floats) -> Axis:
    low, high = float(values.min()), float(values.max())
    return Axis(low, high if high > low else low + 1)


def _pooled_shapes(pooled: Pooled, x: Axis, y: Axis) -> list[str]:
    points = list(zip(pooled.told.tolist(), pooled.seen.tolist(), strict=True))
    return [line(points, x, y, "pooled"), dots(points, x, y, "pooled")]
