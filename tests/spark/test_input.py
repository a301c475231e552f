"""What Spark is given: kinds of columns, and input that is refused in a line."""

import numpy as np
import pytest
from click.testing import CliRunner
from spark_rows import bytes_of, columns_of, frame_of, some_rows

from chromatic import ChromaticEncoder
from chromatic.errors import InputError

INFINITE, NAN = float("inf"), float("nan")


def test_a_map_is_a_row_of_features_and_values(spark, tmp_path):
    from chromatic.spark import ChromaticEstimator

    rows, labels = some_rows()
    rows = [{f"f{i}": 1.0 for i in row} | ({"price": i / 4} if i % 2 else {}) for i, row in enumerate(rows)]
    frame = frame_of(spark, rows, labels, "map<string, double>")
    local = ChromaticEncoder(32, linear=0)
    wanted = local.fit_transform(rows, labels).toarray()
    model = ChromaticEstimator(budget=32, linear=0, orderCol="number").fit(frame)
    assert model.encoding_.vocabulary.dense_names == (b"price",)
    assert bytes_of(model.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)
    assert (columns_of(model.transformTraining(frame)) == wanted).all()


@pytest.mark.parametrize("encoding", ["submodular", "target"])
def test_labels_that_are_numbers_are_learned_as_locally(spark, encoding):
    from chromatic.spark import ChromaticEstimator

    rows = [[f"f{i % 40}", f"g{i * i % 23}"] for i in range(800)]
    labels = [i % 40 / 2 + 0.25 * (i % 7) for i in range(800)]
    frame = frame_of(spark, rows, labels, "array<string>")
    local = ChromaticEncoder(24, encoding=encoding, linear=0)
    wanted = local.fit_transform(rows, labels).toarray()
    model = ChromaticEstimator(budget=24, encoding=encoding, linear=0, orderCol="number").fit(frame)
    np.testing.assert_allclose(columns_of(model.transformTraining(frame)), wanted)
    np.testing.assert_allclose(columns_of(model.transform(frame)), local.transform(rows).toarray())
    assert wanted.any()


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([(["a"], 1.0), (None, 0.0)], "array<string>", "the column 'features' is null in 1 of 2 rows"),
        ([({"a": 1.0}, 1.0), (None, 0.0)], "map<string, double>", "'features' is null in 1 of 2 rows"),
        ([(["a"], None), ([], 0.0)], "array<string>", "the label column 'label' is null in 1 of 2 rows"),
        ([(["a"], NAN), ([], 0.0)], "array<string>", "'label' is NaN or infinite in 1 of 2 rows"),
        ([(["a"], INFINITE), ([], 0.0)], "array<string>", "'label' is NaN or infinite in 1 of 2 rows"),
        (
            [(["a"], 1.0), (["b"], 1.0)],
            "array<string>",
            "'label' is 1 in all 2 rows, there is only one class",
        ),
        ([({"a": INFINITE}, 1.0), ({}, 0.0)], "map<string, double>", "has infinite values in 1 of 2 rows"),
        ([([-1], 1.0), ([2], 0.0)], "array<long>", "integers that are not in 0 to 4294967295 in 1 of 2"),
        (
            [([1 << 32], 1.0), ([], 0.0)],
            "array<long>",
            "integers that are not in 0 to 4294967295 in 1 of 2",
        ),
        (
            [("a", 1.0), ("b", 0.0)],
            "string",
            "'features' of 2 rows is of type string; expected array<string>",
        ),
        (
            [(0.5, 1.0), (0.25, 0.0)],
            "double",
            "'features' of 2 rows is of type double; expected array<string>",
        ),
        (
            [([0.5], 1.0), ([], 0.0)],
            "array<double>",
            "'features' of 2 rows is of type array<double>; expected",
        ),
    ],
)
def test_bad_rows_are_refused_with_the_column_and_the_number_of_rows(spark, rows, kind, message):
    from chromatic.spark import ChromaticEstimator

    frame = spark.createDataFrame(rows, f"features {kind}, label double")
    with pytest.raises(InputError, match=message):
        ChromaticEstimator(budget=4).fit(frame)


def test_a_missing_column_and_bad_vectors_are_refused(spark):
    from pyspark.ml.linalg import SparseVector

    from chromatic.spark import ChromaticEstimator

    frame = spark.createDataFrame([(["a"], 1.0), ([], 0.0)], "features array<string>, label double")
    for missing, message in [
        ("features", "there is no column 'features' in the frame; its columns are label"),
        ("label", "there is no column 'label' for the label; the columns are features"),
    ]:
        with pytest.raises(InputError, match=message):
            ChromaticEstimator(budget=4).fit(frame.drop(missing))
    bad = [(SparseVector(4, [1], [NAN]), 1.0), (SparseVector(4, [2], [1.0]), 0.0)]
    vectors = spark.createDataFrame(bad, ["features", "label"]).coalesce(1)
    with pytest.raises(InputError, match="vectors has NaN or infinite values in 1 of 2 rows of a batch"):
        ChromaticEstimator(budget=4).fit(vectors)


def test_an_empty_cell_of_a_set_is_absence_as_locally(spark, tmp_path):
    from chromatic.spark import ChromaticEstimator

    rows = [{"a": 1.0, "b": NAN}, {"c": 1.0}, {"a": 1.0}, {"b": 1.0, "c": 0.0}] * 20
    labels = [1.0, 0.0, 1.0, 0.0] * 20
    frame = frame_of(spark, rows, labels, "map<string, double>")
    model = ChromaticEstimator(budget=4, linear=0, denseThreshold=2.0).fit(frame)
    plain = [["a"], ["c"], ["a"], ["b"]] * 20
    local = ChromaticEncoder(4, linear=0, dense_threshold=2).fit(plain, labels)
    assert bytes_of(model.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("features,label\na b,1\n", "is no whole Parquet file; expected Parquet"),
        ("some text\n", "is no whole Parquet file; expected Parquet"),
        ("", "there is no Parquet with rows at the path; expected"),
        ("folder", "there is no Parquet with rows at the path; expected"),
        (None, "PATH_NOT_FOUND"),
    ],
    ids=["csv", "text", "an empty file", "an empty folder", "nowhere"],
)
def test_what_is_no_parquet_is_refused_in_a_line(spark, tmp_path, content, message):
    from chromatic.cli.main import app

    path = tmp_path / "train.csv"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    command = ["fit", str(path), "-o", f"{tmp_path}/model.chroma", "--engine", "spark"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2 and message in done.output, done.output
    assert done.output.count("\n") == 1, done.output
    assert not (tmp_path / "model.chroma").exists()
