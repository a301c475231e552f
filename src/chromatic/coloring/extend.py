"""Colors for new features, while those that have a color keep it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from chromatic.coloring.coloring import Coloring
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.request import Request
from chromatic.data.batch import NO_FIELD
from chromatic.data.rows import Rows
from chromatic.data.transpose import transpose


def extend(
    coloring: Coloring,
    rows: Rows,
    *,
    masses: npt.NDArray[np.int64],
    fields: npt.NDArray[np.int32] | None = None,
    n_fields: int = 0,
    threads: int = 1,
) -> Coloring:
    """Return the coloring with colors for the features after its own, by the rows in which they come.

    A value of a field that has a color takes that; any other feature the lightest color that its rows
    leave free, or the one with the fewest conflicts. There are no more colors than before. `masses` are
    the rows that each feature is in, of all features; the first `n_fields` fields have colors.
    """
    known, n_colors = len(coloring.colors), coloring.n_colors
    colors = np.concatenate((coloring.colors, np.full(rows.n_features - known, -1, np.int32)))
    if coloring.strategy == "fields" and fields is not None:
        of_field = (colors < 0) & (fields != NO_FIELD) & (fields < n_fields)
        colors[of_field] = fields[of_field]
    others = np.flatnonzero(colors < 0)
    greedy = Greedy(np.arange(rows.n_features), Request("balanced", max(n_colors, 1), coloring.seed))
    if len(others):
        greedy.go_on(rows, colors, masses, n_colors)
        greedy.run(transpose(rows, threads), others)
        colors[others] = greedy.colors[others]
    return replace(
        coloring,
        colors=colors,
        forced=min(coloring.forced, known) + greedy.forced,
        conflicts=coloring.conflicts + greedy.conflicts,
        lower_bound=max(coloring.lower_bound, rows.largest_nnz),
        vocabulary=rows.vocabulary,
        forbidden=np.zeros(len(colors), np.int32),
    )
