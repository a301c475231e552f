"""Kernels that scan text: bytes in, labels, features and values out.

The text of a call is whole lines, the last of which ends with a newline, and PADDING bytes that are
not read as text. Bytes up to 32 separate tokens; a newline ends the row.

Features come out as integers (`scan_integers`) or as spans of bytes (`scan_strings`). Only values
other than 1 are written down, with the position of their feature. A number with more digits than one
multiplication rounds correctly goes to `hard`, for numpy to convert. A bad line is taken back whole
and counted, and the first one remembered; whether to go on is the caller's choice.
"""

from __future__ import annotations

import numpy as np

from chromatic._numba import inlined, kernel, load64, trailing_zeros

PADDING = 16

SVMLIGHT, TOKENS, VW = 0, 1, 2

# What was wrong with a line, for `chromatic.data.text` to put into words.
LABEL, FEATURE, VALUE, INTEGER, NO_BAR, NAMESPACE = 1, 2, 3, 4, 5, 6

# The slots of `tally`, which every scanner fills.
LINES, ROWS, FEATURES, VALUES, HARDS, BAD_LINES, BAD_LINE, BAD_AT, BAD_KIND, IGNORED = range(10)

# How a number came out: exactly, to be converted by numpy, or not at all.
EXACT, HARD, WRONG = 0, 1, 2

NEWLINE, SPACE, HASH, QUOTE, PLUS, MINUS, DOT, ZERO, ONE, NINE, COLON, CARET, BAR = b"\n #'+-.019:^|"

U64 = np.uint64
_IS_ONE = U64(int.from_bytes(b":1 ", "little"))
_POWERS = 10.0 ** np.arange(23)  # the powers of ten that a float64 holds exactly
_ROUNDS_TO_ZERO = U64(2470328229206232720)  # the first 19 digits of 2**-1075, e-324
_ROUNDS_TO_INFINITY = U64(1797693134862315807)  # and of 2**1024 - 2**970, e308


@kernel
def scan_integers(text, forced, ids, tally, indptr, labels, value_at, values, hard):  # type: ignore[no-untyped-def]
    """svmlight lines whose features are canonical integers.

    Unless `forced`, returns False at the first feature that is none: the lines are then strings.
    """
    i = np.int64(0)
    size = len(text) - PADDING
    features = n_values = n_hards = np.int64(0)
    while i < size:
        tally[LINES] += 1
        i = _skip_spaces(text, i)
        if text[i] == NEWLINE or text[i] == HASH:
            i = _line_end(text, i) + 1
            continue
        row, row_features, row_values, row_hards = tally[ROWS], features, n_values, n_hards
        stop = _token_end(text, i)
        how, labels[row] = _number(text, i, stop)
        problem = LABEL if how == WRONG else 0
        if how == HARD:
            hard[n_hards, 0], hard[n_hards, 1], hard[n_hards, 2] = -1 - row, i, stop
            n_hards += 1
        if problem == 0:
            i = _skip_spaces(text, stop)
            if _is_qid(text, i):
                tally[IGNORED] += 1
                i = _token_end(text, i)
        while problem == 0:
            digits, value = _short_integer(load64(text, i))
            if digits == 8:
                digits, value = _long_integer(text, i)
            ids[features] = value
            after = i + digits
            if digits == 0:
                c = text[i]
                if c == NEWLINE or c == HASH:
                    break
                if c <= SPACE:
                    i += 1
                else:
                    problem = INTEGER
            elif load64(text, after) & U64(0xFFFFFF) == _IS_ONE:  # by far the commonest
                features += 1
                i = after + 3
            elif text[after] <= SPACE:
                features += 1
                i = after
            elif text[after] != COLON:
                problem = INTEGER
            else:
                stop = _token_end(text, after)
                how, value = _number(text, after + 1, stop)
                if how == WRONG:
                    # 5:a:1 is the string 5:a with the value 1, so it is no bad value
                    more = not forced and _last_colon(text, after + 1, stop) > 0
                    problem = INTEGER if more else VALUE
                elif how == HARD or value != 0.0:
                    if how == HARD:
                        hard[n_hards, 0], hard[n_hards, 1], hard[n_hards, 2] = n_values, after + 1, stop
                        n_hards += 1
                    if how == HARD or value != 1.0:
                        value_at[n_values] = features
                        values[n_values] = value
                        n_values += 1
                    features += 1
                if problem == 0:
                    i = stop
            if problem == INTEGER and not forced:
                return False
        if problem != 0:
            _note_bad(tally, i, problem)
            features, n_values, n_hards = row_features, row_values, row_hards
        else:
            tally[ROWS] += 1
            indptr[row + 1] = features
        i = _line_end(text, i) + 1
    tally[FEATURES], tally[VALUES], tally[HARDS] = features, n_values, n_hards
    return True


@kernel
def scan_strings(text, kind, copy, starts, stops, tally, indptr, labels, value_at, values, hard):  # type: ignore[no-untyped-def]
    """svmlight lines, lines of tokens, or Vowpal Wabbit lines, with features of any bytes.

    The spans point into the text; for Vowpal Wabbit into `copy`, where a feature of a namespace
    stands as `namespace^feature`. Returns False when `copy` is too small.
    """
    i = np.int64(0)
    size = len(text) - PADDING
    features = n_values = n_hards = copied = np.int64(0)
    while i < size:
        tally[LINES] += 1
        i = _skip_spaces(text, i)
        if text[i] == NEWLINE or (text[i] == HASH and kind == SVMLIGHT):
            i = _line_end(text, i) + 1
            continue
        row, row_features, row_values, row_hards = tally[ROWS], features, n_values, n_hards
        space_start = space_stop = np.int64(0)
        problem = 0
        if kind == VW:
            problem, start, stop, ignored, i = _vw_head(text, i)
            tally[IGNORED] += ignored
        else:
            start, stop = i, _token_end(text, i)
        how = WRONG
        if problem == 0 and stop > start:
            how, labels[row] = _number(text, start, stop)
            if how == HARD:
                hard[n_hards, 0], hard[n_hards, 1], hard[n_hards, 2] = -1 - row, start, stop
                n_hards += 1
            if how == WRONG:
                problem = LABEL
                i = start
        elif problem == 0:
            labels[row] = np.nan  # Vowpal Wabbit's rows may have no label
        if problem == 0 and kind != VW:
            i = _skip_spaces(text, stop)
            if kind == SVMLIGHT and _is_qid(text, i):
                tally[IGNORED] += 1
                i = _token_end(text, i)
        while problem == 0:
            i = _skip_spaces(text, i)
            c = text[i]
            if c == NEWLINE or (c == HASH and kind == SVMLIGHT):
                break
            if c == BAR and kind == VW:
                space_start = i + 1
                stop, colon = _token(text, i + 1, kind)
                space_stop = stop
                if colon >= 0 or stop - space_start > 255:
                    problem = NAMESPACE
                else:
                    i = stop
                continue
            stop, colon = _token(text, i, kind)
            how, value, end = EXACT, 1.0, stop
            if colon >= 0 and kind != TOKENS:
                end = colon
                if stop - colon != 2 or text[colon + 1] != ONE:
                    how, value = _number(text, colon + 1, stop)
            if end == i:
                problem = FEATURE
            elif how == WRONG:
                problem = VALUE
            elif how == HARD or value != 0.0:
                if how == HARD:
                    hard[n_hards, 0], hard[n_hards, 1], hard[n_hards, 2] = n_values, colon + 1, stop
                    n_hards += 1
                if how == HARD or value != 1.0:
                    value_at[n_values] = features
                    values[n_values] = value
                    n_values += 1
                starts[features], stops[features] = i, end
                if kind == VW:
                    if copied + (space_stop - space_start) + 1 + (end - i) > len(copy):
                        return False
                    starts[features] = copied
                    if space_stop > space_start:
                        copied = _copy(text, space_start, space_stop, copy, copied)
                        copy[copied] = CARET
                        copied += 1
                    copied = _copy(text, i, end, copy, copied)
                    stops[features] = copied
                features += 1
            if problem == 0:
                i = stop
        if problem != 0:
            _note_bad(tally, i, problem)
            features, n_values, n_hards = row_features, row_values, row_hards
        else:
            tally[ROWS] += 1
            indptr[row + 1] = features
        i = _line_end(text, i) + 1
    tally[FEATURES], tally[VALUES], tally[HARDS] = features, n_values, n_hards
    return True


@inlined
def _skip_spaces(text, i):  # type: ignore[no-untyped-def]
    while text[i] <= SPACE and text[i] != NEWLINE:
        i += 1
    return i


@inlined
def _token_end(text, i):  # type: ignore[no-untyped-def]
    while text[i] > SPACE:
        i += 1
    return i


@inlined
def _line_end(text, i):  # type: ignore[no-untyped-def]
    while text[i] != NEWLINE:
        i += 1
    return i


@inlined
def _token(text, i, kind):  # type: ignore[no-untyped-def]
    """The end of the token at i, and its last colon or -1; a bar ends Vowpal Wabbit's.

    Of eight bytes at once, the lowest that is at most 32 is found by a subtraction that borrows.
    """
    stop = np.int64(i)
    found = U64(0)
    while found == U64(0):
        word = load64(text, stop)
        found = (word - U64(0x2121212121212121)) & ~word & U64(0x8080808080808080)
        stop += np.int64(trailing_zeros(found) >> U64(3))
    if kind == VW:
        stop = _bar_before(text, i, stop)
    if stop - i < 2 or text[stop - 1] != ONE or text[stop - 2] != COLON:  # :1 is by far the commonest
        colon = _last_colon(text, i, stop)
    else:
        colon = stop - 2
    return stop, colon


@kernel
def _bar_before(text, i, stop):  # type: ignore[no-untyped-def]
    while i < stop and text[i] != BAR:
        i += 1
    return i


@kernel
def _last_colon(text, start, stop):  # type: ignore[no-untyped-def]
    colon = np.int64(-1)
    for i in range(start, stop):
        if text[i] == COLON:
            colon = np.int64(i)
    return colon


@kernel
def _is_qid(text, i):  # type: ignore[no-untyped-def]
    """Whether `qid:` stands here, the query of a ranking set, which is no feature."""
    return text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON


@inlined
def _short_integer(word):  # type: ignore[no-untyped-def]
    """The canonical integer at the head of eight bytes: its number of digits and its value.

    No digits where there is none; eight where it may go on. The first byte that is no digit is found
    by arithmetic on all eight, the bytes from there on are shifted out, and three multiplications
    join the digits to pairs, fours and eight.
    """
    x = word ^ U64(0x3030303030303030)  # a digit becomes its value
    others = (x | (x + U64(0x7676767676767676))) & U64(0x8080808080808080)
    digits = trailing_zeros(others) >> U64(3)
    if digits > U64(1) and (x & U64(0xFF)) == U64(0):
        digits = U64(0)
    x = (x << (U64(8) * (U64(8) - digits))) if digits != U64(0) else U64(0)
    x = (x * U64(10) + (x >> U64(8))) & U64(0x00FF00FF00FF00FF)
    x = (x * U64(100) + (x >> U64(16))) & U64(0x0000FFFF0000FFFF)
    x = (x * U64(10000) + (x >> U64(32))) & U64(0xFFFFFFFF)
    return np.int64(digits), np.uint32(x)


@kernel
def _long_integer(text, i):  # type: ignore[no-untyped-def]
    """The canonical integer of eight digits or more at i, below 2**32; no digits where it is not."""
    digits = np.int64(0)
    value = U64(0)
    while text[i + digits] >= ZERO and text[i + digits] <= NINE and digits < 11:
        value = value * U64(10) + U64(text[i + digits] - ZERO)
        digits += 1
    if value > U64(0xFFFFFFFF):
        digits, value = np.int64(0), U64(0)
    return digits, np.uint32(value)


@kernel
def _number(text, i, stop):  # type: ignore[no-untyped-def]
    """Parse text[i:stop] whole: [+-]digits[.digits][e[+-]digits]. How it came out, and the value.

    Up to 19 digits are gathered in an integer. When it is at most 2**53 and the power of ten at most
    22, both are exact in float64 and one division or product is correctly rounded (Clinger 1990).
    """
    if stop - i == 1 and text[i] >= ZERO and text[i] <= NINE:
        return EXACT, np.float64(text[i] - ZERO)
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    mantissa = U64(0)
    digits = exponent = np.int64(0)
    any_digit = fraction = False
    while i < stop:
        c = text[i]
        if c >= ZERO and c <= NINE:
            any_digit = True
            if mantissa != U64(0) or c != ZERO:
                digits += 1
                if digits <= 19:
                    mantissa = mantissa * U64(10) + U64(c - ZERO)
                else:
                    exponent += 1
            if fraction:
                exponent -= 1
        elif c == DOT and not fraction:
            fraction = True
        else:
            break
        i += 1
    if not any_digit:
        return WRONG, 0.0
    if i < stop:
        good, power = _exponent(text, i, stop)
        if not good:
            return WRONG, 0.0
        exponent += power
    if mantissa == U64(0):
        return EXACT, 0.0
    if digits <= 19 and mantissa <= U64(1 << 53) and -22 <= exponent and exponent <= 22:
        value = np.float64(mantissa)
        value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
        return EXACT, -value if negative else value
    return _beyond(mantissa, min(digits, np.int64(19)), exponent), 0.0


@kernel
def _exponent(text, i, stop):  # type: ignore[no-untyped-def]
    """The power of ten written as text[i:stop], `e-5` or `E+12`, and whether it is well formed."""
    good = text[i] == 101 or text[i] == 69
    i += 1
    down = i < stop and text[i] == MINUS
    if i < stop and (text[i] == MINUS or text[i] == PLUS):
        i += 1
    good &= i < stop
    power = np.int64(0)
    while i < stop:
        good &= text[i] >= ZERO and text[i] <= NINE
        power = min(power * 10 + np.int64(text[i]) - ZERO, np.int64(1_000_000))
        i += 1
    return good, -power if down else power


@kernel
def _beyond(mantissa, digits, exponent):  # type: ignore[no-untyped-def]
    """What a number is that the short way cannot make: 0 by rounding, too large, or merely hard."""
    magnitude = exponent + digits
    if magnitude >= -322 and magnitude <= 308:
        return HARD
    for _ in range(19 - digits):
        mantissa = mantissa * U64(10)
    if magnitude < -323 or (magnitude == -323 and mantissa <= _ROUNDS_TO_ZERO):
        return EXACT
    if magnitude > 309 or (magnitude == 309 and mantissa >= _ROUNDS_TO_INFINITY):
        return WRONG
    return HARD


@kernel
def _vw_head(text, i):  # type: ignore[no-untyped-def]
    """`[label [importance [base]]] [tag]` up to the first bar; a tag touches it or begins with '.

    Returns what is wrong, the span of the label (empty where there is none), how many numbers have
    no place here, and the position of the bar or of what is wrong.
    """
    bar = i
    while text[bar] != BAR and text[bar] != NEWLINE:
        bar += 1
    start = stop = i
    ignored = np.int64(0)
    if text[bar] == NEWLINE:
        return NO_BAR, start, stop, ignored, i
    words = 0
    while True:
        i = _skip_spaces(text, i)
        if i == bar:
            return 0, start, stop, ignored, bar
        end, _ = _token(text, i, VW)
        if end < bar and text[i] != QUOTE:
            words += 1
            if words == 1:
                start, stop = i, end
            else:
                how, _ = _number(text, i, end)
                if how == WRONG or words > 3:
                    return LABEL, start, stop, ignored, i
                ignored += 1
        i = end


@kernel
def _copy(text, start, stop, out, at):  # type: ignore[no-untyped-def]
    for j in range(start, stop):
        out[at] = text[j]
        at += 1
    return at


@kernel
def _note_bad(tally, i, problem):  # type: ignore[no-untyped-def]
    if tally[BAD_LINES] == 0:
        tally[BAD_LINE], tally[BAD_AT], tally[BAD_KIND] = tally[LINES], i, problem
    tally[BAD_LINES] += 1
