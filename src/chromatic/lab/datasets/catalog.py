"""The paper's data sets as a list for people, and as records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from chromatic._files import cache_folder
from chromatic.lab.datasets.fetch import cached
from chromatic.lab.datasets.registry import DATASETS

_TOLD = ("name", "what", "train_rows", "test_rows", "features", "license", "page")


def records() -> list[dict[str, Any]]:
    """Return what each data set is, and its paths where it is in the cache."""
    listed = []
    for data_set in DATASETS.values():
        paths = cached(data_set)
        told = {key: getattr(data_set, key) for key in _TOLD}
        listed.append(told | {"paths": None if paths is None else asdict(paths)})
    return listed


def lines() -> Iterator[str]:
    """The same as text."""
    for name, data_set in DATASETS.items():
        yield f"{name:<8}{data_set.what}"
        yield (
            f"        {data_set.train_rows:,} rows to train on, {data_set.test_rows:,} to test; "
            f"{data_set.features:,} {'columns' if data_set.format == 'criteo' else 'features'}"
        )
        yield f"        license: {data_set.license}"
        yield f"        from {data_set.page}"
        yield f"        {'is in the cache' if cached(data_set) else f'chromatic datasets get {name}'}"
    yield f"\nThe cache is {cache_folder()}; the environment variable CHROMATIC_DATA names another."
