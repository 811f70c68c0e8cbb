"""Arcs and their reverse arcs, in one walk along sorted rows, on one core.

Rows are walked in order, so the requests to a row v come in order, too: a pointer into each row finds the reverse arc.
Of parallel arcs the first is paired with the first. An arc without a reverse gets one at the end of the row of its
head.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel

__all__ = ["lay_out", "pair"]


@kernel
def pair(
    worker: Any, workers: Any, control: Any, offsets: Any, heads: Any, mates: Any, pointers: Any, ends: Any, odd: Any
) -> None:  # fmt: skip
    """mates[a]: the reverse of arc a, or the number of arcs. ends[v]: where row v begins once all arcs have one.

    pointers: uint64[n] is where each row begins, and scratch. odd[0]: how many arcs are loops, or have none back.
    """
    one, none = np.uint64(1), mates.size
    for a in range(mates.size):
        mates[a] = none
    for k in range(ends.size):
        ends[k] = 0
    for u in range(np.uint64(pointers.size)):
        for a in range(offsets[u], offsets[u + one]):
            v = np.uint64(heads[a])
            if v > u:
                back, last = pointers[v], offsets[v + one]
                while back < last and heads[back] < u:
                    back += one
                if back < last and heads[back] == u:
                    mates[a], mates[back] = back, a
                    back += one
                pointers[v] = back
    for u in range(np.uint64(pointers.size)):
        for a in range(offsets[u], offsets[u + one]):
            v = np.uint64(heads[a])
            odd[0] += mates[a] == none
            if v != u:
                ends[u + one] += one
                if mates[a] == none:
                    ends[v + one] += one
    for u in range(np.uint64(pointers.size)):
        ends[u + one] += ends[u]


@kernel
def lay_out(
    worker: Any, workers: Any, control: Any, offsets: Any, heads: Any, mates: Any, free: Any, slots: Any,
    new_heads: Any, reverse: Any,
) -> None:  # fmt: skip
    """slots[a]: the position of arc a in a network in which each has its reverse; past its end for a loop.

    free: where each row begins, and scratch.
    """
    one, none = np.uint64(1), mates.size
    for u in range(np.uint64(offsets.size) - one):
        for a in range(offsets[u], offsets[u + one]):
            slots[a] = new_heads.size
            if heads[a] != u:
                slots[a] = free[u]
                new_heads[free[u]] = heads[a]
                free[u] += one
    for u in range(np.uint64(offsets.size) - one):
        for a in range(offsets[u], offsets[u + one]):
            v = np.uint64(heads[a])
            if v == u:
                continue
            if mates[a] != none:
                reverse[slots[a]] = slots[mates[a]]
            else:
                back = free[v]
                new_heads[back] = u
                reverse[back], reverse[slots[a]] = slots[a], back
                free[v] += one
