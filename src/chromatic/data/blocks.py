"""Arrays on disk: blocks of them in one file, written one after the other, read one at a time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic._files import open_named
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
        self.path = os.fspath(path)
        self._file: Any = open_named(self.path, self.path) if index is None else open(path, "rb")
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

    def read(self, i: int, only: str | None = None) -> Arrays:
        """The arrays of the i-th block, or one of them, checked: kernels will trust them."""
        arrays = {}
        for name, (kind, shape, offset, checksum) in self.index[i]["arrays"].items():
            if only not in (None, name):
                continue
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

    def elements(self, name: str) -> list[int]:
        """How many elements an array has in each block, 0 where a block has none of that name."""
        shapes = (block["arrays"].get(name, (None, [0]))[1] for block in self.index)
        return [int(np.prod(shape)) for shape in shapes]

    def sizes(self) -> list[int]:
        """The bytes of each block."""

        def size(kind: str, shape: list[int]) -> int:
            return np.dtype(kind).itemsize * int(np.prod(shape))

        arrays = (block["arrays"].values() for block in self.index)
        return [sum(size(*placed[:2]) for placed in block) for block in arrays]

    def largest(self, fact: str) -> int:
        """The largest of a number over all blocks, 0 where there are none."""
        return max((block[fact] for block in self.index), default=0)


def narrowed(numbers: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """Return a byte for each number where that gives back the very same numbers."""
    with np.errstate(invalid="ignore"):
        narrow = numbers.astype(np.int8)
    same = narrow.astype(np.float64).view(np.int64) == numbers.view(np.int64)
    return narrow if same.all() else numbers
