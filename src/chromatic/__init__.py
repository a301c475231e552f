"""chromatic: a few hundred meaningful columns from millions of sparse features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chromatic._living import merge
    from chromatic.baselines import FrequencyEncoder, HashingEncoder
    from chromatic.encoder import ChromaticEncoder, load

__version__ = "0.1.0"
__all__ = ["ChromaticEncoder", "FrequencyEncoder", "HashingEncoder", "load", "merge"]


def __getattr__(name: str) -> Any:
    """Import the encoders, and scikit-learn with them, when they are first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'chromatic' has no attribute {name!r}")
    from chromatic import _living, baselines, encoder

    return next(getattr(one, name) for one in (encoder, baselines, _living) if hasattr(one, name))


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
