"""A model that no worker could hold is joined with rows, whose columns are those of the broadcast."""

import logging

import numpy as np
import pytest
from spark_rows import bytes_of, columns_of, frame_of, some_rows, strings

from chromatic import ChromaticEncoder
from chromatic.errors import InputError


def both_ways(model, frame, transform="transform", output="columns"):
    """The columns of a frame by the model as it is broadcast, and as it is joined."""
    encode = getattr(model, transform)
    broadcast = encode(frame)
    joined = getattr(model.copy().setParams(broadcastInMB=0), transform)(frame)
    assert joined.schema == broadcast.schema
    return columns_of(broadcast, output), columns_of(joined, output)


@pytest.mark.parametrize(
    "parameters",
    [
        {"budget": 48},
        {"budget": 48, "null": "emit", "collisions": "drop", "maxColors": 8},
        {"budget": 24, "encoding": "target", "leakage": "split", "seed": 3},
    ],
    ids=lambda parameters: " ".join(map(str, parameters.values())),
)
def test_columns_are_equal_also_of_training_rows(spark, caplog, parameters):
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows(often=7)
    frame = frame_of(spark, strings(rows), labels, "array<string>")
    model = ChromaticEstimator(orderCol="number", **parameters).fit(frame)
    others = frame_of(spark, [*strings(rows)[:500], [], ["new"]], [0.0] * 502, "array<string>")
    with caplog.at_level(logging.INFO, logger="chromatic"):
        broadcast, joined = both_ways(model, others)
    assert "in a worker and is broadcast" in caplog.text and "in a worker and is joined" in caplog.text
    assert broadcast.any() and (joined == broadcast).all()
    broadcast, joined = both_ways(model, frame, "transformTraining")
    assert broadcast.any() and (joined == broadcast).all()


def test_levels_and_the_values_of_dense_features_are_equal(spark):
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows()
    rows = [{f"f{i}": 1.0 for i in row} | ({"price": 2.5} if i % 2 else {}) for i, row in enumerate(rows)]
    frame = frame_of(spark, rows, labels, "map<string, double>")
    model = ChromaticEstimator(encoding="frequency", budget=100).fit(frame)
    for output in ("columns", "columns_dense"):
        broadcast, joined = both_ways(model, frame, output=output)
        assert broadcast.any() and (joined == broadcast).all()
    refusing = model.copy().setParams(handleUnknown="error")
    broadcast, joined = both_ways(refusing, frame)
    assert (joined == broadcast).all()
    unknown = frame_of(spark, [{"f3": 1.0, "new": 1.0, "newer": 1.0}], [0.0], "map<string, double>")
    from chromatic.spark.frames import errors_of_workers

    for limit in (0, 1024):
        encoded = refusing.setParams(broadcastInMB=limit).transform(unknown)
        with pytest.raises(InputError, match="2 features of 1 rows were not seen"), errors_of_workers():
            encoded.collect()


def test_classes_and_linear_columns_of_a_local_model_are_equal(spark, tmp_path):
    from chromatic.spark import ChromaticModel

    rows, _ = some_rows()
    labels = [f"kind{(row or [0])[0] % 3}" for row in rows]
    local = ChromaticEncoder(60, linear=2).fit(strings(rows), labels)
    local.save(tmp_path / "model.chroma")
    model = ChromaticModel.load(str(tmp_path / "model.chroma"))
    frame = frame_of(spark, strings(rows), [0.0] * len(rows), "array<string>")
    broadcast, joined = both_ways(model, frame)
    assert (joined == broadcast).all()
    np.testing.assert_allclose(joined, local.transform(strings(rows)).toarray())


def test_a_stream_is_not_joined_and_no_model_is_fitted_to_one(spark, tmp_path):
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows()
    frame = frame_of(spark, strings(rows), labels, "array<string>")
    model = ChromaticEstimator(budget=16).fit(frame)
    frame.write.parquet(f"{tmp_path}/in")
    stream = spark.readStream.schema(frame.schema).parquet(f"{tmp_path}/in")
    with pytest.raises(InputError, match="a stream is not joined with it; expected more broadcastInMB, or"):
        model.copy().setParams(broadcastInMB=0).transform(stream)
    for refused in (ChromaticEstimator(budget=16).fit, model.transformTraining):
        with pytest.raises(InputError, match="the frame is a stream, and"):
            refused(stream)


def test_columns_of_a_table_with_classes_weights_and_groups_are_equal(spark, tmp_path):
    from chromatic.spark import ChromaticEstimator

    random = np.random.default_rng(2)
    cells = random.integers(0, [9, 40, 300], (600, 3)).tolist()
    rows = [
        (i, f"a{a}", b * 1.25, [f"c{c}", f"d{c % 7}"], "xyz"[a % 3], 1.0 + b % 4, f"g{b}")
        for i, (a, b, c) in enumerate(cells)
    ]
    kinds = "number long, city string, price double, tags array<string>, label string, w double, g string"
    frame = spark.createDataFrame(rows, kinds).repartition(3, "number").cache()
    given = {"inputCols": ["city", "price", "tags"], "weightCol": "w", "groupCol": "g", "budget": 60}
    model = ChromaticEstimator(orderCol="number", **given).fit(frame)
    small = ChromaticEstimator(orderCol="number", broadcastInMB=0, **given).fit(frame)
    assert len(model.classes_) == 3 and model.encoding_.vocabulary.numeric_names == (b"price",)
    assert bytes_of(small.encoding_, tmp_path) == bytes_of(model.encoding_, tmp_path)
    for transform in ("transform", "transformTraining"):
        broadcast, joined = both_ways(model, frame, transform)
        assert broadcast.any() and (joined == broadcast).all()
