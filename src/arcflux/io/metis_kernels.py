"""Kernels for adjacency that lists every undirected edge from both its ends, and has to be checked for it.

The trick: each arc (u, v, weight) is hashed without its direction, and the hashes of arcs that go up (u < v) are added,
of arcs that go down subtracted, modulo 2**64. Every arc has its mirror image if the balance is zero; by chance it is so
once in 2**64 times. That takes one sweep and no memory, where sorting the arcs would take both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import claim
from arcflux.spmd.random import mix

__all__ = ["FINE", "LOOP", "ODD", "RANGE", "SHORT", "balance_rows", "edges"]

# What can be wrong with a vertex's line.
FINE, SHORT, ODD, RANGE, LOOP = 0, 1, 2, 3, 4


@inner
def _signed(u: Any, v: Any, weight: Any) -> Any:
    """The hash of an arc without its direction: added when it goes up, subtracted when it goes down, 0 for a loop."""
    low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
    word = mix(mix(mix(low + np.uint64(1)) + high) + np.uint64(weight))
    if u < v:
        return word
    return np.uint64(0) - word if u > v else np.uint64(0)


@kernel
def edges(
    worker: Any, workers: Any, control: Any, values: Any, offsets: Any, bounds: Any, skip: Any, source: Any,
    target: Any, weight: Any, counts: Any, balance: Any, wrong: Any, where: Any,
) -> None:  # fmt: skip
    """Each edge once, out of lines ``[skip numbers] neighbour [weight] neighbour [weight] ...`` of vertices 1, 2, ...

    Part p is the lines bounds[p] to bounds[p + 1], and writes counts[p] edges from place offsets[bounds[p]] / step on.
    balance[p]: the sum of its signed hashes; wrong[p], where[p]: what is wrong with which line.
    """
    one = np.uint64(1)
    step = np.uint64(1 if weight is None else 2)
    vertices = np.int64(offsets.size - 1)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        first = offsets[bounds[part]] // step
        place = first
        for line in range(bounds[part], bounds[part + 1]):
            v = np.int64(line) + 1
            begin, end = offsets[line] + skip, offsets[line + one]
            fault = FINE
            if begin > end:
                fault = SHORT
            elif (end - begin) % step:
                fault = ODD
            else:
                for i in range(begin, end, step):
                    other = values[i]
                    if other < 1 or other > vertices:
                        fault = RANGE
                        break
                    if other == v:
                        fault = LOOP
                        break
                    value = np.int64(0)
                    if weight is not None:
                        value = values[i + one]
                    balance[part] += _signed(v, other, value)
                    if v < other:
                        source[place] = v
                        target[place] = other
                        if weight is not None:
                            weight[place] = value
                        place += one
            if fault != FINE:
                wrong[part] = fault
                where[part] = line
                break
        counts[part] = place - first


@kernel
def balance_rows(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weight: Any, bounds: Any, balance: Any,
    loops: Any,
) -> None:  # fmt: skip
    """The balance, and the self-loops, of adjacency: part p is the rows bounds[p] to bounds[p + 1]."""
    one = np.uint64(1)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        for u in range(bounds[part], bounds[part + 1]):
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                value = np.int64(0)
                if weight is not None:
                    value = weight[i]
                balance[part] += _signed(u, v, value)
                loops[part] += np.int64(u == v)
