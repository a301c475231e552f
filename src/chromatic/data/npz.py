"""A CSR matrix in one npz file, as scipy's load_npz reads it, with labels and names beside it."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import replace
from typing import IO, Any

import numpy as np

from chromatic.data.batch import Batch
from chromatic.data.counting import count
from chromatic.data.interning import intern
from chromatic.data.names import Names
from chromatic.data.objects import batch_of_matrix
from chromatic.data.source import read_whole
from chromatic.errors import MEMORY_RAN_OUT, in_file

MOST_EXPANDED = 1 << 30  # bytes that any file may expand to
MOST_TIMES = 100  # and how many times its own size a larger one may


def read_npz(path: str, file: io.BufferedReader) -> Batch:
    """One batch; column j is the integer j, or the j-th name where there are names."""
    from scipy.sparse import load_npz

    data = read_whole(path, file)
    try:
        _check_sizes(data)
        matrix = load_npz(data)
        batch = batch_of_matrix(matrix)
        data.seek(0)
        with np.load(data, allow_pickle=False) as arrays:
            labels = arrays.get("labels")
            offsets, text = arrays.get("name_offsets"), arrays.get("name_bytes")
    except MemoryError as error:
        raise in_file(path, None, MEMORY_RAN_OUT) from error
    except Exception as error:  # numpy, scipy and zipfile raise all kinds on files that are damaged
        problem = f"is no npz file of a sparse matrix ({error})".replace("\n", " ")
        raise in_file(path, None, problem) from error
    n_rows, n_columns = matrix.shape
    if labels is not None:
        if labels.shape != (n_rows,) or labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
            raise in_file(path, None, f"its labels are not {n_rows:,} finite numbers, one a row")
        batch = replace(batch, labels=labels.astype(np.float64))
    if offsets is None and text is None:
        return batch
    names = _names(offsets, text, n_columns)
    if names is None:
        raise in_file(path, None, f"its names are not {n_columns:,} strings, one a column")
    ids, tokens = intern(names.data, names.offsets[:-1], names.offsets[1:])
    if len(tokens.hashes) < n_columns:
        raise in_file(path, None, "two of its columns have one name; expected different ones")
    return replace(batch, ids=ids[batch.ids], tokens=tokens)


def _check_sizes(data: io.BytesIO) -> None:
    """Refuse members that are not as long as their header says, before any memory is taken for them."""
    total = 0
    with zipfile.ZipFile(data) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as member:
                version = np.lib.format.read_magic(member)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = read(member)
                size = member.tell() + math.prod(shape) * dtype.itemsize
                if dtype.hasobject or size != entry.file_size:
                    raise ValueError(f"{entry.filename} is not as long as it says")
            total += entry.file_size
    if total > max(MOST_EXPANDED, MOST_TIMES * data.getbuffer().nbytes):
        raise ValueError(f"it expands to {total:,} bytes, more than {MOST_TIMES} times its size")
    data.seek(0)


def _names(offsets: Any, text: Any, count: int) -> Names | None:
    """Names from the arrays of a file, None where they do not fit together."""
    if offsets is None or text is None or offsets.dtype.kind not in "iu" or text.dtype != np.uint8:
        return None
    if offsets.shape != (count + 1,) or text.ndim != 1:
        return None
    offsets = offsets.astype(np.int64)
    if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        return None
    return Names(offsets, np.ascontiguousarray(text))


def write_npz(file: IO[bytes], batches: list[Batch]) -> None:
    """Write batches without numeric columns, which are all of integers or all of names."""
    arrays: dict[str, Any] = {}
    columns = [batch.ids for batch in batches]
    if any(batch.tokens is not None for batch in batches):
        batches = [batch.with_names() for batch in batches]
        counted = count(batches)
        numbers = np.arange(len(counted.keys), dtype=np.uint32)
        number_of = counted.by_batch(numbers)
        columns = [number_of(i)[batch.ids] for i, batch in enumerate(batches)]
        names = counted.names(np.arange(len(counted.keys)))
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
