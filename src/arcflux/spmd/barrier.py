"""What kernels of many supersteps in one launch need: a barrier, and a clock.

The barrier spins for a while and then yields the core, so it costs a tenth of a microsecond if every worker has its own
core, and still works if workers share one. Ranks of a node meet at a watched barrier (layout.py): when one of them is
lost, the alarm is set, and those that wait in a kernel leave it.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from arcflux.spmd.jit import fragment
from arcflux.spmd.layout import ALARM, ARRIVED, CROWDED, GENERATION, LINE, ROWS, WORDS
from arcflux.spmd.machine import element
from arcflux.spmd.pool import BRIEF

__all__ = [
    "CROWDED",
    "GENERATION",
    "WORDS",
    "all_here",
    "arrive",
    "brief_is_over",
    "give_way",
    "load_acquire",
    "pause",
    "store_release",
    "ticks",
    "wait",
]

# About 6 microseconds, within which most workers arrive that have a core. A worker that shares its core with one that
# it waits for then lets that one run; where no other worker wants the core, yielding it costs little more than a spin.
_SPINS = 256
_FEW_SPINS = 20

give_way = types.ExternalFunction("sched_yield", types.int32())


@intrinsic
def load_acquire(typingctx: Any, array: Any, index: Any) -> Any:
    """``array[index]``, with acquire order: nothing that follows is executed before it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = element(context, builder, sig.args[0], *args)
        return builder.load_atomic(place, "acquire", align=8)

    return array.dtype(array, types.uintp), generate


@intrinsic
def store_release(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, with release order: others that see it also see everything before it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = element(context, builder, sig.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "release", align=8)
        return context.get_dummy_value()

    return types.void(array, types.uintp, array.dtype), generate


@intrinsic
def arrive(typingctx: Any, array: Any) -> Any:
    """Count one more arrival; returns how many there were."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = context.get_constant(types.uintp, 0)
        place = element(context, builder, sig.args[0], args[0], zero)
        return builder.atomic_rmw("add", place, ir.IntType(64)(1), "acq_rel")

    return types.int64(array), generate


@intrinsic
def pause(typingctx: Any) -> Any:
    """A hint to the processor that this thread spins."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def ticks(typingctx: Any) -> Any:
    """A monotonic clock; the caller has to measure how long a tick is."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.readcyclecounter"), [])

    return types.uint64(), generate


@fragment
def brief_is_over(control: Any, begun: Any) -> Any:
    """Whether a brief launch has used its ticks; the first worker calls it after each superstep, with when that began.

    1 or 0, for the control word that ends a launch.
    """
    if control[BRIEF + 1] == 0:
        control[BRIEF + 1] = begun
    return 1 if control[BRIEF] != 0 and np.int64(ticks()) - control[BRIEF + 1] > control[BRIEF] else 0


@fragment
def wait(barrier: Any, workers: Any) -> None:
    """Return when all workers have arrived; a single worker returns at once."""
    if workers == 1:
        return
    generation = load_acquire(barrier, GENERATION)
    if arrive(barrier) == workers - 1:
        barrier[0] = 0
        store_release(barrier, GENERATION, generation + 1)
        return
    spins = 0
    most = _SPINS if barrier[CROWDED] == 0 else _FEW_SPINS
    while load_acquire(barrier, GENERATION) == generation:
        spins += 1
        if spins < most:
            pause()
        else:
            give_way()


@fragment
def all_here(barrier: Any, worker: Any, workers: Any) -> Any:
    """Wait at a watched barrier until all workers have arrived; False if the alarm is set: leave the kernel.

    A worker first only spins. Before it yields its core it marks that it waits, once, and from then on checks the
    alarm.
    """
    if workers == 1:
        return True
    generation = load_acquire(barrier, GENERATION)
    if arrive(barrier) == workers - 1:
        barrier[0] = 0
        store_release(barrier, GENERATION, generation + 1)
        return True
    spins = 0
    most = _SPINS if barrier[CROWDED] == 0 else _FEW_SPINS
    while load_acquire(barrier, GENERATION) == generation:
        spins += 1
        if spins < most:
            pause()
        else:
            if spins == most:
                barrier[ROWS + LINE * worker + ARRIVED] = generation + 1
            if load_acquire(barrier, ALARM) != 0:
                return False
            give_way()
    return True
