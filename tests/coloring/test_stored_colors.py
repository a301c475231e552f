from dataclasses import dataclass

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chromatic.coloring import Request, Size, bitsets, color, graph, stored, transpose
from chromatic.coloring.greedy import Greedy
from chromatic.coloring.stored import color_by_bitsets, color_by_links
from chromatic.coloring.uniform import color_uniform
from chromatic.data import Reader
from chromatic.data.limit import MemoryLimit
from chromatic.data.stored import read_stored
from chromatic.errors import InputError
from chromatic.graph import degrees, stream
from chromatic.graph.study import study

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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists, st.sampled_from(["balanced", "first-fit"]), st.sampled_from(["proper", 3]), st.data())
def test_colors_by_degree_do_not_depend_on_memory(tmp_path, lists, strategy, palette, draw):
    data, memory = written(tmp_path, lists)
    request = Request(strategy, palette, order="degree")
    least = degrees.BYTES_OF_FEATURE * data.rows.n_features + degrees.SPARE + stored.SPARE
    room = least + draw.draw(st.sampled_from([0, 1 << 12, 1 << 30])) + (1 << 20)
    object.__setattr__(memory, "room", room)
    same(stored.color(data.rows, request), color(data.rows.load(), request))


@given(lists, st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_degrees_in_passes_are_those_of_the_graph(tmp_path, lists, more):
    data, memory = written(tmp_path, lists)
    rows = data.rows
    sets = [set(part.tolist()) for part in np.split(rows.load().codes, rows.load().indptr[1:-1])]
    object.__setattr__(memory, "room", degrees.BYTES_OF_FEATURE * rows.n_features + degrees.SPARE + 512)
    found = {}
    for room in (memory.room, 1 << 30):  # many passes, and one
        object.__setattr__(memory, "room", room)
        try:
            found[room] = degrees.stream_degrees(rows).tolist()
        except InputError:
            assert room < 1 << 30
    neighbors, _ = naive.cooccurrence(sets, rows.n_features)
    assert all(each == [len(around) for around in neighbors] for each in found.values())


graphs = st.sampled_from(
    [("balanced", "proper"), ("first-fit", 3), ("random", 5), ("uniform", "proper"), ("uniform", 300)]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lists, graphs, st.integers(1, 3), st.sampled_from(["count", "degree"]))
def test_graphs_from_a_stream_are_colored_as_those_of_rows_in_memory(tmp_path, lists, how, k, order):
    data, _ = written(tmp_path, lists)
    order = order if how[0] in ("balanced", "first-fit") else "count"
    request = Request(*how, seed=5, min_edge_count=k, order=order)
    same(color(data.rows, request), color(data.rows.load(), request))
    if how[0] == "uniform":
        loaded, streamed = (color_uniform(rows, request)[1] for rows in (data.rows.load(), data.rows))
        assert streamed.told == pytest.approx(loaded.told)


def test_the_k_that_needs_the_fewest_colors_is_chosen_from_disk_too(tmp_path, caplog):
    data, memory = written(tmp_path, [[1, 2], [1, 3], [1, 2, 4]] * 30)
    suggested = study(data.rows.load()).suggested_k
    with caplog.at_level("INFO", "chromatic"):
        same(
            color(data.rows, Request(min_edge_count="auto")),
            color(data.rows.load(), Request(min_edge_count=suggested)),
        )
    assert f"min_edge_count: {suggested}, " in caplog.text
    object.__setattr__(memory, "room", 10)
    with pytest.raises(InputError, match="min_edge_count 'auto', unlike a number, needs 0 MB"):
        color(data.rows, Request(min_edge_count="auto"))


@pytest.mark.parametrize("order", ["largest-first", "smallest-last"])
@pytest.mark.parametrize("k", [1, 2])
def test_orders_that_only_rows_in_memory_tell_are_refused_before_any_pass(tmp_path, order, k):
    data, memory = written(tmp_path, [[1, 2]])
    object.__setattr__(memory, "room", 10)
    with pytest.raises(
        InputError, match=f"the order is '{order}', which needs all rows in memory; expected"
    ):
        color(data.rows, Request(order=order, min_edge_count=k))


@pytest.mark.parametrize(
    ("room", "message"),
    [(10, "filtering pairs of features needs"), (stream.SPARE + 3000, "counting 11 pairs")],
)
def test_a_graph_that_memory_has_no_room_for_is_refused(tmp_path, monkeypatch, room, message):
    data, memory = written(tmp_path, [[1, 2, 3, 4, 5], [1, 2, 3, 4]] * 3)
    object.__setattr__(memory, "room", room)
    monkeypatch.setattr(stream, "BYTES_OF_PAIR", 1 << 20)
    with pytest.raises(InputError, match=message):
        color(data.rows, Request(min_edge_count=2))
