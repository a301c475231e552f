"""What people do first: a frame of categories in, columns out that a linear model learns from."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from commands import chromatic, in_a_process
from nine_fields import nine_fields
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from chromatic import ChromaticEncoder, FrequencyEncoder, load
from chromatic.data import Reader
from chromatic.errors import InputError, InputWarning

pytestmark = pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")


def auc(model, parts):
    train, y, test, y_test = parts
    return roc_auc_score(y_test, model.fit(train, y).predict_proba(test)[:, 1])


def test_nine_fields_of_integers_are_learned_as_well_as_by_their_peers():
    """The default settings, and a plain logistic regression: ids as numbers would have an AUC near 0.5."""
    X, y, _ = nine_fields(16_000)
    parts = X[:12_000], y[:12_000], X[12_000:], y[12_000:]
    by_peers = [
        auc(make_pipeline(peer, LogisticRegression(max_iter=500)), parts)
        for peer in (OneHotEncoder(handle_unknown="ignore"), TargetEncoder())
    ]
    encoder = ChromaticEncoder()
    columns = (
        encoder.fit_transform(X[:12_000], y[:12_000]),
        y[:12_000],
        encoder.transform(X[12_000:]),
        y[12_000:],
    )
    assert encoder.n_colors_ == 9 and encoder.n_columns_ < 100
    assert auc(LogisticRegression(max_iter=500), columns) > max(by_peers) - 0.005
    as_numbers = ChromaticEncoder(categorical=[]).fit(X[:12_000], y[:12_000])
    assert as_numbers.get_feature_names_out().tolist() == list(X.columns)


def test_fields_are_colors_by_default_where_they_are_not_too_many():
    random = np.random.default_rng(0)
    table = pd.DataFrame({f"c{i}": random.integers(0, 20, 2000) for i in range(300)})
    y = table["c0"] + random.integers(0, 20, 2000) > 20
    few = table.iloc[:, :40]
    for encoding, n_colors in (("submodular", 40), ("target", 40), ("frequency", 40)):
        encoder = ChromaticEncoder(256, encoding=encoding).fit(few, y)
        assert (encoder.n_colors_, encoder.encoding_.coloring.strategy) == (n_colors, "fields")
    for encoding in ("submodular", "target"):
        encoder = ChromaticEncoder(256, encoding=encoding).fit(table, y)
        assert encoder.encoding_.coloring.strategy == "balanced" and encoder.n_columns_ <= 256
    for options in ({"max_colors": 10}, {"order": "degree"}, {"coloring": "balanced"}):
        assert ChromaticEncoder(256, **options).fit(few, y).encoding_.coloring.strategy == "balanced"


def test_lists_beside_fields_have_colors_of_their_own():
    random = np.random.default_rng(0)
    shop, tag = random.integers(0, 40, (2, 1000))
    table = pd.DataFrame({"shop": shop, "tags": [[f"t{one}", f"u{one % 7}"] for one in tag]})
    encoder = ChromaticEncoder(64, dense_threshold=0.5).fit(table, shop < 20)
    assert encoder.encoding_.coloring.strategy == "fields"
    assert len({encoder.locate(f"shop={one}")["color"] for one in range(40)}) == 1
    assert (
        encoder.locate("t1")["color"] != encoder.locate("shop=1")["color"] != encoder.locate("u1")["color"]
    )


def test_names_of_features_have_fields_on_request(tmp_path, within_memory):
    """What stands before = is one, in dicts as in tokens, in memory as on disk."""
    random = np.random.default_rng(0)
    shops, cities = random.integers(0, 40, 900), random.integers(0, 7, 900)
    rows = [{"shop": f"s{shop}", "city": f"c{city}"} for shop, city in zip(shops, cities, strict=True)]
    tokens = [[f"{name}={value}" for name, value in row.items()] + ["paid"] for row in rows]
    y = shops < 13
    encoder = ChromaticEncoder(32, coloring="fields").fit(rows, y)
    assert encoder.encoding_.vocabulary.field_names == (b"city", b"shop") and encoder.n_colors_ == 2
    assert ChromaticEncoder(32).fit(rows, y).encoding_.coloring.strategy == "balanced"
    for without in ([[f"s{shop}"] for shop in shops], [[int(shop)] for shop in shops]):
        with pytest.raises(InputError, match="coloring is 'fields' and the data has none"):
            ChromaticEncoder(32, coloring="fields").fit(without, y)
    path = tmp_path / "rows.tokens"
    path.write_text(
        "".join(f"{int(label)} {' '.join(row)}\n" for label, row in zip(y, tokens, strict=True))
    )
    for limit in ({}, within_memory):
        of_file = ChromaticEncoder(32, coloring="fields", **limit).fit(path)
        assert of_file.encoding_.vocabulary.field_names == (b"city", b"shop")
        assert (of_file.locate("shop=s3")["color"], of_file.locate("city=c3")["color"]) == (1, 0)


def test_criteos_layout_makes_one_model_wherever_it_comes_from(tmp_path):
    random = np.random.default_rng(0)
    names = ["label", *(f"I{i}" for i in range(1, 14)), *(f"C{i}" for i in range(1, 27))]
    columns = [random.integers(0, 2, 2000), *(random.poisson(3, 2000) for _ in range(13))]
    columns += [[f"{value:08x}" for value in random.zipf(1.5, 2000) % 3000 + 0xA0000000] for _ in range(26)]
    table = pd.DataFrame(dict(zip(names, columns, strict=True)))
    table.loc[random.random(2000) < 0.1, "I3"] = np.nan
    table.to_csv(tmp_path / "day", sep="\t", header=False, index=False)
    table.to_csv(tmp_path / "day.csv", index=False)
    for name, flags in (("day", ["--format", "criteo"]), ("day.csv", [])):
        call = ["fit", name, *flags, "--budget", 256, "-o", f"{name}.chroma"]
        done = chromatic(*call, cwd=tmp_path)
        assert done.returncode == 0 and done.stderr.startswith(b"chromatic: categories: ")
    assert (tmp_path / "day.chroma").read_bytes() == (tmp_path / "day.csv.chroma").read_bytes()
    call = ["evaluate", "day", "day", "--format", "criteo", "--budget", 256, "--learner", "lr", "--json"]
    [cell] = json.loads(chromatic(*call, cwd=tmp_path).stdout)
    assert cell["columns"] == load(tmp_path / "day.chroma").n_columns_


def test_rows_of_features_that_nobody_knows_are_told(tmp_path):
    random = np.random.default_rng(0)
    ids = random.integers(0, 40, 600)
    X, y = [[f"shop={one}", "paid"] for one in ids], ids < 13
    encoder = ChromaticEncoder(32, dense_threshold=2).fit(X, y)
    other = [[f"shop={one}.0"] for one in ids]
    for kind in (encoder, FrequencyEncoder(32, dense_threshold=2).fit(X)):
        with pytest.warns(InputWarning, match=r"100\.0% of the 600 features of 600 rows were not seen"):
            kind.transform(other)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kind.transform([[*row, "shop=3"] for row in other])
            kind.transform(other[:9])
    encoder.save(tmp_path / "m.chroma")
    (tmp_path / "x.tokens").write_text("".join(f"1 {row[0]}\n" for row in other))
    done = chromatic("transform", "m.chroma", "x.tokens", "-o", "x.svm", cwd=tmp_path)
    assert (
        done.returncode == 2 and b"none of the 600 features of 600 rows was seen in training" in done.stderr
    )
    assert not (tmp_path / "x.svm").exists()
    (tmp_path / "y.tokens").write_text("1 shop=3\n" + (tmp_path / "x.tokens").read_text())
    done = chromatic("transform", "m.chroma", "y.tokens", "-o", "y.svm", cwd=tmp_path)
    assert done.returncode == 0 and b"99.8% of the 601 features" in done.stderr


def test_arrays_of_objects_are_tables_or_rows(tmp_path):
    random = np.random.default_rng(0)
    shop, price = random.integers(0, 40, 600), random.random(600)
    y = shop < 13
    table = pd.DataFrame({"x0": [f"s{one}" for one in shop], "x1": price, "x2": shop})
    expected = ChromaticEncoder(32).fit(table, y)
    array = table.to_numpy(dtype=object)
    encoder = ChromaticEncoder(32).fit(array, y)
    assert encoder.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    assert (encoder.transform(array) != expected.transform(table)).nnz == 0
    encoder.save(tmp_path / "m.chroma")
    assert (load(tmp_path / "m.chroma").transform(array) != encoder.transform(array)).nnz == 0
    with pytest.raises(ValueError, match="X has 2 features, but ChromaticEncoder is expecting 3"):
        encoder.transform(array[:, :2])
    ids = np.stack((shop, shop % 7), axis=1)
    named = ChromaticEncoder(32, categorical=[0, 1]).fit(ids, y)
    assert named.locate("x0=3")["count"] == (shop == 3).sum()
    assert (named.transform(ids.astype(float)) != named.transform(ids)).nnz == 0
    rows = np.empty(600, object)
    rows[:] = [[f"s{one}"] for one in shop]
    one, other = (ChromaticEncoder(32).fit_transform(some, y) for some in (rows, rows.tolist()))
    assert (one != other).nnz == 0
    mixed = np.array([["a", 1], ["b", "x"], [None, np.nan]], object)
    assert [len(batch.ids) for batch in Reader().batches(mixed)] == [4]


def test_describe_says_which_columns_are_categories_and_its_hints_are_true(tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame({"label": random.integers(0, 2, 500), "id": random.integers(0, 40, 500) * 77})
    table["price"] = random.random(500)
    table.to_csv(tmp_path / "x.csv", index=False)
    done = chromatic("describe", "x.csv", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (told["categories"], told["numbers"], told["sparse_features"]) == (["id"], ["price"], 40)
    assert done.stderr.startswith(b"chromatic: categories: id*; numbers: price; ")
    assert done.stderr.count(b"\n") == 1
    done = chromatic("describe", "x.csv", "--categorical", "", cwd=tmp_path)
    assert (
        done.stderr
        == b"chromatic: all columns are numbers; --categorical names those that are categories\n"
    )
    assert b"numbers                     id, price" in done.stdout
    done = chromatic("describe", "x.csv", "--categorical", "price,shop", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1
    assert (
        b"categorical has 'shop', which is no column of the table; its columns are id, price" in done.stderr
    )


def test_a_table_in_a_pipe_makes_the_model_of_the_file_or_is_refused(tmp_path):
    X, y, _ = nine_fields(3000)
    text = X.assign(label=y).to_csv(index=False)
    (tmp_path / "x.csv").write_text(text)
    fit = ["fit", "--format", "csv", "--budget", 64, "-o"]
    assert chromatic(*fit, "file.chroma", "x.csv", cwd=tmp_path).returncode == 0
    assert in_a_process(*fit, "pipe.chroma", "-", cwd=tmp_path, stdin=text.encode()).returncode == 0
    assert (tmp_path / "file.chroma").read_bytes() == (tmp_path / "pipe.chroma").read_bytes()
    call = [*fit, "no.chroma", "-", "--memory", "1G", "--cache", "cache"]
    done = in_a_process(*call, cwd=tmp_path, stdin=text.encode())
    assert done.returncode == 2 and b"is a pipe, and what its columns of numbers are is told" in done.stderr
