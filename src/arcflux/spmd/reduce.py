"""Concurrent reductions into one array by compare and swap: reductions.py compiled for cores."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from arcflux.spmd.jit import inner
from arcflux.spmd.machine import element
from arcflux.spmd.reductions import define

__all__ = ["into_and", "into_any", "into_max", "into_min", "into_or", "into_product", "into_sum",
           "locked", "read_now", "unlock", "write_now"]  # fmt: skip


@intrinsic
def _swap(typingctx: Any, array: Any, index: Any, expected: Any, new: Any) -> Any:
    """Compare and swap on the bits of any number type: True if `expected` was replaced by `new`."""
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


_made = define(inner, _swap)
into_min, into_max, into_sum, into_product = _made.into_min, _made.into_max, _made.into_sum, _made.into_product
into_or, into_and, into_any = _made.into_or, _made.into_and, _made.into_any
locked, unlock, read_now, write_now = _made.locked, _made.unlock, _made.read_now, _made.write_now
