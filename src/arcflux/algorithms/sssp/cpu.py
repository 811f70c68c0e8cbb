"""Predecessors of shortest paths: the last tight edge of each row, where reading the row ends.

Few edges are tight, so the sum is compared first: a predictable branch, and loads that need not wait for one another.
Skipping edges that are heavier than the whole distance saved a fifth on a Kronecker graph, and cost as much on a random
one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import fetch_add, take

__all__ = ["predecessors"]

Array = NDArray[Any]
_CHUNK = 1 << 11


@kernel
def trace_back(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, distance: Any, far: Any,
    first: Any, last: Any, predecessor: Any, lacking: Any,
) -> None:  # fmt: skip
    """Set the predecessor of every vertex that is nearer than `far`, has none (-1), and has one at a smaller distance.

    Of the vertices from `first` to before `last`; ``lacking[0]`` counts those that have none at a smaller distance.
    """
    one = np.uint64(1)
    without = 0
    while True:
        begin, end = take(control, last - first, np.uint64(_CHUNK))
        if begin == end:
            break
        for v in range(first + begin, first + end):
            mine = distance[v]
            if predecessor[v] >= 0 or not mine < far:
                continue
            i, row = offsets[v + one], offsets[v]
            while i > row:
                i -= one
                u = np.uint64(neighbours[i])
                if distance[u] + weights[i] == mine and distance[u] < mine:
                    predecessor[v] = u
                    break
            without += predecessor[v] < 0
    fetch_add(lacking, 0, without)


def predecessors(worker: Worker, distance: Array, far: float, roots: Array, kind: Any) -> tuple[Array, int]:
    """The predecessors of the worker's share of vertices, and how many lack one."""
    graph, cores, (first, last) = worker.graph, worker.cores, worker.share(worker.graph.vertices)
    found, lacking = cores.kept(graph.vertices, kind, zero=False), cores.small(1)
    if cores.leads:
        found[:] = -1
        found[roots] = roots
    weighed = *graph.into, graph.in_columns["weight"], distance, distance.dtype.type(far)
    share = np.uint64(first), np.uint64(last)
    cores.launch(trace_back, -(-(last - first) // _CHUNK), *weighed, *share, found, lacking)
    return cores.result(found)[first:last], int(lacking[0])
