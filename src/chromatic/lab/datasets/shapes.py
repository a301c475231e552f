"""The shapes of the paper's data sets: what synthetic rows are made of, and the paper's figures.

`synthetic` tells how a row comes to be. The numbers here were found by trying: each shape, continued to
the paper's number of rows, has the paper's figures to within a quarter (docs/datasets.md shows them).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEVELS = 11  # a name of level l belongs to 2**l rows of time
SHARES = 1 << 12  # chances are told in steps of 1 / SHARES
SIZES = 1 << 14  # and those of sizes in steps of 1 / SIZES
RARE = 4  # of the sizes, the largest: a row has them by itself, not by its context


@dataclass(frozen=True)
class Figures:
    """What the paper's tables say of a data set; those of nnz, pairs and graph are of sparse features."""

    rows: int
    test_rows: int
    dense_features: int
    sparse_features: int
    avg_nnz: float
    max_nnz: int
    pairs_per_row: float
    avg_degree: float
    colors: int
    collisions: float


@dataclass(frozen=True)
class Sizes:
    """How many features a set has: a gamma distribution, cut at `most`, and a few rows near the most."""

    mean: float
    deviation: float
    most: int

    def table(self) -> npt.NDArray[np.uint16]:
        """Return SIZES equally likely sizes in ascending order."""
        from scipy.special import gammaincinv

        if not self.deviation:
            return np.full(SIZES, self.mean, np.uint16)
        shape = (self.mean / self.deviation) ** 2
        chances = (np.arange(SIZES - RARE) + 0.5) / (SIZES - RARE)
        usual = gammaincinv(shape, chances) * self.mean / shape
        rare = np.linspace(self.most / 2, self.most, RARE)
        sizes = np.minimum(np.rint(np.concatenate((usual, rare))), self.most)
        return np.asarray(sizes, np.uint16)


@dataclass(frozen=True)
class Field:
    """Where the features of a field come from.

    `fixed` are the chances of features that are there from the first row on; the rest is shared evenly
    by the levels from `lowest` to `highest`, whose features come as time goes.
    """

    lowest: int
    highest: int
    noise: float  # the chance that a feature is the row's own and not its context's
    fixed: tuple[float, ...] = ()
    sizes: Sizes | None = None  # None: one feature
    spread: int = 0  # of a set: how many neighboring names it draws from on each level


@dataclass(frozen=True)
class Shape:
    """What rows in the shape of a data set are made of."""

    name: str
    paper: Figures
    contexts: tuple[int, int]  # the lowest and the highest level
    fields: tuple[Field, ...]
    bias: float  # of the label
    strength: float  # of the features' weights in it
    dense: tuple[float, ...] = ()  # the chances of dense features; two in three have a value


def zipf(mass: float, n: int, exponent: float = 1.0) -> tuple[float, ...]:
    """Return the chances of n features by Zipf's law, which sum to a mass.

    >>> zipf(0.75, 2)
    (0.5, 0.25)
    """
    weights = [i**-exponent for i in range(1, n + 1)]
    return tuple(mass * weight / math.fsum(weights) for weight in weights)


def _fields(n: int, lowest: int, highest: int, noise: float, mass: float) -> tuple[Field, ...]:
    """Return fields of one feature: in turn with no fixed ones, a mass of them, and twice the mass."""
    return tuple(Field(lowest, highest, noise, zipf(i % 3 * mass, 100 * (i % 3 > 0))) for i in range(n))


_FEW = zipf(0.05, 30, 0.5)  # fixed features of sets are few: in time, all of them meet

_URL = Shape(
    name="url",
    paper=Figures(
        rows=1_677_291,
        test_rows=718_839,
        dense_features=134,
        sparse_features=2_710_000,
        avg_nnz=29,
        max_nnz=327,
        pairs_per_row=481,
        avg_degree=74,
        colors=395,
        collisions=0.40,
    ),
    contexts=(5, 10),
    fields=(
        *_fields(11, 2, 2, 0.08, 0.1),
        *_fields(3, 5, 10, 0.01, 0.15),
        Field(1, 2, 0.01, _FEW, sizes=Sizes(10, 9, 310), spread=1024),
        Field(1, 2, 0.01, _FEW, sizes=Sizes(5, 6, 40), spread=1024),
    ),
    bias=-1.2,
    strength=1.0,
    dense=tuple(0.15 + 0.84 * (i / 133) ** 0.5 for i in range(134)),
)

_KDDA = Shape(
    name="kdda",
    paper=Figures(
        rows=8_407_752,
        test_rows=510_302,
        dense_features=0,
        sparse_features=19_310_000,
        avg_nnz=36,
        max_nnz=85,
        pairs_per_row=682,
        avg_degree=129,
        colors=103,
        collisions=0.30,
    ),
    contexts=(3, 10),
    fields=(
        *_fields(8, 3, 3, 0.01, 0.15),
        *_fields(15, 4, 10, 0.07, 0.15),
        Field(2, 6, 0.01, _FEW, sizes=Sizes(9, 9, 44), spread=16),
        Field(2, 6, 0.01, _FEW, sizes=Sizes(5, 6, 24), spread=16),
    ),
    bias=2.8,
    strength=0.7,
)

_KDDB = Shape(
    name="kddb",
    paper=Figures(
        rows=19_264_097,
        test_rows=748_401,
        dense_features=2,
        sparse_features=28_880_000,
        avg_nnz=29,
        max_nnz=75,
        pairs_per_row=439,
        avg_degree=130,
        colors=79,
        collisions=0.21,
    ),
    contexts=(3, 10),
    fields=(
        *_fields(2, 3, 4, 0.01, 0.15),
        *_fields(17, 4, 10, 0.08, 0.15),
        Field(8, 10, 0.5, (0.5, 0.45)),
        Field(3, 7, 0.01, _FEW, sizes=Sizes(6.5, 7, 38), spread=20),
        Field(3, 6, 0.01, _FEW, sizes=Sizes(4, 5, 24), spread=20),
    ),
    bias=2.7,
    strength=0.7,
)

_KDD12 = Shape(
    name="kdd12",
    paper=Figures(
        rows=119_705_032,
        test_rows=29_934_073,
        dense_features=7,
        sparse_features=50_330_000,
        avg_nnz=7,
        max_nnz=10,
        pairs_per_row=27,
        avg_degree=32,
        colors=22,
        collisions=0.09,
    ),
    contexts=(3, 10),
    fields=(
        Field(3, 3, 0.01),
        Field(3, 4, 0.01),
        Field(5, 10, 0.2, zipf(0.2, 100)),
        Field(5, 10, 0.2, zipf(0.3, 100)),
        Field(4, 5, 0.02, sizes=Sizes(3, 0, 3), spread=8),
        Field(8, 10, 0.0, (0.5, 0.4)),
        Field(8, 10, 0.5, (0.55, 0.35)),
        Field(8, 10, 0.5, (0.5, 0.4)),
        Field(8, 10, 0.5, (0.87,)),
    ),
    bias=-4.4,
    strength=1.2,
)

SHAPES = {shape.name: shape for shape in (_URL, _KDDA, _KDDB, _KDD12)}
