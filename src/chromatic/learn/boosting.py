"""Gradient boosting by LightGBM, with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._extras import optional
from chromatic.encoding.encoded import Encoded
from chromatic.learn.targets import BINARY, Target

OBJECTIVES = {
    "binary": {"objective": "binary"},
    "classes": {"objective": "multiclass"},
    "numbers": {"objective": "regression"},
}


class LightGBM:
    """100 trees of 31 leaves on columns, as many for each of several classes; codes are categories.

    On all features uncompressed it bundles exclusive ones itself, which is how it colors.
    """

    def __init__(
        self, categorical: bool = False, threads: int = 1, seed: int = 0, target: Target = BINARY
    ) -> None:
        self.categorical, self.threads, self.seed = categorical, threads, seed
        self.objective: dict[str, Any] = OBJECTIVES[target.kind]
        if target.n_parts > 1:
            self.objective = self.objective | {"num_class": target.n_classes}

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> LightGBM:
        lightgbm = optional("lightgbm")
        x = _matrix(columns)
        codes = list(range(columns.n_sparse_columns)) if self.categorical else []
        data = lightgbm.Dataset(x, np.asarray(y, np.float32), categorical_feature=codes, free_raw_data=True)
        parameters = {
            **self.objective,
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
        """The probability of the label 1 of each row, those of several classes, or the number."""
        return np.asarray(self.model.predict(_matrix(columns), num_threads=self.threads))


def _matrix(columns: Encoded) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(columns.to_csr(), dtype=np.float32)
