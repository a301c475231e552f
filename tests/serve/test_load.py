"""The load test of the server, with few requests."""

import pytest

from chromatic.lab.benchmarks import serve
from chromatic.lab.benchmarks.data import synthetic

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")


def test_the_load_test_tells_both_paths_and_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "REQUESTS", {1: 12, 7: 5})
    said = []
    kept = serve.run(synthetic("kdda", 300, str(tmp_path), 1), said.append)
    assert [(one["what"], one["rows"]) for one in kept] == [
        (f"{path}, {many} a request, {clients} at once", rows)
        for path in ("/encode", "/score")
        for many, rows in (("one row", 12), ("7 rows", 35))
        for clients in serve.CONNECTIONS
    ]
    assert all(one["p99_ms"] >= one["p50_ms"] > 0 and one["rows_per_second"] > 0 for one in kept)
    assert len(said) == len(kept) + 1
