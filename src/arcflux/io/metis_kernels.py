"""The kernel for lines that list every undirected edge from both its ends, and have to be checked for it.

That every arc has its mirror image is seen by the balance of their hashes (arc_kernels.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim
from arcflux.spmd.random import signed_arc_hash

__all__ = ["FINE", "LOOP", "ODD", "RANGE", "SHORT", "edges"]

# What can be wrong with a vertex's line.
FINE, SHORT, ODD, RANGE, LOOP = 0, 1, 2, 3, 4


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
                    balance[part] += signed_arc_hash(v, other, value)
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
