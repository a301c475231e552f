"""The engine for uniform colorings of the thinned graph, for which the paper's theorem holds.

The features W with the largest degrees get colors of their own. The others are colored uniformly at random
among all proper colorings with m > 2Δ_f colors, so that two that are no neighbors share a color with
probability 1 / (m - 2Δ_f) at most. A new row with N_f/n new pairs then has N_f/n / (m - 2Δ_f) collisions
on average, or fewer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.coloring.coloring import Coloring, coloring_of
from chromatic.coloring.glauber import Chain, sample
from chromatic.coloring.request import MOST_COLORS, Request
from chromatic.data.rows import Rows
from chromatic.data.stored import StoredRows
from chromatic.data.transpose import Transposed, transpose
from chromatic.errors import InputError
from chromatic.graph.bounds import Bound, bound
from chromatic.graph.order import HeldOut, hold_out, hold_out_of
from chromatic.graph.pairs import count, count_filtered
from chromatic.graph.stream import Streamed, thin_stored
from chromatic.graph.thinned import Graph, thin
from chromatic.graph.walk import Edges


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
    paper_at_once: int  # √v / d, d being their average degree, 2|E_f| / v
    expected_collisions: float  # of a new row: N_f/n of known features, over m - 2Δ_f
    bound: Bound  # the theorem's, with probability 1 - δ, for functions of L = 1

    @property
    def told(self) -> dict[str, float]:
        """The figures that people are told."""
        return {
            "expected_collisions": self.expected_collisions,
            "bound": self.bound.paper,
            "bound_mcdiarmid": self.bound.mcdiarmid,
            "held_out": self.held_out,
            "max_degree_left": self.max_degree,
            "steps": self.steps,
            "steps_of_the_paper": self.paper_steps,
            "updates_at_once": self.at_once,
            "updates_at_once_of_the_paper": self.paper_at_once,
        }


def bytes_needed(n_features: int, n_edges: int) -> int:
    """Return the bytes to make a graph from a list of so many edges, twice, and of the chain's arrays."""
    return 200 * n_features + 64 * n_edges


def color_uniform(
    rows: Rows | StoredRows,
    request: Request,
    *,
    transposed: Transposed | None = None,
    threads: int = 1,
    epsilon: float = 0.01,
    delta: float = 0.01,
) -> tuple[Coloring, Uniform]:
    """Draw a uniform proper coloring of the graph of pairs seen in `min_edge_count` rows or more.

    "proper" takes |W| + 2Δ_f + N_f/n colors, with N_f/n the new pairs that a row is expected to bring.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "c"], ["b", "c"]], dense_threshold=2).rows
    >>> coloring, how = color_uniform(rows, Request("uniform", 9))
    >>> len(set(coloring.colors.tolist())), how.held_out
    (3, 2)
    """
    graph: FilteredGraph
    if isinstance(rows, StoredRows):
        graph = StreamedGraph(rows, request.k, threads)
    else:
        graph = GraphOfRows(rows, request.k, transposed or transpose(rows, threads), threads)
    return graph.color(request, epsilon=epsilon, delta=delta)


class FilteredGraph(ABC):
    """G_f^(k), made when it is needed first, to draw any number of colorings of it."""

    def __init__(self, rows: Rows | StoredRows, k: int, threads: int = 1) -> None:
        self.rows, self.k, self.threads = rows, k, threads

    @cached_property
    @abstractmethod
    def held(self) -> HeldOut:
        """W."""

    @cached_property
    @abstractmethod
    def new_pairs(self) -> tuple[float, float]:
        """N_f/n, of all features and of known ones."""

    @cached_property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph without W."""

    @property
    @abstractmethod
    def counts(self) -> npt.NDArray[np.int64]:
        """The rows of each feature."""

    @cached_property
    def is_held_out(self) -> npt.NDArray[np.bool_]:
        is_held_out = np.zeros(self.rows.n_features, np.bool_)
        is_held_out[self.held.features] = True
        return is_held_out

    @property
    def fewest_colors(self) -> int:
        return len(self.held.features) + 2 * self.held.max_degree + 1

    def color(
        self, request: Request, *, epsilon: float = 0.01, delta: float = 0.01
    ) -> tuple[Coloring, Uniform]:
        """Draw a coloring with the palette and the seed of a request, within ε of uniform.

        What it promises holds with probability 1 - δ over the training rows.
        """
        if not 0 < epsilon < 1:
            raise InputError(f"epsilon is {epsilon}; expected more than 0, less than 1")
        n_colors = self._palette(request.palette)
        n_held, n_features = len(self.held.features), self.rows.n_features
        m = n_colors - n_held
        # the neighbors of a feature of one row are that row's, and so of each other
        last = self.counts == 1 if self.k == 1 else np.zeros(n_features, np.bool_)
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
        return coloring, self._promised(chain, m, epsilon, delta)

    def _promised(self, chain: Chain, m: int, epsilon: float, delta: float) -> Uniform:
        """Return what a coloring of the features outside W with m colors promises."""
        max_degree = self.held.max_degree
        v = self.rows.n_features - len(self.held.features)
        average = 2 * self.held.n_edges / v if v else 0.0
        return Uniform(
            k=self.k,
            held_out=len(self.held.features),
            palette=m,
            max_degree=max_degree,
            core=chain.core,
            steps=chain.steps,
            paper_steps=math.ceil(m / (m - 2 * max_degree) * v * math.log(v / epsilon)) if v else 0,
            at_once=chain.at_once,
            paper_at_once=min(v, max(1, int(math.sqrt(v) / average))) if average else v,
            expected_collisions=self.new_pairs[1] / (m - 2 * max_degree),
            bound=bound(
                self.k,
                m,
                n_rows=max(1, self.rows.n_rows),
                largest_nnz=self.rows.largest_nnz,
                max_degree=max_degree,
                good_turing=self.new_pairs[0],
                delta=delta,
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


class GraphOfRows(FilteredGraph):
    """G_f^(k) of rows in memory."""

    def __init__(self, rows: Rows, k: int, transposed: Transposed, threads: int = 1) -> None:
        super().__init__(rows, k, threads)
        self.in_memory = rows
        self.how: dict[str, Any] = {"transposed": transposed, "threads": threads}

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        counts: npt.NDArray[np.int64] = self.how["transposed"].counts
        return counts

    @cached_property
    def held(self) -> HeldOut:
        pairs = count(self.in_memory, self.k, **self.how)
        return hold_out(self.in_memory, pairs, [self.k], **self.how)[0]

    @cached_property
    def new_pairs(self) -> tuple[float, float]:
        left = count_filtered(self.in_memory, {self.k: self.held.features}, **self.how)
        n = max(1, self.rows.n_rows)
        return float(left.good_turing[0]) / n, float(left.good_turing_seen[0]) / n

    @cached_property
    def graph(self) -> Graph:
        return thin(self.in_memory, self.k, without=self.is_held_out, **self.how)


class StreamedGraph(FilteredGraph):
    """G_f^(k) of rows in a file, from a stream of them."""

    def __init__(self, rows: StoredRows, k: int, threads: int = 1) -> None:
        super().__init__(rows, k, threads)
        self.stored = rows

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        return self.stored.counts

    @cached_property
    def _streamed(self) -> Streamed:
        streamed = thin_stored(self.stored, self.k)
        needed = bytes_needed(self.rows.n_features, len(streamed.edges[0]))
        self.stored.memory.check(needed, "coloring the graph")
        return streamed

    @cached_property
    def held(self) -> HeldOut:
        return hold_out_of(self._streamed.graph)

    @cached_property
    def _kept(self) -> Edges:
        later, earlier, counts = self._streamed.edges
        kept = ~(self.is_held_out[later] | self.is_held_out[earlier])
        return later[kept], earlier[kept], counts[kept]

    @cached_property
    def new_pairs(self) -> tuple[float, float]:
        """N_f: all pairs of the rows outside W but those that more than k rows have."""
        seen = self._kept[2]
        often = int(seen[seen > self.k].sum(dtype=np.int64))
        every, known = -often, -often
        for _, piece in self.stored.pieces():
            outside = ~self.is_held_out[piece.codes]
            every += _pairs_among(piece, outside)
            known += _pairs_among(piece, outside & (self.counts[piece.codes] > 1))
        n = max(1, self.rows.n_rows)
        return every / n, known / n

    @cached_property
    def graph(self) -> Graph:
        return Graph.of_edges(self.k, self.rows.n_features, *self._kept)


def _pairs_among(rows: Rows, chosen: npt.NDArray[np.bool_]) -> int:
    """Pairs of the chosen entries that share a row."""
    before = np.concatenate(([0], np.cumsum(chosen)))
    lengths = before[rows.indptr[1:]] - before[rows.indptr[:-1]]
    return int((lengths * (lengths - 1) // 2).sum())
