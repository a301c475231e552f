"""A batch as arrays, as a file of blocks keeps them, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from chromatic.data.batch import Batch, Tokens
from chromatic.data.blocks import Arrays, narrowed
from chromatic.data.names import Names


def indptr_of(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
    """Return where rows begin, from their lengths."""
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def arrays_of(batch: Batch) -> Arrays:
    """Return what a file keeps of a batch."""
    arrays: Arrays = {
        "lengths": np.diff(batch.indptr).astype(np.uint32),
        "ids": batch.ids,
        "value_at": batch.value_at,
        "values": batch.values,
    }
    if batch.labels is not None:
        arrays["labels"] = narrowed(batch.labels)
    for name in ("numeric", "weights", "groups"):
        if getattr(batch, name) is not None:
            arrays[name] = getattr(batch, name)
    if batch.tokens is not None:
        tokens = batch.tokens
        arrays["hashes"] = tokens.hashes
        if tokens.names is not None:
            arrays["name_offsets"], arrays["name_bytes"] = tokens.names.offsets, tokens.names.data
        if tokens.integers is not None:
            arrays["integers"] = tokens.integers
        if tokens.fields is not None:
            arrays["fields"] = tokens.fields
    return arrays


def batch_of(arrays: Arrays) -> Batch:
    """Return the batch that a file keeps."""
    tokens, labels = None, arrays.get("labels")
    if "hashes" in arrays:
        names = None
        if "name_offsets" in arrays:
            names = Names(arrays["name_offsets"], arrays["name_bytes"])
        tokens = Tokens(arrays["hashes"], names, arrays.get("integers"), arrays.get("fields"))
    return Batch(
        indptr=indptr_of(arrays["lengths"]),
        ids=arrays["ids"],
        labels=None if labels is None else labels.astype(np.float64),
        value_at=arrays["value_at"],
        values=arrays["values"],
        tokens=tokens,
        numeric=arrays.get("numeric"),
        weights=arrays.get("weights"),
        groups=arrays.get("groups"),
    )
