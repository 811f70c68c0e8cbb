"""Sums of the hashes of arcs: whether two structures have the same arcs, and whether every arc has its mirror image.

Each arc (u, v, value) is hashed, and the hashes are added modulo 2**64: the sum does not depend on the order, so the
same arcs by source and by target have the same sum. For mirror images the hash leaves the direction out, and
arcs that go up (u < v) are added, arcs that go down subtracted: the balance is zero. By chance either is so once in
2**64 times. That takes one sweep and no memory, where sorting the arcs would take both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim
from arcflux.spmd.random import arc_hash, signed_arc_hash

__all__ = ["sum_arcs"]


@kernel
def sum_arcs(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, values: Any, both: Any, transposed: Any,
    bounds: Any, sums: Any, loops: Any,
) -> None:  # fmt: skip
    """The sum, and the self-loops, of adjacency: part p is the rows bounds[p] to bounds[p + 1].

    values: unsigned integers, one for each arc, or None. `both` asks for the balance of both directions; `transposed`
    says that rows are those of targets.
    """
    one = np.uint64(1)
    while True:
        part = claim(control)
        if part >= bounds.size - 1:
            break
        total, found = np.uint64(0), np.int64(0)
        for row in range(bounds[part], bounds[part + 1]):
            u = np.uint64(row)
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                value = np.uint64(0)
                if values is not None:
                    value = np.uint64(values[i])
                if both:
                    total += signed_arc_hash(u, v, value)
                elif transposed:
                    total += arc_hash(v, u, value)
                else:
                    total += arc_hash(u, v, value)
                found += np.int64(u == v)
        sums[part] = total
        loops[part] = found
