"""Counting and selecting in the neighbourhood of a vertex: a small hash table, and a buffer.

The table is as large as the row needs, so it stays in the cache, and is cleared slot by slot. The maximum is searched
after all votes: comparing after every vote is a branch that no processor predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner
from arcflux.spmd.rows import define

__all__ = ["common", "heaviest", "leading", "middle", "shares", "slots", "table_shift", "vote", "weigh"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def slots(voters: int) -> int:
    """The table size for so many voters: a power of two, at most half of it filled.

    Examples
    --------
    >>> slots(0), slots(8), slots(9)
    (2, 16, 32)
    """
    return 2 << max(0, voters - 1).bit_length()


@inner
def table_shift(voters: Any) -> Any:
    """The shift of a hash for the table of so many voters."""
    bits = np.uint64(1)
    while (np.uint64(1) << bits) < np.uint64(2) * voters:
        bits += np.uint64(1)
    return np.uint64(64) - bits


@inner
def vote(table: Any, used: Any, shift: Any, found: Any, name: Any) -> Any:
    """Count a vote for a name in table[slot] = name, count; returns how many slots are in use."""
    one = np.uint64(1)
    mask = (one << (np.uint64(64) - shift)) - one
    slot = (np.uint64(name) * _GOLDEN) >> shift
    while table[slot, 1] != 0 and table[slot, 0] != name:
        slot = (slot + one) & mask
    if table[slot, 1] == 0:
        table[slot, 0] = name
        used[found] = slot
        found += one
    table[slot, 1] += 1
    return found


@inner
def leading(table: Any, used: Any, found: Any) -> Any:
    """The name with the most votes, of several the smallest; clears the table."""
    slot = used[0]
    best, most = table[slot, 0], table[slot, 1]
    table[slot, 1] = 0
    for k in range(np.uint64(1), found):
        slot = used[k]
        name, count = table[slot, 0], table[slot, 1]
        table[slot, 1] = 0
        if count > most or (count == most and name < best):
            best, most = name, count
    return best


@inner
def weigh(table: Any, used: Any, weights: Any, shift: Any, found: Any, name: Any, weight: Any) -> Any:
    """Add a weight to a name's sum; returns how many slots are in use."""
    before = found
    found = vote(table, used, shift, found, name)
    one = np.uint64(1)
    mask = (one << (np.uint64(64) - shift)) - one
    slot = (np.uint64(name) * _GOLDEN) >> shift
    while table[slot, 0] != name or table[slot, 1] == 0:
        slot = (slot + one) & mask
    weights[slot] = weight if found > before else weights[slot] + weight
    return found


@inner
def heaviest(table: Any, used: Any, weights: Any, found: Any) -> Any:
    """The name with the largest sum of weights, of several the smallest; clears the table."""
    slot = used[0]
    best, most = table[slot, 0], weights[slot]
    table[slot, 1] = 0
    for k in range(np.uint64(1), found):
        slot = used[k]
        name, weight = table[slot, 0], weights[slot]
        table[slot, 1] = 0
        if weight > most or (weight == most and name < best):
            best, most = name, weight
    return best


_made = define(inner)
common, middle, shares = _made.common, _made.middle, _made.shares
