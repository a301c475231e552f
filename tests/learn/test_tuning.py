"""Settings are chosen on rows that the encoder has not seen, and the choice is the same every time."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from chromatic import ChromaticEncoder
from chromatic.data import Reader
from chromatic.errors import InputError
from chromatic.learn import tuning
from chromatic.learn.tuning import Trial, Tuner, best_first, tune
from chromatic.parameters import Settings


def batches_of(X, y):
    return tuning._labelled([Reader().batches(X)], [y])[0]


def rounded(trials):
    """Return what was tried without the seconds, which differ from run to run."""
    return [(one.changed, one.loss, one.columns, one.strength, one.error) for one in trials]


def test_a_trial_is_logistic_regression_on_columns_that_do_not_know_the_held_out_rows(clicks):
    X, y = clicks
    tuner = Tuner.of(batches_of(X, y), "last", Settings(budget=32))
    first = next(tuner.trials())
    encoder = ChromaticEncoder(budget=32)
    train, test = encoder.fit_transform(X[:2400], y[:2400]), encoder.transform(X[2400:])
    losses = {}
    for C in (0.01, 0.1, 1.0):
        learner = LogisticRegression(C=C, solver="newton-cg", max_iter=300).fit(train, y[:2400])
        losses[C] = log_loss(y[2400:], learner.predict_proba(test)[:, 1])
    assert first.loss == pytest.approx(min(losses.values()), abs=1e-4)
    assert first.strength == min(losses, key=losses.get)
    assert (first.changed, first.columns) == ({}, train.shape[1])


def test_each_parameter_is_tried_with_the_best_of_those_before(clicks):
    X, y = clicks
    tuner = Tuner.of(batches_of(X, y), "random", Settings(budget=100))
    dear = float(round(4 * np.log(3000)))
    assert tuner.plan == [
        ("linear", [0]),
        ("max_colors", [16, 64]),
        ("smoothing", [200.0]),
        ("min_gain", [dear]),
        ("budget", [25]),
    ]
    trials = list(tuner.trials())
    assert len(trials) == tuner.n_trials == 7
    tried = [set(one.changed) for one in trials]
    for i, (name, n_before) in enumerate([("linear", 1), ("max_colors", 2), ("smoothing", 4)]):
        best = best_first(trials[:n_before])[0].changed
        assert trials[n_before].changed == best | {name: tuner.plan[i][1][0]}
    assert "budget" in tried[-1]


def test_what_a_user_set_stays(clicks):
    X, y = clicks
    given = Settings(budget=64, linear=4, max_colors=8, smoothing=3.0, min_gain=2.0)
    assert Tuner.of(batches_of(X, y), "last", given).plan == [("budget", [16])]
    by_paper = Settings.paper(64, smoothing="auto")
    assert [name for name, _ in Tuner.of(batches_of(X, y), "last", by_paper).plan] == [
        "smoothing",
        "budget",
    ]


def test_the_default_palette_is_not_tried_twice(clicks):
    X, y = clicks
    plan = dict(Tuner.of(batches_of(X, y), "last", Settings(64, encoding="target")).plan)
    assert plan["max_colors"] == [32, 64]


def test_among_equal_losses_fewer_columns_win_and_then_the_earlier():
    def trial(changed, log_loss, columns):
        return Trial(Settings(), changed, seconds=1.0, loss=log_loss, columns=columns)

    trials = [
        trial({"linear": 0}, None, None),
        trial({}, 0.5, 20),
        trial({"smoothing": 200.0}, 0.5, 10),
        trial({"min_gain": 9.0}, 0.5, 10),
        trial({"budget": 5}, 0.4, 90),
    ]
    assert [*map(trials.index, best_first(trials))] == [4, 2, 3, 1, 0]


def test_settings_that_cannot_be_fitted_are_told_and_come_last(clicks):
    X, y = clicks
    X = [[*row, "always", "ever"] for row in X]
    given = Settings(budget=16, encoding="target", max_colors="proper")
    trials = best_first(list(Tuner.of(batches_of(X, y), "last", given).trials()))
    assert trials[-1].changed["budget"] == 4 and trials[-1].loss is None
    assert "budget" in trials[-1].error
    with pytest.raises(InputError, match="budget"):
        list(Tuner.of(batches_of(X, y), "last", replace(given, budget=3)).trials())


def test_where_there_are_very_many_rows_some_judge_and_the_figures_say_so(clicks, monkeypatch):
    X, y = clicks
    monkeypatch.setattr(tuning, "MOST_JUDGED", 500)
    tuner = Tuner.of(batches_of(X, y), "random", Settings(budget=32))
    assert "learns from 500 of 2,400 rows and is judged on 500 of 600 held-out rows" in tuner.sentence
    few = next(tuner.trials())
    monkeypatch.setattr(tuning, "MOST_JUDGED", 5000)
    every = next(tuner.trials())
    assert few.columns == every.columns, "the encoder learns from all rows"
    assert few.loss != every.loss


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_is_tried_and_found_every_time(clicks, threads):
    X, y = clicks
    tuners = [Tuner.of(batches_of(X, y), "random", Settings(64, threads=n)) for n in (2, threads)]
    first, again = (rounded(best_first(list(tuner.trials()))) for tuner in tuners)
    assert first == again


def test_python_gives_an_encoder_that_is_fitted_to_all_rows_with_the_best_settings(clicks, tmp_path):
    X, y = clicks
    given = ChromaticEncoder(budget=64)
    before = given.get_params()
    answers = np.array(["no", "yes"])[y]  # a model keeps what its labels stand for
    tuned = tune(given, X, answers, validation="last")
    assert given.get_params() == before and not hasattr(given, "model_")
    best = clone(given).set_params(**tuned.trials[0].changed).fit(X, answers)
    for name, encoder in (("tuned", tuned.encoder), ("fitted", best)):
        encoder.save(tmp_path / name)
    assert (tmp_path / "tuned").read_bytes() == (tmp_path / "fitted").read_bytes()
    assert tuned.trials == best_first(tuned.trials)


@pytest.mark.filterwarnings("ignore::chromatic.errors.InputWarning")  # no column is the best choice
def test_later_rows_choose_what_holds_there(clicks):
    """Where rates of training say nothing of later rows, what trusts them least is chosen."""
    X, y = clicks
    moved = np.random.default_rng(1).permutation(y)
    by_time = tune(ChromaticEncoder(budget=64), X, y, validation=(X, moved)).trials
    as_before = tune(ChromaticEncoder(budget=64), X, y, validation=(X[:900], y[:900])).trials
    as_given = next(one for one in by_time if not one.changed)
    assert by_time[0].loss < as_given.loss
    assert by_time[0].columns < as_before[0].columns


def test_files_are_tuned_as_rows_are(clicks, tmp_path):
    X, y = clicks
    path = tmp_path / "rows.tokens"
    path.write_text("".join(f"{label} {' '.join(row)}\n" for row, label in zip(X, y, strict=True)))
    of_file = tune(ChromaticEncoder(budget=32), str(path), validation=(str(path), None))
    of_rows = tune(ChromaticEncoder(budget=32), X, y, validation=(X, y))
    assert rounded(of_file.trials) == rounded(of_rows.trials)


def test_fields_of_a_table_and_distinct_values_are_those_of_a_fit(clicks):
    X, y = clicks
    table = pd.DataFrame([[token.split("=")[1] for token in row] for row in X], columns=[*"abcd"])
    values = [{f"n{row[0]}": float(len(row[1])), row[1]: 1.0} for row in X]
    for more, rows in (({"coloring": "fields"}, table), ({"values": "distinct"}, values)):
        tuned = tune(ChromaticEncoder(budget=32, **more), rows, y, validation="last")
        part = rows[:2400] if isinstance(rows, list) else rows.iloc[:2400]
        columns = ChromaticEncoder(budget=32, **more).fit(part, y[:2400]).n_columns_
        assert next(one for one in tuned.trials if not one.changed).columns == columns
        assert ("max_colors" in {name for one in tuned.trials for name in one.changed}) == (
            "values" in more
        )


@pytest.mark.parametrize(
    ("given", "y", "validation", "message"),
    [
        ({}, None, "random", "the training rows have no labels; expected labels of two kinds"),
        ({}, [1] * 60, "random", "y is 1 in all 60 rows, there is only one class; expected two"),
        ({}, [1, 0] * 29 + [2, 3], "random", "y has whole numbers of more than two kinds, 0 to 3, in 60"),
        ({}, [0, 1] * 20 + [1] * 20, "last", "the rows that are held out have labels of one kind"),
        ({}, [1] * 50 + [0] * 10, "last", "the rows that are left to train on have labels of one kind"),
        ({}, [0, 1] * 30, "later", "validation is 'later'; expected random, last, or a tuple of X and y"),
        ({}, [0, 1] * 30, ([["a"]], None), "one of y and validation's y is None; expected both, or none"),
        ({}, [0, 1] * 30, ([["a"]] * 2, [1, 1]), "the rows for validation have labels of one kind"),
        ({}, [0, 1] * 20, "random", "60 rows and 40 labels; expected one label a row"),
        ({"encoding": "frequency"}, [0, 1] * 30, "random", "levels are no numbers for lr; take submodular"),
        ({"memory": "8G"}, [0, 1] * 30, "random", "memory is '8G' and tuning holds all rows in memory"),
    ],
)
def test_what_cannot_be_tuned_is_refused(given, y, validation, message):
    X = [[f"a{i % 7}", f"b{i}"] for i in range(60)]
    with pytest.raises(InputError, match=message):
        tune(ChromaticEncoder(**given), X, y, validation=validation)


def test_too_few_rows_are_refused():
    with pytest.raises(
        InputError, match="there are 9 rows, too few to hold a fifth out; expected 10 or more"
    ):
        tune(ChromaticEncoder(), [["a"]] * 9, [0, 1, 1] * 3)
