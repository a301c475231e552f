"""The same fit and transform on Spark: `ChromaticEstimator` and `ChromaticModel` for pyspark.ml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chromatic.spark.estimator import ChromaticEstimator, ChromaticModel

__all__ = ["ChromaticEstimator", "ChromaticModel"]


def __getattr__(name: str) -> Any:
    """Import PySpark when its estimator is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'chromatic.spark' has no attribute {name!r}")
    try:
        from chromatic.spark import estimator
    except ImportError as error:
        if not (error.name or "").startswith(("pyspark", "pandas", "py4j")):
            raise
        from chromatic.errors import InputError

        raise InputError(
            f"{error.name} is not installed; expected it here: pip install 'chromatic-learning[spark]'"
        ) from error
    return getattr(estimator, name)
