"""Models and test rows to report on."""

from dataclasses import replace

import numpy as np

from chromatic.data import Reader
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


def coded(model, rows, labels=None):
    """Test rows for a model."""
    test = Reader().read(rows, vocabulary=model.encoding.vocabulary).rows
    return test if labels is None else labelled(test, labels)
