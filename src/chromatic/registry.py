"""The encodings, by name. A new one is a module and a line here (docs/adding-an-encoding.md)."""

from __future__ import annotations

import importlib
from typing import Any

from chromatic.errors import InputError

# Classes are named, not imported: a command that needs no encoding loads none.
ENCODINGS = {
    "submodular": "chromatic.encoding.submodular.SubmodularEncoding",
    "target": "chromatic.encoding.target.TargetEncoding",
    "frequency": "chromatic.encoding.frequency.FrequencyEncoding",
    "identity": "chromatic.encoding.frequency.IdentityEncoding",
}
# What these become where labels are not of two kinds; model files know them.
OF_OTHER_LABELS = {
    "means": "chromatic.encoding.means.MeansEncoding",
    "classes": "chromatic.encoding.classes.ClassesEncoding",
}


def encoding_class(name: str) -> Any:
    """Return the class of an encoding, a subclass of `chromatic.encoding.protocol.Encoding`.

    >>> encoding_class("target").__name__
    'TargetEncoding'
    """
    known = ENCODINGS | OF_OTHER_LABELS
    if name not in known:
        raise InputError(f"encoding is {name!r}; expected one of {', '.join(ENCODINGS)}")
    module, _, attribute = known[name].rpartition(".")
    return getattr(importlib.import_module(module), attribute)
