"""A load test of `chromatic serve` on the loopback: rows a second, and how long requests take.

The server is a process of its own; clients are threads of this one, a connection each, and send a request
when the one before was answered. So what the clients take for JSON and HTTP is in the figures too.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice, product
from typing import Any

import numpy as np

from chromatic._processes import undisturbed
from chromatic.encoder import ChromaticEncoder
from chromatic.errors import InputError
from chromatic.lab.benchmarks.data import Files, token_lists
from chromatic.lab.benchmarks.measure import Say, machine
from chromatic.learn.results import Record
from chromatic.serve import save_learner

BUDGET = 1024
FITTED = 50_000  # rows at most that the model learns from
CONNECTIONS = (1, 4)
REQUESTS = {1: 4000, 100: 400}  # by the rows of a request
WARM = 50  # requests before the clock runs


def run(files: Files, say: Say) -> list[Record]:
    """Measure both paths, for one row and for many rows a request, from one client and from several."""
    model, learner = _trained(files)
    rows, _ = token_lists(files.test, max(REQUESTS))
    say(f"\n{'serve':<46}{'requests/s':>12}{'rows/s':>12}{'p50 ms':>10}{'p99 ms':>10}")
    facts, kept = machine(), []
    with _served(model, learner) as port:
        for path, size, clients in product(("/encode", "/score"), REQUESTS, CONNECTIONS):
            seconds, each = _load(port, path, _bodies(rows, size), clients)
            p50, p99 = 1e3 * np.quantile(each, (0.5, 0.99))
            many = f"{size} rows" if size > 1 else "one row"
            what = f"{path}, {many} a request, {clients} at once"
            rate = len(each) / seconds
            say(f"{what:<46}{rate:>12,.0f}{rate * size:>12,.0f}{p50:>10.2f}{p99:>10.2f}")
            kept.append(
                {
                    "benchmark": "serve",
                    "what": what,
                    **facts,
                    "rows": len(each) * size,
                    "seconds": seconds,
                    "rows_per_second": rate * size,
                    "p50_ms": p50,
                    "p99_ms": p99,
                }
            )
    return kept


def _trained(files: Files) -> tuple[str, str]:
    """Return the files of a model and of its learner."""
    from sklearn.linear_model import LogisticRegression

    model, learner = (os.path.join(files.folder, name) for name in ("served.chroma", "served.json"))
    rows, labels = token_lists(files.train, FITTED)
    encoder = ChromaticEncoder(BUDGET)
    columns = encoder.fit_transform(rows, labels)
    save_learner(LogisticRegression(solver="newton-cholesky").fit(columns, labels), learner)
    encoder.save(model)
    return model, learner


@contextmanager
def _served(model: str, learner: str) -> Iterator[int]:
    """Start a server on a free port, and give the port."""
    call = [sys.executable, "-m", "chromatic.cli.main", "serve", model, "--learner", learner, "--port", "0"]
    with undisturbed():
        server = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and server.stderr is not None
        said = server.stdout.readline()
        if not said:
            raise InputError(f"the server did not start: {server.stderr.read().strip()}")
        yield int(said.rpartition(":")[2])
    finally:
        server.terminate()
        server.communicate()


def _bodies(rows: list[Any], size: int) -> list[bytes]:
    """Return bodies of so many rows each, which begin anew where the rows end."""
    every = (rows[i % len(rows)] for i in range(size * REQUESTS[size]))
    return [json.dumps({"rows": list(islice(every, size))}).encode() for _ in range(REQUESTS[size])]


def _load(port: int, path: str, bodies: list[bytes], clients: int) -> tuple[float, list[float]]:
    """Return the seconds that all requests took, and those of each."""
    shares = [bodies[i::clients] for i in range(clients)]
    _client(port, path, bodies[:WARM])
    with ThreadPoolExecutor(clients) as pool:
        start = time.perf_counter()
        each = list(pool.map(lambda share: _client(port, path, share), shares))
        return time.perf_counter() - start, [seconds for some in each for seconds in some]


def _client(port: int, path: str, bodies: list[bytes]) -> list[float]:
    """Send requests one after the other; return the seconds of each."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    seconds = []
    for body in bodies:
        start = time.perf_counter()
        connection.request("POST", path, body)
        answer = connection.getresponse()
        text = answer.read()
        seconds.append(time.perf_counter() - start)
        if answer.status != 200:
            raise RuntimeError(f"{path} answered {answer.status}: {text[:200]!r}")
    connection.close()
    return seconds
