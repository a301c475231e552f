"""LightGBM with colors as categorical features."""

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from chromatic import ChromaticEncoder
from chromatic.lab.datasets.npm import load_npm_names

train, test = load_npm_names()
rows, labels = train.rows[::4], np.array(train.labels[::4])
encoder = ChromaticEncoder(2048, encoding="frequency").fit(rows)
data = lightgbm.Dataset(
    encoder.transform(rows).astype(np.float32),
    labels,
    categorical_feature=list(range(encoder.n_colors_)),
    params={"verbose": -1},
)
model = lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1}, data, 60)
auc = roc_auc_score(test.labels, model.predict(encoder.transform(test.rows).astype(np.float32)))
print(f"{encoder.n_colors_} categorical features, AUC on other names {auc:.3f}")
