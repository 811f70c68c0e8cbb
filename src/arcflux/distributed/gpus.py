"""The same on GPUs, and on cores beside them: each has the whole graph and takes its share of the work.

Kernels and how they are launched are in gpu/algorithms/, and for cores in cores.py; here is who does what. Shares are
rows, edges, sources or listed vertices. Counts add up, the rest is gathered, so that integers are those of cores
whatever the shares, and sums of paths have their bits. Every rank gets the whole result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed import cores
from arcflux.distributed.workers import Gpus, Worker, on_gpus
from arcflux.graph import Graph
from arcflux.kernels.ordered import sorted_rows

__all__ = ["Gpus", "on_gpus", "predecessors"]  # fmt: skip

Array = NDArray[Any]
Rows = tuple[Array, Array]

# Bytes of rows of sums that ranks exchange at a time, and the most sources they are of.
_BATCH = 1 << 28
_SOURCES = 64


def _rows(graph: Graph) -> tuple[Rows, Rows | None]:
    """Out-edges in order, and in-edges of a directed graph."""
    out, into = sorted_rows(graph)
    return (out.offsets, out.neighbours), (into.offsets, into.neighbours) if graph.directed else None


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
