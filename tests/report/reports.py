"""Models and test rows to report on."""

from dataclasses import fields, replace

import numpy as np

from chromatic.data import Reader
from chromatic.encoding.protocol import Words
from chromatic.encoding.submodular import SubmodularEncoding
from chromatic.fitting import LocalSource, fit
from chromatic.model import Model
from chromatic.parameters import Settings

HOSTILE = "</script><script>document.title='caught'</script><img src=x onerror=document.title='caught'>"


def labelled(rows, labels):
    return replace(rows, labels=np.asarray(labels, np.float64))


def fitted(rows, labels, *, dense_threshold=0.5, keep_names=True, **settings):
    """A model of rows of features."""
    data = Reader().read(rows, dense_threshold=dense_threshold, keep_names=keep_names)
    y = None if labels is None else np.asarray(labels, np.float64)
    return Model(
        fit(LocalSource(data, y), Settings(**settings)).encoding, settings | {"quantizer": "optimal"}
    )


class ScoredEncoding(SubmodularEncoding):
    """An encoding that somebody adds, with a measure that the report has not heard of."""

    measure_key = "score"
    words = Words(columns="A column is <mine>.", measure="mean score", first="strongest")


def scored(model):
    """The model with its encoding as a `ScoredEncoding`."""
    values = {field.name: getattr(model.encoding, field.name) for field in fields(model.encoding)}
    return replace(model, encoding=ScoredEncoding(**values))


def coded(model, rows, labels=None):
    """Test rows for a model."""
    test = Reader().read(rows, vocabulary=model.encoding.vocabulary).rows
    return test if labels is None else labelled(test, labels)
