"""The file of a linear model of columns: plain JSON, which any program may write; no code."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from chromatic._files import replacing
from chromatic.data.checked import finite, must
from chromatic.errors import InputError, in_file

FORMAT = "chromatic learner"
VERSION = 1
PROBES = 16  # made-up rows that tell how an estimator makes probabilities

Numbers = npt.NDArray[np.float64]


def _identity(scores: Numbers) -> Numbers:
    return scores


def _sigmoid(scores: Numbers) -> Numbers:
    from scipy.special import expit

    each: Numbers = expit(scores)
    return each


def _logistic(scores: Numbers) -> Numbers:
    return np.concatenate((_sigmoid(-scores), _sigmoid(scores)), axis=-1)


def _softmax(scores: Numbers) -> Numbers:
    each = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(each / each.sum(axis=-1, keepdims=True))


def _one_vs_rest(scores: Numbers) -> Numbers:
    each = _sigmoid(scores) + np.finfo(np.float64).tiny  # where all are 0, all are alike
    return np.asarray(each / each.sum(axis=-1, keepdims=True))


LINKS: dict[str, Callable[[Numbers], Numbers]] = {
    "identity": _identity,  # a number
    "logistic": _logistic,  # two classes, one score
    "softmax": _softmax,  # a score for each class
    "one-vs-rest": _one_vs_rest,
}


@dataclass(frozen=True)
class Learner:
    """A linear model of a model's columns: scores, and the link that makes them probabilities."""

    link: str  # of LINKS
    coef: Numbers  # outputs × columns
    intercept: Numbers  # one for each output
    classes: tuple[Any, ...] | None = None  # None: a number is predicted

    @property
    def n_columns(self) -> int:
        """The number of columns that it was trained on."""
        return int(self.coef.shape[1])

    def predict(self, columns: npt.NDArray[Any], values: npt.NDArray[Any]) -> Numbers:
        """Return the probability of each class, or the number, of a row of these columns and values."""
        return LINKS[self.link](self.coef[:, columns] @ values + self.intercept)

    def check_fits(self, n_columns: int, path: str) -> None:
        """Refuse a model of another number of columns."""
        if self.n_columns != n_columns:
            raise in_file(
                path,
                None,
                f"has coefficients of {self.n_columns:,} columns, and the model has {n_columns:,}; "
                "expected the learner that was trained on the columns of this model",
            )


def save_learner(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted linear model of scikit-learn to a file that `chromatic serve --learner` reads.

    Parameters
    ----------
    estimator : estimator with `coef_` and `intercept_`
        A classifier that gives probabilities, such as LogisticRegression, or a regressor, such as Ridge,
        that was trained on the columns of a model.
    path : str or path
        The file, which is JSON.
    """
    learner = _learner_of(estimator)
    told = {
        "format": FORMAT,
        "version": VERSION,
        "link": learner.link,
        "classes": None if learner.classes is None else list(learner.classes),
        "intercept": learner.intercept.tolist(),
        "coef": learner.coef.tolist(),
    }
    with replacing(path) as file:
        file.write(f"{json.dumps(told, allow_nan=False)}\n".encode())


def load_learner(path: str | os.PathLike[str]) -> Learner:
    """Read a linear model that `save_learner` wrote, or any program that keeps to the format.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Learner
        The linear model.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            told = json.loads(file.read(), parse_constant=no_number)
        return _checked(told)
    except FileNotFoundError as error:
        raise in_file(path, None, "no such file; check the path") from error
    except (KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        raise in_file(
            path, None, f"is no file of a learner ({error}); expected one that save_learner wrote"
        ) from error


def no_number(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's reader of JSON takes and JSON does not have."""
    raise ValueError(f"{constant} is no number of JSON")


def _checked(told: Any) -> Learner:
    must(isinstance(told, dict) and told.get("format") == FORMAT, f"its format is not {FORMAT!r}")
    must(told.get("version") == VERSION, f"its version is {told.get('version')!s:.20}, not {VERSION}")
    must(told["link"] in LINKS, f"the link is {told['link']!s:.20}, not one of {', '.join(LINKS)}")
    coef, intercept = _numbers(told, "coef", 2), _numbers(told, "intercept", 1)
    must(len(coef) == len(intercept) > 0, f"{len(coef)} rows of coef have {len(intercept)} of intercept")
    classes = told["classes"]
    if told["link"] == "identity":
        must(classes is None and len(coef) == 1, "a number has one row of coef, and no classes")
        return Learner("identity", coef, intercept)
    plain = isinstance(classes, list) and _are_plain(classes)
    must(plain and len(set(classes)) == len(classes), "the classes are no list of texts or numbers")
    n_outputs = 1 if told["link"] == "logistic" else len(classes)
    must(len(classes) >= 2 and len(coef) == n_outputs, f"{len(classes)} classes have {len(coef)} of coef")
    must(told["link"] != "logistic" or len(classes) == 2, "the link logistic is of two classes")
    return Learner(told["link"], coef, intercept, tuple(classes))


def _are_plain(classes: Sequence[Any]) -> bool:
    """Whether JSON has such classes."""
    return all(isinstance(one, (str, int, float)) for one in classes)


def _numbers(told: dict[str, Any], name: str, n_dimensions: int) -> Numbers:
    array = np.array(told[name])
    good = array.ndim == n_dimensions and (array.dtype.kind in "if" or array.size == 0)
    must(good, f"{name} is no list of numbers" if n_dimensions == 1 else f"{name} is no list of rows")
    finite(array, name)
    return array.astype(np.float64)


def _learner_of(estimator: Any) -> Learner:
    """Return the linear model that an estimator is; refuse one that is none."""
    name = type(estimator).__name__
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "intercept_"):
        raise InputError(
            f"{name} has no coef_ and intercept_; expected a fitted linear model, such as "
            "LogisticRegression or Ridge (of a Pipeline, its last step)"
        )
    coef = np.atleast_2d(np.asarray(estimator.coef_, np.float64))
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, np.float64), len(coef)).copy()
    rows = np.random.default_rng(0).standard_normal((PROBES, coef.shape[1]))
    with warnings.catch_warnings():  # where it was trained on a frame, it misses the names of columns
        warnings.simplefilter("ignore", UserWarning)
        if hasattr(estimator, "predict_proba"):
            classes: tuple[Any, ...] | None = tuple(np.asarray(estimator.classes_).tolist())
            given = np.asarray(estimator.predict_proba(rows))
        else:
            classes, given = None, np.asarray(estimator.predict(rows)).reshape(PROBES, -1)
    scores = rows @ coef.T + intercept
    for link, of_scores in LINKS.items():
        made = of_scores(scores)
        alike = made.shape == given.shape and given.dtype.kind == "f" and np.allclose(made, given)
        if alike and (_are_plain(classes) if classes is not None else given.shape[1] == 1):
            return Learner(link, coef, intercept, classes)
    raise InputError(
        f"what {name} predicts is not made of its coef_ by one of {', '.join(LINKS)}; expected a "
        "classifier that gives probabilities, such as LogisticRegression, or a regressor of one number"
    )
