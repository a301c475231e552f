from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chromatic.coloring import color
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.stored import color_by_bitsets, color_by_links, color_stored
from chromatic.data import Reader
from chromatic.data.stored import Memory, read_stored
from chromatic.errors import InputError

pytestmark = pytest.mark.kernels

lists = st.lists(st.lists(st.integers(0, 40), max_size=12), min_size=1, max_size=30)
choices = st.sampled_from(
    [
        ("balanced", 64),
        ("first-fit", 3),
        ("balanced", 5),
        ("random", 70),
        ("balanced", "proper"),
        ("first-fit", "proper"),
    ]
)


@dataclass(frozen=True)
class Room(Memory):
    """As much memory as a test says is left."""

    room: int = 1 << 40

    def left(self):
        return self.room


def stored(folder, lists, chunk=64):
    path = folder / "rows.svm"
    path.write_text("".join("1 " + " ".join(f"{f}:1" for f in row) + "\n" for row in lists))
    memory = Room(0, folder, folder)
    data = read_stored(Reader(chunk_size=chunk), [str(path)], memory, dense_threshold=2)
    return data, memory


def same(found, expected):
    assert found.colors.tolist() == expected.colors.tolist()
    for part in ("n_colors", "fit", "palette", "forced", "conflicts", "lower_bound", "vocabulary"):
        assert getattr(found, part) == getattr(expected, part), part
    assert found.forbidden.tolist() == expected.forbidden.tolist()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists, choices, st.integers(1, 60))
def test_colors_do_not_depend_on_memory(tmp_path, lists, how, entries):
    data, _ = stored(tmp_path, lists)
    rows, counts = data.rows, data.vocabulary.counts
    expected = color(rows.load(), *how, seed=3)
    same(color_stored(rows, counts, *how, seed=3), expected)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    by_bitsets, by_links = (Greedy(np.arange(len(counts)), *how, seed=3) for _ in range(2))
    color_by_bitsets(rows, indptr, by_bitsets, entries)
    same(by_bitsets.coloring(rows.largest_nnz, rows.vocabulary), expected)
    assert color_by_links(rows, indptr, by_links, 2, entries)
    same(by_links.coloring(rows.largest_nnz, rows.vocabulary), expected)


def test_bitsets_that_are_too_narrow_are_told(tmp_path):
    data, _ = stored(tmp_path, [range(100), range(50)])
    rows, counts = data.rows, data.vocabulary.counts
    indptr = np.concatenate(([0], np.cumsum(counts)))
    for words in (1, 2):
        work = Greedy(np.arange(100), "balanced", "proper", 0)
        assert color_by_links(rows, indptr, work, words, 40) == (words == 2)
    same(work.coloring(100, rows.vocabulary), color(rows.load()))


def test_nothing_is_colored_where_a_column_has_no_room(tmp_path):
    data, memory = stored(tmp_path, [[1, 2]] * 50)
    object.__setattr__(memory, "room", 10)
    with pytest.raises(InputError, match="more --memory"):
        color_stored(data.rows, data.vocabulary.counts, "balanced", 8)
    with pytest.raises(InputError, match="beside fields needs"):
        fields = np.array([0, -1], np.int32)
        color_stored(data.rows, data.vocabulary.counts, "balanced", 8, fields=fields)
