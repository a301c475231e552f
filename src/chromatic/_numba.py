"""How every kernel is marked, and the few things that kernels of several modules share.

A kernel takes arrays and scalars, holds no Python object and releases the interpreter's lock. Numba
compiles it on its first call, and its machine code is kept on disk (`chromatic._kernel_cache`).
With the JIT off (`NUMBA_DISABLE_JIT=1`: coverage, debugging) kernels and intrinsics are plain Python.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from chromatic._kernel import Kernel

Function = TypeVar("Function", bound=Callable[..., Any])


JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def kernel(function: Function) -> Function:
    """Compile on first call; keep the machine code on disk where a place for it can be written."""
    return _marked(function, inline=False)


def inlined(function: Function) -> Function:
    """A short helper that becomes part of each kernel that calls it."""
    return _marked(function, inline=True)


def specialized(kernel: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """Return a kernel for arguments of the types that these have: it takes no others, and does not look.

    Looking costs some microseconds a call, which matters to kernels of single rows. Tuples are not taken.
    """
    return kernel.for_types_of(*args) if isinstance(kernel, Kernel) else kernel


def _marked(function: Function, *, inline: bool) -> Function:
    if JIT_IS_OFF:  # machine integers wrap around in silence
        return np.errstate(over="ignore")(function)
    return cast(Function, Kernel(function, inline=inline))


def mix_words(z: Any) -> Any:
    """Return the finalizer of SplitMix64 (Steele, Lea and Flood, 2014) of an array of uint64.

    Distinct words stay distinct.
    """
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


mix = inlined(mix_words)  # of one word, within kernels


@inlined
def fetch_ahead(indptr, codes, of_feature, i):  # type: ignore[no-untyped-def]
    """Ask the cache for rows that a loop over the rows of a feature will read: their start, then codes."""
    if i + 16 < len(of_feature):
        prefetch(indptr, np.int64(of_feature[i + 16]))
        prefetch(codes, indptr[np.int64(of_feature[i + 8])])


AHEAD = 16  # entries, from the one that a loop is at to the one whose memory it asks for
RANKED = 192  # the longest slice that is sorted by ranks


@inlined
def rank_into(elements, n, out, at):  # type: ignore[no-untyped-def]
    """Put the first n elements, which are distinct, into out[at:at + n] in ascending order.

    The place of one is the number of smaller ones: quadratic, but without a branch, several at a time.
    """
    for i in range(n):
        x, rank = elements[i], np.uint32(0)
        for j in range(n):
            rank += np.uint32(elements[j] < x)
        out[at + np.int64(rank)] = x


@kernel
def sort_slice(array, start, stop, spare, distinct):  # type: ignore[no-untyped-def]
    """Sort array[start:stop] in place; `spare` has room for RANKED elements, of the array's type.

    By ranks where it is short, which up to RANKED is several times faster than anything that branches;
    else by a heap. What is there twice must not be sorted by ranks: it has to be told by `distinct`.
    """
    n = stop - start
    if distinct and n <= RANKED:
        for i in range(n):
            spare[i] = array[start + i]
        rank_into(spare, n, array, start)
        return
    for root in range(n // 2 - 1, -1, -1):
        sift(array, start, root, n)
    for last in range(n - 1, 0, -1):
        array[start], array[start + last] = array[start + last], array[start]
        sift(array, start, 0, last)


@kernel
def sift(array, start, root, size):  # type: ignore[no-untyped-def]
    """Let the root of a heap sink to its place."""
    x = array[start + root]
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and array[start + child] < array[start + child + 1]:
            child += 1
        if array[start + child] <= x:
            break
        array[start + root] = array[start + child]
        root = child
    array[start + root] = x


# Intrinsics: where kernels are compiled, `chromatic._intrinsics` takes the place of these.


def load64(data: Any, at: Any) -> Any:
    """Return the eight bytes data[at:at+8] as a little-endian uint64, aligned or not."""
    return data[int(at) : int(at) + 8].view(np.uint64)[0]


def store64(data: Any, at: Any, word: Any) -> None:
    """Put a uint64 into the eight bytes data[at:at+8], little-endian."""
    data[int(at) : int(at) + 8] = np.array([word], np.uint64).view(np.uint8)


def prefetch(data: Any, at: Any) -> None:
    """Ask the cache for data[at], which a later step will read; the index is never checked."""


def count_ones(word: Any) -> Any:
    """Return the number of one bits of a uint64."""
    return np.uint64(int(word).bit_count())


def trailing_zeros(word: Any) -> Any:
    """Return the number of zero bits below the lowest one bit of a uint64; 64 for 0."""
    word = int(word)
    return np.uint64((word & -word).bit_length() - 1 if word else 64)


def log_gamma(x: Any) -> Any:
    """Return the logarithm of the gamma function."""
    return math.lgamma(x)
