"""Lanes: four numbers side by side in one register, so that a kernel does four sums at the price of one.

Every processor that Numba knows has registers of four 32-bit floats, and each lane is rounded as a number
of its own would be. With the JIT off, four lanes are an array of four float32; where kernels are compiled,
`chromatic._lane_intrinsics` takes the place of these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LANES = 4
MOST = 80.0  # of a logit, so that exp does not overflow


def aligned(n: int) -> Any:
    """Return n times four float32 zeros, none of whose fours is in two lines of the cache."""
    zeros = np.zeros(LANES * n + 16, np.float32)
    first = -zeros.ctypes.data % 64 // zeros.itemsize
    return zeros[first : first + LANES * n]


def load(data: Any, at: Any) -> Any:
    """Return the four lanes data[at:at+4]."""
    return data[int(at) : int(at) + LANES].copy()


def store(data: Any, at: Any, lanes: Any) -> None:
    """Put four lanes into data[at:at+4]."""
    data[int(at) : int(at) + LANES] = lanes


def fill(x: Any) -> Any:
    """Return the same number in all lanes."""
    return np.full(LANES, x, np.float32)


def less(x: Any, y: Any) -> Any:
    """Return whether x < y, for each lane."""
    return x < y


def select(mask: Any, x: Any, y: Any) -> Any:
    """Return the lanes of x where the mask is true, those of y elsewhere."""
    return np.where(mask, x, y)


def some(mask: Any) -> Any:
    """Return whether the mask is true anywhere."""
    return bool(mask.any())


def absolute(x: Any) -> Any:
    """Return the lanes without their signs."""
    return np.abs(x)


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)); where x is beyond MOST, as for MOST."""
    one = np.float32(1.0)
    return one / (one + np.exp(-np.clip(x, np.float32(-MOST), np.float32(MOST))))


def log_loss(x: Any) -> Any:
    """Return ln(1 + exp(-x)); where x is beyond MOST, as for MOST."""
    return np.logaddexp(np.float32(0.0), -np.clip(x, np.float32(-MOST), np.float32(MOST)))
