from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chromatic.coloring import Request, Size, bitsets, color, graph, stored, transpose
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.stored import color_by_bitsets, color_by_links
from chromatic.data import Reader
from chromatic.data.limit import MemoryLimit
from chromatic.data.stored import read_stored
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
class Room(MemoryLimit):
    """As much memory as a test says is left."""

    room: int = 1 << 40

    def left(self):
        return self.room


def written(folder, lists, chunk=64):
    path = folder / "rows.svm"
    path.write_text("".join("1 " + " ".join(f"{f}:1" for f in row) + "\n" for row in lists))
    memory = Room(0, folder, folder)
    data = read_stored(Reader(chunk_size=chunk), [str(path)], memory, dense_threshold=2)
    return data, memory


def same(coloring, expected):
    assert coloring.colors.tolist() == expected.colors.tolist()
    for part in ("n_colors", "strategy", "palette", "forced", "conflicts", "lower_bound", "vocabulary"):
        assert getattr(coloring, part) == getattr(expected, part), part
    assert coloring.forbidden.tolist() == expected.forbidden.tolist()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists, choices, st.integers(1, 60))
def test_colors_do_not_depend_on_memory(tmp_path, lists, how, entries):
    data, _ = written(tmp_path, lists)
    rows, request = data.rows, Request(*how, seed=3)
    expected = color(rows.load(), request)
    same(stored.color(rows, request), expected)
    indptr = np.concatenate(([0], np.cumsum(rows.counts)))
    by_bitsets, by_links = (Greedy(np.arange(rows.n_features), request) for _ in range(2))
    color_by_bitsets(rows, indptr, by_bitsets, entries)
    same(by_bitsets.coloring(rows.largest_nnz, rows.vocabulary), expected)
    assert color_by_links(rows, indptr, by_links, 2, entries)
    same(by_links.coloring(rows.largest_nnz, rows.vocabulary), expected)


def test_bitsets_that_are_too_narrow_are_told(tmp_path):
    data, _ = written(tmp_path, [range(100), range(50)])
    rows = data.rows
    indptr = np.concatenate(([0], np.cumsum(rows.counts)))
    for words in (1, 2):
        work = Greedy(np.arange(100), Request())
        assert color_by_links(rows, indptr, work, words, 40) == (words == 2)
    same(work.coloring(100, rows.vocabulary), color(rows.load()))


def test_nothing_is_colored_where_a_feature_has_no_room(tmp_path):
    data, memory = written(tmp_path, [[1, 2]] * 50)
    object.__setattr__(memory, "room", 10)
    with pytest.raises(InputError, match="more --memory"):
        color(data.rows, Request("balanced", 8))
    with pytest.raises(InputError, match="beside fields needs"):
        color(data.rows, Request("balanced", 8, fields=np.array([0, -1], np.int32)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists, st.sampled_from(["balanced", "first-fit"]), st.integers(1, 12))
def test_proper_within_a_limit_is_the_smaller_palette(tmp_path, lists, strategy, at_most):
    data, _ = written(tmp_path, lists)
    rows = data.rows.load()
    transposed = transpose(rows)
    for engine in (
        lambda request: color(rows, request),
        lambda request: stored.color(data.rows, request),
        lambda request: graph.color(rows, request, transposed),
    ):
        proper = engine(Request(strategy))
        expected = proper if proper.n_colors <= at_most else engine(Request(strategy, at_most))
        same(engine(Request(strategy, at_most=at_most)), expected)


def test_stored_rows_are_loaded_where_they_fit_and_said_to_be(tmp_path, caplog, monkeypatch):
    data, memory = written(tmp_path, [[1, 2], [1, 3]] * 40)
    needed = bitsets.bytes_needed(Size.of(data.rows), Request())
    assert needed == bitsets.bytes_needed(Size.of(data.rows.load()), Request())
    object.__setattr__(memory, "room", needed)
    with caplog.at_level("INFO", "chromatic"):
        loaded = color(data.rows)
        assert "MB to color in memory" in caplog.text and "a bitset for" not in caplog.text
        object.__setattr__(memory, "room", needed - 1)
        monkeypatch.setattr(stored, "SPARE", 0)
        same(color(data.rows), loaded)
        assert "a bitset for each row, passes: 1" in caplog.text


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("uniform"), "a uniform coloring and min_edge_count above 1 need all rows in memory"),
        (
            Request(min_edge_count=2),
            "a uniform coloring and min_edge_count above 1 need all rows in memory",
        ),
        (Request(order="degree"), "the order is 'degree' and needs all rows in memory"),
    ],
)
def test_what_needs_a_graph_is_not_colored_from_disk(tmp_path, request_, message):
    data, _ = written(tmp_path, [[1, 2]])
    with pytest.raises(InputError, match=message):
        color(data.rows, request_)
