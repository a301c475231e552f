"""Lines of text, and bytes, made odd: grown from words that matter and then damaged."""

from random import Random

import strategies

WORDS = [word.encode() for word in strategies.INTEGERS + strategies.NAMES + ["a|b", "1", "x=1", "é" * 9]]
INTEGERS = [word.encode() for word in strategies.INTEGERS]
VALUES = [word.encode() for word in strategies.VALUES]
LABELS = [word.encode() for word in strategies.LABELS[:8] * 4 + strategies.LABELS[8:]]
SPACES = [word.encode() for word in strategies.SPACES]
HEADS = [b"1 ", b"-1 2.0 ", b"1 'tag", b"0 1 0.5 t", b"", b"1", b"1 2 3 4 ", b"x ", b"1 'a b"]
SPACES_OF_NAMES = [b"|", b"| ", b"|user ", b"|user:2 ", b"|u:x ", b"|" + b"n" * 255 + b" ", b"|a|"]
ODD = [b"", b" ", b":", b"|", b"#", b"'", b"qid:", b"\t", b"\0", b"\r", b"\n", b"\xff", b"-", b"+", b"."]
ODD += [
    b"e",
    b"0",
    b"9" * 30,
    b"1e308",
    b"e-",
    b":1 ",
    b":1:",
    b"\xef\xbb\xbf",
    b"4294967296",
    b"nan",
    b"0x1",
]


def line(random: Random, format: str) -> bytes:
    """One line of a text format, most often damaged."""
    names = INTEGERS if random.random() < 0.5 else WORDS
    words = [random.choice(names) + random.choice(VALUES) for _ in range(random.randrange(12))]
    if format == "vw":
        cut = random.randrange(len(words) + 1)
        grown = b" ".join(
            [random.choice(HEADS) + random.choice(SPACES_OF_NAMES), *words[:cut]]
            + ([random.choice(SPACES_OF_NAMES)] if cut % 2 else [])
            + words[cut:]
        )
    else:
        grown = random.choice(LABELS) + b"".join(random.choice(SPACES) + word for word in words)
    while random.random() < 0.5:
        grown = damaged(random, grown)
    return grown


def damaged(random: Random, data: bytes) -> bytes:
    """Bytes with one part changed, lost, repeated or put in."""
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice((1, 1, 1, 2, 4, 8, 64, 1000)))
    how = random.randrange(6)
    if how == 0:
        return data[:at] + random.choice(ODD) + data[at:]
    if how == 1:
        return data[:at] + random.choice(ODD) + data[end:]
    if how == 2:
        return data[:at] + data[end:]
    if how == 3:
        return data[:end] + data[at:end] * random.choice((1, 1, 2, 40)) + data[end:]
    if how == 4:
        return data[:at] + random.randbytes(end - at) + data[end:]
    flipped = bytes(byte ^ 1 << random.randrange(8) for byte in data[at:end][:2])
    return data[:at] + flipped + data[at + len(flipped) :]
