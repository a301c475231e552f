"""What a column costs, by the principle of minimum description length."""

from __future__ import annotations

import math


def price_of_column(n_rows: float, n_classes: int = 1) -> float:
    """Return what a column must gain, in nats over all rows: half the logarithm of rows for each weight.

    A learner of several classes gives a column a weight for each class but one.

    >>> price_of_column(1000) == price_of_column(1000, 2) == price_of_column(1000, 5) / 4
    True
    """
    return 0.5 * math.log(n_rows) * max(1, n_classes - 1)
