"""Names of npm packages: does a package of this name have 50 downloads a month?

A sample of the npm package download-counts 2.20260301.0 (MIT, see npm_names.LICENSE), by a hash of the
name; another hash decides between training and test rows. What a row has are the first words of the name,
all pairs of them, and the scope.
"""

from __future__ import annotations

import lzma
import re
from dataclasses import dataclass, replace
from importlib import resources
from itertools import combinations

import numpy as np

from chromatic.data.batch import Batch
from chromatic.data.objects import batches_of
from chromatic.learn.splits import Split

POPULAR = 50  # downloads a month
MOST_WORDS = 8  # of a name; a few have dozens

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^-_./@A-Za-z0-9]+")


@dataclass(frozen=True)
class NamedRows:
    """Rows of features, and whether each is popular."""

    rows: list[list[str]]
    labels: list[int]


def load_npm_names() -> tuple[NamedRows, NamedRows]:
    """Return the training and test rows of the sample that comes with the package."""
    packed = resources.files("chromatic.lab.datasets").joinpath("npm_names.tsv.xz").read_bytes()
    parts = {"train": NamedRows([], []), "test": NamedRows([], [])}
    for line in lzma.decompress(packed).decode().splitlines():
        part, downloads, name = line.split("\t")
        parts[part].rows.append(features(name))
        parts[part].labels.append(int(int(downloads) >= POPULAR))
    return parts["train"], parts["test"]


def read_npm_names(threads: int = 1) -> Split:
    """Return the sample as rows of strings to train and to test on."""
    train, test = load_npm_names()
    return Split.of([_batch(train)], [_batch(test)], {}, threads)


def _batch(part: NamedRows) -> Batch:
    [batch] = batches_of(part.rows)
    return replace(batch, labels=np.array(part.labels, np.float64))


def features(name: str) -> list[str]:
    """Return the words of a name, their pairs and the scope.

    >>> features("@types/reactDom2")
    ['@types', 'react', 'dom', '2', 'react+dom', 'react+2', 'dom+2']
    """
    scope, name = name.split("/", 1) if name.startswith("@") and "/" in name else ("", name)
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(name)))[:MOST_WORDS]
    pairs = [f"{one}+{other}" for one, other in combinations(words, 2)]
    return [scope, *words, *pairs] if scope else words + pairs
