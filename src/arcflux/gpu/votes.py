"""Counting and selecting by one thread in the neighbourhood of its vertex: it sorts a copy of the collected values.

A GPU has too many threads for a table each. But each row has its positions in an array as long as all edges, so a
thread collects there, sorts (heapsort: in place, and never slow), and searches the longest run of equal values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.gpu.kit import inner
from arcflux.spmd.rows import define

__all__ = ["common", "heaviest", "leading", "middle", "shares", "table_shift", "vote", "weigh"]

_made = define(inner)
common, middle, shares = _made.common, _made.middle, _made.shares


@inner
def table_shift(voters: Any) -> Any:
    """Nothing: there is no table."""
    return np.uint64(0)


@inner
def vote(values: Any, places: Any, shift: Any, found: Any, name: Any) -> Any:
    """Collect a name and its position; returns how many there are."""
    values[found] = name
    places[found] = found
    return found + np.uint64(1)


@inner
def weigh(values: Any, places: Any, weights: Any, shift: Any, found: Any, name: Any, weight: Any) -> Any:
    """Collect a name and its weight."""
    weights[found] = weight
    return vote(values, places, shift, found, name)


@inner
def sift(values: Any, places: Any, root: Any, size: Any) -> None:
    """Sift the value at `root` down in the heap of the first `size`; of equal ones, the later is larger."""
    value, place = values[root], places[root]
    while np.int64(2) * root + np.int64(1) < size:
        child = np.int64(2) * root + np.int64(1)
        if child + np.int64(1) < size:
            a, b = values[child], values[child + np.int64(1)]
            if a < b or (a == b and places[child] < places[child + np.int64(1)]):
                child += np.int64(1)
        if values[child] < value or (values[child] == value and places[child] < place):
            break
        values[root], places[root] = values[child], places[child]
        root = child
    values[root], places[root] = value, place


@inner
def ascend(values: Any, places: Any, count: Any) -> None:
    """Sort the first `count` values, equal ones by position."""
    for k in range(count >> np.int64(1)):
        sift(values, places, (count >> np.int64(1)) - np.int64(1) - np.int64(k), count)
    for k in range(count - np.int64(1)):
        last = count - np.int64(1) - np.int64(k)
        value, place = values[last], places[last]
        values[last], places[last] = values[0], places[0]
        values[0], places[0] = value, place
        sift(values, places, np.int64(0), last)


@inner
def leading(values: Any, places: Any, found: Any) -> Any:
    """The most frequent name, of several the smallest."""
    count = np.int64(found)
    ascend(values, places, count)
    best, most, same = values[0], np.int64(0), np.int64(0)
    for k in range(count):
        same = same + np.int64(1) if k > 0 and values[k] == values[k - 1] else np.int64(1)
        if same > most:
            best, most = values[k], same
    return best


@inner
def heaviest(values: Any, places: Any, weights: Any, found: Any) -> Any:
    """The name with the largest sum of weights, added in order of collection; of several the smallest."""
    count = np.int64(found)
    ascend(values, places, count)
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
    return best
