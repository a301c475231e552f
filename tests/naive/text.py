"""How text is read, a line at a time, and how numbers are written."""

import math
import re
from decimal import Decimal

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")


def number(text):
    """A finite number, or None; -0 is 0."""
    if not NUMBER.match(text) or not math.isfinite(float(text)):
        return None
    return float(text) + 0.0


def text_of(number):
    """The shortest text of a finite number: with an exponent below a millionth and from 1e10 on."""
    if float(number).is_integer() and abs(number) < 1e10:
        return f"{number:.0f}".encode()
    digits = repr(float(number)).lower()
    if 1e-6 <= abs(number) < 1e10:
        return format(Decimal(digits), "f").encode()
    sign, places, exponent = Decimal(digits).normalize().as_tuple()
    first, *rest = map(str, places)
    point = "." if rest else ""
    return f"{'-' * sign}{first}{point}{''.join(rest)}e{exponent + len(rest):+d}".replace(
        "e-0", "e-"
    ).encode()


def twelve_digits(x):
    """A number to twelve digits, or to the whole number where that has more."""
    return float(f"{x:.12g}") if abs(x) < 1e12 else float(round(x))


def words(line):
    return [word for word in re.split(rb"[\x00-\x20]+", line) if word]


def is_integer(token):
    return token.isdigit() and token.isascii() and int(token) < 1 << 32 and token == b"%d" % int(token)


def feature(word):
    """(name, value) of a word `name[:value]`; None where it is malformed."""
    name, colon, value = word.rpartition(b":")
    if not colon:
        return word, 1.0
    if not name or number(value) is None:
        return None
    return name, number(value)


def parse(text, format):
    """Rows (label, {feature: value}, weight) of text, and the numbers of its bad lines."""
    rows, bad = [], []
    for i, line in enumerate(text.split(b"\n"), 1):
        parsed = {"svmlight": svmlight, "tokens": tokens, "vw": vw}[format](line)
        if parsed is None:
            bad.append(i)
        elif parsed:
            rows.append(parsed)
    return rows, bad


def once(label, features, weight=1.0):
    """A row with each feature once, where it first stood, with its last value, and no zeros."""
    row = {}
    for name, value in features:
        if value != 0.0:
            row[name] = value
    return label, row, weight


def svmlight(line):
    parts = words(line)
    if not parts or parts[0].startswith(b"#"):
        return ()
    if number(parts[0]) is None:
        return None
    label, rest = number(parts[0]), parts[1:]
    if rest and rest[0].startswith(b"qid:"):
        rest = rest[1:]
    comment = next((i for i, word in enumerate(rest) if word.startswith(b"#")), len(rest))
    features = [feature(word) for word in rest[:comment]]
    return None if None in features else once(label, features)


def tokens(line):
    parts = words(line)
    if not parts:
        return ()
    if number(parts[0]) is None:
        return None
    return once(number(parts[0]), [(word, 1.0) for word in parts[1:]])


def vw(line):
    if not words(line):
        return ()
    head, bar, body = line.partition(b"|")
    if not bar:
        return None
    parts = words(head)
    if parts and head[-1] > 32:
        parts.pop()  # a tag touches the bar
    parts = [word for word in parts if not word.startswith(b"'")]
    if len(parts) > 3 or any(number(word) is None for word in parts):
        return None
    label = number(parts[0]) if parts else math.nan
    weight = number(parts[1]) if len(parts) > 1 else 1.0
    features = []
    for section in body.split(b"|"):
        name = re.match(rb"[^\x00-\x20]*", section).group()
        rest = words(section[len(name) :])
        if b":" in name or len(name) > 255:
            return None
        for word in rest:
            parsed = feature(word)
            if parsed is None:
                return None
            prefix = name + b"^" if name else b""
            features.append((prefix + parsed[0], parsed[1]))
    return once(label, features, weight)
