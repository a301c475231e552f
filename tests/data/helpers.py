"""Batches from plain rows, and comparisons of what was read."""

import io

import numpy as np

from chromatic.data.interning import Gathering
from chromatic.data.source import chunks_of_lines
from chromatic.data.text import TextReader


def batches_of_text(text, format="svmlight", size=1 << 20, threads=1, *, gathered=False, **options):
    file = io.BufferedReader(io.BytesIO(text))
    gathering = Gathering() if gathered else None
    reader = TextReader(format, **options, gathering=gathering)
    batches = list(reader.batches(chunks_of_lines("here", file, size), threads))
    return batches if gathering is None else gathering.gathered(batches)


def text_of(rows):
    """Rows (label, {feature: value}) as svmlight text."""
    lines = (b" ".join([b"%r" % label, *(b"%s:%r" % item for item in row.items())]) for label, row in rows)
    return b"\n".join(lines)


def assert_same_rows(one, two):
    np.testing.assert_array_equal(one.indptr, two.indptr)
    np.testing.assert_array_equal(one.codes, two.codes)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.dense, two.dense)


def assert_same_vocabulary(one, two):
    assert one.integers == two.integers
    np.testing.assert_array_equal(one.keys, two.keys)
    np.testing.assert_array_equal(one.counts, two.counts)
    assert one.dense_names == two.dense_names
    assert (one.names is None) == (two.names is None)
    if one.names is not None:
        assert one.names.tolist() == two.names.tolist()
