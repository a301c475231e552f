"""The intrinsics of kernels as instructions of the machine. Numba is imported with this module, not before.

Each has the name and the meaning of a plain function of `chromatic._numba`, whose place it takes where a
kernel is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


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


@intrinsic
def log_gamma(typingctx: Any, x: Any) -> Any:
    """The logarithm of the gamma function, by the C library; Numba's own is not found without Numba."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "lgamma"), args)

    return types.float64(types.float64), generate


def address(context: Any, builder: Any, kind: Any, args: Any) -> Any:
    """Return the address of array[at], where these are the first arguments of an intrinsic."""
    array = context.make_array(kind)(context, builder, args[0])
    return builder.gep(array.data, [args[1]])
