"""Lanes as registers of the machine, for kernels; Numba is imported with this module, not before.

Each function has the name and the meaning of one of `chromatic._lanes`, whose place it takes where a kernel
is compiled. Kernels may also write operators between lanes, or lanes and a float32.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from chromatic._intrinsics import address
from chromatic._lanes import LANES, MOST

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_WORDS = ir.VectorType(ir.IntType(32), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)

# 2 ** x for x between -1/2 and 1/2, and ln(1 + x) between 0 and 1, to the sixth or seventh digit.
_POWER = [1.0000001, 0.69314719, 0.24022107, 0.055503571, 0.0096760319, 0.0013390863]
_LOGARITHM = [0.0, 0.99999857, -0.49985899, 0.33097526, -0.2345452, 0.14829413, -0.065590306, 0.013874485]


class LanesType(types.Type):
    """Four floats, as kernels know them."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


class MaskType(types.Type):
    """Four truths, as kernels know them."""

    def __init__(self) -> None:
        super().__init__(name="Mask")


_lanes, _mask = LanesType(), MaskType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BITS)


def _always(x: float) -> Any:
    return ir.Constant(_VECTOR, [float(x)] * LANES)


def _operation(signature: Any, generate: Callable[..., Any]) -> Any:
    """Return what an intrinsic is made of, from a function of a builder and the operands."""
    return signature, lambda context, builder, signature, args: generate(builder, *args)


@intrinsic
def load(typingctx: Any, data: Any, at: Any) -> Any:
    """The four lanes data[at:at+4]; unchecked."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = address(context, builder, signature.args[0], args)
        return builder.load(builder.bitcast(place, _VECTOR.as_pointer()), align=4)

    return _lanes(data, types.int64), generate


@intrinsic
def store(typingctx: Any, data: Any, at: Any, lanes: Any) -> Any:
    """Put four lanes into data[at:at+4]; unchecked."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = address(context, builder, signature.args[0], args)
        builder.store(args[2], builder.bitcast(place, _VECTOR.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(data, types.int64, _lanes), generate


@intrinsic
def fill(typingctx: Any, x: Any) -> Any:
    """The same number in all lanes."""

    def generate(builder: Any, x: Any) -> Any:
        none = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(none, x, ir.IntType(32)(0))
        return builder.shuffle_vector(first, none, ir.Constant(_WORDS, [0] * LANES))

    return _operation(_lanes(types.float32), generate)


@intrinsic
def less(typingctx: Any, x: Any, y: Any) -> Any:
    """Whether x < y, for each lane."""
    return _operation(_mask(_lanes, _lanes), lambda builder, x, y: builder.fcmp_ordered("<", x, y))


@intrinsic
def select(typingctx: Any, mask: Any, x: Any, y: Any) -> Any:
    """The lanes of x where the mask is true, those of y elsewhere."""
    return _operation(_lanes(_mask, _lanes, _lanes), lambda builder, mask, x, y: builder.select(mask, x, y))


@intrinsic
def some(typingctx: Any, mask: Any) -> Any:
    """Whether the mask is true anywhere."""
    bits = ir.IntType(LANES)
    return _operation(
        types.boolean(_mask),
        lambda builder, mask: builder.icmp_unsigned("!=", builder.bitcast(mask, bits), bits(0)),
    )


@intrinsic
def absolute(typingctx: Any, x: Any) -> Any:
    """The lanes without their signs."""

    def generate(builder: Any, x: Any) -> Any:
        without = ir.Constant(_WORDS, [0x7FFFFFFF] * LANES)
        return builder.bitcast(builder.and_(builder.bitcast(x, _WORDS), without), _VECTOR)

    return _operation(_lanes(_lanes), generate)


@intrinsic
def sigmoid(typingctx: Any, x: Any) -> Any:
    """1 / (1 + exp(-x)); where x is beyond MOST, as for MOST."""

    def generate(b: Any, x: Any) -> Any:
        return b.fdiv(_always(1.0), b.fadd(_always(1.0), _exponential(b, b.fneg(_bounded(b, x)))))

    return _operation(_lanes(_lanes), generate)


@intrinsic
def log_loss(typingctx: Any, x: Any) -> Any:
    """ln(1 + exp(-x)); where x is beyond MOST, as for MOST."""

    def generate(b: Any, x: Any) -> Any:
        x = b.fneg(_bounded(b, x))
        above = b.select(b.fcmp_ordered(">", x, _always(0.0)), x, _always(0.0))
        below = b.select(b.fcmp_ordered(">", x, _always(0.0)), b.fneg(x), x)
        return b.fadd(above, _polynomial(b, _exponential(b, below), _LOGARITHM))

    return _operation(_lanes(_lanes), generate)


def _bounded(b: Any, x: Any) -> Any:
    for relation, bound in ((">", _always(MOST)), ("<", _always(-MOST))):
        x = b.select(b.fcmp_ordered(relation, x, bound), bound, x)
    return x


def _polynomial(b: Any, x: Any, coefficients: list[float]) -> Any:
    total = _always(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = b.fadd(b.fmul(total, x), _always(coefficient))
    return total


def _exponential(b: Any, x: Any) -> Any:
    """2 ** (whole + part): the whole number goes to the bits of the exponent."""
    exponent, shift = b.fmul(x, _always(1.4426950408889634)), _always(1.5 * 2**23)
    shifted = b.fadd(exponent, shift)  # whose lowest bits are the whole number
    part = b.fsub(exponent, b.fsub(shifted, shift))
    whole = b.shl(b.bitcast(shifted, _WORDS), ir.Constant(_WORDS, [23] * LANES))
    return b.bitcast(b.add(b.bitcast(_polynomial(b, part, _POWER), _WORDS), whole), _VECTOR)


def _define(operators: tuple[Any, ...], name: str) -> None:
    """Let kernels write an operator between lanes, or lanes and a float32."""

    @intrinsic
    def _both(typingctx: Any, x: Any, y: Any) -> Any:
        return _operation(_lanes(_lanes, _lanes), lambda b, x, y: getattr(b, name)(x, y))

    both: Any = _both  # mypy does not know that kernels give no context
    filled: Any = fill

    def resolve(x, y):  # type: ignore[no-untyped-def] # as the functions that it returns
        if isinstance(x, LanesType) and isinstance(y, LanesType):
            return lambda x, y: both(x, y)
        if isinstance(x, LanesType) and y == types.float32:
            return lambda x, y: both(x, filled(y))
        if x == types.float32 and isinstance(y, LanesType):
            return lambda x, y: both(filled(x), y)
        return None

    for one in operators:
        overload(one)(resolve)


_define((operator.add, operator.iadd), "fadd")
_define((operator.sub, operator.isub), "fsub")
_define((operator.mul, operator.imul), "fmul")
_define((operator.truediv, operator.itruediv), "fdiv")
