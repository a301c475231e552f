"""Gradient boosting by LightGBM, with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._extras import optional
from chromatic.encoding.encoded import Encoded


class LightGBM:
    """100 trees of 31 leaves on columns; codes are categorical features.

    On all features uncompressed it bundles exclusive ones itself, which is how it colors.
    """

    def __init__(self, categorical: bool = False, threads: int = 1, seed: int = 0) -> None:
        self.categorical, self.threads, self.seed = categorical, threads, seed

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> LightGBM:
        lightgbm = optional("lightgbm")
        x = _matrix(columns)
        codes = list(range(columns.n_sparse_columns)) if self.categorical else []
        data = lightgbm.Dataset(x, np.asarray(y, np.float32), categorical_feature=codes, free_raw_data=True)
        parameters = {
            "objective": "binary",
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self.threads,
            "seed": self.seed,
            "verbosity": -1,
        }
        self.model = lightgbm.train(parameters, data, num_boost_round=100)
        self.n_parameters = sum(tree["num_leaves"] for tree in self.model.dump_model()["tree_info"])
        return self

    def predict(self, columns: Encoded) -> npt.NDArray[np.float64]:
        """The probability of the label 1 of each row."""
        return np.asarray(self.model.predict(_matrix(columns), num_threads=self.threads))


def _matrix(columns: Encoded) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(columns.to_csr(), dtype=np.float32)
