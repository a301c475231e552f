"""Numbers and small pieces of a report as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def tiles(figures: Iterable[tuple[str, str, str]]) -> str:
    """Figures as (what it is, the number, a note)."""
    cells = []
    for name, value, note in figures:
        small = f"<small>{escape(note)}</small>" if note else ""
        cells.append(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}{small}</dd></div>")
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    heads = "".join(f"<th>{escape(text)}</th>" for text in head)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(plot: str, caption: str) -> str:
    """A plot in its frame, with words that are HTML already."""
    return f'<figure class="card">{plot}<figcaption>{caption}</figcaption></figure>'


def folded(title: str, html: str) -> str:
    """What is seen only when it is asked for."""
    return f'<details class="plain"><summary>{escape(title)}</summary>{html}</details>'


def hint(html: str) -> str:
    """Why something is not there."""
    return f'<p class="hint">{html}</p>'


def key(class_: str) -> str:
    """The dot that a caption explains."""
    return f'<span class="key {class_}"></span>'


def share_bar(share: float, class_: str) -> str:
    """A bar and its number."""
    bar = f'<i class="{class_}" style="width:{100 * share:.1f}%"></i>'
    return f'<span class="share"><span class="track">{bar}</span><span>{percent(share)}</span></span>'


def count(number: float, word: str = "") -> str:
    """A whole number, and what it counts.

    >>> count(1234), count(1, "row"), count(2, "row")
    ('1,234', '1 row', '2 rows')
    """
    number = int(number)
    return f"{number:,}" + (f" {word}{'' if number == 1 else 's'}" if word else "")


def percent(share: float) -> str:
    """A share in percent, with as many digits as it is small.

    >>> percent(0.5), percent(0.005), percent(1e-9), percent(0)
    ('50.0 %', '0.50 %', '< 0.01 %', '0 %')
    """
    if share == 0 or 0 < share < 5e-5:
        return "< 0.01 %" if share else "0 %"
    return f"{100 * share:.{2 if share < 0.01 else 1}f} %"


def small(number: float) -> str:
    """Three digits of a number, none of which is told by powers of ten.

    >>> small(4.536), small(0.0548), small(1.9e-5), small(0)
    ('4.54', '0.0548', '< 0.001', '0')
    """
    if 0 < number < 0.001:
        return "< 0.001"
    return f"{number:.3g}" if number < 1000 else count(number)
