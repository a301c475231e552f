import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromatic.data import Reader
from chromatic.data.hashing import NOTHING, HashMap, mix_integers, secret_hashes
from chromatic.data.names import Names
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


@given(st.lists(st.integers(-3, 2**33)))
def test_integers_are_found_where_all_could_be_features(values):
    numbers = np.arange(100, dtype=np.uint64)
    table = HashMap(mix_integers(numbers.astype(np.uint32)), numbers)
    found = table.find_integers(np.array(values, np.int64))
    if all(0 <= value < 2**32 for value in values):
        assert found.tolist() == [value if value < 100 else int(NOTHING) for value in values]
    else:
        assert found is None


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=12), st.booleans())
def test_joined_strings_are_found_unless_one_has_the_separator(strings, secret):
    names = Names.pack(strings)
    hashes = names.hashes()
    if secret:
        hashes = secret_hashes(names.data, names.offsets[:-1], names.offsets[1:])
    table = HashMap(hashes, np.arange(len(strings), dtype=np.uint64), secret=secret)
    found = table.find_joined(b"\0".join(strings), len(strings))
    if any(b"\0" in string for string in strings):
        assert found is None
    else:
        assert found.tolist() == [max(i for i, s in enumerate(strings) if s == one) for one in strings]


@given(st.lists(st.sampled_from([*NAMES, "new"]), max_size=30), st.integers(0, 3))
def test_of_each_color_the_rarest_feature_makes_its_column(row, seed):
    random = np.random.default_rng(seed)
    rows = [random.choice(NAMES, 6, replace=False).tolist() for _ in range(200)]
    data = Reader().read(rows, dense_threshold=2)
    settings = Settings(16, max_colors=5, min_gain=0.0, seed=seed, collisions="drop")
    encoding = fit(LocalSource(data, random.random(200) < 0.5), settings).encoding
    code = {name.decode(): i for i, name in enumerate(data.vocabulary.names.tolist())}
    columns = [None if c < 0 else int(c) for c in encoding.columns]
    known = [code[name] for name in row if name in code]
    wanted = naive.one_row(known, encoding.coloring.colors.tolist(), columns)
    assert RowEncoder(encoding).encode(row).tolist() == wanted


@given(st.lists(st.sampled_from([*NAMES, "new"]), max_size=30), st.integers(0, 3), st.booleans())
def test_all_features_of_a_color_add_up(row, seed, target):
    random = np.random.default_rng(seed)
    rows = [random.choice(NAMES, 6, replace=False).tolist() for _ in range(200)]
    data = Reader().read(rows, dense_threshold=2)
    encoding = "target" if target else "submodular"
    settings = Settings(16, encoding, max_colors=5, min_gain=0.0, seed=seed)
    encoding = fit(LocalSource(data, random.random(200) < 0.5), settings).encoding
    code = {name.decode(): i for i, name in enumerate(data.vocabulary.names.tolist())}
    columns = encoding.tables.of_features.tolist()
    values = encoding.tables.values
    [summed] = naive.summed_columns(
        [{code[name] for name in row if name in code}],
        [None if column < 0 else column for column in columns],
        [1.0] * len(columns) if values is None else values[:, 0].tolist(),
        encoding.linear.weights.tolist(),
        colors=encoding.coloring.colors.tolist(),
        n_own=encoding.n_own_columns,
        n_linear=encoding.linear.n_columns,
    )
    expected = np.zeros(encoding.n_sparse_columns)
    for column, total in summed:
        expected[column] = total
    np.testing.assert_array_equal(RowEncoder(encoding).encode(row), expected)
