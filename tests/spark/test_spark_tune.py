"""Settings chosen by a validation frame: what is tried and found is what a local search finds."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from spark_rows import bytes_of

from chromatic import ChromaticEncoder, load
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.learn import tuning
from chromatic.learn.tuning import Tuner
from chromatic.parameters import Settings

pytestmark = pytest.mark.xdist_group("spark")  # one cluster for all
N, LATER = 900, 300
RANDOM = np.random.default_rng(8)
FIELDS = RANDOM.integers(0, [12, 60, 300], (N + LATER, 3))
LABELS = (RANDOM.random(N + LATER) < np.where(FIELDS[:, 0] % 3 == 0, 0.7, 0.2)).astype(float)
WEIGHTS = RANDOM.gamma(2.0, 0.7, N + LATER)
ROWS = [[f"a{a}", f"b{b}", f"c{c}", *(["often"] * (b % 2))] for a, b, c in FIELDS]
SET = {"linear": 3, "max_colors": 6, "smoothing": 4.0, "min_gain": 1.0}  # what is set is not tried


def in_spark(given):
    """Parameters as Spark names them."""
    return {
        {"max_colors": "maxColors", "min_gain": "minGain"}.get(name, name): given[name] for name in given
    }


def frames_of(spark, kinds, *columns):
    """Earlier and later rows as frames, in another order than locally, over three partitions."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    numbered = list(zip(range(N + LATER), *plain, strict=True))
    schema = f"number long, {kinds}"
    parts = numbered[:N], numbered[N:]
    return [spark.createDataFrame(part, schema).repartition(3, "number").cache() for part in parts]


def rounded(trials):
    return [(one.changed, one.loss, one.columns, one.strength, one.error) for one in trials]


def test_the_same_is_tried_and_chosen_as_locally_and_weights_have_a_say_in_the_last_fit(spark, tmp_path):
    from chromatic.spark import ChromaticEstimator

    names = ["a", "b", "c", "label", "w", "g"]
    columns = [*FIELDS.T.astype(str), LABELS, WEIGHTS, FIELDS[:, 2].astype(str)]
    table = pa.table(columns, names).to_pandas()
    kinds = "a string, b string, c string, label double, w double, g string"
    train, later = frames_of(spark, kinds, *columns)
    encoder = ChromaticEncoder(24, **SET, weight="w", group="g")
    local = tuning.tune(encoder, table[:N], validation=(table[N:], None))
    told = {"inputCols": names[:3], "weightCol": "w", "groupCol": "g", "orderCol": "number"}
    estimator = ChromaticEstimator(budget=24, **told, **in_spark(SET))
    found = estimator.tune(train, later.drop("w", "g"))
    assert len(found.trials) == 2 and rounded(found.trials) == rounded(local.trials)
    assert estimator._get("budget") == 24, "the estimator stays as it is"
    assert found.model._get("weightCol") == "w"
    assert bytes_of(found.model.encoding_, tmp_path) == bytes_of(local.encoder.encoding_, tmp_path)


def test_numbers_are_judged_as_locally_and_a_sample_of_rows_whatever_the_partitions(
    spark, monkeypatch, caplog
):
    from chromatic.spark import ChromaticEstimator
    from chromatic.spark.tuning import tuner_of

    rows, y = [dict.fromkeys(row, 1.0) for row in ROWS], FIELDS[:, 1] / 8 + LABELS
    frames = frames_of(spark, "features map<string, double>, label double", rows, y)
    batches = [
        tuning._labelled([Reader().batches(rows[part])], [y[part]])[0]
        for part in (slice(N), slice(N, None))
    ]
    local = next(Tuner.of(*batches, Settings(24, **SET)).trials())
    estimator = ChromaticEstimator(budget=24, orderCol="number", **in_spark(SET))
    with tuner_of(estimator, *frames) as tuner:
        first = next(tuner.trials())
    assert (first.columns, first.strength) == (local.columns, local.strength)
    assert first.loss == pytest.approx(local.loss, abs=2e-6)
    monkeypatch.setattr(tuning, "MOST_JUDGED", 100)
    found = []
    for n in (3, 2):
        parts = [frame.repartition(n) for frame in frames]
        with caplog.at_level("INFO", logger="chromatic"), tuner_of(estimator, *parts) as tuner:
            sides = tuner.split.learned, tuner.split.judged
            found.append([*((side.end, side.y.tolist()) for side in sides), tuner.figures])
    assert found[0] == found[1] and found[0][2]["rows_learned"] == 100
    for side, n_rows, what in zip(sides, (N, LATER), ("training", "held-out"), strict=True):
        assert len(side.y) == 100 and len(set(side.y)) > 30, "rows of many kinds"
        assert f"a sample of 100 of {n_rows} {what} rows judges" in caplog.text
    with tuner_of(estimator, *frames) as tuner:
        pair = tuner.split.fitted(tuner.given)
    assert (pair.train.n_rows, pair.test.n_rows) == (100, 100)
    assert (pair.y == found[0][0][1]).all() and (pair.y_test == found[0][1][1]).all()


def test_what_cannot_be_tuned_is_refused_in_a_line(spark):
    from pyspark.sql import functions as F

    from chromatic.spark import ChromaticEstimator

    def frame(rows, kind="double"):
        return spark.createDataFrame(rows, f"features array<string>, label {kind}").coalesce(1)

    good = frame([(["a"], 1.0), (["b"], 0.0)] * 5)
    ones, other = frame([(["a"], 1.0)] * 3), frame([(["a"], 1.0), (["b"], 2.0)])
    texts = frame([(["a"], "no"), (["b"], "yes")], "string")
    missing, null = frame([(["a"], 1.0), (["b"], None)]), frame([(None, 1.0), (["b"], 0.0)])
    for train, later, message in [
        (
            good,
            good.drop("label"),
            "the rows for validation have no column 'label'; their columns are feat",
        ),
        (good, good.drop("features"), "the rows for validation have no column 'features'; their columns"),
        (good.drop("label"), good, "the training rows have no column 'label'; their columns are features"),
        (
            good.withColumn("features", F.lit("a")),
            good,
            "'features' of 10 rows is of type string; expected arr",
        ),
        (good, good.limit(0), "the rows for validation: the frame of column 'features' has 0 rows"),
        (good, ones, "the rows for validation have labels of one kind; expected two kinds of labels"),
        (ones, good, "the label column 'label' is 1 in all 3 rows, there is only one class"),
        (good, other, "the rows for validation: a row has the label 2, which training did not have"),
        (good, texts, "the rows for validation: the label column 'label' has texts and training numbers"),
        (good, missing, "the rows for validation: the label column 'label' is null in 1 of 2 rows"),
        (good, null, "the rows for validation: the column 'features' is null in 1 of 2 rows"),
    ]:
        with pytest.raises(InputError, match=message) as refused:
            ChromaticEstimator(budget=4).tune(train, later)
        assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match="the training rows have no column 'number'; their columns are"):
        ChromaticEstimator(budget=4, orderCol="number").tune(good, good)
    with pytest.raises(InputError, match="levels are no numbers for lr; take submodular"):
        ChromaticEstimator(budget=4, encoding="frequency").tune(good, good)


def test_the_command_finds_what_it_finds_locally_with_several_classes(spark, tmp_path):
    from chromatic.cli.main import app

    classes = np.array(["red", "green", "blue"])[FIELDS[:, 0] % 3]
    for name, part in (("train", slice(N)), ("later", slice(N, None))):
        table = pa.table({"features": ROWS[part], "label": classes[part]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    call = ["tune", f"{tmp_path}/train.parquet", "--validation", f"{tmp_path}/later.parquet"]
    flags = ["--budget", "24", "--linear", "0", "--max-colors", "6", "--smoothing", "4", "--min-gain", "1"]
    told, columns = [], []
    for engine in ("spark", "local"):
        model = f"{tmp_path}/{engine}.chroma"
        done = CliRunner().invoke(app, [*call, *flags, "-o", model, "--json", "--engine", engine])
        assert done.exit_code == 0, done.output
        told.append(json.loads(done.stdout))
        assert [one.pop("seconds") > 0 for one in told[-1]["tried"]] == [True, True]
        columns.append(load(model).transform(ROWS).toarray())
    assert told[0] == told[1] and (told[0]["rows"], told[0]["held_out"]) == (N, LATER)
    assert (columns[0] == columns[1]).all()
    for words, message in [
        (
            [*call[:2], "-o", f"{tmp_path}/no.chroma"],
            "--validation is random; expected Parquet of other rows",
        ),
        ([*call, "-o", str(tmp_path)], "is a folder; expected the name of a file to write"),
    ]:
        done = CliRunner().invoke(app, [*words, "--engine", "spark"])
        assert done.exit_code == 2 and message in done.output and done.output.count("\n") == 1
