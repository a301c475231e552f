"""What learners predict, and how that is judged: labels of two kinds, of several classes, or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from chromatic.errors import InputError
from chromatic.fitting.labels import class_names, facts_of, settled
from chromatic.parameters import DEFAULTS, Settings
from chromatic.registry import encoding_class

Floats = npt.NDArray[np.float64]
LEAST = np.finfo(np.float64).eps


@dataclass(frozen=True)
class Target:
    """Labels of two kinds, 0 and 1; what is predicted is the probability of 1."""

    kind: ClassVar[str] = "binary"  # the target_type that it is
    loss_name: ClassVar[str] = "log loss"
    base_name: ClassVar[str] = "the base rate's log loss"
    figures: ClassVar[tuple[str, ...]] = ("log_loss", "train_log_loss", "auc", "accuracy")
    peers_type: ClassVar[str] = "binary"  # the word of scikit-learn's TargetEncoder
    refused: ClassVar[str | None] = None  # what learners of two kinds of labels cannot learn

    n_classes: int = 2

    @property
    def n_parts(self) -> int:
        """How many encodings share a budget: one, or one for each of several classes."""
        return 1

    def each(self, y: Floats) -> list[Floats]:
        """Return the labels that are learned from: those given, or each class against the others."""
        return [y]

    @property
    def loss_key(self) -> str:
        """The loss in records."""
        return self.figures[0]

    def loss(self, y: Floats, predicted: Floats) -> float:
        """Return the loss of predictions.

        >>> round(BINARY.loss(np.array([1.0, 0.0]), np.array([0.5, 1.0])), 4)
        18.3684
        """
        return _mean_log_loss(np.where(y == 1, predicted, 1 - predicted))

    def base(self, y: Floats) -> Any:
        """Return what a model predicts for any row that knows training labels alone."""
        return np.array([y.mean()])

    def base_loss(self, y: Floats, y_test: Floats) -> float:
        """Return the loss on test rows of a model that knows the labels of training rows alone."""
        return self.loss(y_test, np.repeat(self.base(y), len(y_test), axis=0))

    def measured(self, y: Floats, predicted: Floats) -> dict[str, float | None]:
        """Return the figures of predictions for test rows."""
        from sklearn.metrics import accuracy_score, roc_auc_score

        both = len(np.unique(y)) == 2
        return {
            "log_loss": self.loss(y, predicted),
            "auc": float(roc_auc_score(y, predicted)) if both else None,
            "accuracy": float(accuracy_score(y, predicted > 0.5)),
        }


@dataclass(frozen=True)
class Classes(Target):
    """Several classes, by their numbers; what is predicted is the probability of each."""

    kind = "classes"
    figures = ("log_loss", "train_log_loss", "accuracy")
    peers_type = "multiclass"
    refused = "several classes"

    @property
    def n_parts(self) -> int:
        return self.n_classes

    def each(self, y: Floats) -> list[Floats]:
        return [np.asarray(y == one, np.float64) for one in range(self.n_classes)]

    def loss(self, y: Floats, predicted: Floats) -> float:
        """Return the multinomial log loss.

        >>> round(Classes(3).loss(np.array([2.0]), np.array([[0.25, 0.25, 0.5]])), 4)
        0.6931
        """
        return _mean_log_loss(np.take_along_axis(predicted, y.astype(np.int64)[:, None], axis=1))

    def base(self, y: Floats) -> Any:
        return np.bincount(y.astype(np.int64), minlength=self.n_classes)[None, :] / len(y)

    def measured(self, y: Floats, predicted: Floats) -> dict[str, float | None]:
        right = predicted.argmax(axis=1) == y
        return {"log_loss": self.loss(y, predicted), "accuracy": float(right.mean())}


@dataclass(frozen=True)
class Numbers(Target):
    """Labels that are numbers, and predictions of them."""

    kind = "numbers"
    loss_name = "RMSE"
    base_name = "the mean label's RMSE"
    figures = ("rmse", "train_rmse", "r2")
    peers_type = "continuous"
    refused = "numbers"

    n_classes: int = 0

    def loss(self, y: Floats, predicted: Floats) -> float:
        """Return the root of the mean squared error.

        >>> Numbers().loss(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
        3.0
        """
        return float(np.sqrt(np.mean((y - predicted) ** 2)))

    def measured(self, y: Floats, predicted: Floats) -> dict[str, float | None]:
        loss, variance = self.loss(y, predicted), float(y.var())
        return {"rmse": loss, "r2": 1 - loss * loss / variance if variance > 0 else None}


BINARY = Target()


def _mean_log_loss(of_label: Floats) -> float:
    """Return the log loss as scikit-learn has it, without its copies, by the probability of each label."""
    np.clip(of_label, LEAST, 1 - LEAST, out=of_label)
    return float(-np.log(of_label, out=of_label).mean())


def kind_of(labels: npt.NDArray[Any], target_type: str, where: str, texts: tuple[str, ...] = ()) -> str:
    """Return what labels are, as a fit with this `target_type` takes them; refuse what is no good.

    With texts, labels are the numbers of these.
    """
    settings = Settings(target_type=target_type)  # type: ignore[arg-type]
    return facts_of(labels, where, texts).kind(encoding_class(DEFAULTS.encoding), settings)


def labels_of(
    train: npt.NDArray[Any], test: npt.NDArray[Any], target_type: str
) -> tuple[Target, Floats, Floats]:
    """Return what the labels of two sets are, and both as numbers; training rows say what there is."""
    kind = kind_of(train, target_type, "the label of training rows")
    numbers, classes = settled(train, kind)
    if classes is None:
        wrong = int((~np.isfinite(test)).sum())
        if wrong:
            raise InputError(
                f"the label of test rows is NaN or infinite in {wrong:,} of {len(test):,} rows; filter "
                "those, or give them labels"
            )
        return Numbers(), numbers, np.asarray(test, np.float64)
    places = np.minimum(np.searchsorted(classes, test), len(classes) - 1)
    others = test[classes[places] != test]
    if len(others):
        known = class_names(classes[:4]) + ["..."] * (len(classes) > 4)
        other, expected = class_names(others)[0], " or ".join(known)
        raise InputError(f"a test row has the label {other}; expected {expected}, as in training")
    return target_of(classes), numbers, places.astype(np.float64)


def target_of(classes: npt.NDArray[Any] | None) -> Target:
    """Return what is predicted: one of these classes or, where there are none, a number."""
    if classes is None:
        return Numbers()
    return BINARY if len(classes) == 2 else Classes(len(classes))
