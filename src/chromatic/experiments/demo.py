"""The demo: names of packages, seven ways to make columns of them, one logistic regression each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from chromatic.data.memory import batches_of
from chromatic.datasets.npm import NamedRows, load_npm_names
from chromatic.encoding.fitting import SubmodularEncoding
from chromatic.learn.encoders import Split
from chromatic.learn.evaluate import Result, evaluate

BUDGETS = (256, 1024)
ENCODERS = {
    "ft": "most frequent features (FT)",
    "ht": "signed hashing (HT)",
    "cl-sm-paper": "the paper's CL+SM",
    "cl-sm": "chromatic",
    "none": "all features, uncompressed",
}


def read(threads: int = 1) -> Split:
    """The names that come with the package, as rows of strings."""
    train, test = load_npm_names()
    limits = {"dense_threshold": 0.1, "min_count": 1}
    return Split.of([_batch(train)], [_batch(test)], limits, threads)


def compare(split: Split, threads: int = 1) -> Iterator[Result]:
    """Test log loss and AUC of logistic regression on each encoder's columns."""
    options: dict[str, Any] = {"threads": threads, "isolated": False}
    for encoder in ENCODERS:
        yield from evaluate(split, [encoder], ["lr"], BUDGETS, **options)


def most_telling(encoding: SubmodularEncoding, count: int) -> list[int]:
    """The columns that tell most of the label: many rows, and a rate far from the overall one."""
    counts, columns = encoding.vocabulary.counts, encoding.columns
    there = columns >= 0
    rows, positives = (
        np.bincount(columns[there], weights[there], minlength=encoding.codebook.n_columns)
        for weights in (counts, counts * encoding.codebook.rates)
    )
    surprise = rows * (positives / np.maximum(rows, 1) - encoding.codebook.prior) ** 2
    return [int(column) for column in np.argsort(-surprise, kind="stable")[:count]]


def _batch(part: NamedRows) -> Any:
    [batch] = batches_of(part.rows)
    return replace(batch, labels=np.array(part.labels, np.float64))
