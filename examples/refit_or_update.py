"""Rows come every day: is a model frozen, updated or fitted anew?

    python refit_or_update.py [TRAIN TEST]

The test rows come in ten windows. Each window is predicted by what was learned before it, then learned
from. Without files, rows are made up whose features come and go.
"""

import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from chromatic import ChromaticEncoder
from chromatic.data import Reader

WINDOWS = 10


def made_up(first, n_rows):
    """Rows of three features, of which the names of one come and go with time."""
    random = np.random.default_rng(first)
    at = np.arange(first, first + n_rows)
    topic = (at // 60 + random.integers(0, 40, n_rows)) % 997
    place, user = random.integers(0, 30, n_rows), random.integers(0, 300, n_rows)
    odds = np.sin(7.0 * topic) + np.cos(3.0 * place) + np.sin(5.0 * user)
    rows = [[f"topic{t}", f"place{p}", f"user{u}"] for t, p, u in zip(topic, place, user, strict=True)]
    return rows, (random.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


def read(path):
    """The rows of a file as lists of features, and their labels."""
    data = Reader().read(path, dense_threshold=2.0)
    names = [data.vocabulary.text(code) for code in range(len(data.vocabulary))]
    rows = [[names[code] for code in codes] for codes in np.split(data.rows.codes, data.rows.indptr[1:-1])]
    return rows, data.rows.labels


def fitted(rows, labels):
    """An encoder that later rows can be added to, and a learner on its columns."""
    encoder = ChromaticEncoder(256, keep="statistics")
    learner = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=500))
    return encoder, learner.fit(encoder.fit_transform(rows, labels), labels)


def main(train=None, test=None):
    """Print, for each way, how well the windows were predicted and what the nights took."""
    rows, labels = made_up(0, 6000) if train is None else read(train)
    later, their_labels = made_up(6000, 5000) if test is None else read(test)
    windows = np.array_split(np.arange(len(later)), WINDOWS)
    print(f"{'':26}{'log loss':>9}{'AUC':>7}{'seconds a night':>17}{'columns renamed':>17}")
    for way in ("frozen", "updated every night", "updated, decay 0.8", "refitted every night"):
        encoder, learner = fitted(rows, labels)
        names, renamed, nights = encoder.get_feature_names_out(), 0, 0.0
        known, known_labels, predicted = list(rows), labels, []
        for window in windows:
            new, new_labels = [later[i] for i in window], their_labels[window]
            predicted.append(learner.predict_proba(encoder.transform(new))[:, 1])
            known, known_labels = known + new, np.concatenate((known_labels, new_labels))
            start = time.perf_counter()
            if way.startswith("updated"):
                encoder.update(new, new_labels, decay=0.8 if "decay" in way else 1.0)
            elif way.startswith("refitted"):
                encoder, learner = fitted(known, known_labels)
            nights += time.perf_counter() - start
            renamed += len(set(encoder.get_feature_names_out()) - set(names))
            names = encoder.get_feature_names_out()
        every = np.concatenate(predicted)
        loss, area = log_loss(their_labels, every), roc_auc_score(their_labels, every)
        print(f"{way:26}{loss:9.4f}{area:7.3f}{nights / WINDOWS:17.2f}{renamed / WINDOWS:17.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
