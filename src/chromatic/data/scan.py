"""Kernels that scan text: bytes in, labels, features and values out.

The text of a call is whole lines, the last of which ends with a newline, and PADDING bytes that are
not read as text. Bytes up to 32 separate tokens; a newline ends the row.

Features come out as integers (`scan_integers`) or as spans of bytes (`scan_strings`), all else in
`out`: (tally, indptr, labels, value_at, values, hard, weights). Only values other than 1 are written down,
with the position of their feature. A number with more digits than one multiplication rounds correctly goes
to `hard`, for numpy to convert. A bad line is taken back whole and counted, and the first one remembered.
"""

import numpy as np

from chromatic._numba import inlined, kernel, load64, trailing_zeros

PADDING = 16
SVMLIGHT, TOKENS, VW = 0, 1, 2

# What was wrong with a line, for `chromatic.data.text` to put into words.
LABEL, FEATURE, VALUE, INTEGER, NO_BAR, NAMESPACE, BLANK = 1, 2, 3, 4, 5, 6, 7
# The slots of `tally`, which every scanner fills.
LINES, ROWS, FEATURES, VALUES, HARDS, BAD_LINES, BAD_LINE, BAD_AT, BAD_KIND, IGNORED = range(10)
# How a number came out: exactly, to be converted by numpy, or not at all.
EXACT, HARD, WRONG = 0, 1, 2
WEIGHT = -(1 << 48)  # minus the row: what owns a hard weight, as -1 minus the row owns a hard label
NEWLINE, SPACE, HASH, QUOTE, PLUS, MINUS, DOT, ZERO, ONE, NINE, COLON, CARET, BAR = b"\n #'+-.019:^|"
U64 = np.uint64
_IS_ONE = U64(int.from_bytes(b":1 ", "little"))
_QID = U64(int.from_bytes(b"qid:", "little"))  # the query of a ranking set, which is no feature
_POWERS = 10.0 ** np.arange(23)  # the powers of ten that a float64 holds exactly
_ROUNDS_TO_ZERO = U64(2470328229206232720)  # the first 19 digits of 2**-1075, e-324
_ROUNDS_TO_INFINITY = U64(1797693134862315807)  # and of 2**1024 - 2**970, e308


@kernel
def scan_integers(text, forced, ids, out):  # type: ignore[no-untyped-def]
    """Scan svmlight lines whose features are canonical integers into `ids` and `out`.

    Unless `forced`, return False at the first feature that is none: the lines are then strings.
    """
    tally = out[0]
    i = features = np.int64(0)
    while i < len(text) - PADDING:
        before = features, tally[VALUES], tally[HARDS]
        problem, i = _head(text, i, SVMLIGHT, out)
        while problem == 0:
            digits, value = _short_integer(load64(text, i))
            if digits == 8:
                digits, value = _long_integer(text, i)
            ids[features] = value
            after = i + digits
            if digits == 0:
                if text[i] == NEWLINE or text[i] == HASH:
                    break
                if text[i] <= SPACE:
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
                kept = _put_value(text, after + 1, stop, features, out)
                if kept == WRONG:
                    # 5:a:1 is the string 5:a with the value 1, so it is no bad value
                    _, colon = _last_colon(text, after + 1, stop, SVMLIGHT)
                    problem = VALUE if forced or colon < 0 else INTEGER
                else:
                    features += kept
                    i = stop
            if problem == INTEGER and not forced:
                return False
        features = _end_row(i, problem, features, before, out)
        i = _line_end(text, i) + 1
    tally[FEATURES] = features
    return True


@kernel
def scan_strings(text, kind, spans, copy, out):  # type: ignore[no-untyped-def]
    """Scan svmlight lines, lines of tokens or Vowpal Wabbit lines, with features of any bytes.

    The spans point into the text; for Vowpal Wabbit into `copy`, where a feature of a namespace
    stands as `namespace^feature`. Return False when `copy` is too small.
    """
    (starts, stops), tally = spans, out[0]
    i = features = copied = np.int64(0)
    while i < len(text) - PADDING:
        before = features, tally[VALUES], tally[HARDS]
        problem, i = _head(text, i, kind, out)
        space = np.int64(0), np.int64(0)  # the span of the namespace
        while problem == 0:
            i = _skip_spaces(text, i)
            if text[i] == NEWLINE or (text[i] == HASH and kind == SVMLIGHT):
                break
            if text[i] == BAR and kind == VW:
                stop, colon = _token(text, i + 1, kind)
                space = i + 1, stop
                problem = NAMESPACE if colon >= 0 or stop - i > 256 else 0
                i = stop if problem == 0 else i
                continue
            stop, colon = _token(text, i, kind)
            kept, end = 1, stop
            if colon >= 0 and kind != TOKENS:
                end = colon
                if stop - colon != 2 or text[colon + 1] != ONE:
                    kept = _put_value(text, colon + 1, stop, features, out)
            if end == i or kept == WRONG:
                problem = FEATURE if end == i else VALUE
                continue
            starts[features], stops[features] = i, end
            if kind == VW and kept:
                starts[features] = copied
                copied = _copy_feature(text, space, (i, end), copy, copied)
                if copied < 0:
                    return False
                stops[features] = copied
            features += kept
            i = stop
        features = _end_row(i, problem, features, before, out)
        i = _line_end(text, i) + 1
    tally[FEATURES] = features
    return True


@inlined
def _head(text, i, kind, out):  # type: ignore[no-untyped-def]
    """Put down the label of a line; return what is wrong, or BLANK, and where its features begin."""
    tally, labels = out[0], out[2]
    tally[LINES] += 1
    start = stop = i = _skip_spaces(text, i)
    problem = BLANK if text[i] == NEWLINE or (text[i] == HASH and kind == SVMLIGHT) else 0
    if problem == 0 and kind == VW:
        problem, start, stop, i = _vw_head(text, i, out)
    elif problem == 0:
        stop = _token_end(text, i)
    if problem == 0 and stop > start:
        how, labels[tally[ROWS]] = _put_number(text, start, stop, -1 - tally[ROWS], out)
        if how == WRONG:
            problem, i = LABEL, start
    elif problem == 0:
        labels[tally[ROWS]] = np.nan  # Vowpal Wabbit's rows may have no label
    if problem == 0 and kind != VW:
        i = _skip_spaces(text, stop)
        if kind == SVMLIGHT and load64(text, i) & U64(0xFFFFFFFF) == _QID:
            tally[IGNORED] += 1
            i = _token_end(text, i)
    return problem, i


@inlined
def _end_row(i, problem, features, before, out):  # type: ignore[no-untyped-def]
    """Count a row, or take back what was put down of a bad one; return the number of features."""
    tally, indptr = out[0], out[1]
    if problem == 0:
        tally[ROWS] += 1
        indptr[tally[ROWS]] = features
    elif problem != BLANK:
        if tally[BAD_LINES] == 0:
            tally[BAD_LINE], tally[BAD_AT], tally[BAD_KIND] = tally[LINES], i, problem
        tally[BAD_LINES] += 1
        features, tally[VALUES], tally[HARDS] = before
    return features


@inlined
def _put_value(text, start, stop, feature, out):  # type: ignore[no-untyped-def]
    """Put down the value of a feature unless it is 1; return 1, 0 where it is 0, or WRONG."""
    tally, value_at, values = out[0], out[3], out[4]
    how, value = _put_number(text, start, stop, tally[VALUES], out)
    if how == HARD or (value != 0.0 and value != 1.0):
        value_at[tally[VALUES]], values[tally[VALUES]] = feature, value
        tally[VALUES] += 1
    return WRONG if how == WRONG else np.int64(how == HARD or value != 0.0)


@inlined
def _put_number(text, start, stop, owner, out):  # type: ignore[no-untyped-def]
    """Parse text[start:stop]; put a hard number down for its owner: a value, a label or a weight."""
    tally, hard = out[0], out[5]
    how, value = _number(text, start, stop)
    if how == HARD:
        hard[tally[HARDS], 0], hard[tally[HARDS], 1], hard[tally[HARDS], 2] = owner, start, stop
        tally[HARDS] += 1
    return how, value


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
    marks = U64(0)
    while marks == U64(0):
        word = load64(text, stop)
        marks = (word - U64(0x2121212121212121)) & ~word & U64(0x8080808080808080)
        stop += np.int64(trailing_zeros(marks) >> U64(3))
    colon = stop - 2
    if kind == VW or colon < i or text[colon] != COLON or text[colon + 1] != ONE:  # :1 is the commonest
        stop, colon = _last_colon(text, i, stop, kind)
    return stop, colon


@kernel
def _last_colon(text, i, stop, kind):  # type: ignore[no-untyped-def]
    """The end of text[i:stop], at a bar in Vowpal Wabbit text, and the last colon before it or -1."""
    colon = np.int64(-1)
    for at in range(i, stop):
        if text[at] == BAR and kind == VW:
            return np.int64(at), colon
        if text[at] == COLON:
            colon = np.int64(at)
    return stop, colon


@inlined
def _short_integer(word):  # type: ignore[no-untyped-def]
    """The digits (8: it may go on; 0: there is none) and the value of the canonical integer at the head.

    Arithmetic on all eight bytes tells the first that is no digit; the bytes from there on are shifted
    out, and three multiplications join the digits to pairs, fours and eight.
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
    digits, value = np.int64(0), U64(0)
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
    mantissa, digits, exponent = U64(0), np.int64(0), np.int64(0)
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
def _vw_head(text, i, out):  # type: ignore[no-untyped-def]
    """`[label [importance [base]]] [tag]` up to the first bar; a tag touches it or begins with '.

    Puts the importance down, 1 where there is none. Returns what is wrong, the span of the label (empty
    where there is none), and the position of the bar or of what is wrong.
    """
    tally, weights = out[0], out[6]
    bar, start, stop, after = i, i, i, np.int64(0)  # how many numbers came after the label
    while text[bar] != BAR and text[bar] != NEWLINE:
        bar += 1
    if text[bar] == NEWLINE:
        return NO_BAR, start, stop, i
    weights[tally[ROWS]] = 1.0
    while True:
        i = _skip_spaces(text, i)
        if i == bar:
            tally[IGNORED] += after == 2  # the base, which has no place here
            return 0, start, stop, bar
        end, _ = _token(text, i, VW)
        if end < bar and text[i] != QUOTE:
            if start == stop:  # the label comes first
                start, stop = i, end
            elif after == 2 or _number(text, i, end)[0] == WRONG:
                return LABEL, start, stop, i
            else:
                after += 1
                if after == 1:
                    _, weights[tally[ROWS]] = _put_number(text, i, end, WEIGHT - tally[ROWS], out)
        i = end


@kernel
def _copy_feature(text, space, span, copy, at):  # type: ignore[no-untyped-def]
    """Copy `namespace^feature`, or `feature` without a namespace; return the end, -1 without room."""
    n_space, n_span = space[1] - space[0], span[1] - span[0]
    if at + n_space + 1 + n_span > len(copy):
        return np.int64(-1)
    for j in range(n_space):
        copy[at + j] = text[space[0] + j]
    if n_space > 0:
        copy[at + n_space] = CARET
        at += n_space + 1
    for j in range(n_span):
        copy[at + j] = text[span[0] + j]
    return at + n_span
