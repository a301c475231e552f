"""The encoders that are compared, by their names: training and test rows to columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chromatic.encoding.baselines import HashingEncoding, truncate
from chromatic.encoding.encoded import Encoded
from chromatic.errors import InputError
from chromatic.learn.peers import encode_by_target_encoder
from chromatic.learn.splits import AnyPair, AnySplit
from chromatic.parameters import Settings, check_parameter
from chromatic.registry import ENCODINGS

VALIDATIONS = ("random", "last")
VARIANTS: dict[str, dict[str, Any]] = {  # of our own encodings
    "submodular-bins": {"encoding": "submodular", "linear": 0},
    "submodular-drop": {"encoding": "submodular", "linear": 0, "collisions": "drop"},
    "target-rates": {"encoding": "target", "linear": 0},
    "target-drop": {"encoding": "target", "linear": 0, "collisions": "drop"},
}
WITHOUT_BUDGET = ("sklearn-target", "none")  # the data alone say how many columns these make
ENCODERS = (*ENCODINGS, *VARIANTS, "paper", "paper-target", "truncation", "hashing", *WITHOUT_BUDGET)
ALIASES = {  # the short names that the paper's tables use
    "cl-sm": "submodular",
    "cl-sm-paper": "paper",
    "cl-te": "target",
    "cl-te-paper": "paper-target",
    "cl-ft": "frequency",
    "ft": "truncation",
    "ht": "hashing",
}


def canonical(encoder: str) -> str:
    """Return the one name of an encoder, which may be given by a short name.

    >>> canonical("cl-sm"), canonical("paper")
    ('submodular', 'paper')
    """
    name = ALIASES.get(encoder, encoder)
    if name not in ENCODERS:
        raise InputError(
            f"the encoder is {encoder!r}; expected one of {', '.join(ENCODERS)}, or a short name: "
            f"{', '.join(ALIASES)}"
        )
    return name


def encode_pair(
    split: AnySplit[AnyPair], encoder: str, budget: int, *, threads: int = 1, seed: int = 0
) -> AnyPair:
    """Fit an encoder to the training rows, and encode both; `none` takes every feature as a column."""
    encoder = canonical(encoder)
    if encoder not in WITHOUT_BUDGET:
        check_parameter("budget", budget)
    if encoder == "sklearn-target":
        return encode_by_target_encoder(split, seed)  # type: ignore[return-value]  # a Pair of a Split
    vocabulary = split.train.vocabulary
    if encoder in ("truncation", "none"):
        every = len(vocabulary) + len(vocabulary.dense_names)
        return split.by_rows(truncate(vocabulary, budget if encoder == "truncation" else every).encode)
    if encoder == "hashing":
        return split.by_batches(HashingEncoding(budget, vocabulary.integers).encode)
    if encoder == "paper":
        return split.fitted(Settings.paper(budget, seed=seed), threads)
    if encoder == "paper-target":
        return _paper_target(split, budget, threads=threads, seed=seed)
    changes = VARIANTS.get(encoder, {"encoding": encoder})
    return split.fitted(replace(Settings(budget, seed=seed), **changes), threads)


def _paper_target(split: AnySplit[AnyPair], budget: int, *, threads: int, seed: int) -> AnyPair:
    """Encode by the paper's target encoding: plain means, 0 where a color is absent, nothing held back.

    The coloring is proper; the colors beyond the budget are dropped.
    """
    split = split.with_room(budget)
    vocabulary = split.train.vocabulary
    settings = Settings.paper(
        len(vocabulary) + len(vocabulary.dense_names) + 1,  # there are never more colors
        encoding="target",
        max_colors="proper",
        leakage="none",
        seed=seed,
    )
    room = budget - len(vocabulary.dense_names)
    return split.fitted(settings, threads).each(lambda columns: _first_columns(columns, room))


def _first_columns(encoded: Encoded, n: int) -> Encoded:
    """Drop the columns of sparse features after the first n."""
    if encoded.n_sparse_columns <= n:
        return encoded
    kept = encoded.columns < n
    return replace(
        encoded,
        indptr=np.concatenate(([0], np.cumsum(kept)))[encoded.indptr],
        columns=encoded.columns[kept],
        values=None if encoded.values is None else encoded.values[kept],
        n_sparse_columns=n,
    )
