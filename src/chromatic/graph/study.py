"""The paper's appendix for some rows: thinned graphs, new edges, and the colors a guarantee needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.rows import Rows
from chromatic.data.transpose import Transposed, transpose
from chromatic.errors import InputError
from chromatic.graph.bounds import colors_needed
from chromatic.graph.order import HeldOut, hold_out
from chromatic.graph.pairs import Filtered, Pairs, count, count_filtered

Series = dict[str, list[Any]]
MAX_K = 64  # where no other is asked for


@dataclass(frozen=True)
class Study:
    """Figures over k = 1..max_k, of the thinned graphs and of those without the held-out features."""

    pairs: Pairs
    held_out: list[HeldOut]
    per_k: Series
    filtered: Series

    @property
    def suggested_k(self) -> int:
        """The k for which a guarantee needs the fewest colors (the paper's step 1)."""
        return int(np.argmin(self.filtered["colors_needed"])) + 1

    @property
    def pairs_never_seen(self) -> float:
        """The share of all pairs of features that no row has."""
        possible = self.pairs.n_features * (self.pairs.n_features - 1) // 2
        return 1 - self.pairs.n_edges / possible if possible else 0.0


def study(
    rows: Rows,
    max_k: int = MAX_K,
    *,
    test: Rows | None = None,
    delta: float = 0.01,
    transposed: Transposed | None = None,
    threads: int = 1,
) -> Study:
    """Degrees, Good and Turing's estimate, colors needed and new edges of test rows, for each k.

    New edges of a test row are pairs that fewer than k training rows have; `new_edges_seen` has those
    of known features only, and `good_turing_seen` is its twin: without features of one row, which
    would be unknown had their row been left out. Degrees are averaged over the features of the graph.
    Colors are those that the theorem needs for a loss of L with probability 1 - delta, with the paper's
    deviation and with McDiarmid's own.

    >>> from chromatic.data import Reader
    >>> rows = Reader().read([["a", "b"], ["a", "b"], ["a", "c"]], dense_threshold=2).rows
    >>> study(rows, 2).per_k["good_turing"]
    [0.3333333333333333, 1.0]
    """
    transposed = transposed or transpose(rows, threads)
    pairs = count(rows, max_k, transposed=transposed, test=test, threads=threads)
    held_out = hold_out(rows, pairs, transposed=transposed, threads=threads)
    without = {held.k: held.features for held in held_out}
    left = count_filtered(rows, without, transposed=transposed, test=test, threads=threads)
    per_k, filtered = _per_k(pairs), _filtered(pairs, held_out, left)
    for series in (per_k, filtered):
        _put_colors(series, pairs, delta)
    if test is not None:
        n_test, ks = max(1, test.n_rows), per_k["k"]
        per_k["new_edges"] = [pairs.new_edges(k) for k in ks]
        per_k["new_edges_seen"] = [pairs.new_edges_seen(k) for k in ks]
        filtered["new_edges"] = ((left.test_seen + left.test_unseen) / n_test).tolist()
        filtered["new_edges_seen"] = (left.test_seen / n_test).tolist()
    return Study(pairs, held_out, per_k, filtered)


def _per_k(pairs: Pairs) -> Series:
    """Return the figures of all features."""
    n, v, ks = max(1, pairs.n_rows), max(1, pairs.n_features), range(1, pairs.max_k + 1)
    good_turing = [pairs.good_turing(k) / n for k in ks]
    return {
        "k": list(ks),
        "edges": [pairs.edges(k) for k in ks],
        "max_degree": [int(pairs.degree(k).max(initial=0)) for k in ks],
        "avg_degree": [2 * pairs.edges(k) / v for k in ks],
        "good_turing": good_turing,
        "good_turing_seen": [estimate - pairs.single / n for estimate in good_turing],
    }


def _filtered(pairs: Pairs, held_out: list[HeldOut], left: Filtered) -> Series:
    """Return the figures without the held-out features."""
    n = max(1, pairs.n_rows)
    return {
        "k": [held.k for held in held_out],
        "held_out": [len(held.features) for held in held_out],
        "edges": [held.n_edges for held in held_out],
        "max_degree": [held.max_degree for held in held_out],
        "avg_degree": [
            2 * held.n_edges / max(1, pairs.n_features - len(held.features)) for held in held_out
        ],
        "good_turing": (left.good_turing / n).tolist(),
        "good_turing_seen": (left.good_turing_seen / n).tolist(),
    }


def _put_colors(series: Series, pairs: Pairs, delta: float) -> None:
    """Add the colors that the theorem needs, for each k."""
    needed = [
        colors_needed(
            k,
            n_rows=max(1, pairs.n_rows),
            largest_nnz=pairs.largest_nnz,
            max_degree=series["max_degree"][i],
            good_turing=series["good_turing"][i],
            held_out=series["held_out"][i] if "held_out" in series else 0,
            delta=delta,
        )
        for i, k in enumerate(series["k"])
    ]
    series["colors_needed"] = [colors.paper for colors in needed]
    series["colors_needed_mcdiarmid"] = [colors.mcdiarmid for colors in needed]


@dataclass(frozen=True)
class TimeSplit:
    """Whether the first rows foretell the last ones, as they would if rows were drawn alike."""

    rows: int  # that estimate
    estimated: float  # new edges of a row, by Good and Turing
    seen: float  # new edges of a later row
    margin: float  # how far both may differ
    holds: bool

    @property
    def sentence(self) -> str:
        """The finding in plain words."""
        what = f"the last rows bring {self.seen:.4g} new pairs each, and those before foretold "
        what += f"{self.estimated:.4g}"
        if self.holds:
            return f"{what}: as rows drawn alike do"
        return (
            f"{what}: the rows are not drawn alike in their order, so the estimates are for other rows of "
            "the same kind, not for rows that come after these"
        )


def time_split(rows: Rows, share: float = 0.75, threads: int = 1) -> TimeSplit:
    """Estimate the new edges of a row from the first share of the rows, and count them in the others.

    It holds where both agree within a twentieth and three standard errors. Rows in time order often
    fail: new things come up, and Good and Turing know of none that the past has not begun to show.
    The largest hundredth of the rows is left out: a few of them bring more pairs than all others.
    """
    if not 0 < share < 1:
        raise InputError(f"the share is {share}; expected more than 0, less than 1")
    lengths = np.diff(rows.indptr)
    usual = (
        np.flatnonzero(lengths <= np.quantile(lengths, 0.99, method="higher")) if len(lengths) else lengths
    )
    cut = int(len(usual) * share)
    if not 0 < cut < len(usual):
        raise InputError(f"{rows.n_rows} rows cannot be split; expected 2 or more")
    first, last = _split(rows, usual[:cut], usual[cut:])
    pairs = count(first, 1, test=last, threads=threads)
    in_row = lengths[usual[cut:]] * (lengths[usual[cut:]] - 1) / 2  # new pairs vary less than pairs do
    estimated, seen = pairs.good_turing(1) / cut, float(pairs.new_edges(1) or 0.0)
    margin = 0.05 * estimated + 3 * float(in_row.std() / np.sqrt(len(in_row)))
    return TimeSplit(cut, estimated, seen, margin, abs(seen - estimated) <= margin)


def _split(rows: Rows, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Some rows and others, coded by descending count in the first; what those have not is unseen."""
    lengths = np.diff(rows.indptr)
    of_first = np.zeros(rows.n_rows, np.bool_)
    of_first[first] = True
    counts = np.bincount(rows.codes[np.repeat(of_first, lengths)], minlength=rows.n_features)
    n_known = int((counts > 0).sum())
    rank = np.empty(rows.n_features, np.uint32)
    rank[np.argsort(-counts, kind="stable")] = np.arange(rows.n_features, dtype=np.uint32)

    def part(chosen: npt.NDArray[np.int64]) -> Rows:
        inside = np.zeros(rows.n_rows, np.bool_)
        inside[chosen] = True
        codes = rows.codes[np.repeat(inside, lengths)]
        known = rank[codes] < n_known
        row = np.repeat(np.arange(len(chosen)), lengths[chosen])[known]
        kept = np.bincount(row, minlength=len(chosen))
        unseen = lengths[chosen] - kept
        some = replace(
            rows,
            indptr=np.concatenate(([0], np.cumsum(kept))),
            codes=codes[known],
            labels=None,
            dense=rows.dense[chosen],
            n_features=n_known,
            unseen=int(unseen.sum()),
            unseen_by_row=unseen.astype(np.uint32),
        )
        return some.recoded(rank)

    return part(first), part(last)
