"""Figures as people write them, on a terminal and in tables."""

from __future__ import annotations

from typing import Any


def shown(value: Any) -> str:
    """Return a figure as people write it.

    >>> shown(1234567), shown(0.999912), shown(0.12345), shown(12.0), shown(None)
    ('1,234,567', '0.999912', '0.1235', '12', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, float):
        digits = 7 if 0.9995 <= value < 1 else 4  # a share close to all is not all
        return f"{value:,.{digits}g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
