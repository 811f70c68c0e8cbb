"""The barrier of ranks that share memory: threads of a process, or processes that map the same pages."""

from __future__ import annotations

from typing import Any

from arcflux.spmd.barrier import GENERATION, arrive, give_way, load_acquire, pause, store_release
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import compare_and_swap

__all__ = ["ALARM", "ARRIVE", "PASSED", "first_to_claim", "meet"]

# The results of meet besides the generation that it still waits for, and the argument with which a rank arrives.
PASSED = -1
ALARM = -2
ARRIVE = -1


@kernel
def meet(barrier: Any, members: Any, alarm: Any, generation: Any, spins: Any, yields: Any) -> Any:
    """Arrive (`generation` is ARRIVE), or continue waiting until all `members` have arrived or `alarm[0]` is set.

    Waiting first spins, `spins` times, then yields the core, `yields` times, then returns the generation to continue
    with, so that the caller can do other checks in between. With neither, it only arrives, or only polls.
    """
    if generation < 0:
        generation = load_acquire(barrier, GENERATION)
        if arrive(barrier) == members - 1:
            barrier[0] = 0
            store_release(barrier, GENERATION, generation + 1)
            return PASSED
    looks = 0
    while load_acquire(barrier, GENERATION) == generation:
        if load_acquire(alarm, 0) != 0:
            return ALARM
        if looks >= spins + yields:
            return generation
        if looks < spins:
            pause()
        else:
            give_way()
        looks += 1
    return PASSED


@kernel
def first_to_claim(alarm: Any) -> Any:
    """Whether this is the first to raise the alarm."""
    return compare_and_swap(alarm, 0, 0, -1) == 0
