"""Linear learners: one pass of Vowpal Wabbit, and scikit-learn's logistic regression."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._extras import optional
from chromatic.data.writers import write_text
from chromatic.encoding.encoded import Encoded
from chromatic.learn.inputs import scales_of

Floats = npt.NDArray[np.float64]

STRENGTHS = (0.01, 0.1, 1.0)  # of scikit-learn's C, the inverse of the penalty
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
            write_text(columns.to_batches(np.where(y == 1, 1.0, -1.0), self.first, fold=True), rows, "vw")
            _run(["--data", rows, "--loss_function", "logistic", "-b", str(bits), "-f", model])
            with open(model, "rb") as file:
                self.model = file.read()
        return self

    def predict(self, columns: Encoded) -> Floats:
        """The probability of the label 1 of each row."""
        with tempfile.TemporaryDirectory() as folder:
            rows, model, out = (os.path.join(folder, name) for name in ("rows.vw", "model", "out"))
            with open(model, "wb") as file:
                file.write(self.model)
            labels = np.ones(len(columns.indptr) - 1)
            write_text(columns.to_batches(labels, self.first, fold=True), rows, "vw")
            _run(["-i", model, "-t", "--data", rows, "--link", "logistic", "-p", out])
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


def _run(arguments: list[str]) -> None:
    """Run Vowpal Wabbit from file to file, without a word."""
    optional("vowpalwabbit").Workspace(arg_list=["--quiet", "--no_stdin", *arguments]).finish()


class Logistic:
    """Logistic regression of scikit-learn, with C as the inverse of the penalty."""

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> Logistic:
        from sklearn.linear_model import LogisticRegression

        self.scales = scales_of(columns.dense)
        learner = LogisticRegression(C=self.strength, solver="newton-cg", max_iter=300)
        self.learner = learner.fit(self._matrix(columns), y)
        self.n_parameters = columns.n_columns + 1
        return self

    def predict(self, columns: Encoded) -> Floats:
        """The probability of the label 1 of each row."""
        probabilities: Floats = self.learner.predict_proba(self._matrix(columns))[:, 1]
        return probabilities

    def _matrix(self, columns: Encoded) -> Any:
        from dataclasses import replace

        return replace(columns, dense=columns.dense / self.scales).to_csr()


def choose_strength(
    train: Encoded, y: npt.NDArray[Any], held_out: Encoded, y_held_out: npt.NDArray[Any]
) -> float:
    """Return the C under which the labels of held-out rows are likeliest."""
    from sklearn.metrics import log_loss

    losses = [
        log_loss(y_held_out, Logistic(strength).fit(train, y).predict(held_out), labels=[0, 1])
        for strength in STRENGTHS
    ]
    return STRENGTHS[int(np.argmin(losses))]
