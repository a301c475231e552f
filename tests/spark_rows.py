"""Rows for the tests of Spark, as frames and as arrays."""

import numpy as np

from chromatic.model import Model
from chromatic.modelfile import save

N = 3000


def some_rows(often=None):
    """Rows of up to three integers and, where `often` is given, that one in many; many rows are alike."""
    random = np.random.default_rng(0)
    fields = random.integers(0, [30, 200, 2000], (N, 3)) + np.array([0, 100, 1000])
    lengths = random.integers(0, 4, N)
    rows = [row[:length].tolist() for row, length in zip(fields, lengths, strict=True)]
    labels = random.random(N) < np.where(fields[:, 0] % 3 == 0, 0.7, 0.2)
    for row, has in zip(rows, random.random(N) < 0.4, strict=True):
        if has and often is not None:
            row.append(often)
    return rows, labels.astype(float).tolist()


def frame_of(spark, rows, labels, kind):
    """The rows in another order, over three partitions."""
    numbered = list(zip(range(len(rows)), rows, labels, strict=True))
    frame = spark.createDataFrame(numbered, f"number long, features {kind}, label double")
    return frame.repartition(3, "number").cache()


def bytes_of(encoding, folder, **options):
    save(Model(encoding), folder / "some.chroma", **options)
    return (folder / "some.chroma").read_bytes()


def columns_of(frame, output="columns"):
    """The encoded rows in the order of their numbers."""
    found = [row[output] for row in frame.orderBy("number").select(output).collect()]
    return np.array([row if isinstance(row, list) else row.toArray() for row in found])


def strings(rows):
    return [[f"f{i}" for i in row] for row in rows]
