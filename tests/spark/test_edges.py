from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from chromatic.data import Reader

pytest.importorskip("pyspark", reason="PySpark is not installed")


def test_pairs_of_a_chunk_are_those_of_its_rows():
    from chromatic.spark.edges import edges_of

    random = np.random.default_rng(0)
    tokens = [[f"f{i}" for i in random.zipf(1.5, random.integers(0, 9)) % 40] for _ in range(300)]
    rows = Reader().read(tokens, dense_threshold=2).rows
    of_row = np.split(rows.codes, rows.indptr[1:-1])[200:]  # their counts are in no order
    part = replace(rows, indptr=rows.indptr[200:] - rows.indptr[200], codes=rows.codes[rows.indptr[200] :])
    expected = Counter((int(v), int(u)) for codes in of_row for u, v in combinations(codes, 2) if v < 20)
    found = {
        (int(v), int(u)): int(seen)
        for block in edges_of(part, 20)
        for v, u, seen in zip(*block, strict=True)
    }
    assert found == expected
