"""Counting and selecting by a warp in the neighbourhood of its vertex: like votes.py, with a sort by all lanes.

It is a bitonic sort whose exchanges all have the same direction, so that a row of any length is sorted as if it were
padded with larger values. All lanes call every function with the same arguments, and get the same result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.gpu.kit import FULL, cuda, inner

__all__ = ["common_warp", "heaviest_warp", "leading_warp", "middle_warp", "vote_warp", "weigh_warp"]


@inner
def vote_warp(values: Any, places: Any, shift: Any, found: Any, name: Any) -> Any:
    """Collect a name and its position; returns how many there are."""
    if cuda.laneid == 0:
        values[found] = name
        places[found] = found
    return found + np.uint64(1)


@inner
def weigh_warp(values: Any, places: Any, weights: Any, shift: Any, found: Any, name: Any, weight: Any) -> Any:
    """Collect a name and its weight."""
    if cuda.laneid == 0:
        weights[found] = weight
    return vote_warp(values, places, shift, found, name)


@inner
def exchange(values: Any, places: Any, i: Any, j: Any, count: Any) -> None:
    """Put the smaller of two values first, of equal ones the earlier."""
    if j < count:
        a, b, x, y = values[i], values[j], places[i], places[j]
        if b < a or (a == b and y < x):
            values[i], values[j], places[i], places[j] = b, a, y, x


@inner
def ascend_warp(values: Any, places: Any, count: Any) -> None:
    """Sort the first `count` values, equal ones by position."""
    lane, one = np.int64(cuda.laneid), np.int64(1)
    cuda.syncwarp()
    size = np.int64(2)
    while size < count + count:
        half = size >> one
        pairs = (count + size - one) // size * half
        t = lane
        while t < pairs:
            block, place = t // half * size, t % half
            exchange(values, places, block + place, block + size - one - place, count)
            t += np.int64(32)
        cuda.syncwarp()
        distance = half >> one
        while distance > 0:
            t = lane
            while t < pairs:
                first = t // distance * (distance + distance) + t % distance
                exchange(values, places, first, first + distance, count)
                t += np.int64(32)
            cuda.syncwarp()
            distance = distance >> one
        size = size + size


@inner
def leading_warp(values: Any, places: Any, found: Any) -> Any:
    """The most frequent name, of several the smallest."""
    count = np.int64(found)
    ascend_warp(values, places, count)
    best, most, same = values[0], np.int64(0), np.int64(0)
    for k in range(count):
        same = same + np.int64(1) if k > 0 and values[k] == values[k - 1] else np.int64(1)
        if same > most:
            best, most = values[k], same
    cuda.syncwarp()
    return best


@inner
def heaviest_warp(values: Any, places: Any, weights: Any, found: Any) -> Any:
    """The name with the largest sum of weights, added in order of collection; of several the smallest."""
    count = np.int64(found)
    ascend_warp(values, places, count)
    best, most = values[0], weights[places[0]]
    total, ended = most, False
    for k in range(1, count + np.int64(1)):
        if k < count and values[k] == values[k - 1]:
            total = total + weights[places[k]]
            continue
        if not ended or total > most:
            best, most = values[k - 1], total
        ended = True
        if k < count:
            total = weights[places[k]]
    cuda.syncwarp()
    return best


@inner
def settle(values: Any, i: Any, j: Any, count: Any) -> None:
    """Put the smaller of two values first."""
    if j < count:
        a, b = values[i], values[j]
        if b < a:
            values[i], values[j] = b, a


@inner
def middle_warp(values: Any, found: Any) -> Any:
    """The median of the first values, which it reorders; NaN if one of them is."""
    lane, one, count = np.int64(cuda.laneid), np.int64(1), np.int64(found)
    cuda.syncwarp()
    for k in range(count):
        if values[k] != values[k]:
            return values[k] + np.float32(0)
    cuda.syncwarp()
    size = np.int64(2)
    while size < count + count:
        half = size >> one
        pairs = (count + size - one) // size * half
        t = lane
        while t < pairs:
            block, place = t // half * size, t % half
            settle(values, block + place, block + size - one - place, count)
            t += np.int64(32)
        cuda.syncwarp()
        distance = half >> one
        while distance > 0:
            t = lane
            while t < pairs:
                first = t // distance * (distance + distance) + t % distance
                settle(values, first, first + distance, count)
                t += np.int64(32)
            cuda.syncwarp()
            distance = distance >> one
        size = size + size
    high = values[count >> one] + np.float32(0)
    low = values[(count - one) >> one] + np.float32(0)
    cuda.syncwarp()
    return (low + high) / np.float32(2) if count & one == 0 else high


@inner
def common_warp(offsets: Any, neighbours: Any, a: Any, b: Any) -> Any:
    """How many vertices are in the sorted rows of both a and b; duplicates count once."""
    one, wide = np.uint64(1), np.uint64(32)
    i, i_end, j, j_end = offsets[a], offsets[a + one], offsets[b], offsets[b + one]
    if i_end - i > j_end - j:
        i, i_end, j, j_end = j, j_end, i, i_end
    found = np.int64(0)
    k = np.uint64(i) + np.uint64(cuda.laneid)
    while k < i_end:
        w = neighbours[k]
        if k == i or neighbours[k - one] != w:
            low, high = np.uint64(j), np.uint64(j_end)
            while low < high:
                half = (low + high) >> one
                if neighbours[half] < w:
                    low = half + one
                else:
                    high = half
            if low < j_end and neighbours[low] == w:
                found += np.int64(1)
        k += wide
    for level in range(5):
        found += cuda.shfl_xor_sync(FULL, found, 16 >> level)
    return found
