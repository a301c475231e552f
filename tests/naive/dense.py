"""Dense columns that a budget has no room for: the twin of `data.dense`."""

from fractions import Fraction
from math import sqrt


def chosen(columns, numeric, labels, budget, *, n_sparse):
    """Return which columns stay, and which become sparse features, by their places.

    `columns` are lists of numbers, `numeric` whether each is a column of a table.
    """
    if len(columns) + (n_sparse > 0) <= budget:
        return list(range(len(columns))), []
    numbers = [i for i, some in enumerate(columns) if numeric[i] or not set(some) <= {0, 1}]
    binned = [i for i in range(len(columns)) if i not in numbers]
    most = budget - 1 if n_sparse or binned else budget
    best = sorted(numbers, key=lambda i: -correlation(columns[i], labels))[:most]
    return sorted(best), binned


def correlation(x, y):
    """Return the absolute correlation of two lists of whole numbers; 0 where one does not vary."""
    n = len(x)
    x, y = ([Fraction(a) - Fraction(sum(some), n) for a in some] for some in (x, y))
    below = sum(a * a for a in x) * sum(b * b for b in y)
    return abs(float(sum(a * b for a, b in zip(x, y, strict=True)))) / sqrt(below) if below else 0.0
