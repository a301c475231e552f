"""A CSR matrix in one npz file, as scipy's load_npz reads it, with labels and names beside it."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import IO, Any

import numpy as np

from chromatic.data.batch import Batch, Tokens
from chromatic.data.counting import count
from chromatic.data.hashing import hash_spans
from chromatic.data.memory import batch_of_csr
from chromatic.data.names import Names
from chromatic.errors import in_file


def read_npz(path: str, file: IO[bytes]) -> Batch:
    """One batch; column j is the integer j, or the j-th name where there are names."""
    from scipy.sparse import csr_array

    try:
        with np.load(io.BytesIO(file.read()), allow_pickle=False) as arrays:
            parts = arrays["data"], arrays["indices"], arrays["indptr"]
            batch = batch_of_csr(csr_array(parts, shape=tuple(arrays["shape"])))
            if "labels" in arrays:
                batch = replace(batch, labels=arrays["labels"].astype(np.float64))
            if "name_bytes" not in arrays:
                return batch
            names = Names(arrays["name_offsets"].astype(np.int64), arrays["name_bytes"])
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise in_file(path, None, f"is no npz file of a CSR matrix ({error})") from error
    hashes = hash_spans(names.data, names.offsets[:-1], names.offsets[1:])
    return replace(batch, tokens=Tokens(hashes, names))


def write_npz(file: IO[bytes], batches: list[Batch]) -> None:
    """Write batches without numeric columns, which are all of integers or all of names."""
    arrays: dict[str, Any] = {}
    columns = [batch.ids for batch in batches]
    if any(batch.tokens is not None for batch in batches):
        batches = [batch.with_names() for batch in batches]
        found = count(batches, threads=1)
        numbers = np.arange(len(found.keys), dtype=np.uint32)
        columns = [found.in_batch(i, numbers)[batch.ids] for i, batch in enumerate(batches)]
        names = found.names(np.arange(len(found.keys)))
        arrays = {"name_offsets": names.offsets, "name_bytes": names.data}
    indices = np.concatenate(columns).astype(np.int64)
    width = len(arrays["name_offsets"]) - 1 if arrays else int(indices.max(initial=-1)) + 1
    lengths = np.concatenate([np.diff(batch.indptr) for batch in batches])
    arrays |= {
        "format": np.array(b"csr"),
        "shape": np.array([len(lengths), width]),
        "indptr": np.concatenate(([0], np.cumsum(lengths))),
        "indices": indices,
        "data": np.concatenate([batch.all_values() for batch in batches]),
    }
    if batches[0].labels is not None:
        arrays["labels"] = np.concatenate([batch.labels for batch in batches if batch.labels is not None])
    # numpy's own savez writes the time of day into the archive
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, arrays[name], allow_pickle=False)
