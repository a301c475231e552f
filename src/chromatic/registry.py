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


def encoding_class(name: str) -> Any:
    """Return the class of an encoding, a subclass of `chromatic.encoding.protocol.Encoding`.

    >>> encoding_class("target").__name__
    'TargetEncoding'
    """
    if name not in ENCODINGS:
        raise InputError(f"encoding is {name!r}; expected one of {', '.join(ENCODINGS)}")
    module, _, attribute = ENCODINGS[name].rpartition(".")
    return getattr(importlib.import_module(module), attribute)
