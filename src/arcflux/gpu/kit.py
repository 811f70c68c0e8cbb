"""The pieces of kernels for a GPU: decorators, and collective operations of a warp or a block.

On hardware these are inlined device functions. In the simulator they are plain functions, and `cuda` stands for the
running block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arcflux.gpu import api
from arcflux.gpu.launch import asked, bounds

__all__ = [
    "FULL",
    "claim",
    "counted",
    "cuda",
    "fragment",
    "inner",
    "kernel",
    "numbered",
    "owner_of",
    "search",
    "summed",
]

FULL = 0xFFFFFFFF


class _Running:
    """In the simulator: the module as the running kernel sees it."""

    def __getattr__(self, name: str) -> Any:
        from numba.cuda.simulator.kernel import _get_kernel_context

        return getattr(_get_kernel_context(), name)


cuda: Any = _Running() if api.simulated() else api.cuda()


def kernel(function: Callable[..., None]) -> Any:
    """Compile a kernel for the device, on first use, cached on disk.

    For kernels listed in their module's BOUNDS (threads of a block, blocks of a multiprocessor), the compiler uses no
    more registers than allow that. Machine code is generated here (not when it is linked), so that its options are the
    given ones.
    """
    module = api.cuda()
    if api.simulated():
        return module.jit(function)
    return api.kept(module.jit(lto=False, launch_bounds=bounds(asked(function), api.architecture()))(function))


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call; it is inlined into them."""
    if not api.simulated():
        return api.cuda().jit(device=True, forceinline=True)(function)
    if not function.__module__.startswith("arcflux_program_"):
        return function
    from arcflux.gpu.simulator import typed

    return typed(function)


# The decorator for the user's functions, which differs from `inner` on cores.
fragment = inner


@inner
def search(scan: Any, low: Any, high: Any, place: Any) -> Any:
    """The last entry from `low` to `high` of an ascending array that is at most `place`."""
    one = np.uint64(1)
    while low < high:
        middle = (low + high + one) >> one
        if scan[middle] <= place:
            low = middle
        else:
            high = middle - one
    return low


@inner
def claim(mine: Any, counters: Any, slot: Any, scratch: Any) -> Any:
    """The position in a list at which this thread writes, if `mine` is true; one atomic for a whole block.

    All threads of a block call it together. `scratch`: shared memory, a number for each warp and one more.
    """
    lane = cuda.laneid
    warp = cuda.threadIdx.x >> 5
    warps = cuda.blockDim.x >> 5
    votes = np.int64(cuda.ballot_sync(FULL, mine)) & np.int64(FULL)
    before = cuda.popc(votes & ((np.int64(1) << lane) - np.int64(1)))
    if lane == 0:
        scratch[warp] = cuda.popc(votes)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = np.int64(0)
        for k in range(warps):
            count = scratch[k]
            scratch[k] = total
            total += count
        scratch[warps] = cuda.atomic.add(counters, slot, total) if total > 0 else np.int64(0)
    cuda.syncthreads()
    place = scratch[warps] + scratch[warp] + before
    cuda.syncthreads()
    return np.uint64(place)


@inner
def numbered(count: Any, scratch: Any) -> Any:
    """The sum of the counts of all threads of a block before this one; scratch[warps] gets the total.

    All threads of a block call it together. `scratch`: shared memory, a number for each warp and one more.
    """
    lane = cuda.laneid
    warp = cuda.threadIdx.x >> 5
    up_to = count
    for level in range(5):
        distance = 1 << level
        before = cuda.shfl_up_sync(FULL, up_to, distance)
        if lane >= distance:
            up_to += before
    if lane == 31:
        scratch[warp] = up_to
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        running = np.int64(0)
        for k in range(cuda.blockDim.x >> 5):
            of_warp = scratch[k]
            scratch[k] = running
            running += of_warp
        scratch[cuda.blockDim.x >> 5] = running
    cuda.syncthreads()
    return scratch[warp] + up_to - count


@inner
def owner_of(starts: Any, width: Any, number: Any) -> Any:
    """The last of the first `width` entries of an ascending array that is at most `number`; all in 32 bits."""
    low, high = np.uint32(0), np.uint32(width - np.uint32(1))
    while low < high:
        middle = np.uint32((low + high + np.uint32(1)) >> np.uint32(1))
        if starts[middle] <= number:
            low = middle
        else:
            high = np.uint32(middle - np.uint32(1))
    return low


@inner
def counted(tally: Any, slot: Any, count: Any) -> None:
    """Add the counts of all threads of a block into a row of the tally; one atomic for a warp."""
    for k in range(5):
        count += cuda.shfl_down_sync(FULL, count, 16 >> k)
    if cuda.laneid == 0 and count != 0:
        cuda.atomic.add(tally, (0, slot), np.float64(count))


@inner
def summed(tally: Any, slot: Any, value: Any) -> None:
    """Add the floats of all threads of a block into a row of the tally, in no certain order."""
    for k in range(5):
        value += cuda.shfl_down_sync(FULL, value, 16 >> k)
    if cuda.laneid == 0:
        cuda.atomic.add(tally, (0, slot), value)
