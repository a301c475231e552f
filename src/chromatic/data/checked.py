"""Arrays of a file that may say anything: each is checked before it reaches a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chromatic.data.names import Names

LARGEST = 1e200  # times the rows of any data it is a finite number

Arrays = dict[str, npt.NDArray[Any]]


class CheckedArrays:
    """The arrays of a file by name; what is not as it should be raises a ValueError that says what."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def part(self, prefix: str) -> CheckedArrays:
        """Return the arrays whose names begin so, without that beginning."""
        some = {name: array for name, array in self._arrays.items() if name.startswith(prefix)}
        return CheckedArrays({name.removeprefix(prefix): array for name, array in some.items()})

    def take(self, name: str, kind: type[np.generic], length: int | None = None) -> npt.NDArray[Any]:
        """Return an array of this type and, where one is given, this length."""
        array = self._arrays[name]
        must(array.dtype == kind and array.ndim == 1, f"{name} is not an array of {kind.__name__}")
        must(length is None or len(array) == length, f"{name} has {len(array)} elements, not {length}")
        return array

    def indices(
        self, name: str, kind: type[np.generic], length: int, low: int, high: int
    ) -> npt.NDArray[Any]:
        """Return an array of whole numbers from low to high - 1."""
        array = self.take(name, kind, length)
        within(array, low, high, name)
        return array

    def numbers(self, name: str, length: int | None = None) -> npt.NDArray[np.float64]:
        """Return an array of finite numbers."""
        array = self.take(name, np.float64, length)
        finite(array, name)
        return array

    def summable(self, name: str, length: int | None = None) -> npt.NDArray[np.float64]:
        """Return an array of numbers whose sums, over any rows, are finite too."""
        array = self.numbers(name, length)
        must(bool((np.abs(array) < LARGEST).all()), f"{name} has numbers of {LARGEST:g} and more")
        return array

    def starts(self, name: str, length: int, total: int) -> npt.NDArray[np.int64]:
        """Return ascending positions from 0 to the total."""
        starts = self.take(name, np.int64, length)
        ascends = bool((np.diff(starts) >= 0).all())
        good = len(starts) > 0 and starts[0] == 0 and starts[-1] == total and ascends
        must(good, f"{name} does not divide {total} elements")
        return starts

    def names(self, name: str, length: int | None = None) -> Names:
        """Return names, which a file keeps as bytes and offsets."""
        data = self.take(f"{name}_bytes", np.uint8)
        expected = len(self._arrays[f"{name}_offsets"]) if length is None else length + 1
        return Names(self.starts(f"{name}_offsets", expected, len(data)), data)


def must(holds: bool, what: str) -> None:
    """Raise a ValueError that says what is wrong."""
    if not holds:
        raise ValueError(what)


def within(array: npt.NDArray[Any], low: int, high: int, name: str) -> None:
    """Refuse whole numbers that are not from low to high - 1."""
    good = len(array) == 0 or (int(array.min()) >= low and int(array.max()) < high)
    must(good, f"{name} is out of bounds")


def whole(number: Any, what: str, high: int = 1 << 63) -> int:
    """Return a whole number from 0 to high - 1; refuse anything else."""
    must(type(number) is int and 0 <= number < high, f"{what} is {number!s:.40}")
    return int(number)


def finite(numbers: npt.ArrayLike, name: str) -> None:
    """Refuse infinite numbers and what is no number."""
    must(bool(np.isfinite(numbers).all()), f"{name} has what is no finite number")
