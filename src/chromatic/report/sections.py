"""What the sections of a report show, as plain values; the template of each section says it in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from chromatic.encoding.information import Information
from chromatic.encoding.protocol import Words
from chromatic.report.observed import Observed, sums_by
from chromatic.report.subject import Floats, Hint, Integers, Subject, most_collided, name_of, shortened
from chromatic.report.svg import Axis, Plot, bars, dots, line

MOST_DENSE = 200
COUNTS = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000)
GOLDEN_ANGLE = 137.508  # neighbors get hues that lie far apart


class Stripe(NamedTuple):
    """A color of the header's band."""

    share: float  # of all occurrences
    hue: float  # in degrees


@dataclass(frozen=True)
class Header:
    """What became of what."""

    n_features: int
    n_colors: int
    n_columns: int
    n_linear: int  # of these columns
    n_dense: int
    stripes: list[Stripe]


def header(subject: Subject) -> Header:
    """Return the model's numbers, and a stripe for each color."""
    encoding, mass = subject.encoding, _mass(subject)
    shares = mass / max(mass.sum(), 1)
    return Header(
        n_features=len(encoding.vocabulary),
        n_colors=encoding.coloring.n_colors,
        n_columns=encoding.n_sparse_columns,
        n_linear=subject.n_linear,
        n_dense=len(encoding.vocabulary.dense_names),
        stripes=[Stripe(share, GOLDEN_ANGLE * color % 360) for color, share in enumerate(shares.tolist())],
    )


class Rarity(NamedTuple):
    """The features that are in `low` to `high` training rows."""

    low: int
    high: int
    n_features: int
    share_of_features: float
    share_of_occurrences: float


@dataclass(frozen=True)
class Data:
    """The data at a glance."""

    template: ClassVar[str] = "data.html"

    n_rows: int
    n_features: int
    integers: bool  # whether features are integers
    in_a_row: float  # features, on average
    dropped: int  # features that were too rare
    prior: float | None
    binary: bool
    n_classes: int  # 1 where there are not several
    observed: Observed | None
    rarities: list[Rarity]
    n_dense: int
    dense_names: list[str]  # the first of them
    settings: list[tuple[str, str]]


def data(subject: Subject) -> Data:
    """Return the data at a glance."""
    vocabulary, parameters = subject.encoding.vocabulary, subject.model.parameters
    return Data(
        n_rows=vocabulary.n_rows,
        n_features=len(vocabulary),
        integers=bool(vocabulary.integers),
        in_a_row=float(vocabulary.counts.sum()) / max(vocabulary.n_rows, 1),
        dropped=vocabulary.dropped_features,
        prior=subject.encoding.prior,
        binary=subject.binary,
        n_classes=len(subject.parts),
        observed=subject.observed,
        rarities=_rarities(vocabulary.counts),
        n_dense=len(vocabulary.dense_names),
        dense_names=[shortened(name) for name in vocabulary.dense_names[:MOST_DENSE]],
        settings=[
            (name, "default" if value is None else str(value)) for name, value in sorted(parameters.items())
        ],
    )


def _rarities(counts: Integers) -> list[Rarity]:
    """Return how many features are how frequent, and how much of the data they are."""
    rarities, low = [], 1
    most = int(counts.max(initial=0))
    for high in (*(bound for bound in COUNTS if bound < most), most):
        some = (counts >= low) & (counts <= high)
        if some.any():
            shares = float(some.mean()), float(counts[some].sum() / counts.sum())
            rarities.append(Rarity(low, high, int(some.sum()), *shares))
        low = high + 1
    return rarities


@dataclass(frozen=True)
class Colors:
    """Sizes, mass and collisions of the colors."""

    template: ClassVar[str] = "colors.html"

    n_colors: int
    strategy: str
    lower_bound: int
    forced: int
    collisions: float | None  # a training row; None where not all features play a part
    observed: Observed | None
    sums: bool  # whether features that collide all count
    sizes: Integers  # how many features each color has
    strips: list[Plot]


def colors(subject: Subject) -> Colors | Hint:
    """Return the figures of the colors, and a strip of bars for each of mass, size and collisions."""
    encoding, observed = subject.encoding, subject.observed
    coloring, n_rows = encoding.coloring, max(encoding.vocabulary.n_rows, 1)
    if not coloring.n_colors:
        return Hint("There are no sparse features, and so no colors.")
    strips = [
        _strip(_mass(subject) / n_rows, "mass", "occurrences, a training row"),
        _strip(coloring.sizes, "size", "features", last=observed is None),
    ]
    if observed is not None:
        title = "collisions in test rows"
        strips.append(_strip(observed.collided_by_color, "collided", title, last=True))
    return Colors(
        n_colors=coloring.n_colors,
        strategy=coloring.strategy,
        lower_bound=coloring.lower_bound,
        forced=coloring.forced,
        collisions=coloring.conflicts / n_rows if encoding.n_kept == len(encoding.vocabulary) else None,
        observed=observed,
        sums=encoding.sums,
        sizes=coloring.sizes,
        strips=strips,
    )


def _mass(subject: Subject) -> Floats:
    coloring = subject.encoding.coloring
    return sums_by(coloring.colors, subject.encoding.vocabulary.counts, coloring.n_colors)


def _strip(values: Floats | Integers, class_: str, title: str, last: bool = False) -> Plot:
    y = Axis(0, float(values.max()) or 1.0)
    return Plot(
        label=f"{title}, for each color",
        shapes=[bars(values.tolist(), y, class_)],
        x=Axis(0, len(values)) if last else None,
        y=y,
        x_title="color" if last else "",
        y_title=title,
        class_="strip last" if last else "strip",
    )


@dataclass(frozen=True)
class Budget:
    """What the columns tell of the label, against their number."""

    template: ClassVar[str] = "information.html"

    n_columns: int
    share: float  # of what the colors tell
    room: int  # columns that the budget leaves beside the dense and linear ones; 0 where it is not known
    sums: bool  # whether features that collide all count
    not_worth: bool  # whether one more column would tell less than it costs
    plot: Plot


def budget(subject: Subject) -> Budget | Hint:
    """Return mutual information against the number of columns, with the chosen point."""
    encoding, parameters = subject.encoding, subject.model.parameters
    if not encoding.n_own_columns and encoding.prior is not None:
        return Hint("No column tells more of the label than it costs.")
    told = encoding.information()
    if told is None:
        why = "This encoding does not choose its columns by what they tell of the label"
        for_each = encoding.n_own_columns == encoding.coloring.n_colors
        return Hint(why + (": it has a column for each color." if for_each else "."))
    others = subject.model.n_columns - encoding.n_own_columns
    room = max(int(parameters.get("budget", 0)) - others, 0)
    return Budget(
        n_columns=told.columns,
        share=told.chosen / told.whole if told.whole > 0 else 1.0,
        room=room,
        sums=encoding.sums,
        not_worth=told.columns < room and parameters.get("quantizer") == "optimal",
        plot=_curve(told, room),
    )


def _curve(told: Information, room: int) -> Plot:
    points = _evenly([(0, 0.0), *told.curve])
    x = Axis(1, max(points[-1][0], told.columns, room, 2), log=True)
    y = Axis(0, 1.08 * max(told.whole, told.chosen, points[-1][1], 1e-9))
    shapes = [
        line([(x.low, told.whole), (x.high, told.whole)], x, y, "whole"),
        line([(room, 0), (room, y.high)] if room else [], x, y, "budget"),
        line(points, x, y, "curve"),
        dots([(told.columns, told.chosen)], x, y, "chosen"),
    ]
    return Plot(
        label="mutual information against the number of columns",
        shapes=shapes,
        x=x,
        y=y,
        y_format="{:.2g}",
        x_title="columns",
        y_title="nats a row",
    )


def _evenly(curve: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """Return points of a curve that is straight between those given, close enough to draw by logarithms."""
    columns, told = (np.array(values, np.float64) for values in zip(*curve, strict=True))
    at = np.unique(np.concatenate((np.geomspace(1, max(columns[-1], 1), 120), columns[columns >= 1])))
    return list(zip(at.tolist(), np.interp(at, columns, told).tolist(), strict=True))


@dataclass(frozen=True)
class Lookup:
    """The box to look a feature up; the page's script fills it."""

    template: ClassVar[str] = "lookup.html"

    hashed: bool  # whether the model has hashes in place of names


def lookup(subject: Subject) -> Lookup:
    """Return what the box must say beforehand."""
    vocabulary = subject.encoding.vocabulary
    return Lookup(hashed=vocabulary.names is None and not vocabulary.integers)


@dataclass(frozen=True)
class ColumnList:
    """The list of columns; the page's script fills it."""

    template: ClassVar[str] = "columns.html"

    words: Words
    classes: list[str]  # none where there are not several
    sums: bool  # whether features that collide all count
    n_kept: int | None  # features that play a part; None: all
    n_columns: int
    n_listed: int
    orders: dict[str, str]  # names of orders in the script, and what the page calls them


def columns(subject: Subject, n_listed: int) -> ColumnList:
    """Return what is said of the columns, and how they can be ordered."""
    encoding, words = subject.encoding, subject.parts[0].encoding.words
    orders, extremes = {"tells": words.first}, words.extremes
    if extremes:
        orders |= {"high": f"highest {extremes}", "low": f"lowest {extremes}", "rows": "most rows"}
    return ColumnList(
        words=words,
        classes=[one.label for one in subject.parts if one.label is not None],
        sums=encoding.sums,
        n_kept=encoding.n_kept if encoding.n_kept < len(encoding.vocabulary) else None,
        n_columns=sum(len(one.facts.colors) for one in subject.parts),
        n_listed=n_listed,
        orders=orders | {"features": "most features", "number": "number"},
    )


class CollidedFeature(NamedTuple):
    """A feature that collisions dropped from test rows."""

    name: str
    color: int
    dropped: int  # test rows that lost it
    rows: int  # test rows that have it
    rate: float | None


@dataclass(frozen=True)
class Collisions:
    """What collides in test rows and, where collisions drop features, what that costs most."""

    template: ClassVar[str] = "collisions.html"

    n_occurrences: int
    n_features: int
    share: float  # of all occurrences of known features
    sums: bool  # whether features that collide all count
    has_rates: bool
    features: list[CollidedFeature]  # none where all count


def collisions(subject: Subject) -> Collisions | Hint:
    """Return how much collides in test rows, and the features that were dropped from most of them."""
    observed, encoding = subject.observed, subject.encoding
    if observed is None:
        return subject.needs_test("What collides is counted on test rows.")
    rates = encoding.measure if encoding.measure_key == "rate" and len(subject.parts) == 1 else None
    n_occurrences = int(observed.collided.sum())
    dropped = [] if encoding.sums else most_collided(observed).tolist()
    return Collisions(
        n_occurrences=n_occurrences,
        n_features=int((observed.collided > 0).sum()),
        share=n_occurrences / max(int(observed.seen.sum()), 1),
        sums=encoding.sums,
        has_rates=rates is not None,
        features=[
            CollidedFeature(
                name=name_of(encoding.vocabulary, code),
                color=int(encoding.coloring.colors[code]),
                dropped=int(observed.collided[code]),
                rows=int(observed.seen[code]),
                rate=None if rates is None else float(rates[code]),
            )
            for code in dropped
        ],
    )
