"""docs/adding-an-encoding.md, done: its module and its line in a copy of the package, used everywhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding-an-encoding.md").read_text()
MODULE, LINE, USE = re.findall(r"```python\n(.*?)```", PAGE, re.S)

EVERYWHERE = """
import json, subprocess, sys
import numpy as np
from chromatic import ChromaticEncoder, load
from chromatic.testing.checks import check

random = np.random.default_rng(0)
fields = random.integers(0, [30, 200], (1500, 2))
X = [[f"a{a}", f"b{b}"] for a, b in fields]
y = (random.random(1500) < np.where(fields[:, 0] % 3 == 0, 0.7, 0.2)).astype(int)
encoder = ChromaticEncoder(encoding="wilson", budget=20)
Z = encoder.fit_transform(X, y).toarray()

def slowly(positives, rows):
    if rows == 0:
        return 0.0
    p, z = positives / rows, 1.96
    spread = z * (p * (1 - p) / rows + z * z / (4 * rows * rows)) ** 0.5
    return max((p + z * z / (2 * rows) - spread) / (1 + z * z / rows), 0.0)

def among(name, rows):
    has = [i for i in rows if name in X[i]]
    return slowly(sum(y[i] for i in has), len(has))

Zt = encoder.transform(X).toarray()
for i in range(40):
    for name in X[i]:
        column = encoder.locate(name)["column"]
        assert abs(Zt[i, column] - among(name, range(1500))) < 1e-12
for i in range(3):
    other = y.copy()
    other[i] = 1 - y[i]
    changed = ChromaticEncoder(encoding="wilson", budget=20).fit_transform(X, other).toarray()
    assert np.array_equal(changed[i], Z[i]) and not np.array_equal(changed, Z), "own labels move nothing"
encoder.save("model.chroma")
again = load("model.chroma")
for row, columns in zip(X[:50], Zt):
    assert np.array_equal(again.encode_one(row), columns)
found = again.explain(0)
assert found["features"][0][2] == again.locate(found["features"][0][0])["value"]
assert len(again.get_feature_names_out()) == again.n_columns_
check(ChromaticEncoder(encoding="wilson", budget=20))
with open("rows.tokens", "w") as file:
    file.writelines(f"{label} {' '.join(row)}\\n" for label, row in zip(y, X))

def run(*command):
    done = subprocess.run([sys.executable, "-m", "chromatic.cli.main", *command], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout

wilson = "--encoding", "wilson", "--budget", "20"
run("fit", "rows.tokens", "-o", "cli.chroma", *wilson, "--encoded", "train.npz")
assert np.array_equal(load("cli.chroma").transform(X).toarray(), Zt)
run("fit", "rows.tokens", "-o", "disk.chroma", *wilson, "--memory", "1G", "--cache", "cache")
assert open("cli.chroma", "rb").read() == open("disk.chroma", "rb").read()
run("transform", "cli.chroma", "rows.tokens", "-o", "test.npz")
assert json.loads(run("inspect", "cli.chroma", "--column", "0", "--json"))["features"]
run("report", "cli.chroma", "--test", "rows.tokens", "-o", "report.html")
assert "cautious rate" in open("report.html").read()
"""

ON_SPARK = """
import os, sys
import numpy as np
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from chromatic import ChromaticEncoder
from chromatic.spark import ChromaticEstimator

X = [[f"user{i % 40}", f"page{i % 7}"] for i in range(600)]
y = [float(i % 40 < 10) for i in range(600)]
settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
schema = "number long, features array<string>, label double"
frame = session.createDataFrame(list(zip(range(600), X, y)), schema).repartition(2)
model = ChromaticEstimator(encoding="wilson", budget=16, orderCol="number").fit(frame)
local = ChromaticEncoder(16, encoding="wilson")
Z = local.fit_transform(X, y).toarray()

def rows_of(encoded):
    return np.array([row["columns"].toArray() for row in encoded.orderBy("number").collect()])

assert np.array_equal(rows_of(model.transform(frame)), local.transform(X).toarray())
assert np.array_equal(rows_of(model.transformTraining(frame)), Z)
session.stop()
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package as the page leaves it."""
    folder = tmp_path_factory.mktemp("package")
    copy = folder / "chromatic"
    shutil.copytree(ROOT / "src" / "chromatic", copy)
    (copy / "encoding" / "wilson.py").write_text(MODULE)
    registry = (copy / "registry.py").read_text()
    place = registry.index("}\n", registry.index("ENCODINGS = {"))
    (copy / "registry.py").write_text(registry[:place] + LINE + registry[place:])
    return folder


def run(script, package, folder):
    path = os.pathsep.join(map(str, (package, ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]


def test_the_example_of_the_page_runs(package, tmp_path):
    run(USE, package, tmp_path)


def test_everything_takes_the_new_encoding(package, tmp_path):
    run(EVERYWHERE, package, tmp_path)


def test_spark_takes_the_new_encoding(java, package, tmp_path):
    run(ON_SPARK, package, tmp_path)


def test_only_the_registry_and_its_own_module_name_an_encoding():
    """No other room asks which encoding it has: no isinstance, no comparison of its name."""
    import ast

    from chromatic.registry import ENCODINGS

    names = set(ENCODINGS)
    classes = {path.rpartition(".")[2] for path in ENCODINGS.values()}
    own = {path.rsplit(".", 2)[1] for path in ENCODINGS.values()}
    for path in (ROOT / "src" / "chromatic").rglob("*.py"):
        if path.parent.name == "encoding" and path.stem in own:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                asked = {
                    getattr(one, "id", None) or getattr(one, "attr", None) for one in ast.walk(node.args[1])
                }
                assert not asked & (classes | {"Encoding"}), (
                    f"{path}:{node.lineno} asks for a class of encoding"
                )
            if isinstance(node, ast.Compare):
                words = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
                about = re.search("encod|kind|name", ast.unparse(node))
                assert not (words & names and about), f"{path}:{node.lineno} compares an encoding's name"
