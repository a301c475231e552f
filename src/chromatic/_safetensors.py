"""The safetensors format: JSON and arrays in one file, no code. A file that lies is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from chromatic.data.checked import Arrays, must

LONGEST_HEADER = 100_000_000  # bytes, as the format has it
_TYPES = {"U64": "<u8", "I64": "<i8", "F64": "<f8", "F32": "<f4", "U32": "<u4", "I32": "<i4", "U8": "u1"}


def safetensors_of(arrays: Arrays, metadata: dict[str, str]) -> Iterator[Any]:
    """Yield the parts of a file. (The library's own writer copies all arrays twice first.)"""
    kinds = {np.dtype(dtype): kind for kind, dtype in _TYPES.items()}
    order = list(kinds)  # as the library has it
    names = sorted(arrays, key=lambda name: (order.index(arrays[name].dtype), name))
    header: dict[str, Any] = {"__metadata__": metadata}
    at = 0
    for name in names:
        array = arrays[name]
        place = [at, at + array.nbytes]
        header[name] = {
            "dtype": kinds[array.dtype],
            "shape": list(array.shape),
            "data_offsets": place,
        }
        at = place[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        yield arrays[name].reshape(-1).view(np.uint8).data


def contents_of(file: IO[bytes]) -> tuple[Any, Arrays]:
    """Return the metadata and the arrays of a file, whose arrays must follow each other without gaps.

    The library maps files, and a file that shrinks while it is mapped ends the process. So this reads, and
    takes memory only for what the file is long enough to hold.
    """
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    must(8 + length <= size and length <= LONGEST_HEADER, f"its header cannot have {length} bytes")
    header = json.loads(file.read(length), object_pairs_hook=_once)
    facts = json.loads(header.pop("__metadata__", {}).get("chromatic", "null"), object_pairs_hook=_once)
    at, room, arrays = 0, size - 8 - length, {}
    for name, told in sorted(header.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        dtype = np.dtype(_TYPES[told["dtype"]])
        (count,), (begin, end) = told["shape"], told["data_offsets"]
        fits = type(count) is type(begin) is type(end) is int and begin == at and at <= end <= room
        must(fits and end - begin == count * dtype.itemsize, f"the array {name} is not where it should be")
        arrays[name] = np.fromfile(file, dtype, count)
        must(len(arrays[name]) == count, "it ends too early")
        at = end
    must(at == room, "something follows its arrays")
    return facts, arrays


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object in which no key stands twice."""
    unique = dict(pairs)
    must(len(unique) == len(pairs), "a key stands twice in its JSON")
    return unique
