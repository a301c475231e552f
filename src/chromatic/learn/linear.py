"""Linear learners: one pass of Vowpal Wabbit, and scikit-learn's logistic and ridge regression."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._extras import optional
from chromatic.data.writers import write_text
from chromatic.encoding.encoded import Encoded
from chromatic.learn.inputs import scales_of
from chromatic.learn.splits import Streamed
from chromatic.learn.targets import BINARY, Target

Floats = npt.NDArray[np.float64]

STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of scikit-learn's C, the inverse of the penalty
# scikit-learn's own tolerance, 1e-4 of a mean over rows, is more than the whole gradient of a rare feature.
SOLVER: dict[str, Any] = {"solver": "newton-cg", "tol": 1e-6, "max_iter": 300, "warm_start": True}
CONSTANT = 11_650_396  # the feature that Vowpal Wabbit adds to every row


class VowpalWabbit:
    """One pass of Vowpal Wabbit with its defaults and the logistic loss, as in the paper.

    >>> one_hot = Encoded(np.arange(61), np.arange(60, dtype=np.int32) % 2, None, 2, np.empty((60, 0)))
    >>> learner = VowpalWabbit().fit(one_hot, np.arange(60) % 2)
    >>> bool((np.diff(learner.predict(one_hot)[-2:]) > 0).all())
    True
    """

    def fit(self, columns: Encoded | Streamed, y: npt.NDArray[Any]) -> VowpalWabbit:
        """Train on rows and labels, by way of a file: rows that memory does not hold stream into it."""
        bits, self.first = places(columns.n_columns)
        self.n_parameters = columns.n_columns + 1
        with _folder(columns) as folder:
            rows, model = os.path.join(folder, "rows.vw"), os.path.join(folder, "model")
            write_text(columns.to_batches(np.where(y == 1, 1.0, -1.0), self.first, fold=True), rows, "vw")
            _run(["--data", rows, "--loss_function", "logistic", "-b", str(bits), "-f", model])
            with open(model, "rb") as file:
                self.model = file.read()
        return self

    def predict(self, columns: Encoded | Streamed) -> Floats:
        """The probability of the label 1 of each row."""
        with _folder(columns) as folder:
            rows, model, out = (os.path.join(folder, name) for name in ("rows.vw", "model", "out"))
            with open(model, "wb") as file:
                file.write(self.model)
            labels = np.ones(columns.n_rows)
            write_text(columns.to_batches(labels, self.first, fold=True), rows, "vw")
            _run(["-i", model, "-t", "--data", rows, "--link", "logistic", "-p", out])
            return np.fromfile(out, sep="\n")


def _folder(columns: Encoded | Streamed) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for files; with a limit of memory it is on that disk, since /tmp may be memory."""
    return tempfile.TemporaryDirectory(
        dir=columns.memory.scratch if isinstance(columns, Streamed) else None
    )


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
    """Logistic regression of scikit-learn, multinomial for several classes, with C as the inverse penalty.

    Another fit begins with the weights of the one before.
    """

    def __init__(self, strength: float = 1.0, target: Target = BINARY) -> None:
        self.strength, self.target = strength, target
        self.learner: Any = None

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> Logistic:
        from sklearn.linear_model import LogisticRegression

        self.scales = scales_of(columns.dense)
        if self.learner is None:
            self.learner = LogisticRegression(**SOLVER)
        self.learner.set_params(C=self.strength).fit(_scaled(columns, self.scales), y)
        self.n_parameters = int(self.learner.coef_.size + self.learner.intercept_.size)
        return self

    def predict(self, columns: Encoded) -> Floats:
        """The probability of the label 1 of each row or, of several classes, of each of them."""
        probabilities: Floats = self.learner.predict_proba(_scaled(columns, self.scales))
        if self.target.n_parts == 1:
            return probabilities[:, 1]
        of_each = np.zeros((columns.n_rows, self.target.n_classes))
        of_each[:, self.learner.classes_.astype(np.int64)] = probabilities
        return of_each


class Ridge:
    """Ridge regression of scikit-learn on labels in units of their deviation; C is the inverse penalty."""

    def __init__(self, strength: float = 1.0) -> None:
        self.strength = strength

    def fit(self, columns: Encoded, y: npt.NDArray[Any]) -> Ridge:
        from sklearn.linear_model import Ridge as Learner

        self.scales, self.unit = scales_of(columns.dense), float(y.std()) or 1.0
        self.learner = Learner(1 / self.strength, solver="sparse_cg", tol=1e-6)
        self.learner.fit(_scaled(columns, self.scales), y / self.unit)
        self.n_parameters = columns.n_columns + 1
        return self

    def predict(self, columns: Encoded) -> Floats:
        """The label of each row."""
        return np.asarray(self.unit * self.learner.predict(_scaled(columns, self.scales)))


def _scaled(columns: Encoded, scales: npt.NDArray[Any]) -> Any:
    return replace(columns, dense=columns.dense / scales).to_csr()


def linear_learner(target: Target, strength: float = 1.0) -> Logistic | Ridge:
    """Return the linear learner that suits what is predicted."""
    return Logistic(strength, target) if target.n_classes else Ridge(strength)


def choose_strength(
    train: Encoded,
    y: npt.NDArray[Any],
    held_out: Encoded,
    y_held_out: npt.NDArray[Any],
    target: Target = BINARY,
) -> float:
    """Return the C under which the labels of held-out rows are predicted best."""
    losses = losses_by_strength(train, y, held_out, y_held_out, target)
    return min(losses, key=losses.__getitem__)


def losses_by_strength(
    train: Encoded,
    y: npt.NDArray[Any],
    held_out: Encoded,
    y_held_out: npt.NDArray[Any],
    target: Target = BINARY,
) -> dict[float, float]:
    """Return the loss on held-out rows under each C, the strongest penalty first.

    The first C that is worse than the one before ends the search.
    """
    learner, losses, least = linear_learner(target), {}, math.inf
    for strength in STRENGTHS:
        learner.strength = strength
        losses[strength] = target.loss(y_held_out, learner.fit(train, y).predict(held_out))
        if losses[strength] > least:
            break
        least = losses[strength]
    return losses
