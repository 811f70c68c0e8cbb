"""Instructions without a Python equivalent, as functions for kernels: atomics, prefetch, words and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from arcflux.spmd.jit import inner

__all__ = [
    "added",
    "address",
    "claim",
    "compare_and_swap",
    "count_ones",
    "fetch_add",
    "fetch_add_ordered",
    "greater",
    "lesser",
    "load_word",
    "prefetch",
    "prefetch_to_read",
    "trailing_zeros",
]


def element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """A pointer to ``array[index]``, for the body of an intrinsic."""
    structure = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, structure, [index], wraparound=False)


@intrinsic
def fetch_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] += value``, atomically; returns the old value."""
    signature = array.dtype(array, types.uintp, array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = element(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("add", pointer, args[2], "monotonic")

    return signature, generate


@intrinsic
def fetch_add_ordered(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """:func:`fetch_add` with acquire-release order: the last to count sees what others wrote before counting."""
    signature = array.dtype(array, types.uintp, array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = element(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("add", pointer, args[2], "acq_rel")

    return signature, generate


@intrinsic
def compare_and_swap(typingctx: Any, array: Any, index: Any, expected: Any, new: Any) -> Any:
    """Replace `expected` by `new`, atomically; returns the old value (`expected` if it was replaced)."""
    signature = array.dtype(array, types.uintp, array.dtype, array.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = element(context, builder, sig.args[0], args[0], args[1])
        pair = builder.cmpxchg(pointer, args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 0)

    return signature, generate


def _announce(context: Any, builder: Any, sig: Any, args: Any, writing: int) -> Any:
    pointer = builder.bitcast(element(context, builder, sig.args[0], *args), ir.IntType(8).as_pointer())
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [pointer, number(writing), number(3), number(1)])
    return context.get_dummy_value()


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]`` for writing; any index is safe, even one past the end.

    Stores that miss the cache queue up one after another on x86. Prefetching the next line of each output stream a line
    ahead makes scattering into buckets more than twice as fast.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _announce(context, builder, sig, args, 1)

    return types.void(array, types.uintp), generate


@intrinsic
def prefetch_to_read(typingctx: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of ``array[index]`` for reading, shared with the other cores; any index is safe."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _announce(context, builder, sig, args, 0)

    return types.void(array, types.uintp), generate


@intrinsic
def address(typingctx: Any, array: Any, index: Any) -> Any:
    """The address of ``array[index]``, for a C function."""
    signature = types.voidptr(array, types.uintp)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = element(context, builder, sig.args[0], *args)
        return builder.bitcast(pointer, ir.IntType(8).as_pointer())

    return signature, generate


@intrinsic
def load_word(typingctx: Any, array: Any, index: Any) -> Any:
    """The eight bytes from ``array[index]`` on, of a uint8 array, as one little-endian uint64."""
    signature = types.uint64(array, types.uintp)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = element(context, builder, sig.args[0], *args)
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return signature, generate


@intrinsic
def added(typingctx: Any, a: Any, b: Any) -> Any:
    """``a + b`` of floats, which a loop may reassociate: LLVM vectorises it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fadd(*args, flags=("reassoc",))

    kind = types.float32 if a == b == types.float32 else types.float64
    return kind(kind, kind), generate


@intrinsic
def lesser(typingctx: Any, a: Any, b: Any) -> Any:
    """The smaller of two floats, where `a` is not NaN; ignores a NaN in `b`. A loop may be vectorised."""
    return types.float64(types.float64, types.float64), _chosen("<", "inf")


@intrinsic
def greater(typingctx: Any, a: Any, b: Any) -> Any:
    """The larger of two floats, where `a` is not NaN; ignores a NaN in `b`. A loop may be vectorised."""
    return types.float64(types.float64, types.float64), _chosen(">", "-inf")


def _chosen(sign: str, nothing: str) -> Any:
    """Emit a choice of two floats in the form that LLVM recognises as a minimum or a maximum."""
    free = ("nnan", "nsz")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = args
        b = builder.select(builder.fcmp_ordered("ord", b, b), b, ir.Constant(b.type, float(nothing)))
        return builder.select(builder.fcmp_ordered(sign, b, a, flags=free), b, a, flags=free)

    return generate


@intrinsic
def trailing_zeros(typingctx: Any, word: Any) -> Any:
    """How many zero bits a uint64 ends with; 64 for zero."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), generate


@intrinsic
def count_ones(typingctx: Any, word: Any) -> Any:
    """How many bits of a uint64 are set."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@inner
def claim(control: Any) -> Any:
    """Claim the next chunk: a number that counts up from 0 over all workers of a launch."""
    return fetch_add(control, 0, 1)


@inner
def take(control: Any, items: Any, width: Any) -> Any:
    """Claim the next `width` of `items`: begin and end, both uint64, and equal if none are left.

    In a stopped launch the counter is so large that its product with `width` would overflow: hence the minimum.
    """
    chunk = min(np.uint64(claim(control)), items // width + np.uint64(1))
    return min(chunk * width, items), min((chunk + np.uint64(1)) * width, items)
