"""What engines say they need, against what they take."""

import tracemalloc

import numpy as np
import pytest
from test_stored_colors import same, written

from chromatic.coloring import Request, Size, bitsets, color, graph, stored, uniform
from chromatic.coloring.choose import bytes_to_choose, chosen
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph import stream


@pytest.fixture(scope="module")
def lists():
    random = np.random.default_rng(0)
    return [np.unique((20_000 ** random.random(9)).astype(int)).tolist() for _ in range(6000)]


@pytest.fixture(scope="module")
def rows(lists):
    return Reader().read(lists, dense_threshold=2).rows


def taken_by(work):
    """The most bytes that some work takes; kernels are compiled before."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "request_",
    [
        Request(),
        Request("balanced", 200),
        Request("random", 300),
        Request("first-fit", order="degree"),
        Request("balanced", 64, order="smallest-last"),
    ],
)
def test_colors_in_memory_take_no_more_than_is_said(rows, request_):
    taken = taken_by(lambda: color(rows, request_))
    of_rows = rows.indptr.nbytes + rows.codes.nbytes
    assert taken + of_rows <= bitsets.bytes_needed(Size.of(rows), request_)


def test_choosing_k_takes_no_more_than_is_said(rows):
    taken = taken_by(lambda: chosen(rows, Request(min_edge_count="auto")))
    assert taken + rows.indptr.nbytes + rows.codes.nbytes <= bytes_to_choose(Size.of(rows))


def test_graphs_from_a_stream_take_no_more_than_is_said(tmp_path, lists, monkeypatch):
    data, _ = written(tmp_path, lists, chunk=1 << 16)
    monkeypatch.setattr(stream, "ROOM", 1 << 10)
    small = 1 << 20  # in the place of SPARE, for blocks of the file and pieces of pairs
    for k in (1, 2):
        streamed = stream.thin_stored(data.rows, k)
        taken = taken_by(lambda k=k: stream.thin_stored(data.rows, k))
        assert taken <= streamed.filter_bytes + streamed.survivors * stream.BYTES_OF_PAIR + small
        n_features, n_edges = data.rows.n_features, len(streamed.edges[0])
        about = {"largest_nnz": data.rows.largest_nnz, "vocabulary": data.rows.vocabulary}
        for request in (Request(), Request("random", 300), Request(order="degree")):

            def along(request=request, streamed=streamed, about=about):
                vars(streamed).pop("graph", None)
                graph.color_graph(streamed.graph, data.rows.counts, request, **about)

            assert taken_by(along) <= graph.bytes_needed(n_features, n_edges)

        def uniformly(k=k, streamed=streamed):
            vars(streamed).pop("graph", None)
            filtered = uniform.StreamedGraph(data.rows, k)
            vars(filtered)["_streamed"] = streamed
            filtered.color(Request("uniform", min_edge_count=k))

        assert taken_by(uniformly) <= uniform.bytes_needed(n_features, n_edges) + small


def test_rows_on_disk_are_colored_with_the_bytes_that_are_needed(tmp_path, monkeypatch):
    data, memory = written(tmp_path, [[1, 2, 3], [1, 2]] * 3000)
    monkeypatch.setattr(stored, "SENT_AT_ONCE", 64)
    for fields in (None, np.array([0, -1, -1], np.int32)):
        request = Request("balanced", 2 if fields is None else 8, fields=fields)
        needed = stored.bytes_needed(data.rows, request)
        object.__setattr__(memory, "room", needed)
        same(stored.color(data.rows, request), color(data.rows.load(), request))
        object.__setattr__(memory, "room", needed - 1)
        with pytest.raises(InputError, match=f"needs {needed >> 20} MB"):
            stored.color(data.rows, request)
