"""Numbers as a page writes them; the templates use these functions as filters."""

from __future__ import annotations


def counted(number: float, word: str = "") -> str:
    """Return a whole number as text, and what it counts.

    >>> counted(1234), counted(1, "row"), counted(2, "row")
    ('1,234', '1 row', '2 rows')
    """
    number = int(number)
    return f"{number:,}" + (f" {word}{'' if number == 1 else 's'}" if word else "")


def percent(share: float) -> str:
    """Return a share in percent: the smaller it is, the more digits.

    >>> percent(0.5), percent(0.005), percent(1e-9), percent(0)
    ('50.0 %', '0.50 %', '< 0.01 %', '0 %')
    """
    if share == 0 or 0 < share < 5e-5:
        return "< 0.01 %" if share else "0 %"
    return f"{100 * share:.{2 if share < 0.01 else 1}f} %"


def three_digits(number: float) -> str:
    """Return a number with three digits, never as a power of ten.

    >>> three_digits(4.536), three_digits(0.0548), three_digits(1.9e-5), three_digits(0)
    ('4.54', '0.0548', '< 0.001', '0')
    """
    if 0 < number < 0.001:
        return "< 0.001"
    return f"{number:.3g}" if number < 1000 else counted(number)


def signed(number: float, digits: int) -> str:
    """Return a number with its sign; a page's minus is longer than a hyphen.

    >>> signed(1.26, 1), signed(-1.26, 2)
    ('+1.3', '−1.26')
    """
    return f"{number:+.{digits}f}".replace("-", "−")


FILTERS = {function.__name__: function for function in (counted, percent, signed, three_digits)}
