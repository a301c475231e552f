import os

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array
from spark_rows import N, bytes_of, columns_of, frame_of, some_rows, strings

from chromatic import ChromaticEncoder, load
from chromatic.errors import InputError


def check_against_local(folder, local, rows, labels, frame, **parameters):
    from chromatic.spark import ChromaticEstimator

    split = local.leakage == "split"  # then no row to train on has estimated
    fitted = local.fit(rows, labels).transform(rows) if split else local.fit_transform(rows, labels)
    model = ChromaticEstimator(orderCol="number", **parameters).fit(frame)
    names = parameters.get("names", True)
    assert bytes_of(model.encoding_, folder) == bytes_of(local.encoding_, folder, names=names)
    assert (columns_of(model.transformTraining(frame)) == fitted.toarray()[local.training_rows_]).all()
    return model


def test_strings_are_encoded_as_locally(spark, tmp_path):
    rows, labels = some_rows(often=7)
    rows = strings(rows)
    frame = frame_of(spark, rows, labels, "array<string>")
    local = ChromaticEncoder(64)
    model = check_against_local(tmp_path, local, rows, labels, frame, budget=64)
    assert (columns_of(model.transform(frame)) == local.transform(rows).toarray()).all()
    assert model.transform(frame).schema["columns"].metadata["ml_attr"]["num_attrs"] == local.n_columns_


def test_integers_and_a_split_with_a_joined_vocabulary(spark, tmp_path):
    rows, labels = some_rows()
    frame = frame_of(spark, rows, labels, "array<long>")
    local = ChromaticEncoder(40, encoding="target", leakage="split", random_state=3)
    given = {"budget": 40, "encoding": "target", "leakage": "split", "seed": 3, "broadcastInMB": 0}
    check_against_local(tmp_path, local, rows, labels, frame, **given)


def test_values_of_dense_features_stand_beside_levels(spark, tmp_path):
    rows, labels = some_rows()
    rows = [{f"f{i}": 1.0 for i in row} | ({"price": 2.5} if i % 2 else {}) for i, row in enumerate(rows)]
    pairs = [list(row.items()) for row in rows]
    frame = frame_of(spark, pairs, labels, "array<struct<name: string, value: double>>")
    from chromatic.spark import ChromaticEstimator

    model = ChromaticEstimator(encoding="frequency", budget=100, names=False).fit(frame)
    local = ChromaticEncoder(100, encoding="frequency", names=False)
    expected = local.fit_transform(rows).toarray()
    assert bytes_of(model.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)
    encoded = model.transform(frame).cache()
    assert (columns_of(encoded) == expected[:, :-1]).all()
    assert (columns_of(encoded, "columns_dense") == expected[:, -1:]).all()


def test_frequent_features_are_binned_as_locally(spark, tmp_path):
    rows, labels = some_rows()
    random = np.random.default_rng(1)
    rows = [
        {f"f{i}": 1.0 for i in row} | {f"often{j}": 1.0 for j in np.flatnonzero(random.random(12) < 0.3)}
        for row in rows
    ]
    rows = [row | ({"price": 2.5} if i % 2 else {}) for i, row in enumerate(rows)]
    pairs = [list(row.items()) for row in rows]
    frame = frame_of(spark, pairs, labels, "array<struct<name: string, value: double>>")
    local = ChromaticEncoder(8)
    model = check_against_local(tmp_path, local, rows, labels, frame, budget=8)
    assert model.encoding_.vocabulary.dense_names == (b"price",)
    assert (columns_of(model.transform(frame)) == local.transform(rows).toarray()).all()


@pytest.mark.parametrize("order", ["count", "degree"])
def test_vectors_and_pairs_seen_twice_by_the_graph(spark, tmp_path, caplog, order):
    from pyspark.ml.linalg import SparseVector

    rows, labels = some_rows(often=5000)
    matrix = csr_array(
        (np.ones(sum(map(len, rows))), np.concatenate(rows).astype(int), np.cumsum([0, *map(len, rows)])),
        shape=(N, 6000),
    )
    vectors = [SparseVector(6000, sorted(row), np.ones(len(row))) for row in rows]
    frame = spark.createDataFrame(
        list(zip(range(N), vectors, labels, strict=True)), ["number", "features", "label"]
    )
    frame = frame.repartition(3).cache()
    local = ChromaticEncoder(64, min_edge_count=2, null="emit", max_colors=2000, order=order, linear=0)
    given = {"linear": 0}
    given |= {"budget": 64, "minEdgeCount": 2, "null": "emit", "maxColors": 2000, "driverMemoryInMB": 0}
    given["order"] = order
    with caplog.at_level("INFO", logger="chromatic"):
        from chromatic.spark import ChromaticEstimator

        with pytest.raises(InputError, match="pairs of features are seen in 2 rows or more and need"):
            ChromaticEstimator(**given).fit(frame)
        caplog.clear()
        given["driverMemoryInMB"] = 1
        model = check_against_local(tmp_path, local, matrix, labels, frame, **given)
    assert "colored by the graph of pairs seen in 2 rows or more" in caplog.text
    assert model.encoding_.vocabulary.dense_names == (b"5000",)


def test_a_pipeline_is_saved_and_read_and_its_file_is_a_model_file(spark, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel

    from chromatic.spark import ChromaticEstimator, ChromaticModel

    rows, labels = some_rows()
    rows = strings(rows)
    frame = frame_of(spark, rows, labels, "array<string>")
    estimator = ChromaticEstimator(budget=32, outputCol="out")
    estimator.save(f"{tmp_path}/estimator")
    pipeline = Pipeline(stages=[ChromaticEstimator.load(f"{tmp_path}/estimator")])
    fitted = pipeline.fit(frame)
    fitted.write().overwrite().save(f"{tmp_path}/pipeline")
    again = PipelineModel.load(f"{tmp_path}/pipeline")
    expected = columns_of(fitted.transform(frame), "out")
    assert (columns_of(again.transform(frame), "out") == expected).all()
    fitted.stages[0].writeFile(f"{tmp_path}/model.chroma")
    assert sorted(os.listdir(tmp_path)) == ["estimator", "model.chroma", "pipeline"]
    local = load(tmp_path / "model.chroma")
    assert (local.transform(rows).toarray() == expected).all()
    alone = ChromaticModel.load(f"file://{tmp_path}/model.chroma")
    assert alone.getOrDefault("budget") == 32
    assert (columns_of(alone.transform(frame)) == expected).all()


def test_bad_input_is_told_with_column_and_rows(spark):
    from chromatic.spark import ChromaticEstimator

    def frame(rows, kind="features array<string>, label double"):
        return spark.createDataFrame(rows, kind)

    good, fit = [(["a"], 1.0), ([], 0.0)], ChromaticEstimator(budget=4).fit
    integers = "features array<long>, label double"
    for bad, message in [
        (frame([*good, (None, 1.0)]), "the column 'features' is null in 1 of 3 rows"),
        (frame([*good, (["a"], None)]), "the label column 'label' is null in 1 of 3 rows"),
        (frame([*good, (["a"], float("nan"))]), "'label' is NaN or infinite in 1 of 3 rows"),
        (frame([(["a"], 1.0)] * 2), "the label column 'label' is 1 in all 2 rows, there is only one class"),
        (
            frame([*good, (["a"], 3.0)]),
            "'label' has whole numbers of more than two kinds, 0 to 3, in 3 rows",
        ),
        (
            frame([(["a"], b"x")], "features array<string>, label binary"),
            "'label' of 1 rows is of type binary",
        ),
        (
            frame([(["a"], "x"), (["b"], "")], "features array<string>, label string"),
            "'label' is null in 1 of 2 rows",
        ),
        (frame([(1.0, 1.0)], "features double, label double"), "'features' of 1 rows is of type double"),
        (frame([([-1], 1.0), ([2], 0.0)], integers), "integers that are not in 0 to 4294967295 in 1 of 2"),
        (frame([([], 1.0), ([], 0.0)]), "the column 'features' has no feature in 2 rows"),
        (frame([]), "has 0 rows"),
        (frame(good).drop("label"), "there is no column 'label'"),
    ]:
        with pytest.raises(InputError, match=message):
            fit(bad)


def test_numbers_are_learned_as_locally_and_what_needs_a_local_fit_is_refused(spark):
    from chromatic.spark import ChromaticEstimator

    rows = [[f"f{i % 40}", f"g{i * i % 23}"] for i in range(800)]
    labels = [i % 40 / 2 + 0.25 * (i % 7) for i in range(800)]
    frame = frame_of(spark, rows, labels, "array<string>")
    local = ChromaticEncoder(24).fit(rows, labels)
    model = ChromaticEstimator(budget=24, orderCol="number").fit(frame)
    wanted = local.transform(rows).toarray()
    np.testing.assert_allclose(columns_of(model.transform(frame)), wanted)
    assert wanted.any()
    with pytest.raises(InputError, match="the rows of a frame have no order; expected a number of folds"):
        ChromaticEstimator(budget=24, folds="consecutive").fit(frame)


def test_names_of_one_hash_are_refused_wherever_they_meet(spark):
    from chromatic.spark import ChromaticEstimator

    same = "chromatic", "f00772753NkKLCOt"
    for names in (True, False):
        for partitions in (1, 2):
            rows = spark.createDataFrame([([name], float(i)) for i, name in enumerate(same)] * 2)
            frame = rows.toDF("features", "label").repartition(partitions, "label")
            with pytest.raises(InputError, match=r"features '(.*)' and '(.*)' have one 64-bit hash"):
                ChromaticEstimator(budget=4, names=names, minCount=2).fit(frame)


def test_a_model_of_a_later_version_is_refused_and_nothing_is_half_written(spark, tmp_path, monkeypatch):
    from chromatic import modelfile
    from chromatic.spark import ChromaticEstimator, ChromaticModel, files

    rows, labels = some_rows()
    model = ChromaticEstimator(encoding="identity").fit(frame_of(spark, rows, labels, "array<int>"))
    with monkeypatch.context() as patched:
        patched.setattr(modelfile, "VERSION", 4)
        model.writeFile(f"{tmp_path}/later.chroma")
    with pytest.raises(InputError, match=r"later\.chroma: is of version 4; expected 3 at most"):
        ChromaticModel.load(f"{tmp_path}/later.chroma")
    with pytest.raises(InputError, match="is there already"):
        model.save(f"{tmp_path}/later.chroma")

    def fail(*given, **named):
        raise OSError("no space left")

    monkeypatch.setattr(files, "write_model", fail)
    with pytest.raises(OSError, match="no space left"):
        model.write().overwrite().save(f"{tmp_path}/later.chroma")
    assert os.listdir(tmp_path) == ["later.chroma"]
    assert os.path.isfile(tmp_path / "later.chroma")


def test_commands_read_and_write_parquet_and_model_files(spark, tmp_path):
    from chromatic.cli.main import app

    rows, labels = some_rows(often=7)
    frame_of(spark, strings(rows), labels, "array<string>").write.parquet(f"{tmp_path}/train")

    def run(*command):
        return CliRunner().invoke(app, [*command, "--engine", "spark", "--master", "local"])

    train, model, encoded = (f"{tmp_path}/{name}" for name in ("train", "model.chroma", "encoded"))
    done = run("fit", train, "-o", model, *f"--encoded {encoded} --budget 32 --leakage none".split())
    assert done.exit_code == 0, done.output
    local = load(model)
    written = spark.read.parquet(encoded)
    assert written.columns == ["number", "label", "columns"]
    assert (columns_of(written) == local.transform(strings(rows)).toarray()).all()
    done = run("transform", model, train, "-o", f"{tmp_path}/again")
    assert done.exit_code == 0, done.output
    assert (columns_of(spark.read.parquet(f"{tmp_path}/again")) == columns_of(written)).all()
    (tmp_path / "train.svm").write_text("1 3:1\n")
    unreadable = "train.svm: is no whole Parquet file; expected Parquet"
    for command, message in [
        (["fit", f"{tmp_path}/train.svm", "-o", model], unreadable),
        (["transform", model, f"{tmp_path}/train.svm", "-o", f"{tmp_path}/new"], unreadable),
        (["transform", model, train, "-o", encoded], "is there already"),
        (["transform", model, f"{tmp_path}/nowhere", "-o", f"{tmp_path}/new"], "PATH_NOT_FOUND"),
        (["fit", train, "-o", model, "--format", "svmlight"], "reads and writes parquet"),
        (
            ["fit", train, "-o", model, "--input-col", "label"],
            "'label' is named as input, and as the label",
        ),
    ]:
        done = run(*command)
        assert done.exit_code == 2 and message in done.output, done.output
        assert done.output.count("\n") == 1, done.output
    assert sorted(os.listdir(tmp_path)) == ["again", "encoded", "model.chroma", "train", "train.svm"]


def test_a_stream_is_encoded_as_a_frame_and_its_labels_update_a_local_model(spark, tmp_path):
    from chromatic.spark import ChromaticModel

    rows, labels = some_rows()
    kept = ChromaticEncoder(24, linear=0, keep="statistics").fit(strings(rows)[:2000], labels[:2000])
    kept.save(tmp_path / "model.chroma")
    model = ChromaticModel.load(str(tmp_path / "model.chroma"))
    frame = frame_of(spark, strings(rows)[2000:], labels[2000:], "array<string>")
    frame.write.parquet(f"{tmp_path}/in")
    stream = spark.readStream.schema(frame.schema).parquet(f"{tmp_path}/in")
    written = model.transform(stream).drop("features").writeStream.format("parquet")
    paths = {"path": f"{tmp_path}/out", "checkpointLocation": f"{tmp_path}/checkpoint"}
    written.options(**paths).trigger(availableNow=True).start().awaitTermination()
    wanted = kept.transform(strings(rows)[2000:]).toarray()
    assert (columns_of(spark.read.parquet(f"{tmp_path}/out")) == wanted).all()

    def update(batch, number):
        table = batch.toPandas()
        if len(table):
            kept.update([list(features) for features in table["features"]], table["label"].to_numpy())

    updating = stream.writeStream.foreachBatch(update).option("checkpointLocation", f"{tmp_path}/updated")
    updating.trigger(availableNow=True).start().awaitTermination()
    assert kept.encoding_.vocabulary.n_rows == 3000


def test_npm_is_fitted_as_locally(spark, npm, tmp_path):
    from chromatic.data import Reader
    from chromatic.data.writers import write
    from chromatic.spark import ChromaticEstimator

    write(Reader().batches(next(npm.glob("train.svm*"))), str(tmp_path / "npm.parquet"), "parquet", 2)
    frame = spark.read.parquet(f"{tmp_path}/npm.parquet").repartition(5)  # without an order, folds differ
    model = ChromaticEstimator(linear=0).fit(frame)
    local = ChromaticEncoder(linear=0).fit(tmp_path / "npm.parquet")
    assert bytes_of(model.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)
