"""Lines of text through the readers, every one compared with the naive parser.

A case is one line. Lines are read many at once, as files are: in chunks of random sizes, as features of
any kind and, for svmlight, as integers that are forced. Run with the same seed under
`NUMBA_BOUNDSCHECK=1`, the same lines are read with checked bounds.
"""

import io
import math
from random import Random

from mutate import line
from naive import is_integer, parse, words

from chromatic.data.source import chunks_of_lines
from chromatic.data.text import TextReader
from chromatic.errors import InputError

LINES = 1000
SIZES = (64, 3000, 3000, 20_000, 20_000, 1 << 20, 1 << 20)


def run(random: Random) -> int:
    """Some hundred cases; raises AssertionError where the reader and the naive parser differ."""
    format = random.choice(("svmlight", "svmlight", "tokens", "vw"))
    lines = b"\n".join(line(random, format) for _ in range(LINES)).split(b"\n")
    compare_by_kind(lines, format, random.choice(SIZES))
    return len(lines)


def compare_by_kind(lines: list[bytes], format: str, size: int) -> None:
    """Rows with labels and without, integers and strings, in texts of their own: no text mixes them."""
    groups: dict[tuple[bool, bool], tuple[list[bytes], list, list[int]]] = {}
    parsed = [parse(text, format) for text in lines]
    for text, (rows, bad) in zip(lines, parsed, strict=True):
        unlabeled = any(math.isnan(label) for label, *_ in rows)
        integers = not bad and all(map(is_integer, rows[0][1] if rows else ()))
        kept, expected, wrong = groups.setdefault((unlabeled, integers), ([], [], []))
        kept.append(text)
        expected += rows
        wrong += [len(kept)] if bad else []
    for kept, expected, wrong in groups.values():
        compare(b"\n".join(kept), format, size, expected, wrong)
    if format == "svmlight":
        compare_forced(lines, parsed, size)


def compare(text: bytes, format: str, size: int, expected: list, wrong: list[int]) -> None:
    """One text against what the naive parser found in it."""
    if text.startswith(b"\xef\xbb\xbf"):
        text = b"\n" + text
        wrong = [number + 1 for number in wrong]
    assert rows_of(read(text, format, size, "skip")) == (expected, len(wrong)), text
    if wrong:
        try:
            read(text, format, size, "raise")
        except InputError as error:
            assert str(error).startswith(f"here, line {wrong[0]:,}: found "), (str(error), wrong[0], text)
            assert "\n" not in str(error), text
        else:
            raise AssertionError(f"line {wrong[0]} was not refused: {text!r}")


def compare_forced(lines: list[bytes], parsed: list, size: int) -> None:
    """svmlight whose features must be integers."""
    expected, bad = [], 0
    for text, (rows, wrong) in zip(lines, parsed, strict=True):
        if wrong or not _all_integers(text):
            bad += 1
        else:
            expected += rows
    text = b"\n" + b"\n".join(lines)
    assert rows_of(read(text, "svmlight", size, "skip", "integer")) == (expected, bad), text


def _all_integers(text: bytes) -> bool:
    parts = words(text)
    if not parts or parts[0].startswith(b"#"):
        return True
    rest = parts[2:] if len(parts) > 1 and parts[1].startswith(b"qid:") else parts[1:]
    comment = next((i for i, word in enumerate(rest) if word.startswith(b"#")), len(rest))
    return all(is_integer(word.rpartition(b":")[0] if b":" in word else word) for word in rest[:comment])


def read(text: bytes, format: str, size: int, on_bad_line: str, features: str = "auto") -> list:
    """The batches of a text."""
    chunks = chunks_of_lines("here", io.BufferedReader(io.BytesIO(text)), size)
    return list(TextReader(format, features, on_bad_line).batches(chunks, 1))


def rows_of(batches: list) -> tuple[list, int]:
    """Rows as the naive parser gives them, and how many lines were bad."""
    rows = []
    for batch in batches:
        indptr, ids, values = batch.indptr.tolist(), batch.ids.tolist(), batch.all_values().tolist()
        assert indptr[0] == 0 and indptr[-1] == len(ids) and indptr == sorted(indptr)
        names = [b"%d" % i for i in ids]
        if batch.tokens is not None:
            texts = batch.tokens.names.tolist()
            names = [texts[i] for i in ids]
        labels = [math.nan] * batch.n_rows if batch.labels is None else batch.labels.tolist()
        weights = [1.0] * batch.n_rows if batch.weights is None else batch.weights.tolist()
        for row, label in enumerate(labels):
            span = slice(indptr[row], indptr[row + 1])
            rows.append((label, dict(zip(names[span], values[span], strict=True)), weights[row]))
            assert len(rows[-1][1]) == span.stop - span.start, "a feature stands twice in a row"
    return rows, sum(batch.skipped_lines for batch in batches)
