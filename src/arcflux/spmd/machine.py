"""Instructions that Python has no word for, as functions that kernels can call: atomics, and prefetch for writing."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from arcflux.spmd.jit import inner

__all__ = ["claim", "compare_and_swap", "fetch_add", "prefetch"]


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    structure = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, structure, [index], wraparound=False)


@intrinsic
def fetch_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] += value``, atomically; returns what was there before."""
    signature = array.dtype(array, types.uintp, array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("add", pointer, args[2], "monotonic")

    return signature, generate


@intrinsic
def compare_and_swap(typingctx: Any, array: Any, index: Any, expected: Any, new: Any) -> Any:
    """Put `new` where `expected` is, atomically; returns what was there before (`expected` when it went through)."""
    signature = array.dtype(array, types.uintp, array.dtype, array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, sig.args[0], args[0], args[1])
        pair = builder.cmpxchg(pointer, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 0)

    return signature, generate


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Have the cache line of ``array[index]`` fetched for writing; any index is safe, even one past the end.

    Stores that miss the cache queue up one after another on x86. Announcing the next line of each output stream a
    line ahead makes dealing into buckets more than twice as fast.
    """
    signature = types.void(array, types.uintp)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = builder.bitcast(_pointer(context, builder, sig.args[0], *args), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return signature, generate


@inner
def claim(control: Any) -> Any:
    """The next chunk that nobody has: a number that counts up from 0 over all workers of a launch."""
    return fetch_add(control, 0, 1)
