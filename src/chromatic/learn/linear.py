"""Linear learners: one pass of Vowpal Wabbit, and scikit-learn's logistic regression."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.writers import write
from chromatic.encoding.encoded import Encoded
from chromatic.learn.extras import optional
from chromatic.learn.inputs import scales_of

Floats = npt.NDArray[np.float64]

STRENGTHS = (0.01, 0.1, 1.0)  # of scikit-learn's C, the inverse of the penalty
VALIDATION = 0.2
CONSTANT = 11_650_396  # the feature that Vowpal Wabbit adds to every row


class VowpalWabbit:
    """One pass of Vowpal Wabbit with its defaults and the logistic loss, as in the paper.

    >>> one_hot = Encoded(np.arange(61), np.arange(60, dtype=np.int32) % 2, None, 2, np.empty((60, 0)))
    >>> learner = VowpalWabbit().fit(one_hot, np.arange(60) % 2)
    >>> bool((np.diff(learner.predict(one_hot)[-2:]) > 0).all())
    True
    """

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> VowpalWabbit:
        bits, self.first = places(columns.n_columns)
        self.n_parameters = columns.n_columns + 1
        with tempfile.TemporaryDirectory() as folder:
            rows, model = os.path.join(folder, "rows.vw"), os.path.join(folder, "model")
            write(list(columns.to_batches(np.where(y == 1, 1.0, -1.0), self.first)), rows)
            _run("--data", rows, "--loss_function", "logistic", "-b", str(bits), "-f", model)
            with open(model, "rb") as file:
                self.model = file.read()
        return self

    def predict(self, columns: Encoded) -> Floats:
        """The probability of the label 1 of each row."""
        with tempfile.TemporaryDirectory() as folder:
            rows, model, out = (os.path.join(folder, name) for name in ("rows.vw", "model", "out"))
            with open(model, "wb") as file:
                file.write(self.model)
            write(list(columns.to_batches(np.ones(len(columns.indptr) - 1), self.first)), rows)
            _run("-i", model, "-t", "--data", rows, "--link", "logistic", "-p", out)
            return np.atleast_1d(np.loadtxt(out))


def places(n_columns: int) -> tuple[int, int]:
    """The width of Vowpal Wabbit's table, its default or more, and the number of the first column.

    A feature that is a number has the slot of that number. All columns have slots of their own, and none
    that of the constant.

    >>> places(1024), places(1_573_533)
    ((18, 0), (21, 1164637))
    """
    bits = max(18, n_columns.bit_length())
    constant = CONSTANT % (1 << bits)
    return bits, 0 if constant >= n_columns else constant + 1


def _run(*arguments: str) -> None:
    """A run of Vowpal Wabbit from file to file, without a word."""
    optional("vowpalwabbit").Workspace(arg_list=["--quiet", "--no_stdin", *arguments]).finish()


class Logistic:
    """Logistic regression, penalized as much as held-out training rows like best."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> Logistic:
        from sklearn.linear_model import LogisticRegression

        self.scales = scales_of(columns.dense)
        x = self._matrix(columns)
        held = np.random.default_rng(self.seed).random(x.shape[0]) < VALIDATION
        learner = LogisticRegression(max_iter=300, warm_start=True)
        losses = [
            _log_loss(y[held], learner.set_params(C=c).fit(x[~held], y[~held]).predict_proba(x[held])[:, 1])
            for c in STRENGTHS
        ]
        self.strength = STRENGTHS[int(np.argmin(losses))]
        self.learner = learner.set_params(C=self.strength).fit(x, y)
        self.n_parameters = columns.n_columns + 1
        return self

    def predict(self, columns: Encoded) -> Floats:
        """The probability of the label 1 of each row."""
        found: Floats = self.learner.predict_proba(self._matrix(columns))[:, 1]
        return found

    def _matrix(self, columns: Encoded) -> Any:
        from dataclasses import replace

        return replace(columns, dense=columns.dense / self.scales).to_csr()


def _log_loss(y: npt.NDArray[Any], probabilities: Floats) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(y, probabilities, labels=[0, 1]))
