"""Kernels for a hash table of int64 ids that all workers fill at once (open addressing, compare-and-swap).

EMPTY, the smallest int64, marks a free place. An id of that value needs nothing special: the search for it ends at the
first free place of its way, which no other id will take, since by the time numbers are written the table is complete.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim, compare_and_swap, fetch_add, prefetch_to_read
from arcflux.spmd.random import mix

__all__ = ["CHUNK", "EMPTY", "SMALLEST", "insert", "look_up", "rank"]

CHUNK = 1 << 12
EMPTY = int(np.iinfo(np.int64).min)
# Workers count what they insert in steps, and each may overshoot half the table by a step or two: 4096 of them fit.
SMALLEST = 1 << 17
_STEP = 8
_AHEAD = np.uint64(16)


@inner
def _place(keys: Any, key: Any) -> Any:
    """Where `key` is, or the free place where it would go."""
    mask = np.uint64(keys.size - 1)
    place = mix(key) & mask
    while keys[place] != key and keys[place] != EMPTY:
        place = (place + np.uint64(1)) & mask
    return place


@inner
def _announce(keys: Any, ids: Any, i: Any, stop: Any) -> Any:
    """Have the place of an id some steps ahead of `i` fetched; returns that place."""
    place = mix(ids[min(i + _AHEAD, stop - np.uint64(1))]) & np.uint64(keys.size - 1)
    prefetch_to_read(keys, place)
    return place


@kernel
def insert(worker: Any, workers: Any, control: Any, ids: Any, reached: Any, stops: Any, keys: Any, inside: Any) -> None:
    """Put the ids of every slice, from reached[slice] to stops[slice], into `keys` until half the places are taken.

    inside[0]: how many ids the table holds; reached[slice]: where to go on.
    """
    limit = keys.size // 2
    while True:
        part = claim(control)
        if part >= stops.size or inside[0] >= limit:
            break
        fresh = 0
        stop = stops[part]
        i = reached[part]
        while i < stop:
            _announce(keys, ids, i, stop)
            key = ids[i]
            i += np.uint64(1)
            place = _place(keys, key)
            while keys[place] != key:
                if compare_and_swap(keys, place, EMPTY, key) == EMPTY:
                    fresh += 1
                    break
                place = _place(keys, key)
            if fresh == _STEP:
                fresh = 0
                if fetch_add(inside, 0, _STEP) + _STEP >= limit:
                    break
        fetch_add(inside, 0, fresh)
        reached[part] = i


@kernel
def rank(worker: Any, workers: Any, control: Any, values: Any, keys: Any, numbers: Any) -> None:
    """``numbers[place]``: the rank of the id at that place among the sorted `values`."""
    while True:
        begin = np.uint64(claim(control)) * np.uint64(CHUNK)
        if begin >= np.uint64(values.size):
            break
        stop = min(begin + np.uint64(CHUNK), np.uint64(values.size))
        for i in range(begin, stop):
            _announce(keys, values, i, stop)
            numbers[_place(keys, values[i])] = i


@kernel
def look_up(
    worker: Any, workers: Any, control: Any, ids: Any, starts: Any, counts: Any, keys: Any, numbers: Any, out: Any
) -> None:
    """``out[i]``: the vertex number of ``ids[i]``, which is in the table."""
    while True:
        part = claim(control)
        if part >= starts.size:
            break
        stop = starts[part] + counts[part]
        for i in range(starts[part], stop):
            prefetch_to_read(numbers, _announce(keys, ids, i, stop))
            out[i] = numbers[_place(keys, ids[i])]
