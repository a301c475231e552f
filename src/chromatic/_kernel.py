"""`Kernel`: a function that is called as machine code, which a cache keeps.

Where the cache has it, Numba is not imported: LLVM's loader and ctypes are enough, and a command starts in
half the time. Arguments are arrays, numbers, None, and tuples of them.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chromatic._kernel_cache import ENTRY, KernelCache, Stored
from chromatic._room import check_room

log = logging.getLogger("chromatic")
log_of_compiling = logging.getLogger("chromatic.compiling")  # people who wait are told of it

FOR_A_KERNEL = 32 << 20  # bytes; where LLVM finds no memory for a kernel, it ends the process
LAYOUTS = 0x503  # of numpy's flags: C, Fortran, aligned, writable
C_ORDER, FORTRAN = 1, 2

NUMBERS: dict[str, Any] = {
    "?": ctypes.c_bool,
    "b": ctypes.c_int8,
    "B": ctypes.c_uint8,
    "h": ctypes.c_int16,
    "H": ctypes.c_uint16,
    "i": ctypes.c_int32,
    "I": ctypes.c_uint32,
    "q": ctypes.c_int64,
    "Q": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "O": ctypes.py_object,
}


class Counts:
    """How many kernels this process compiled, and how many it found."""

    compiled = found = 0


class MachineCode:
    """A kernel for arguments of some types, called with their leaves: arrays and numbers."""

    def __init__(self, stored: Stored) -> None:
        kinds = [NUMBERS[letter] for letter in stored.arguments]
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *kinds)(_linked(stored.code))
        self._result: Any = None
        if len(stored.result) == 1:
            self._result = NUMBERS[stored.result]
        elif stored.result:
            fields = [(f"result{i}", NUMBERS[letter]) for i, letter in enumerate(stored.result)]
            self._result = type("Result", (ctypes.Structure,), {"_fields_": fields})

    def __call__(self, *leaves: Any) -> Any:
        """Run it, and return what the kernel returns."""
        result = None if self._result is None else self._result()
        if self._call(result if result is None else ctypes.byref(result), *leaves):
            raise IndexError("a kernel went out of an array's bounds")
        if isinstance(result, ctypes.Structure):
            return tuple(getattr(result, name) for name, _ in self._result._fields_)
        return None if result is None else result.value


class Kernel:
    """A function, compiled for the types of its arguments when they come first; or inlined in others."""

    def __init__(self, function: Callable[..., Any], *, inline: bool = False) -> None:
        self.function, self.inline = function, inline
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self.__module__ = function.__module__
        self._cache = KernelCache(function)
        self._known: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the machine code for the types of the arguments."""
        if named:
            code = self.function.__code__
            args += tuple(named[name] for name in code.co_varnames[len(args) : code.co_argcount])
        kinds: list[Any] = []
        leaves: list[Any] = []
        _spread(args, kinds, leaves)
        known = self._known.get(tuple(kinds))
        return (known or self._load(tuple(kinds), args))(*leaves)

    def for_types_of(self, *args: Any) -> Callable[..., Any]:
        """Return the machine code for arguments such as these."""
        kinds: list[Any] = []
        _spread(args, kinds, [])
        return self._known.get(tuple(kinds)) or self._load(tuple(kinds), args)

    def _load(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        with _loading:
            if kinds not in self._known:
                check_room(FOR_A_KERNEL)
                text = " ".join(map(_text, kinds))
                stored = self._cache.load(text)
                if stored is None:
                    stored = self._compiled(args)
                    self._cache.save(text, stored)
                else:
                    Counts.found += 1
                try:
                    self._known[kinds] = MachineCode(stored)
                except RuntimeError as error:  # of LLVM's linker
                    log.info(
                        "Numba itself runs the kernel %s, which starts later (%s)", self.__name__, error
                    )
                    self._known[kinds] = self._by_numba(args)
        return self._known[kinds]

    def _by_numba(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return a function of leaves that lets Numba run the kernel, for arguments such as these."""
        from chromatic._compiling import by_numba

        run = by_numba(self.function)
        return lambda *leaves: run(*_gathered(args, iter(leaves)))

    def _compiled(self, args: tuple[Any, ...]) -> Stored:
        if not Counts.compiled:
            log_of_compiling.info("compiling kernels, which is done once and may take half a minute")
        from chromatic._compiling import compiled

        Counts.compiled += 1
        made: Stored = compiled(self.function, args)
        return made


_loading = threading.RLock()
_linker: list[Any] = []  # LLVM's, made with the first kernel


def _spread(args: tuple[Any, ...], kinds: list[Any], leaves: list[Any]) -> None:
    """Write down the arrays and numbers of arguments, and what types they have."""
    for one in args:
        if isinstance(one, np.ndarray):
            layout = one.flags.num & LAYOUTS
            kinds.append((one.dtype, one.ndim, layout & ~FORTRAN if layout & C_ORDER else layout))
            leaves.append(one)
        elif isinstance(one, tuple):
            kinds.append(len(one))
            _spread(one, kinds, leaves)
        elif isinstance(one, np.generic):
            kinds.append(one.dtype)
            leaves.append(one.item())
        elif one is None:
            kinds.append(None)
        else:
            kinds.append("uint64" if type(one) is int and one >= 1 << 63 else type(one))
            leaves.append(one)


def _gathered(like: tuple[Any, ...], leaves: Iterator[Any]) -> Iterator[Any]:
    """Yield arguments, as `_spread` took them apart."""
    for one in like:
        if isinstance(one, tuple):
            yield tuple(_gathered(one, leaves))
        elif isinstance(one, np.generic):
            yield one.dtype.type(next(leaves))
        else:
            yield None if one is None else next(leaves)


def _text(kind: Any) -> str:
    """Name a type that `_spread` wrote down, the same in every process."""
    if isinstance(kind, tuple):
        dtype, ndim, layout = kind
        return f"{dtype.descr if dtype.names else dtype.str}[{ndim},{layout:x}]"
    return kind.str if isinstance(kind, np.dtype) else getattr(kind, "__name__", str(kind))


def load_linker() -> None:
    """Load LLVM, if no kernel has done so; its library takes a hundred megabytes."""
    from llvmlite import binding

    if not _linker:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _linker.append(binding.create_lljit_compiler(use_jit_link=False))


def _linked(code: bytes) -> int:
    """Return the address of a kernel's entry, after LLVM has put its machine code into memory."""
    load_linker()
    from llvmlite import binding

    builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
    name = f"kernel{len(_linker)}"
    _linker.append(builder.export_symbol(ENTRY).link(_linker[0], name))
    return int(_linker[-1][ENTRY])
