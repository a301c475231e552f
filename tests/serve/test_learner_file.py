"""The file of a linear model: what is written predicts as the estimator does, and what lies is refused."""

import json

import numpy as np
import pytest
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from chromatic.errors import InputError
from chromatic.serve import load_learner, save_learner

RANDOM = np.random.default_rng(0)
X = RANDOM.random((300, 7)) * (RANDOM.random((300, 7)) < 0.4)
SCORE = X @ RANDOM.normal(size=7)
TWO = (SCORE > np.median(SCORE)).astype(int)
THREE = np.array(["low", "middle", "high"])[np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.6]))]


def predicted(learner):
    return np.array([learner.predict(np.flatnonzero(row), row[row != 0]) for row in X])


@pytest.mark.parametrize(
    ("classifier", "y"),
    [
        (LogisticRegression(), TWO),
        (LogisticRegression(), TWO.astype(bool)),
        (LogisticRegression(fit_intercept=False), np.array(["no", "yes"])[TWO]),
        (LogisticRegression(), THREE),
        (SGDClassifier(loss="log_loss", random_state=0), TWO),
        (SGDClassifier(loss="log_loss", random_state=0), THREE),
    ],
    ids=lambda given: None if isinstance(given, np.ndarray) else str(given)[:40],
)
def test_a_classifier_gives_the_same_probabilities(classifier, y, tmp_path):
    classifier.fit(X, y)
    save_learner(classifier, tmp_path / "l.json")
    learner = load_learner(tmp_path / "l.json")
    assert learner.classes == tuple(classifier.classes_.tolist()) and learner.n_columns == 7
    np.testing.assert_allclose(predicted(learner), classifier.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("regressor", [LinearRegression(), Ridge(fit_intercept=False)], ids=str)
def test_a_regressor_gives_the_same_numbers(regressor, tmp_path):
    save_learner(regressor.fit(X, SCORE), tmp_path / "l.json")
    learner = load_learner(tmp_path / "l.json")
    assert learner.classes is None
    np.testing.assert_allclose(predicted(learner)[:, 0], regressor.predict(X))


@pytest.mark.parametrize(
    ("estimator", "y", "told"),
    [
        (LinearSVC(), TWO, "what LinearSVC predicts is not made of its coef_"),
        (PoissonRegressor(), SCORE - SCORE.min(), "what PoissonRegressor predicts is not made of"),
        (Ridge(), np.c_[SCORE, SCORE], "what Ridge predicts is not made of its coef_"),
        (OneVsRestClassifier(LogisticRegression()), THREE, "OneVsRestClassifier has no coef_"),
    ],
    ids=lambda given: None if isinstance(given, np.ndarray) else str(given)[:40],
)
def test_what_is_no_such_model_is_refused(estimator, y, told, tmp_path):
    with pytest.raises(InputError, match=told):
        save_learner(estimator.fit(X, y), tmp_path / "l.json")
    assert list(tmp_path.iterdir()) == []


GOOD = {
    "format": "chromatic learner",
    "version": 1,
    "link": "softmax",
    "classes": ["a", "b", "c"],
    "intercept": [0, 1, 2.5],
    "coef": [[1, 2], [3, 4], [5, 6]],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "another"},
        {"version": 2},
        {"link": "eval"},
        {"link": []},
        {"link": "identity"},
        {"link": "logistic"},
        {"classes": None},
        {"classes": ["a", "b"]},
        {"classes": ["a", "a", "b"]},
        {"classes": ["a", ["b"], "c"]},
        {"intercept": [0, 1]},
        {"intercept": [0, 1, "2"]},
        {"coef": [[1, 2], [3, 4]]},
        {"coef": [[1, 2], [3, 4], [5]]},
        {"coef": [[1, 2], [3, 4], [5, "6"]]},
        {"coef": [[True, False]] * 3},
        {"coef": [[1, 2], [3, 4], [5, 10**400]]},
        {"coef": [[1, 2], [3, 4], [5, float("nan")]]},
        {"coef": {}},
    ],
    ids=str,
)
def test_a_file_that_is_wrong_is_refused_with_its_name(wrong, tmp_path):
    path = tmp_path / "l.json"
    path.write_text(json.dumps(GOOD))
    assert load_learner(path).coef.tolist() == [[1, 2], [3, 4], [5, 6]]
    path.write_text(json.dumps(GOOD | wrong))
    with pytest.raises(InputError, match=r"l\.json: is no file of a learner"):
        load_learner(path)


NO_LEARNERS = [b"", b"{}", b"[]", b"[" * 9000, b"\xff", b'{"format": "chromatic learner", "version": 1}']


@pytest.mark.parametrize("text", NO_LEARNERS, ids=range(len(NO_LEARNERS)))
def test_what_is_no_such_file_is_refused(text, tmp_path):
    (tmp_path / "l.json").write_bytes(text)
    with pytest.raises(InputError, match=r"l\.json: is no file of a learner"):
        load_learner(tmp_path / "l.json")
    with pytest.raises(InputError, match="no such file"):
        load_learner(tmp_path / "nothing.json")
