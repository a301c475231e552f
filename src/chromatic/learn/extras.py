"""Libraries that only some need: imported when they are used, with a word on how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType

from chromatic.errors import InputError

EXTRAS = {"torch": "torch", "vowpalwabbit": "vw", "lightgbm": "lightgbm"}


def optional(package: str) -> ModuleType:
    """Import a package of an extra.

    >>> optional("lightgbm").__name__
    'lightgbm'
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"the package {package} is not installed ({error}); expected the extra {EXTRAS[package]!r}: "
            f'pip install "chromatic-learning[{EXTRAS[package]}]"'
        ) from error
