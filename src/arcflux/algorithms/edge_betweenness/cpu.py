"""Brandes' accumulation onto arcs, a source at a time on each core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import take
from arcflux.spmd.memory import frozen, zeros

__all__ = ["dependencies"]

Array = NDArray[Any]


@kernel
def accumulate(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, sources: Any, levels: Any, paths: Any,
    shares: Any, orders: Any, sums: Any,
) -> None:  # fmt: skip
    """``sums[worker, i]``: the dependency on arc i of the worker's sources.

    levels, orders: int64[workers, n]; paths, shares: float64[workers, n]; sums: float64[workers, arcs], 0 at first.
    """
    one = np.uint64(1)
    v: Any
    level, count, share, order, own = levels[worker], paths[worker], shares[worker], orders[worker], sums[worker]
    while True:
        begin, end = take(control, np.uint64(sources.size), one)
        if begin == end:
            break
        for v in range(level.size):
            level[v], count[v], share[v] = -1, 0.0, 0.0
        source = np.uint64(sources[begin])
        level[source], count[source], order[0] = 0, 1.0, np.int64(source)
        first, last = 0, 1
        while first < last:
            u = np.uint64(order[first])
            first += 1
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                if level[v] < 0:
                    level[v] = level[u] + 1
                    order[last] = np.int64(v)
                    last += 1
                if level[v] == level[u] + 1:
                    count[v] += count[u]
        for k in range(last - 1, -1, -1):
            u = np.uint64(order[k])
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                if level[v] == level[u] + 1:
                    part = count[u] / count[v] * (1.0 + share[v])
                    share[u] += part
                    own[i] += part


def dependencies(worker: Worker, sources: Array) -> Array:
    """The sums of all cores of a team."""
    cores, graph = worker.cores, worker.graph
    team, n = cores.workers, graph.vertices
    scratch = [zeros(team * n, kind).reshape(team, n) for kind in (np.int64, float, float, np.int64)]
    sums = cores.kept(team * graph.arcs, np.float64).reshape(team, graph.arcs)
    with worker.task("edge betweenness", len(sources), "sources") as task:
        cores.launch(accumulate, len(sources), *graph.out, frozen(sources), *scratch, sums, task=task)
    found: Array = cores.result(sums).sum(axis=0)
    return found
