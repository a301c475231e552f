"""What engines say they need, against what they take."""

import tracemalloc

import numpy as np
import pytest
from test_stored_colors import same, written

from chromatic.coloring import Request, Size, bitsets, color, graph, stored, uniform
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.graph.thinned import thin


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    lists = [np.unique((20_000 ** random.random(9)).astype(int)).tolist() for _ in range(6000)]
    return Reader().read(lists, dense_threshold=2).rows


@pytest.mark.parametrize(
    ("engine", "request_"),
    [
        (bitsets, Request()),
        (bitsets, Request("balanced", 200)),
        (bitsets, Request("random", 300)),
        (graph, Request(min_edge_count=2)),
        (graph, Request("random", 300, min_edge_count=2)),
        (uniform, Request("uniform", min_edge_count=2)),
    ],
)
def test_engines_take_no_more_than_they_say(rows, engine, request_):
    size, edges = Size.of(rows), ()
    if engine is not bitsets:
        edges = (thin(rows, request_.min_edge_count).n_edges,)
    color(rows, request_)  # kernels are compiled
    of_rows = rows.indptr.nbytes + rows.codes.nbytes
    tracemalloc.start()
    try:
        color(rows, request_)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken + of_rows <= engine.bytes_needed(size, request_, *edges)


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
