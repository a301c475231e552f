"""One integer a color: the most frequent features keep their identity, for embeddings and for trees."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from chromatic.coloring import Coloring, represent
from chromatic.data.rows import Rows
from chromatic.data.vocabulary import Vocabulary
from chromatic.encoding.encoded import NO_COLUMN, Encoded, encode


@dataclass(frozen=True)
class FrequencyEncoding:
    """The code of each feature within its color, from 1; 0 is what is absent, truncated or unseen."""

    vocabulary: Vocabulary
    coloring: Coloring
    codes: npt.NDArray[np.int32]
    n_kept: int  # features that keep their identity, the most frequent of all

    @property
    def n_sparse_columns(self) -> int:
        return self.coloring.n_colors

    @property
    def field_dims(self) -> npt.NDArray[np.int64]:
        """How many codes each color has, 0 included: the sizes of embedding tables."""
        kept = self.coloring.colors[: self.n_kept]
        return np.bincount(kept, minlength=self.coloring.n_colors) + 1

    def encode(self, rows: Rows, threads: int = 1) -> Encoded:
        """A column for each color with the code in it; collisions are among kept features only."""
        self.coloring.check(rows)
        kept = represent(truncated(rows, self.n_kept), self.coloring, threads)[0]
        columns = np.where(self.codes > 0, self.coloring.colors, NO_COLUMN)
        return encode(kept, columns[:, None], values=self.codes[:, None], n_columns=self.coloring.n_colors)


def learn_frequency(vocabulary: Vocabulary, coloring: Coloring, budget: int | None) -> FrequencyEncoding:
    """Keep the `budget` most frequent features, or all; a color numbers its own from 1, frequent first."""
    n_kept = len(coloring.colors) if budget is None else min(budget, len(coloring.colors))
    kept = coloring.colors[:n_kept]
    order = np.argsort(kept, kind="stable")
    begin = np.concatenate(([0], np.cumsum(np.bincount(kept, minlength=coloring.n_colors))))
    codes = np.zeros(len(coloring.colors), np.int32)
    codes[order] = np.arange(n_kept) - begin[kept[order]] + 1
    return FrequencyEncoding(vocabulary, coloring, codes, n_kept)


def truncated(rows: Rows, n_kept: int) -> Rows:
    """Rows with only the features whose code is below n_kept."""
    kept = rows.codes < n_kept
    if kept.all():
        return rows
    before = np.concatenate(([0], np.cumsum(kept)))
    return replace(rows, indptr=before[rows.indptr], codes=rows.codes[kept])
