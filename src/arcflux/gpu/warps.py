"""What the kernels of algorithms share: warps that process rows in turn, ballots, searches in sorted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.gpu.kit import FULL, cuda, inner

__all__ = ["first_row", "lane_of", "place_in", "row_stride", "said_before", "told", "warp_sum"]


@inner
def first_row() -> Any:
    """The first row of this warp, if all warps of the grid process rows in turn."""
    return np.uint64(cuda.grid(1)) >> np.uint64(5)


@inner
def row_stride() -> Any:
    """The distance to the next row of this warp."""
    return np.uint64(cuda.gridsize(1)) >> np.uint64(5)


@inner
def lane_of() -> Any:
    """The index of this thread in its warp."""
    return np.uint64(cuda.laneid)


@inner
def told(mine: Any) -> Any:
    """A bit for each lane of the warp for which `mine` is true; all lanes call it."""
    return np.uint64(np.int64(cuda.ballot_sync(FULL, mine)) & np.int64(FULL))


@inner
def said_before(said: Any) -> Any:
    """How many lanes before this one have their bit set."""
    return np.uint64(cuda.popc(said & ((np.uint64(1) << lane_of()) - np.uint64(1))))


@inner
def place_in(values: Any, base: Any, low: Any, high: Any, wanted: Any) -> Any:
    """The position of a vertex in ``values[base + low]`` to before ``values[base + high]``, which ascend; else `high`.

    Positions are relative to the base, in 32 bits: three of them take as many registers as one and a half in 64.
    """
    end, one = high, np.uint32(1)
    while low < high:
        middle = np.uint32(low + (np.uint32(high - low) >> one))
        if values[base + np.uint64(middle)] < wanted:
            low = np.uint32(middle + one)
        else:
            high = middle
    if low < end and values[base + np.uint64(low)] == wanted:
        return low
    return end


@inner
def warp_sum(value: Any) -> Any:
    """The sum of the int64 of all lanes, for the first of them; all lanes call it."""
    for k in range(5):
        value += cuda.shfl_down_sync(FULL, value, 16 >> k)
    return value
