"""Arrays on disk: blocks of them in one file, written one after the other, read one at a time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.hashing import hash_bytes
from chromatic.errors import InputError

Arrays = dict[str, npt.NDArray[Any]]


class Blocks:
    """A file of blocks. The index is kept apart: JSON can hold it, and a file without it is nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blocks = Blocks(f"{folder}/blocks")
    ...     blocks.append({"codes": np.arange(3, dtype=np.uint32)}, rows=2)
    ...     again = Blocks(f"{folder}/blocks", blocks.index)
    ...     again.read(0)["codes"].tolist(), again.total("rows")
    ([0, 1, 2], 2)
    """

    def __init__(self, path: str | os.PathLike[str], index: list[dict[str, Any]] | None = None) -> None:
        """A new file, or the one that has this index."""
        # It lives as long as this object does.
        self._file: Any = open(path, "w+b" if index is None else "rb")
        self.path = os.fspath(path)
        self.index = [] if index is None else index

    def __len__(self) -> int:
        return len(self.index)

    def append(self, arrays: Arrays, **facts: int) -> None:
        """Write a block, and remember some numbers with it."""
        self._file.seek(0, os.SEEK_END)
        placed = {}
        for name, array in arrays.items():
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            placed[name] = [array.dtype.str, list(array.shape), self._file.tell(), hash_bytes(content)]
            self._file.write(content.data)
        self._file.flush()
        self.index.append({"arrays": placed, **facts})

    def read(self, i: int) -> Arrays:
        """The arrays of the i-th block, checked: kernels will trust them."""
        arrays = {}
        for name, (kind, shape, offset, checksum) in self.index[i]["arrays"].items():
            array = np.empty(shape, kind)
            content = array.reshape(-1).view(np.uint8)
            self._file.seek(offset)
            if self._file.readinto(content.data) != array.nbytes or hash_bytes(content) != checksum:
                raise InputError(f"{self.path}: is damaged; run the command again to make it anew")
            arrays[name] = array
        return arrays

    def total(self, fact: str) -> int:
        """The sum of a number over all blocks."""
        return sum(block[fact] for block in self.index)

    def largest(self, fact: str) -> int:
        """The largest of a number over all blocks, 0 where there are none."""
        return max((block[fact] for block in self.index), default=0)
