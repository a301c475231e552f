import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.data.hashing import NOTHING, HashMap
from chromatic.encoding.one import RowEncoder
from chromatic.fitting import LocalSource, fit
from chromatic.parameters import Settings

pytestmark = pytest.mark.kernels

NAMES = [f"f{i}" for i in range(40)]


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 2)), st.lists(st.integers(0, 50)))
def test_a_map_finds_what_was_put_into_it(contents, others):
    keys, values = (np.array(list(x), np.uint64) for x in (contents, contents.values()))
    table = HashMap(keys, values)
    assert np.array_equal(table.find(keys), values)
    wanted = [contents.get(other, int(NOTHING)) for other in others]
    assert table.find(np.array(others, np.uint64)).tolist() == wanted


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=12))
def test_joined_strings_are_found_unless_one_has_the_separator(strings):
    hashes = [naive.xxh64(string) for string in strings]
    table = HashMap(np.array(hashes, np.uint64), np.arange(len(strings), dtype=np.uint64))
    found = table.find_joined(b"\xff".join(strings), len(strings))
    if any(b"\xff" in string for string in strings):
        assert found is None
    else:
        assert found.tolist() == [max(i for i, h in enumerate(hashes) if h == key) for key in hashes]


@given(st.lists(st.sampled_from([*NAMES, "new"]), max_size=30), st.integers(0, 3))
def test_of_each_color_the_rarest_feature_makes_its_column(row, seed):
    random = np.random.default_rng(seed)
    rows = [random.choice(NAMES, 6, replace=False).tolist() for _ in range(200)]
    data = Reader().read(rows, dense_threshold=2)
    settings = Settings(16, max_colors=5, min_gain=0.0, seed=seed)
    encoding = fit(LocalSource(data, random.random(200) < 0.5), settings).encoding
    code = {name.decode(): i for i, name in enumerate(data.vocabulary.names.tolist())}
    columns = [None if c < 0 else int(c) for c in encoding.columns]
    known = [code[name] for name in row if name in code]
    wanted = naive.one_row(known, encoding.coloring.colors.tolist(), columns)
    assert RowEncoder(encoding).encode(row).tolist() == wanted
