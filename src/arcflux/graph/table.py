"""Kernels for a hash table of int64 ids that all workers fill at once (open addressing, compare-and-swap).

EMPTY, the smallest int64, marks a free place, so an id of that value is counted aside; its vertex number is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, compare_and_swap, fetch_add
from arcflux.spmd.random import mix

__all__ = ["EMPTY", "insert", "look_up", "rank"]

EMPTY = int(np.iinfo(np.int64).min)


@inner
def _place(keys: Any, key: Any) -> Any:
    """Where `key` is, or the free place where it would go."""
    mask = np.uint64(keys.size - 1)
    place = mix(key) & mask
    while keys[place] != key and keys[place] != EMPTY:
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def insert(
    worker: Any, workers: Any, control: Any, ids: Any, starts: Any, counts: Any, keys: Any, state: Any
) -> None:
    """Put every id into `keys`. state[0]: EMPTY was met; state[1]: half full, and all stopped; state[2]: ids inside."""
    limit = keys.size // 2
    while True:
        part = claim(control)
        if part >= starts.size or state[1]:
            break
        for i in range(starts[part], starts[part] + counts[part]):
            key = ids[i]
            if key == EMPTY:
                state[0] = 1
                continue
            while True:
                place = _place(keys, key)
                if keys[place] == key:
                    break
                if compare_and_swap(keys, place, EMPTY, key) == EMPTY:
                    if fetch_add(state, 2, 1) >= limit:
                        state[1] = 1
                    break
            if state[1]:
                break


@kernel
def look_up(
    worker: Any, workers: Any, control: Any, ids: Any, starts: Any, counts: Any, keys: Any, places: Any, out: Any
) -> None:
    """``out[i]``: the vertex number of ``ids[i]``, which is in the table."""
    while True:
        part = claim(control)
        if part >= starts.size:
            break
        for i in range(starts[part], starts[part] + counts[part]):
            out[i] = 0 if ids[i] == EMPTY else places[_place(keys, ids[i])]


def rank(keys: NDArray[Any], values: NDArray[Any], places: NDArray[Any]) -> None:
    """``places[k]``: the rank of ``keys[k]`` among the sorted `values`."""
    taken = np.flatnonzero(keys != EMPTY)
    places[taken] = np.searchsorted(values, keys[taken])
