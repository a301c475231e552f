"""`chromatic serve`: answers, refusals and figures of one server, and how servers start and end."""

import json
import re
import signal
import socket
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from clicks import make_clicks
from served import Server, finish, wait_for
from sklearn.linear_model import LogisticRegression

from chromatic import ChromaticEncoder
from chromatic.cli.main import app
from chromatic.serve import save_learner

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

LARGEST = 20_000  # bytes of a body
MOST = 200  # rows of a request


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a model and its learner, both as they are in memory, and rows."""
    folder = tmp_path_factory.mktemp("served")
    X, y = make_clicks()
    encoder = ChromaticEncoder(budget=64)
    classifier = LogisticRegression(max_iter=500).fit(encoder.fit_transform(X, y), y)
    encoder.save(folder / "m.chroma")
    save_learner(classifier, folder / "learner.json")
    return folder, encoder, classifier, [[*row, "new"] for row in X[:100]]


@pytest.fixture(scope="module")
def server(trained):
    bounds = ["--max-body", str(LARGEST), "--max-rows", MOST]
    with Server(trained[0], "m.chroma", "--learner", "learner.json", *bounds) as server:
        yield server


def dense(answer):
    matrix = np.zeros((len(answer["rows"]), answer["n_columns"]))
    for values, row in zip(matrix, answer["rows"], strict=True):
        assert row["columns"] == sorted(row["columns"])
        values[row["columns"]] = row["values"]
    return matrix


def test_rows_are_encoded_as_transform_does(server, trained):
    _, encoder, _, rows = trained
    got = dense(server.told("/encode", {"rows": rows}))
    np.testing.assert_allclose(got, encoder.transform(rows).toarray(), rtol=1e-15)
    one_by_one = [dense(server.told("/encode", {"rows": [row]}))[0] for row in rows[:5]]
    np.testing.assert_array_equal(one_by_one, got[:5])
    as_dicts = [dict(token.split("=") for token in row[:-1]) for row in rows]
    np.testing.assert_array_equal(dense(server.told("/encode", {"rows": as_dicts})), got)
    assert server.told("/encode", {"rows": []}) == {"n_columns": encoder.n_columns_, "rows": []}


def test_rows_are_scored_as_the_classifier_does(server, trained):
    _, encoder, classifier, rows = trained
    got = server.told("/score", {"rows": rows})
    assert got["classes"] == [0, 1]
    np.testing.assert_allclose(got["probabilities"], classifier.predict_proba(encoder.transform(rows)))


@pytest.mark.parametrize("path", ["/encode", "/score"])
@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"", 400, "the body is no JSON"),
        (b'{"rows": [["a"]', 400, "the body is no JSON"),
        (b'{"rows": [{"a": NaN}]}', 400, "NaN is no number of JSON"),
        (b"\xff\xfe\xfa", 400, "the body is no JSON"),
        (b'{"rows": ' + b"[" * 9000, 400, "the body is no JSON"),
        (b"[]", 422, "the body is no object of a list of rows alone"),
        ({"rows": 3}, 422, "the body is no object of a list of rows alone"),
        ({"rows": [], "more": 1}, 422, "the body is no object of a list of rows alone"),
        ({"rows": [["a=1"], "a=1"]}, 422, 'rows[1]: is "a=1"; expected a list'),
        ({"rows": [["a=1"], ["a=1", 2]]}, 422, "rows[1]: features of types int, str; expected"),
        ({"rows": [[], [], [None]]}, 422, "rows[2]: features of types NoneType; expected"),
        ({"rows": [["\ud800"]]}, 422, "rows[0]: a feature is not valid text"),
        ({"rows": [[7]]}, 422, "rows[0]: the features are integers"),
        ({"rows": [{"a": {"b": 1}}]}, 422, "rows[0]: the feature 'a' has the value"),
        (b'{"rows": [{"a": 1e999}]}', 422, "rows[0]: a feature has the value NaN or infinity"),
        ({"rows": [[]] * (MOST + 1)}, 413, f"the body has {MOST + 1} rows; expected at most {MOST}"),
        (b" " * (LARGEST + 1), 413, f"the body is too large; expected at most {LARGEST:,} bytes"),
        ((b" " * LARGEST, b" "), 413, "the body is too large"),
    ],
)
def test_a_wrong_body_is_refused_in_one_line(server, path, body, status, told):
    got, text = server.ask(path, body)
    assert got == status, text
    [line] = json.loads(text).values()
    assert told in line and "\n" not in line and "Traceback" not in text


def test_a_body_that_says_it_is_huge_is_refused_before_it_comes(server):
    head = f"Content-Length: {10**12}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(f"POST /encode HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
        assert line.recv(1000).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("path", "method", "status", "told"),
    [
        ("/nothing", "GET", 404, "there is no path /nothing; expected one of /encode, /score"),
        ("/", "POST", 404, "there is no path /"),
        ("/encode", "GET", 405, "the method is GET; expected POST"),
        ("/health", "DELETE", 405, "the method is DELETE; expected "),
    ],
)
def test_other_paths_and_methods_are_refused(server, path, method, status, told):
    got, text = server.ask(path, method=method)
    assert got == status and json.loads(text)["error"].startswith(told)


def test_health_tells_what_is_loaded(server, trained):
    told = server.told("/health")
    assert told.pop("loaded").startswith("20") and told.pop("version")
    assert told == {
        "status": "ok",
        "model": "m.chroma",
        "learner": "learner.json",
        "columns": trained[1].n_columns_,
        "last_error": None,
    }


def figures(server):
    status, text = server.ask("/metrics")
    assert status == 200
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_metrics_count_requests_rows_and_unseen_features(server):
    good = 'chromatic_requests_total{path="/encode",status="200"}'
    bad = 'chromatic_requests_total{path="/encode",status="422"}'
    timed = 'chromatic_request_seconds_bucket{le="+Inf",path="/encode"}'
    server.told("/encode", {"rows": [["a=1"]]})
    server.ask("/encode", {"rows": [3]})
    before = wait_for(lambda: (got := figures(server)).get(bad) and got)
    server.told("/encode", {"rows": [["a=1", "new"], ["newer"], {"a": "2", "newest": 3}]})
    server.ask("/encode", {"rows": [["a=1"], 3]})
    after = wait_for(lambda: (got := figures(server))[bad] > before[bad] and got)
    more = {name: after[name] - before[name] for name in before}
    assert (more[good], more[bad], more[timed]) == (1, 1, 2)
    assert more["chromatic_rows_total"] == 3
    assert more["chromatic_features_total"] == 5 and more["chromatic_unseen_features_total"] == 3
    share = after["chromatic_unseen_features_total"] / after["chromatic_features_total"]
    assert after["chromatic_unseen_feature_share"] == pytest.approx(share)


def test_without_a_learner_there_are_no_scores_and_sigterm_lets_a_request_end(trained, tmp_path):
    folder, _, _, rows = trained
    with Server(tmp_path, folder / "m.chroma") as server:
        status, text = server.ask("/score", {"rows": rows})
        assert status == 404 and json.loads(text)["error"].startswith("there is no learner")
        under_way = server.begun("/encode", json.dumps({"rows": rows}).encode())
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not server.is_open())
        status, text = finish(*under_way)
        assert status == 200 and len(json.loads(text)["rows"]) == len(rows)
        assert server.ended() == (0, "", "")


def test_ctrl_c_and_a_port_that_is_taken_are_one_line(trained, tmp_path):
    folder, *_ = trained
    with Server(tmp_path, folder / "m.chroma") as server:
        assert re.match(r"serving .*m\.chroma, \d+ columns, at http://127\.0\.0\.1:\d+\n$", server.said)
        call = ["serve", str(folder / "m.chroma"), "--port", str(server.port)]
        done = CliRunner().invoke(app, call)
        assert done.exit_code == 2
        assert f"127.0.0.1, port {server.port}, cannot be listened on (" in done.output
        assert done.output.count("\n") == 1
        assert server.stop(signal.SIGINT) == (130, "", "chromatic: interrupted\n")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ("nothing.chroma", "nothing.chroma: no such file"),
        ("m.chroma --port 70000", "the port is 70000; expected one from 0"),
        ("m.chroma --port x", "--port is 'x'; expected a whole number"),
        ("m.chroma --host nowhere.invalid", "nowhere.invalid, port 8000, cannot be listened on"),
        ("m.chroma --max-body much", "--max-body is 'much'; expected a size"),
        ("m.chroma --max-rows 0", "--max-rows is 0; expected 1 or more"),
        ("m.chroma --learner m.chroma", "m.chroma: is no file of a learner"),
        ("learner.json", "learner.json: is no model file"),
        ("/dev/null", "/dev/null: can be read only once"),
    ],
)
def test_what_is_wrong_with_the_call_is_said(trained, monkeypatch, args, told):
    monkeypatch.chdir(trained[0])
    done = CliRunner().invoke(app, ["serve", *args.split()])
    assert done.exit_code == 2 and told in done.output


def test_a_missing_package_is_said(trained, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = CliRunner().invoke(app, ["serve", str(trained[0] / "m.chroma")])
    assert done.exit_code == 2 and "pip install 'chromatic-learning[serve]'" in done.output
