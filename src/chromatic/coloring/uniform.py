"""Uniform colorings of the thinned graph, by which the paper's theorem holds.

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

from chromatic.coloring.glauber import sample
from chromatic.coloring.greedy import MOST_COLORS, Coloring
from chromatic.data.rows import Rows
from chromatic.data.transpose import Columns, transpose
from chromatic.errors import InputError
from chromatic.graph.bounds import Bound, bound
from chromatic.graph.order import HeldOut, hold_out
from chromatic.graph.pairs import count, count_filtered
from chromatic.graph.thinned import Graph, thin


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


def color_uniform(
    rows: Rows,
    max_colors: int | str = "proper",
    min_edge_count: int = 1,
    *,
    seed: int = 0,
    epsilon: float = 0.01,
    columns: Columns | None = None,
    threads: int = 1,
) -> tuple[Coloring, Uniform]:
    """Draw a uniform proper coloring of the graph of pairs seen in `min_edge_count` rows or more.

    "proper" takes |W| + 2Δ_f + N_f/n colors, with N_f/n the new pairs that a row is expected to bring.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["b", "c"]], dense_threshold=2).rows
    >>> coloring, how = color_uniform(rows, 9)
    >>> len(set(coloring.colors.tolist())), how.held_out
    (3, 2)
    """
    graph = FilteredGraph(rows, min_edge_count, columns or transpose(rows, threads), threads)
    return graph.color(max_colors, seed=seed, epsilon=epsilon)


@dataclass(frozen=True)
class FilteredGraph:
    """G_f^(k), made when it is needed first, to draw any number of colorings of it."""

    rows: Rows
    k: int
    columns: Columns
    threads: int = 1

    @cached_property
    def held(self) -> HeldOut:
        pairs = count(self.rows, self.k, columns=self.columns, threads=self.threads)
        return hold_out(self.rows, pairs, [self.k], columns=self.columns, threads=self.threads)[0]

    @cached_property
    def new_pairs(self) -> tuple[float, float]:
        """N_f/n, of all features and of known ones."""
        held_out = {self.k: self.held.features}
        left = count_filtered(self.rows, held_out, columns=self.columns, threads=self.threads)
        n = max(1, self.rows.n_rows)
        return float(left.good_turing[0]) / n, float(left.good_turing_seen[0]) / n

    @cached_property
    def graph(self) -> Graph:
        return thin(
            self.rows, self.k, columns=self.columns, without=self._is_held_out, threads=self.threads
        )

    @cached_property
    def _is_held_out(self) -> npt.NDArray[np.bool_]:
        is_held_out = np.zeros(self.rows.n_features, np.bool_)
        is_held_out[self.held.features] = True
        return is_held_out

    @property
    def fewest_colors(self) -> int:
        return len(self.held.features) + 2 * self.held.max_degree + 1

    def color(
        self, max_colors: int | str, *, seed: int = 0, epsilon: float = 0.01
    ) -> tuple[Coloring, Uniform]:
        """Draw a coloring."""
        if not 0 <= seed < 1 << 63:
            raise InputError(f"the seed is {seed}; expected 0 to 2**63 - 1")
        if not 0 < epsilon < 1:
            raise InputError(f"epsilon is {epsilon}; expected more than 0, less than 1")
        n_colors = self._palette(max_colors)
        n_held, max_degree, n_features = len(self.held.features), self.held.max_degree, self.rows.n_features
        m, v = n_colors - n_held, n_features - n_held
        # the neighbors of a feature of one row are that row's, and so of each other
        last = self.columns.counts == 1 if self.k == 1 else np.zeros(n_features, np.bool_)
        chain = sample(self.graph, m, seed=seed, epsilon=epsilon, last=last, threads=self.threads)
        colors = chain.colors + np.int32(n_held)
        colors[self.held.features] = np.arange(n_held, dtype=np.int32)
        how = Uniform(
            self.k,
            n_held,
            m,
            max_degree,
            chain.core,
            chain.steps,
            math.ceil(m / (m - 2 * max_degree) * v * math.log(v / epsilon)) if v else 0,
            chain.at_once,
            chain.paper_at_once,
            self.new_pairs[1] / (m - 2 * max_degree),
            bound(
                self.k,
                m,
                n_rows=max(1, self.rows.n_rows),
                largest_nnz=self.rows.largest_nnz,
                max_degree=max_degree,
                good_turing=self.new_pairs[0],
            ),
        )
        coloring = Coloring(
            colors,
            n_colors if n_features else 0,
            "uniform",
            None if isinstance(max_colors, str) else n_colors,
            seed,
            0,
            0,
            self.rows.largest_nnz if self.k == 1 else min(1, n_features),
            self.rows.vocabulary,
            np.zeros(n_features, np.int32),
        )
        return coloring, how

    def _palette(self, max_colors: int | str) -> int:
        if isinstance(max_colors, str):
            if max_colors != "proper":
                raise InputError(f"max_colors is {max_colors!r}; expected a number, or 'proper'")
            return self.fewest_colors - 1 + max(1, math.ceil(self.new_pairs[0]))
        if not self.fewest_colors <= max_colors <= MOST_COLORS:
            n_held, max_degree = len(self.held.features), self.held.max_degree
            raise InputError(
                f"max_colors is {max_colors:,}; expected {self.fewest_colors:,} or more to color pairs "
                f"seen in {self.k} rows or more uniformly ({n_held:,} features of the largest degrees have "
                f"colors of their own, the others more than twice their largest degree, {max_degree:,}), "
                "or a larger min_edge_count"
            )
        return int(max_colors)
