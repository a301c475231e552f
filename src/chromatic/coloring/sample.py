"""Colors from a sample of the rows: features that it has take theirs by its rows, the others by mass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from chromatic._numba import kernel, sift
from chromatic.coloring.choose import color
from chromatic.coloring.coloring import Coloring
from chromatic.coloring.request import Request
from chromatic.data.batch import NO_FIELD
from chromatic.data.rows import Rows

_COLOR_BITS = 21  # the low bits of a key; the mass stands above them
_PIECE = 1 << 22  # codes that are renumbered at a time


def color_sample(
    rows: Rows, counts: npt.NDArray[np.int64], request: Request, *, threads: int = 1
) -> Coloring:
    """Color all features by some of the rows; `counts` are the rows that have each feature, of all.

    A feature of the sample is colored as if there were no other rows. One that it lacks takes the lightest
    color, the most frequent first. No color is opened for these. The codes of the rows are overwritten.

    >>> from chromatic.data import Reader
    >>> data = Reader().read([["a", "b"], ["a", "b"], ["c"], ["d"]], dense_threshold=2)
    >>> color_sample(data.rows.span(0, 2), data.vocabulary.counts, Request()).colors.tolist()
    [0, 1, 0, 1]
    """
    has, fields = np.zeros(rows.n_features, np.bool_), request.fields
    has[rows.codes] = True
    if fields is not None:
        has |= fields != NO_FIELD  # these have colors without any row
        request = replace(request, fields=fields[has])
    ranks = (np.cumsum(has) - 1).astype(np.uint32)
    for start in range(0, len(rows.codes), _PIECE):
        here = slice(start, start + _PIECE)
        rows.codes[here] = ranks[rows.codes[here]]
    found = color(replace(rows, n_features=int(has.sum())), request, threads=threads)
    colors = np.full(rows.n_features, -1, np.int32)
    colors[has] = found.colors
    n_colors = max(found.n_colors, min(1, rows.n_features))
    mass = np.bincount(found.colors, counts[has], n_colors).astype(np.int64)
    _take_lightest(colors, counts, -np.sort((mass << _COLOR_BITS) + np.arange(n_colors)))
    forbidden = np.zeros(rows.n_features, np.int32)
    return replace(found, colors=colors, n_colors=n_colors, forbidden=forbidden, sampled_rows=rows.n_rows)


@kernel
def _take_lightest(colors, counts, heap):  # type: ignore[no-untyped-def]
    """Give features without a color the lightest, in order.

    `heap` has mass and color in one integer, with a minus: the lightest is at its root.
    """
    for v in range(len(colors)):
        if colors[v] < 0:
            colors[v] = -heap[0] & ((np.int64(1) << _COLOR_BITS) - 1)
            heap[0] -= counts[v] << _COLOR_BITS
            sift(heap, 0, 0, len(heap))
