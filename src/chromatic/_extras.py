"""Packages that only some need: imported when they are used, with a word on how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType

from chromatic.errors import InputError

EXTRAS = {
    "lightgbm": "lightgbm",
    "matplotlib": "report",
    "pandas": "spark",
    "pooch": "datasets",
    "prometheus_client": "serve",
    "pyspark": "spark",
    "starlette": "serve",
    "torch": "torch",
    "uvicorn": "serve",
    "vowpalwabbit": "vw",
}


def optional(package: str) -> ModuleType:
    """Import a package that may be missing; the error says which extra brings it.

    >>> optional("lightgbm").__name__
    'lightgbm'
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        wanted = f"chromatic-learning[{EXTRAS[package]}]" if package in EXTRAS else package
        raise InputError(
            f"the package {package} is not installed ({error}); expected it here: pip install '{wanted}'"
        ) from error
