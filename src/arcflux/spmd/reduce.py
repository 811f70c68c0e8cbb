"""Reductions that many workers make into one array at once. Each returns whether the array changed.
`value` has to be of the array's own type.

All look before they write: a minimum that is no smaller than what is there costs a plain load, not an atomic.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from arcflux.spmd.jit import inner
from arcflux.spmd.machine import element

__all__ = ["into_and", "into_any", "into_max", "into_min", "into_or", "into_product", "into_sum"]


@intrinsic
def _swap(typingctx: Any, array: Any, index: Any, expected: Any, new: Any) -> Any:
    """Compare and swap on any number's bits: True when `expected` was there and `new` is there now."""
    signature = types.boolean(array, types.uintp, array.dtype, array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = element(context, builder, sig.args[0], args[0], args[1])
        bits = ir.IntType(8 if sig.args[0].dtype is types.boolean else sig.args[0].dtype.bitwidth)
        if sig.args[0].dtype is types.boolean:
            before, after = (builder.zext(arg, bits) for arg in args[2:])
        else:
            before, after = (builder.bitcast(arg, bits) for arg in args[2:])
        pair = builder.cmpxchg(builder.bitcast(place, bits.as_pointer()), before, after, "acq_rel", "monotonic")
        return builder.extract_value(pair, 1)

    return signature, generate


@inner
def into_min(array: Any, place: Any, value: Any) -> Any:
    """``array[place] = min(array[place], value)``."""
    while True:
        before = array[place]
        if not value < before:
            return False
        if _swap(array, place, before, value):
            return True


@inner
def into_max(array: Any, place: Any, value: Any) -> Any:
    """``array[place] = max(array[place], value)``."""
    while True:
        before = array[place]
        if not value > before:
            return False
        if _swap(array, place, before, value):
            return True


@inner
def into_sum(array: Any, place: Any, value: Any) -> Any:
    """``array[place] += value``."""
    while True:
        before = array[place]
        if _swap(array, place, before, before + value):
            return True


@inner
def into_product(array: Any, place: Any, value: Any) -> Any:
    """``array[place] *= value``."""
    while True:
        before = array[place]
        if _swap(array, place, before, before * value):
            return True


@inner
def into_or(array: Any, place: Any, value: Any) -> Any:
    """``array[place] |= value``."""
    while True:
        before = array[place]
        made = before | value
        if made == before:
            return False
        if _swap(array, place, before, made):
            return True


@inner
def into_and(array: Any, place: Any, value: Any) -> Any:
    """``array[place] &= value``."""
    while True:
        before = array[place]
        made = before & value
        if made == before:
            return False
        if _swap(array, place, before, made):
            return True


@inner
def into_any(array: Any, place: Any, value: Any) -> Any:
    """``array[place] = value``: one of those who write wins."""
    array[place] = value
    return True
