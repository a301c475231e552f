"""What columns are called: by the field of their features, or by the most frequent ones.

Names work wherever columns go: in frames, in Parquet, and in LightGBM and XGBoost, which refuse the
characters of JSON. So `shop(rate=0.60)` has no brackets, and `react|react-dom|+12(rate=0.31)` no commas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from chromatic.data.counting import by_descending_count
from chromatic.data.hashing import secret_hashes
from chromatic.data.names import Names
from chromatic.data.vocabulary import Vocabulary

Integers = npt.NDArray[np.integer]
Called = Callable[[bytes], str]

LONGEST = 80  # characters of a column's name, but for the number of one that repeats
LONGEST_FEATURE = 24  # characters of a feature, where several are told
NO_FIELD_HASH = np.uint64(0)
_REFUSED = str.maketrans(dict.fromkeys('",:[]{}<\\', "_"))


def text_of(name: bytes) -> str:
    """Return a name as text; bytes that are no UTF-8 are written as escapes."""
    return name.decode("utf-8", "backslashreplace")


def finished(names: Iterable[str]) -> list[str]:
    """Return names that everything takes: printable, short, and no two the same.

    >>> finished(["price [EUR]", "shop", "shop", "shop#2"])
    ['price _EUR_', 'shop', 'shop#2', 'shop#2#2']
    """
    done: dict[str, None] = {}
    times: dict[str, int] = {}
    for name in names:
        once = unique = shortened(_printable(name), LONGEST)
        while unique in done:
            times[once] = times.get(once, 1) + 1
            unique = f"{once}#{times[once]}"
        done[unique] = None
    return list(done)


def shortened(text: str, most: int) -> str:
    """Return the beginning and the end of a text that is too long.

    >>> shortened("a very long name of a feature", 16)
    'a very lo..ature'
    """
    tail = most // 3
    return text if len(text) <= most else f"{text[: most - tail - 2]}..{text[-tail:]}"


def with_details(labels: Sequence[str | None], details: Sequence[str], plain: Sequence[str]) -> list[str]:
    """Return names of columns from what their features are called; the plain name where that is unknown."""
    return [
        name if label is None else f"{label}({detail})"
        for label, detail, name in zip(labels, details, plain, strict=True)
    ]


def figure(rate: float) -> str:
    """Return a rate with two decimals, and with more where it is close to 0 or 1.

    >>> figure(0.6), figure(0.0312), figure(0.9991), figure(0.0)
    ('0.60', '0.031', '0.99910', '0.00')
    """
    distance = min(rate, 1 - rate)
    decimals = 2 if distance <= 0 else min(max(2, 1 - int(np.floor(np.log10(distance)))), 6)
    return f"{rate:.{decimals}f}"


def labels(vocabulary: Vocabulary, groups: Integers, n_groups: int, called: Called) -> list[str | None]:
    """Return what the features of each group are called; `groups` are those of the features, or -1.

    That is the one feature, the field that all are of, or the two most frequent and how many more. None
    stands for a group without features, and where neither names nor fields were kept.
    """
    named = vocabulary.integers or vocabulary.names is not None
    if not named and vocabulary.fields is None:
        return [None] * n_groups
    sizes = np.bincount(groups[groups >= 0], minlength=n_groups)
    first, second = _two_of_each(groups, n_groups, vocabulary.counts)
    fields = _fields(vocabulary)
    others = np.ones(n_groups, np.int64)  # features that are not of the first one's field
    if fields is not None:
        of_first = np.append(fields, NO_FIELD_HASH)[first]
        members = np.flatnonzero(groups >= 0)
        odd = members[fields[members] != of_first[groups[members]]]
        others = np.bincount(groups[odd], minlength=n_groups) + (of_first == NO_FIELD_HASH)
    found: list[str | None] = []
    for size, one, two, mixed in zip(*(a.tolist() for a in (sizes, first, second, others)), strict=True):
        if size == 0:
            found.append(None)
        elif named and size == 1:
            found.append(_word(called(vocabulary.name(one)), 2 * LONGEST_FEATURE))
        elif not mixed:
            found.append(_word(called(_field_name(vocabulary, one)), 2 * LONGEST_FEATURE))
        elif named:
            words = [_word(called(vocabulary.name(code)), LONGEST_FEATURE) for code in (one, two)]
            found.append("|".join(words + [f"+{size - 2}"] * (size > 2)))
        else:
            found.append(None)
    return found


def _printable(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "_" for c in text)
    return text.translate(_REFUSED)


def _word(text: str, most: int) -> str:
    """Return a feature's name without white space, which LightGBM would warn of."""
    return shortened("_".join(_printable(text).split()) or "_", most)


def _two_of_each(
    groups: Integers, n_groups: int, counts: npt.NDArray[np.int64]
) -> tuple[Integers, Integers]:
    """Return the most frequent and the next feature of each group, -1 where there is none.

    Of repeated places numpy fills in the last value, so features go from the rarest to the most frequent.
    """
    first, second = np.full((2, n_groups), -1)
    order = by_descending_count(counts)
    codes = order[groups[order] >= 0][::-1]
    first[groups[codes]] = codes
    codes = codes[codes != first[groups[codes]]]
    second[groups[codes]] = codes
    return first, second


def _fields(vocabulary: Vocabulary) -> npt.NDArray[np.uint64] | None:
    """Return a number for the field of each feature, NO_FIELD_HASH where it has none; None: no fields."""
    numbers: npt.NDArray[np.uint64] | None = None
    if vocabulary.names is not None:
        starts, ends = _before_equals(vocabulary.names)
        numbers = secret_hashes(vocabulary.names.data, starts, ends)
        numbers[starts == ends] = NO_FIELD_HASH
    if vocabulary.fields is not None:
        known = vocabulary.fields >= 0
        numbers = np.full(len(vocabulary), NO_FIELD_HASH) if numbers is None else numbers
        numbers[known] = vocabulary.fields[known] + 1
    return numbers


def _before_equals(names: Names) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where `field` of the names `field=value` is; nothing of a name that is not of this form."""
    starts, ends = names.offsets[:-1], names.offsets[1:]
    places = np.append(np.flatnonzero(names.data == ord("=")), np.iinfo(np.int64).max)
    equals = places[np.searchsorted(places, starts)]
    return starts, np.where(equals < ends, equals, starts)


def _field_name(vocabulary: Vocabulary, code: int) -> bytes:
    """Return the field of a feature that has one."""
    if vocabulary.fields is not None and vocabulary.fields[code] >= 0:
        return vocabulary.field_names[int(vocabulary.fields[code])]
    return vocabulary.name(code).partition(b"=")[0]
