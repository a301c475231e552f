"""The engine for uniform colorings of the thinned graph, for which the paper's theorem holds.

The features W with the largest degrees get colors of their own. The others are colored uniformly at random
among all proper colorings with m > 2Δ_f colors, so that two that are no neighbors share a color with
probability 1 / (m - 2Δ_f) at most. A new row with N_f/n new pairs then has N_f/n / (m - 2Δ_f) collisions
on average, or fewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from chromatic.coloring.coloring import Coloring, coloring_of
from chromatic.coloring.glauber import Chain, sample
from chromatic.coloring.request import MOST_COLORS, Request, Size
from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed, transpose
from chromatic.errors import InputError
from chromatic.graph.bounds import Bound, bound
from chromatic.graph.order import HeldOut, hold_out
from chromatic.graph.pairs import count, count_filtered
from chromatic.graph.thinned import Graph, thin
from chromatic.graph.walk import BYTES_OF_PIECE


@dataclass(frozen=True)
class Uniform:
    """How a uniform coloring was drawn, and what it promises."""

    k: int
    held_out: int  # |W|
    palette: int  # m, of the other features
    max_degree: int  # Δ_f
    core: int  # features that the chain colors; the others are drawn once
    steps: int  # of the chain
    paper_steps: int  # m / (m - 2Δ_f) · v ln(v/ε), v being all features outside W
    at_once: int  # the most features that step together
    paper_at_once: int  # √v / d
    expected_collisions: float  # of a new row: N_f/n of known features, over m - 2Δ_f
    bound: Bound  # the theorem's, with probability 99 %, for functions of L = 1


def bytes_needed(size: Size, request: Request, n_edges: int) -> int:
    """Return the bytes of the rows, their transpose, a graph of so many edges, and the chain's arrays.

    What is remembered of neighbors while features are held out takes as much as the rows.
    """
    of_rows = 16 * size.n_entries + 8 * size.n_rows
    return of_rows + 150 * size.n_features + 12 * n_edges + BYTES_OF_PIECE


def color_uniform(
    rows: Rows,
    request: Request,
    *,
    transposed: Transposed | None = None,
    threads: int = 1,
    epsilon: float = 0.01,
) -> tuple[Coloring, Uniform]:
    """Draw a uniform proper coloring of the graph of pairs seen in `min_edge_count` rows or more.

    "proper" takes |W| + 2Δ_f + N_f/n colors, with N_f/n the new pairs that a row is expected to bring.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["b", "c"]], dense_threshold=2).rows
    >>> coloring, how = color_uniform(rows, Request("uniform", 9))
    >>> len(set(coloring.colors.tolist())), how.held_out
    (3, 2)
    """
    transposed = transposed or transpose(rows, threads)
    graph = FilteredGraph(rows, request.min_edge_count, transposed, threads)
    return graph.color(request, epsilon=epsilon)


@dataclass(frozen=True)
class FilteredGraph:
    """G_f^(k), made when it is needed first, to draw any number of colorings of it."""

    rows: Rows
    k: int
    transposed: Transposed
    threads: int = 1

    @cached_property
    def held(self) -> HeldOut:
        pairs = count(self.rows, self.k, transposed=self.transposed, threads=self.threads)
        return hold_out(self.rows, pairs, [self.k], transposed=self.transposed, threads=self.threads)[0]

    @cached_property
    def new_pairs(self) -> tuple[float, float]:
        """N_f/n, of all features and of known ones."""
        held_out = {self.k: self.held.features}
        left = count_filtered(self.rows, held_out, transposed=self.transposed, threads=self.threads)
        n = max(1, self.rows.n_rows)
        return float(left.good_turing[0]) / n, float(left.good_turing_seen[0]) / n

    @cached_property
    def graph(self) -> Graph:
        return thin(
            self.rows, self.k, transposed=self.transposed, without=self._is_held_out, threads=self.threads
        )

    @cached_property
    def _is_held_out(self) -> npt.NDArray[np.bool_]:
        is_held_out = np.zeros(self.rows.n_features, np.bool_)
        is_held_out[self.held.features] = True
        return is_held_out

    @property
    def fewest_colors(self) -> int:
        return len(self.held.features) + 2 * self.held.max_degree + 1

    def color(self, request: Request, *, epsilon: float = 0.01) -> tuple[Coloring, Uniform]:
        """Draw a coloring with the palette and the seed of a request."""
        if not 0 < epsilon < 1:
            raise InputError(f"epsilon is {epsilon}; expected more than 0, less than 1")
        n_colors = self._palette(request.palette)
        n_held, n_features = len(self.held.features), self.rows.n_features
        m = n_colors - n_held
        # the neighbors of a feature of one row are that row's, and so of each other
        last = self.transposed.counts == 1 if self.k == 1 else np.zeros(n_features, np.bool_)
        chain = sample(self.graph, m, seed=request.seed, epsilon=epsilon, last=last, threads=self.threads)
        colors = chain.colors + np.int32(n_held)
        colors[self.held.features] = np.arange(n_held, dtype=np.int32)
        coloring = coloring_of(
            request,
            colors,
            n_colors,
            lower_bound=self.rows.largest_nnz if self.k == 1 else min(1, n_features),
            vocabulary=self.rows.vocabulary,
        )
        return coloring, self._promised(chain, m, epsilon)

    def _promised(self, chain: Chain, m: int, epsilon: float) -> Uniform:
        """Return what a coloring of the features outside W with m colors promises."""
        max_degree = self.held.max_degree
        v = self.rows.n_features - len(self.held.features)
        return Uniform(
            k=self.k,
            held_out=len(self.held.features),
            palette=m,
            max_degree=max_degree,
            core=chain.core,
            steps=chain.steps,
            paper_steps=math.ceil(m / (m - 2 * max_degree) * v * math.log(v / epsilon)) if v else 0,
            at_once=chain.at_once,
            paper_at_once=chain.paper_at_once,
            expected_collisions=self.new_pairs[1] / (m - 2 * max_degree),
            bound=bound(
                self.k,
                m,
                n_rows=max(1, self.rows.n_rows),
                largest_nnz=self.rows.largest_nnz,
                max_degree=max_degree,
                good_turing=self.new_pairs[0],
            ),
        )

    def _palette(self, palette: int | str) -> int:
        if isinstance(palette, str):
            return self.fewest_colors - 1 + max(1, math.ceil(self.new_pairs[0]))
        if not self.fewest_colors <= palette <= MOST_COLORS:
            n_held, max_degree = len(self.held.features), self.held.max_degree
            raise InputError(
                f"max_colors is {palette:,}; expected {self.fewest_colors:,} or more to color pairs "
                f"seen in {self.k} rows or more uniformly ({n_held:,} features of the largest degrees have "
                f"colors of their own, the others more than twice their largest degree, {max_degree:,}), "
                "or a larger min_edge_count"
            )
        return int(palette)
