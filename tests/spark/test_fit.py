"""What a fit on Spark has learned to take: linear columns, weights, groups, classes, tables."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pieces import weigh_in_pieces

from chromatic import ChromaticEncoder, load
from chromatic.errors import InputError
from chromatic.fitting import gradients, sources
from chromatic.model import Model
from chromatic.modelfile import save

pytestmark = pytest.mark.xdist_group("spark")  # one cluster for all
N = 1200
RANDOM = np.random.default_rng(5)
FIELDS = RANDOM.integers(0, [12, 60, 400], (N, 3))
LABELS = (RANDOM.random(N) < np.where(FIELDS[:, 0] % 3 == 0, 0.7, 0.2)).astype(float)
WEIGHTS = RANDOM.gamma(2.0, 0.7, N) * (RANDOM.random(N) < 0.9)
ROWS = [[f"a{a}", f"b{b}", f"c{c}", *(["often"] * (b % 2))] for a, b, c in FIELDS]


def frame_of(spark, kinds, columns):
    """Columns as a frame, in another order than locally, over three partitions."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    numbered = list(zip(range(len(plain[0])), *plain, strict=True))
    return spark.createDataFrame(numbered, f"number long, {kinds}").repartition(3, "number").cache()


def bytes_of(encoding, folder):
    save(Model(encoding), folder / "some.chroma")
    return (folder / "some.chroma").read_bytes()


def columns_of(frame):
    """The encoded rows in the order of their numbers."""
    return np.array([row[0].toArray() for row in frame.orderBy("number").select("columns").collect()])


def fitted(frame, **parameters):
    from chromatic.spark import ChromaticEstimator

    return ChromaticEstimator(orderCol="number", **parameters).fit(frame)


def check_same(folder, model, local, frame, training):
    assert bytes_of(model.encoding_, folder) == bytes_of(local.encoding_, folder)
    found = columns_of(model.transformTraining(frame))
    assert (found == training.toarray()[local.training_rows_]).all()


@pytest.mark.parametrize("encoding", ["submodular", "target"])
def test_weights_and_groups_of_rows_are_those_of_a_local_fit(spark, tmp_path, encoding):
    groups = FIELDS[:, 1].astype(str)
    kinds = "features array<string>, label double, w double, g string"
    frame = frame_of(spark, kinds, [ROWS, LABELS, WEIGHTS, groups])
    local = ChromaticEncoder(48, encoding=encoding)
    training = local.fit_transform(ROWS, LABELS, sample_weight=WEIGHTS, groups=groups)
    model = fitted(frame, budget=48, encoding=encoding, weightCol="w", groupCol="g")
    assert model.encoding_.linear is not None and model.encoding_.vocabulary.dense_names == (b"often",)
    check_same(tmp_path, model, local, frame, training)


def test_what_is_kept_for_later_rows_is_that_of_a_local_fit(spark, tmp_path, monkeypatch):
    from chromatic.spark import ChromaticModel, source

    kinds = "features array<string>, label double, w double"
    frame = frame_of(spark, kinds, [ROWS, LABELS, WEIGHTS])
    local = ChromaticEncoder(48, keep="statistics").fit(ROWS, LABELS, sample_weight=WEIGHTS)
    model = fitted(frame, budget=48, keep="statistics", weightCol="w")
    model.save(f"{tmp_path}/model")
    ChromaticModel.load(f"{tmp_path}/model").writeFile(f"{tmp_path}/model.chroma")
    read, kept = load(f"{tmp_path}/model.chroma"), local.model_.kept
    assert read.model_.kept.facts() == kept.facts()
    for name, array in kept.arrays().items():
        assert np.array_equal(read.model_.kept.arrays()[name], array), name
    assert bytes_of(read.encoding_, tmp_path) == bytes_of(local.encoding_, tmp_path)
    monkeypatch.setattr(source, "bytes_to_weigh", lambda *given: 1 << 60)
    with pytest.raises(InputError, match=r"need .* MB on the driver; expected so much driverMemoryInMB"):
        fitted(frame, budget=48, keep="statistics", weightCol="w")


def test_a_model_that_was_read_finds_the_weights_of_folds_again(spark, tmp_path):
    from chromatic.spark import ChromaticModel

    frame = frame_of(spark, "features array<string>, label double", [ROWS, LABELS])
    model = fitted(frame, budget=32)
    model.save(f"{tmp_path}/model")
    again = ChromaticModel.load(f"{tmp_path}/model")
    assert again._weights is None and again.classes_ == (0.0, 1.0)
    assert (columns_of(again.transformTraining(frame)) == columns_of(model.transformTraining(frame))).all()


@pytest.mark.parametrize("text", [True, False])
def test_several_classes_are_learned_as_locally(spark, tmp_path, text):
    numbers = FIELDS[:, 0] % 3
    classes = np.array(["red", "green", "blue"])[numbers] if text else numbers * 2.0
    kind, options = ("string", {}) if text else ("double", {"target_type": "classes"})
    frame = frame_of(spark, f"features array<string>, label {kind}", [ROWS, classes])
    local = ChromaticEncoder(60, **options)
    training = local.fit_transform(ROWS, classes)
    model = fitted(frame, budget=60, **({} if text else {"targetType": "classes"}))
    assert model.classes_ == (("blue", "green", "red") if text else (0.0, 2.0, 4.0))
    assert (columns_of(model.transform(frame)) == local.transform(ROWS).toarray()).all()
    assert (columns_of(model.transformTraining(frame)) == training.toarray()).all()
    few = frame_of(spark, "features array<string>, label string", [ROWS[:5], list("aabbc")])
    with pytest.raises(InputError, match="1 of 3 classes have one row, such as c"):
        fitted(few)


def a_table():
    """Categories of text and of whole numbers, amounts, dates, numbers with gaps, and lists."""
    random = np.random.default_rng(3)
    price = random.gamma(2.0, 10.0, N).round(2)
    price[random.random(N) < 0.1] = np.nan
    return pa.table(
        {
            "city": pa.array([f"city{i}" if i % 7 else None for i in FIELDS[:, 1]]),
            "shop": pa.array(FIELDS[:, 0] * 1000 + 7),
            "visits": pa.array(random.poisson(900, N) * 3 - 5),
            "price": pa.array(price, mask=np.isnan(price)),
            "member": pa.array(FIELDS[:, 2] % 5 == 0),
            "day": pa.array(FIELDS[:, 2].astype("datetime64[D]")),
            "tags": pa.array([[f"t{c}", f"u{c % 9}"] for c in FIELDS[:, 2]]),
            "label": pa.array(LABELS),
            "number": pa.array(np.arange(N)),
        }
    )


@pytest.mark.parametrize("budget", [64, 3])
def test_columns_of_a_frame_are_those_of_a_table(spark, tmp_path, budget):
    from chromatic.spark import ChromaticModel

    table = a_table()
    pq.write_table(table.drop(["number"]), tmp_path / "table.parquet", row_group_size=500)
    pq.write_table(table, tmp_path / "numbered.parquet")
    frame = spark.read.parquet(f"{tmp_path}/numbered.parquet").repartition(3).cache()
    local = ChromaticEncoder(budget)
    with pytest.warns(match="categories:"):
        training = local.fit_transform(tmp_path / "table.parquet")
    columns = table.column_names[:-2]
    with pytest.warns(match="categories: city, shop"):
        model = fitted(frame, budget=budget, inputCols=columns)
    assert (len(local.encoding_.vocabulary.unused_names) > 0) == (budget == 3)
    check_same(tmp_path, model, local, frame, training)
    encoded = model.transform(frame)
    assert encoded.columns == [*table.column_names, "columns"]
    assert (columns_of(encoded) == local.transform(tmp_path / "table.parquet").toarray()).all()
    model.writeFile(f"{tmp_path}/model.chroma")
    again = ChromaticModel.load(f"{tmp_path}/model.chroma").setInputCol(
        "tags"
    )  # the schema names the others
    assert (columns_of(again.transform(frame)) == columns_of(encoded)).all()


def test_commands_take_the_columns_of_a_table_with_weights_and_groups(spark, tmp_path):
    from chromatic.cli.main import app

    table = a_table().append_column("w", pa.array(WEIGHTS)).append_column("g", pa.array(FIELDS[:, 1]))
    pq.write_table(table.drop(["number"]), tmp_path / "table.parquet")
    told = ["--weight", "w", "--group", "g", "--budget", "40"]

    def run(*command):
        done = CliRunner().invoke(app, [*command, *told[: 6 * (command[0] == "fit")]])
        assert done.exit_code == 0, done.output

    path, model, columns = (f"{tmp_path}/{name}" for name in ("table.parquet", "model.chroma", "columns"))
    on_spark = "--engine", "spark", "--master", "local", "--input-col", "*"
    run("fit", path, "-o", model, *on_spark)
    run("fit", path, "-o", f"{tmp_path}/local.chroma")
    assert bytes_of(load(model).encoding_, tmp_path) == bytes_of(
        load(f"{tmp_path}/local.chroma").encoding_, tmp_path
    )
    run("transform", model, path, "-o", columns, *on_spark)
    assert spark.read.parquet(columns).columns == ["label", "columns"]


@pytest.mark.parametrize("labels", ["two kinds", "numbers"])
def test_weights_are_found_on_the_workers_where_rows_do_not_fit_the_driver(
    spark, tmp_path, caplog, labels, monkeypatch
):
    from chromatic.spark import source

    y = LABELS if labels == "two kinds" else LABELS * 2.0 + FIELDS[:, 1] / 64
    frame = frame_of(spark, "features array<string>, label double", [ROWS, y])
    monkeypatch.setattr(source, "bytes_to_weigh", lambda *given: 1 << 60)
    monkeypatch.setattr(sources.LocalSource, "weigh", weigh_in_pieces)
    monkeypatch.setattr(gradients, "ROUNDS", 4)  # few are enough to tell whether they are the same
    local = ChromaticEncoder(32)
    training = local.fit_transform(ROWS, y)
    with caplog.at_level("INFO", logger="chromatic"):
        model = fitted(frame, budget=32)
    assert "found on the workers" in caplog.text and "rounds over the rows" in caplog.text
    linear = model.encoding_.linear
    assert linear.weights.any() and (linear.weights == local.encoding_.linear.weights).all()
    if labels == "two kinds":
        check_same(tmp_path, model, local, frame, training)
