"""The messages of belief propagation on cores: for each vertex and pattern edge the best offer of a neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import take

__all__ = ["CHUNK", "offers"]

CHUNK = 64


@kernel
def offers(
    worker: Any, workers: Any, control: Any, first: Any, last: Any, offsets: Any, neighbours: Any, places: Any,
    costs: Any, values: Any, null: Any, out: Any,
) -> None:  # fmt: skip
    """out[v - first, q]: the largest of null[q] and of values[u, q] - costs[arc, q] over the row of v.

    The arc at place i of the rows has its costs at places[i] (None: at i); without costs they are 0.
    """
    width = null.size
    while True:
        begin, end = take(control, last - first, np.uint64(CHUNK))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            row = out[v - first]
            for q in range(width):
                row[q] = null[q]
            for i in range(offsets[v], offsets[v + np.uint64(1)]):
                theirs = values[neighbours[i]]
                if costs is None:
                    for q in range(width):
                        row[q] = max(row[q], theirs[q])
                else:
                    cost = costs[i] if places is None else costs[places[i]]
                    for q in range(width):
                        row[q] = max(row[q], theirs[q] - cost[q])
