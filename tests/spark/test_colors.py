import json
import logging

import numpy as np
import pytest
from click.testing import CliRunner
from spark_rows import bytes_of, columns_of, frame_of, some_rows, strings

from chromatic import ChromaticEncoder, load
from chromatic.coloring import Request, collisions
from chromatic.errors import InputError


def test_rows_that_do_not_fit_the_driver_are_colored_by_a_sample(spark, tmp_path, caplog):
    from chromatic.cli.main import app
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows()
    frame = frame_of(spark, strings(rows), labels, "array<string>")
    estimator = ChromaticEstimator(budget=64, memory="150K", orderCol="number")  # of 240
    with caplog.at_level(logging.INFO, logger="chromatic"):
        model = estimator.fit(frame)
    assert "colored by a sample of " in caplog.text and "found on the workers" in caplog.text
    sampled = model.encoding_.coloring.sampled_rows
    assert 300 < sampled < sum(len(row) > 1 for row in rows)
    other = estimator.fit(frame.repartition(5, "label").coalesce(2))
    assert bytes_of(other.encoding_, tmp_path) == bytes_of(model.encoding_, tmp_path)
    seeded = ChromaticEstimator(budget=64, memory="150K", linear=0, seed=1).fit(frame)
    assert (seeded.encoding_.coloring.colors != model.encoding_.coloring.colors).any()
    model.writeFile(f"{tmp_path}/model.chroma")
    local = load(tmp_path / "model.chroma")
    assert local.encoding_.coloring.sampled_rows == sampled
    assert (columns_of(model.transform(frame)) == local.transform(strings(rows)).toarray()).all()
    told = CliRunner().invoke(app, ["inspect", f"{tmp_path}/model.chroma", "--json"])
    assert json.loads(told.output)["colored_rows"] == sampled
    with pytest.raises(
        InputError, match=r"no sample of 3,000 rows and their .* features can be colored in 0"
    ):
        ChromaticEstimator(budget=64, memory="10K").fit(frame)
    with pytest.raises(InputError, match="colorBy is 'pairs'; expected sample or graph, or none"):
        ChromaticEstimator(budget=64, colorBy="pairs").fit(frame)


def test_more_rows_in_the_sample_collide_less(spark):
    from chromatic.data import Reader
    from chromatic.spark import ChromaticEstimator

    random = np.random.default_rng(0)
    rows = [[f"{i}-{j}" for i, j in enumerate(random.integers(0, 150, 6))] for _ in range(3000)]
    labels = [float(row[0] < "0-5") for row in rows]
    frame = frame_of(spark, rows, labels, "array<string>")
    lost = {}
    for memory in ("140K", "250K", "1M"):  # the last is enough for all
        estimator = ChromaticEstimator(budget=64, maxColors=12, linear=0, memory=memory)
        encoding = estimator.fit(frame).encoding_
        coded = Reader().read(rows, vocabulary=encoding.vocabulary).rows
        lost[encoding.coloring.sampled_rows] = collisions(coded, encoding.coloring).mean
    few, many, every = lost
    assert every is None and few < many < 3000
    assert lost[few] > lost[many] > lost[every]


def test_the_graph_of_all_pairs_gives_the_colors_of_the_rows(spark, tmp_path, caplog):
    """No feature is forced here; a forced one may take another color."""
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows()
    frame = frame_of(spark, rows, labels, "array<long>")
    local = ChromaticEncoder(64, max_colors=64, linear=0).fit(rows, labels)
    assert local.encoding_.coloring.forced == 0
    with caplog.at_level(logging.INFO, logger="chromatic"):
        given = {"maxColors": 64, "memory": "200K", "colorBy": "graph", "linear": 0}
        model = ChromaticEstimator(budget=64, **given).fit(frame)
    assert "colored by the graph of pairs seen in 1 rows or more" in caplog.text
    assert bytes_of(model.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("uniform"), "a uniform coloring needs the rows on the driver, 3 MB; expected another"),
        (
            Request(min_edge_count="auto"),
            "minEdgeCount 'auto' needs the rows on the driver, 3 MB; expected a",
        ),
        (
            Request(order="smallest-last"),
            "the order 'smallest-last' needs the rows on the driver, 3 MB; exp",
        ),
    ],
)
def test_what_a_graph_does_not_tell_is_refused(request_, message):
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from chromatic.spark.colors import check_for_graph

    with pytest.raises(InputError, match=message):
        check_for_graph(request_, 3 << 20)
    check_for_graph(Request(order="degree"), 3 << 20)
