"""What the paper's theorem promises, and how many colors it asks for.

A uniform proper coloring of G^(k) with m > 2Δ colors loses, for a new row and any function f that changes
by at most L with each feature, on average no more than

    L / (m - 2Δ) · (N^(k)/n + deviation)

with probability 1 - δ over the training rows. Δ is the largest degree, N^(k)/n Good and Turing's
estimate of the new edges of a row. The deviation is the paper's, or McDiarmid's, from which it comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from chromatic.errors import InputError

LARGEST_DELTA = math.exp(-0.5)


@dataclass(frozen=True)
class Bound:
    """The theorem's right-hand side, with the paper's deviation and with the sharper one."""

    paper: float
    mcdiarmid: float


def deviation(k: int, n_rows: int, largest_nnz: int, delta: float = 0.01) -> Bound:
    """How far N^(k)/n may lie below its mean: k η² ln(1/δ) / √n, and k η² √(ln(1/δ) / 2n).

    >>> off = deviation(1, 10_000, 10, 0.01)
    >>> round(off.paper, 3), round(off.mcdiarmid, 3)
    (4.605, 1.517)
    """
    if k < 1:
        raise InputError(f"k is {k}; expected 1 or more")
    if n_rows < 1:
        raise InputError("there are no rows; expected at least one")
    if not 0 < delta <= LARGEST_DELTA:
        raise InputError(
            f"delta is {delta}; expected more than 0 and at most {LARGEST_DELTA:.4f}, above which the "
            "paper's deviation does not hold"
        )
    size, doubt = k * largest_nnz**2, math.log(1 / delta)
    return Bound(size * doubt / math.sqrt(n_rows), size * math.sqrt(doubt / (2 * n_rows)))


def bound(
    k: int,
    m: int,
    *,
    n_rows: int,
    largest_nnz: int,
    max_degree: int,
    good_turing: float,
    delta: float = 0.01,
    lipschitz: float = 1.0,
) -> Bound:
    """The theorem: the loss of a uniform coloring with m colors; `good_turing` is N^(k)/n.

    >>> round(bound(1, 30, n_rows=10_000, largest_nnz=10, max_degree=10, good_turing=2.0).paper, 3)
    0.661
    """
    if m <= 2 * max_degree:
        raise InputError(
            f"m is {m} and the largest degree {max_degree:,}; expected m of {2 * max_degree + 1:,} or more"
        )
    off = deviation(k, n_rows, largest_nnz, delta)
    scale = lipschitz / (m - 2 * max_degree)
    return Bound(scale * (good_turing + off.paper), scale * (good_turing + off.mcdiarmid))


def colors_needed(
    k: int,
    *,
    n_rows: int,
    largest_nnz: int,
    max_degree: int,
    good_turing: float,
    held_out: int = 0,
    delta: float = 0.01,
) -> Bound:
    """m, or with held-out features m_f: as many colors as make the bound L.

    >>> round(colors_needed(1, n_rows=10_000, largest_nnz=10, max_degree=10, good_turing=2.0).paper, 1)
    26.6
    """
    off = deviation(k, n_rows, largest_nnz, delta)
    base = held_out + 2 * max_degree + good_turing
    return Bound(base + off.paper, base + off.mcdiarmid)
