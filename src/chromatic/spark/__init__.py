"""The same fit and transform on Spark: `ChromaticEstimator` and `ChromaticModel` for pyspark.ml."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from chromatic._extras import optional

if TYPE_CHECKING:
    from chromatic.spark.estimator import ChromaticEstimator, ChromaticModel

__all__ = ["ChromaticEstimator", "ChromaticModel"]


def __getattr__(name: str) -> Any:
    """Import PySpark when its estimator is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'chromatic.spark' has no attribute {name!r}")
    check_installed()
    return getattr(importlib.import_module("chromatic.spark.estimator"), name)


def check_installed() -> None:
    """Refuse to go on without what Spark needs in Python."""
    for package in ("pyspark", "pandas"):
        optional(package)
