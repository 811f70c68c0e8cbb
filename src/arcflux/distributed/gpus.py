"""The same on GPUs, and on cores beside them: each has the whole graph and takes its share of the work.

Kernels and how they are launched are in gpu/algorithms/, and for cores in cores.py; here is who does what. Shares are
rows, edges, sources or listed vertices. Counts add up, the rest is gathered, so that integers are those of cores
whatever the shares, and sums of paths have their bits. Every rank gets the whole result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed import cores
from arcflux.distributed.workers import Gpus, Worker, on_gpus
from arcflux.graph import Graph
from arcflux.kernels.accumulation import dealt
from arcflux.kernels.ordered import sorted_rows

__all__ = ["Gpus", "dependencies", "on_gpus", "predecessors"]  # fmt: skip

Array = NDArray[Any]
Rows = tuple[Array, Array]

# Bytes of rows of sums that ranks exchange at a time, and the most sources they are of.
_BATCH = 1 << 28
_SOURCES = 64


def _rows(graph: Graph) -> tuple[Rows, Rows | None]:
    """Out-edges in order, and in-edges of a directed graph."""
    out, into = sorted_rows(graph)
    return (out.offsets, out.neighbours), (into.offsets, into.neighbours) if graph.directed else None


def dependencies(gpus: Gpus, graph: Graph, sources: Array, endpoints: bool) -> tuple[Array, Array]:
    """What the paths from all sources give to each vertex, and the sources: those of the first rank.

    Sums have the bits of cores: where these have lanes, devices share the lanes. Where there is but one, some sources
    at a time are shared, and what each gives is added in their order.
    """

    def work(worker: Worker) -> tuple[Array, Array]:
        given, n = sources.astype(np.int64), graph.vertices
        agreed = given if worker.size == 1 else worker.transport.broadcast(given, 0)
        lanes, apart = dealt(graph, len(agreed))
        whole = apart or worker.size == 1
        most = lanes if whole else max(worker.size, min(_SOURCES, _BATCH // (8 * max(1, n))))
        made = _dependencies(worker, graph, apart, most)
        total = np.zeros(n)
        with worker.task("betweenness", len(agreed), "sources") as at:
            done = _Done(worker, len(agreed), at)
            for begin in [0] if whole else range(0, len(agreed), most):
                some = agreed if whole else agreed[begin : begin + most]
                width = lanes if whole else len(some)
                mine = range(*worker.mine(width))
                rows = worker.gathered(made.run(some, width, mine, float(endpoints), done).reshape(-1))
                if whole:
                    return np.asarray(rows.reshape(width, n).sum(axis=0)), agreed
                for row in rows.reshape(width, n):
                    total += row
        return total, agreed

    return gpus.run(work)


class _Done:
    """Counts the sources that a rank has done, and says how many of all that makes."""

    def __init__(self, worker: Worker, total: int, at: Callable[[int], None]) -> None:
        self.worker, self.total, self.at, self.own = worker, total, at, 0

    def __call__(self, more: int) -> None:
        self.worker.transport.check()
        self.own += more
        self.at(min(self.total, round(self.own / self.worker.shares.part)))


def _dependencies(worker: Worker, graph: Graph, apart: bool, lanes: int) -> Any:
    if isinstance(worker.room, cores.Cores):
        return cores.Dependencies(worker.room, graph, apart)
    from arcflux.gpu.algorithms.betweenness import Dependencies
    from arcflux.kernels.betweenness import MANY

    first, last = worker.mine(lanes)
    return Dependencies(worker.room, *_rows(graph), last - first, MANY)


def predecessors(gpus: Gpus, graph: Graph, distance: Array, far: float, predecessor: Array) -> tuple[Array, int]:
    """From whom each vertex has its distance, and how many do not have it from one at a smaller distance."""

    def work(worker: Worker) -> tuple[Array, int]:
        into = graph.into
        rows = into.offsets, into.neighbours, graph.in_columns["weight"]
        found, lacking = _preceding(worker)(
            worker.room, *rows, distance, far, predecessor, *worker.mine(graph.vertices)
        )
        return worker.gathered(found), int(worker.summed(np.array([lacking]))[0])

    return gpus.run(work)


def _preceding(worker: Worker) -> Any:
    if isinstance(worker.room, cores.Cores):
        return cores.predecessors
    from arcflux.gpu.algorithms import predecessors as on_gpu

    return on_gpu.predecessors
