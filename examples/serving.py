"""Serve one row at a time: a model file, and the weights of a linear model for its columns."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from chromatic import ChromaticEncoder, load

rows = [[f"user{i % 500}", f"page{i % 70}", f"ad{i % 31}"] for i in range(5000)]
labels = [i % 70 < 9 or i % 31 < 3 for i in range(5000)]
encoder = ChromaticEncoder(budget=64)
model = LogisticRegression().fit(encoder.fit_transform(rows, labels), labels)
path = Path(tempfile.mkdtemp()) / "clicks.chroma"
encoder.save(path)

server, weights, bias = load(path), model.coef_[0], model.intercept_[0]
for row in (["user3", "page2", "ad1"], ["user9", "page60", "ad30", "never seen"]):
    score = server.encode_one(row) @ weights + bias
    print(row, f"{1 / (1 + np.exp(-score)):.3f}")
