"""Files that are replaced under a server: taken as a whole, or refused, and the old ones stay."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from clicks import make_clicks
from served import Server, finish, wait_for
from sklearn.linear_model import LogisticRegression

from chromatic import ChromaticEncoder
from chromatic.serve import save_learner

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")


def train(folder, name, X, y, **parameters):
    """Write a model and its learner; return both as they are in memory."""
    encoder = ChromaticEncoder(**parameters)
    classifier = LogisticRegression(max_iter=500).fit(encoder.fit_transform(X, y), y)
    encoder.save(folder / f"{name}.chroma")
    save_learner(classifier, folder / f"{name}.json")
    return encoder, classifier


def put(folder, name, served):
    """Let a file take the place of one that is served."""
    (folder / "part").write_bytes((folder / name).read_bytes())
    os.replace(folder / "part", folder / served)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replaced")
    X, y = make_clicks()
    table = pd.DataFrame([dict(token.split("=") for token in row) for row in X])
    table["price"] = np.arange(len(y)) % 90 / 7
    first = train(folder, "first", X, y, budget=64)
    second = train(folder, "second", table, y, budget=32)
    assert first[0].n_columns_ != second[0].n_columns_
    return folder, X[:20], table[:20], first, second


def test_files_that_are_replaced_are_loaded_together_and_damaged_ones_are_not(trained):
    folder, rows, table, first, second = trained
    put(folder, "first.chroma", "m.chroma")
    put(folder, "first.json", "l.json")
    with Server(folder, "m.chroma", "--learner", "l.json") as server:
        scores = server.told("/score", {"rows": rows})
        body = json.dumps({"rows": rows}).encode()
        under_way = server.begun("/score", body)

        (folder / "damaged").write_bytes((folder / "second.chroma").read_bytes()[:-9])
        put(folder, "damaged", "m.chroma")
        told = wait_for(lambda: (health := server.told("/health"))["last_error"] and health)
        assert told["status"] == "stale" and told["columns"] == first[0].n_columns_
        assert told["last_error"].startswith("m.chroma: is no model file")
        assert server.told("/score", {"rows": rows}) == scores

        put(folder, "second.chroma", "m.chroma")  # whole, but the learner is of the first
        wait_for(lambda: "has coefficients of" in server.told("/health")["last_error"])
        assert server.told("/score", {"rows": rows}) == scores

        put(folder, "second.json", "l.json")
        wait_for(lambda: server.told("/health")["columns"] == second[0].n_columns_)
        assert server.told("/health")["last_error"] is None
        expected = second[1].predict_proba(second[0].transform(table))
        got = server.told("/score", {"rows": table.to_dict("records")})["probabilities"]
        np.testing.assert_allclose(got, expected)

        status, text = finish(*under_way)
        assert status == 200 and json.loads(text) == scores  # by the model that was there when it came

        os.remove(folder / "m.chroma")
        wait_for(lambda: (server.told("/health")["last_error"] or "").startswith("m.chroma: no such file"))
        assert server.told("/encode", {"rows": table.to_dict("records")})["rows"]
        text = server.ask("/metrics")[1]
        assert 'chromatic_reloads_total{result="refused"} 3.0' in text
        assert 'chromatic_reloads_total{result="loaded"} 1.0' in text
        log = server.log.read_text().splitlines()
    assert len(log) == 3 and all(line.startswith("chromatic: ") for line in log)
    assert all(line.endswith("what was loaded before stays") for line in log)
