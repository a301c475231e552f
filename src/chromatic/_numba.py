"""How every kernel is compiled, and the few things that kernels of several modules share.

Numba's cache on disk does not see an edit of a callee in another file. So a kernel stands beside the
kernels that it calls, and only what will not change again is here: after an edit of this module,
delete the caches (`make clean-kernels`).

A kernel takes arrays and scalars, holds no Python object and releases the interpreter's lock.
With the JIT off (`NUMBA_DISABLE_JIT=1`: coverage, debugging) the intrinsics become plain Python.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from chromatic._kernel_cache import KernelCache
from chromatic._room import check_room

Function = TypeVar("Function", bound=Callable[..., Any])


JIT_IS_OFF: bool = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]

# Kernels allocate nothing. Without Numba's run-time for memory, passing an array to a helper costs
# no atomic count of references, which would cost more than most helpers do.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

FOR_A_KERNEL = 32 << 20  # bytes; where LLVM finds no memory for a kernel, it ends the process


def kernel(function: Function) -> Function:
    """Compile on first call; keep the machine code on disk where a place for it can be written."""
    compiled = _compile(function)
    if not JIT_IS_OFF:
        with contextlib.suppress(RuntimeError):  # no place for a cache: compile in every process
            compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    return compiled


def inlined(function: Function) -> Function:
    """A short helper that becomes part of each kernel that calls it."""
    return _compile(function, inline="always")


def _compile(function: Function, **options: Any) -> Function:
    if JIT_IS_OFF:  # machine integers wrap around in silence
        return np.errstate(over="ignore")(function)
    compiled: Any = njit(**_OPTIONS, **options)(function)
    load = compiled.compile  # of Numba, which calls it for each kind of arguments that comes first

    def load_with_room(signature: Any) -> Any:
        check_room(FOR_A_KERNEL)
        return load(signature)

    compiled.compile = load_with_room
    return compiled  # type: ignore[no-any-return]


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
        _sift(array, start, root, n)
    for last in range(n - 1, 0, -1):
        array[start], array[start + last] = array[start + last], array[start]
        _sift(array, start, 0, last)


@kernel
def _sift(array, start, root, size):  # type: ignore[no-untyped-def]
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


def address(context: Any, builder: Any, kind: Any, args: Any) -> Any:
    """Return the address of array[at], where these are the first arguments of an intrinsic."""
    array = context.make_array(kind)(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


if JIT_IS_OFF:

    def load64(data: Any, at: Any) -> Any:
        return data[int(at) : int(at) + 8].view(np.uint64)[0]

    def store64(data: Any, at: Any, word: Any) -> None:
        data[int(at) : int(at) + 8] = np.array([word], np.uint64).view(np.uint8)

    def prefetch(data: Any, at: Any) -> None:
        pass

    def count_ones(word: Any) -> Any:
        return np.uint64(int(word).bit_count())

    def trailing_zeros(word: Any) -> Any:
        word = int(word)
        return np.uint64((word & -word).bit_length() - 1 if word else 64)

else:

    @intrinsic
    def load64(typingctx: Any, data: Any, at: Any) -> Any:
        """The eight bytes data[at:at+8] as a little-endian uint64, aligned or not; unchecked."""
        signature = types.uint64(data, types.int64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = address(context, builder, signature.args[0], args)
            word = context.get_value_type(types.uint64)
            return builder.load(builder.bitcast(pointer, word.as_pointer()), align=1)

        return signature, generate

    @intrinsic
    def store64(typingctx: Any, data: Any, at: Any, word: Any) -> Any:
        """Put a uint64 into the eight bytes data[at:at+8], little-endian; unchecked."""
        signature = types.void(data, types.int64, types.uint64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = address(context, builder, signature.args[0], args)
            word = context.get_value_type(types.uint64)
            builder.store(args[2], builder.bitcast(pointer, word.as_pointer()), align=1)
            return context.get_dummy_value()

        return signature, generate

    @intrinsic
    def prefetch(typingctx: Any, data: Any, at: Any) -> Any:
        """Ask the cache for data[at], which a later step will read; the index is never checked."""
        signature = types.void(data, types.int64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir

            pointer = address(context, builder, signature.args[0], args)
            i32, bytes_ = ir.IntType(32), ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [bytes_, i32, i32, i32])
            call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            read, keep, is_data = i32(0), i32(3), i32(1)
            builder.call(call, [builder.bitcast(pointer, bytes_), read, keep, is_data])
            return context.get_dummy_value()

        return signature, generate

    @intrinsic
    def count_ones(typingctx: Any, word: Any) -> Any:
        """The number of one bits of a uint64."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), generate

    @intrinsic
    def trailing_zeros(typingctx: Any, word: Any) -> Any:
        """The number of zero bits below the lowest one bit of a uint64; 64 for 0."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], cgutils.false_bit)

        return types.uint64(types.uint64), generate
