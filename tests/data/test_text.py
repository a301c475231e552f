import io

import naive
import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data.source import chunks_of_lines
from chromatic.data.text import Chunk, TextReader
from chromatic.errors import InputError

pytestmark = pytest.mark.kernels


def read(text, format, size=1 << 20, threads=1, **options):
    reader = TextReader(format, **options)
    chunks = chunks_of_lines("here", io.BufferedReader(io.BytesIO(text)), size)
    return list(reader.batches(chunks, threads))


def rows_of(batches):
    """Rows (label, {feature: value}, weight), as the naive parser returns them."""
    rows = []
    for batch in batches:
        names = batch.tokens.names.tolist() if batch.tokens else None
        values = batch.all_values()
        for row in range(batch.n_rows):
            span = range(batch.indptr[row], batch.indptr[row + 1])
            keys = [names[batch.ids[i]] if names else b"%d" % batch.ids[i] for i in span]
            label = batch.labels[row] if batch.labels is not None else np.nan
            weight = 1.0 if batch.weights is None else batch.weights[row]
            rows.append((label, dict(zip(keys, (values[i] for i in span), strict=True)), weight))
            assert len(rows[-1][1]) == len(span), "a feature stands twice in a row"
    return rows


def assert_reads_as_naive(text, format, size):
    expected, bad = naive.parse(text.removeprefix(b"\xef\xbb\xbf"), format)
    missing = sum(np.isnan(label) for label, *_ in expected)
    if 0 < missing < len(expected):
        with pytest.raises(InputError, match="all or none"):
            read(text, format, on_bad_line="skip")
        return
    batches = read(text, format, size, on_bad_line="skip")
    assert sum(batch.skipped_lines for batch in batches) == len(bad)
    np.testing.assert_equal(rows_of(batches), expected)
    if bad:
        with pytest.raises(InputError, match=rf"^here, line {bad[0]}: "):
            read(text, format, size)


@given(strategies.svmlight(), st.sampled_from([1, 100, 1 << 20]))
def test_svmlight_is_read_as_by_the_naive_parser(text, size):
    assert_reads_as_naive(text, "svmlight", size)


@given(strategies.tokens(), st.sampled_from([1, 1 << 20]))
def test_token_lines_are_read_as_by_the_naive_parser(text, size):
    assert_reads_as_naive(text, "tokens", size)


@given(strategies.vw())
def test_vowpal_wabbit_text_is_read_as_by_the_naive_parser(text):
    assert_reads_as_naive(text, "vw", 1 << 20)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_survives_its_shortest_text(value):
    [batch] = read(b"%r 1:%r" % (value, value), "svmlight") if value else read(b"0 1:0", "svmlight")
    assert batch.labels[0] == value
    assert batch.all_values().tolist() == ([value] if value else [])


def test_canonical_integers_take_the_integer_path():
    assert read(b"1 0:1 4294967295:1\n", "svmlight")[0].tokens is None
    for odd in (b"007", b"+7", b"4294967296", b"7x", b"-7"):
        assert read(b"1 7:1 %s:1\n" % odd, "svmlight")[0].tokens is not None


@pytest.mark.parametrize("line", [b"1 4294967296:1", b"1 007:1", b"1 a:1"])
def test_a_string_among_forced_integers_is_a_bad_line(line):
    with pytest.raises(InputError, match=r"line 2: found .*; expected an integer feature"):
        read(b"1 1:1\n" + line, "svmlight", features="integer")


def test_forced_integers_are_for_svmlight_only():
    with pytest.raises(InputError, match="convert to svmlight"):
        TextReader("vw", features="integer")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x 1:1", "here, line 1: found 'x'; expected a finite number as the label"),
        (b"1 1:1\n\n1 2:nan", "here, line 3: found '2:nan'; expected a finite number as the value"),
        (b"1 a:b", "here, line 1: found 'a:b'; expected a finite number as the value of a feature"),
        (b"1 :1", "here, line 1: found ':1'; expected a feature before the colon"),
    ],
)
def test_a_bad_line_is_told_in_one_line(text, message):
    with pytest.raises(InputError) as error:
        read(text, "svmlight")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_line_number_counts_over_chunks():
    text = b"".join(b"1 %d:1\n" % i for i in range(1000)) + b"oops\n"
    for threads in (1, 2):
        with pytest.raises(InputError, match=r"line 1,001: found 'oops'"):
            read(text, "svmlight", 100, threads)


def test_a_line_may_be_longer_than_a_chunk():
    line = b"1 " + b" ".join(b"%d:1" % i for i in range(5000))
    batches = read(line + b"\n0 7:1", "svmlight", size=64)
    assert [len(row) for _, row, _ in rows_of(batches)] == [5000, 1]


def test_a_byte_order_mark_is_no_text():
    assert rows_of(read(b"\xef\xbb\xbf1 1:1", "svmlight")) == [(1.0, {b"1": 1.0}, 1.0)]


def test_a_long_row_with_repeats_keeps_each_feature_once_with_its_last_value():
    words = [b"%d:%d" % (i % 40, 2 + i) for i in range(100)]
    text = b"1 " + b" ".join(words)
    assert rows_of(read(text, "svmlight")) == naive.parse(text, "svmlight")[0]


def test_a_chunk_is_scanned_to_its_end_and_no_further():
    text = np.frombuffer(b"1 1:1\n" + b"2 2:1 " + b"9" * 10, np.uint8)
    [batch] = TextReader("svmlight").batches([Chunk("here", text)], 1)
    assert rows_of([batch]) == [(1.0, {b"1": 1.0}, 1.0)]
