"""Kernels to machine code. Numba is imported with this module, not before: its import takes half a second.

A kernel becomes an object file with one symbol, ENTRY, that ctypes can call. It takes the address of the
result, then the leaves of the arguments: an array as the Python object that it is, a number as itself. So
nothing of Numba is needed to call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock

from chromatic import _intrinsics, _lane_intrinsics
from chromatic._kernel_cache import ENTRY, Stored

DONE = ir.IntType(32)(0)

# Kernels allocate nothing. Without Numba's run-time for memory, passing an array to a helper costs
# no atomic count of references, which would cost more than most helpers do.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
WITHOUT_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# What an array is in memory, in pointers, after the head that every object has (numpy's PyArrayObject).
DATA, DIMENSIONS, STRIDES = 0, 2, 3

# Where plain functions are, and what takes their place.
INTRINSICS = {"chromatic._numba": _intrinsics, "chromatic._lanes": _lane_intrinsics}

_dispatchers: dict[int, Any] = {}  # by the id of the kernel


@global_compiler_lock
def compiled(function: Callable[..., Any], args: tuple[Any, ...]) -> Stored:
    """Compile a function for arguments of these types."""
    dispatcher = _njit(function, **WITHOUT_PYTHON)
    kinds = tuple(numba.typeof(arg) for arg in args)
    dispatcher.compile(kinds)
    [made] = dispatcher.overloads.values()
    leaves = [leaf for kind in kinds for leaf in _leaves(kind)]
    returned = made.signature.return_type
    results = [] if returned is types.none else list(_leaves(returned))
    library = made.library.codegen.create_library(ENTRY)
    library.enable_object_caching()
    library.add_ir_module(_entry(library, made, leaves))
    library.add_linking_library(made.library)
    library.finalize()
    library.get_pointer_to_function(ENTRY)
    letters = ("".join(map(_letter, those)) for those in (leaves, results))
    return Stored(library._get_compiled_object(), *letters)


def by_numba(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as Numba compiles and calls it."""
    return cast(Callable[..., Any], _njit(function))


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    """Return Numba's form of a function, whose globals are what Numba takes: kernels are dispatchers."""
    known = {}
    for name in function.__code__.co_names:
        given: Any = function.__globals__.get(name)
        if hasattr(given, "inline"):
            known[name] = _dispatcher(given)
        elif isinstance(given, FunctionType) and given.__module__ in INTRINSICS:
            known[name] = getattr(INTRINSICS[given.__module__], given.__name__)
    seen = function.__globals__ | known
    copy = FunctionType(function.__code__, seen, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    return numba.njit(**OPTIONS, **options)(copy)


def _dispatcher(kernel: Any) -> Any:
    """Return what stands for a kernel within another."""
    if id(kernel) not in _dispatchers:
        inline = {"inline": "always"} if kernel.inline else WITHOUT_PYTHON
        _dispatchers[id(kernel)] = _njit(kernel.function, **inline)
    return _dispatchers[id(kernel)]


def _leaves(kind: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a type, those of tuples one after the other."""
    if isinstance(kind, types.BaseTuple):
        for one in kind.types:  # type: ignore[attr-defined]
            yield from _leaves(one)
    elif kind is not types.none:
        yield kind


def _letter(kind: Any) -> str:
    if isinstance(kind, types.Array):
        return "O"
    if isinstance(kind, types.Boolean):
        return "?"
    if isinstance(kind, types.Float):
        return {32: "f", 64: "d"}[kind.bitwidth]
    letter = {8: "b", 16: "h", 32: "i", 64: "q"}[kind.bitwidth]
    return letter if kind.signed else letter.upper()


def _entry(library: Any, made: Any, leaves: list[Any]) -> Any:
    """Return the module with ENTRY, which makes Numba's arguments of leaves and calls the kernel."""
    context, description = made.target_context, made.fndesc
    module = library.create_ir_module(ENTRY)
    pointer, models = ir.IntType(8).as_pointer(), context.data_model_manager
    taken = [pointer if isinstance(leaf, types.Array) else models[leaf].get_data_type() for leaf in leaves]
    entry = ir.Function(module, ir.FunctionType(DONE.type, [pointer, *taken]), ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block())
    given = iter(zip(leaves, entry.args[1:], strict=True))

    def value_of(kind: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts = kind.types  # type: ignore[attr-defined]
            return context.make_tuple(builder, kind, [value_of(one) for one in parts])
        if kind is types.none:
            return context.get_dummy_value()
        leaf, argument = next(given)
        if isinstance(leaf, types.Array):
            return _array(context, builder, leaf, argument)
        return models[leaf].from_data(builder, argument)

    convention, returned = context.call_conv, made.signature.return_type
    kind = convention.get_function_type(returned, description.argtypes)
    kernel = cgutils.get_or_insert_function(module, kind, description.llvm_func_name)
    values = [value_of(one) for one in description.argtypes]
    status, result = convention.call_function(builder, kernel, returned, description.argtypes, values)
    if returned is not types.none:
        as_data = models[returned].as_data(builder, result)
        builder.store(as_data, builder.bitcast(entry.args[0], as_data.type.as_pointer()))
    builder.ret(builder.select(status.is_ok, DONE, status.code))
    return module


def _array(context: Any, builder: Any, kind: Any, argument: Any) -> Any:
    """Return Numba's struct of an array, from what numpy has in the object."""
    word = context.get_value_type(types.intp)
    fields = builder.bitcast(argument, word.as_pointer())
    head = object.__basicsize__ // 8

    def field(number: int) -> Any:
        return builder.load(builder.gep(fields, [word(head + number)]))

    sizes, steps = (
        [
            builder.load(builder.gep(builder.inttoptr(field(which), word.as_pointer()), [word(axis)]))
            for axis in range(kind.ndim)
        ]
        for which in (DIMENSIONS, STRIDES)
    )
    struct = context.make_array(kind)(context, builder)
    n_items, size = word(1), word(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    for one in sizes:
        n_items = builder.mul(n_items, one)
    struct.nitems, struct.itemsize = n_items, size
    struct.data = builder.inttoptr(field(DATA), struct.data.type)
    struct.shape = cgutils.pack_array(builder, sizes, ty=word)
    struct.strides = cgutils.pack_array(builder, steps, ty=word)
    struct.meminfo = cgutils.get_null_value(struct.meminfo.type)
    struct.parent = cgutils.get_null_value(struct.parent.type)
    return struct._getvalue()
