"""Predecessors of shortest paths: the last tight edge of each row; a warp reads a row from its end.

Like cpu.py on cores, with the same result: lanes read 32 edges in parallel, and the one with the last tight edge
writes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.gpu.kit import cuda, kernel
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import first_row, lane_of, row_stride, told

__all__ = ["KERNELS", "predecessors"]

Array = NDArray[Any]

BOUNDS = (256, 8, 8)


@kernel
def _predecessors(
    rows: Any, neighbours: Any, weights: Any, distance: Any, far: Any, first: Any, last: Any, predecessor: Any,
    lacking: Any,
) -> None:  # fmt: skip
    """Set the predecessors of vertices from `first` to before `last` that have none, and count those that find none."""
    zero, one, width = np.uint64(0), np.uint64(1), np.uint64(32)
    v = first + first_row()
    while v < last:
        mine = distance[v]
        if predecessor[v] < 0 and mine < far:
            begin, end = np.uint64(rows[v]), np.uint64(rows[v + one])
            said = zero
            while said == zero and end > begin:
                fits = False
                u = zero
                if end - begin > lane_of():  # the last edge is the first lane's
                    i = end - one - lane_of()
                    u = np.uint64(neighbours[i])
                    near = distance[u]
                    fits = near + weights[i] == mine and near < mine
                said = told(fits)
                if fits and said & ((one << lane_of()) - one) == zero:
                    predecessor[v] = np.int64(u)
                end = end - width if end - begin > width else begin
            if said == zero and lane_of() == zero:
                cuda.atomic.add(lacking, 0, 1)
        v += row_stride()


KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "sssp: predecessors": (
        _predecessors, ("u4[]", "u4[]", "f8[]", "f8[]", "f8", "u8", "u8", "i4[]", "i8[]"),
    ),
}  # fmt: skip


def predecessors(worker: Worker, distance: Array, far: float, roots: Array, kind: Any) -> tuple[Array, int]:
    """The predecessors of the worker's share of vertices, and how many lack one."""
    room, graph, (first, last) = worker.room, worker.graph, worker.share(worker.graph.vertices)
    offsets, neighbours = graph.into
    room.reserve(bytes_of_rows(offsets) + distance.nbytes + graph.vertices * np.dtype(kind).itemsize + 8, "vertices")
    rows = room.rows(offsets), room.edges(neighbours), room.edges(graph.in_columns["weight"])
    start = np.full(graph.vertices, -1, kind)
    start[roots] = roots
    found, lacking = room.copied(start), room.filled(1, np.int64)
    room.launch(
        _predecessors, 32 * (last - first), *rows, room.copied(distance), distance.dtype.type(far), np.uint64(first),
        np.uint64(last), found, lacking,
    )  # fmt: skip
    return np.asarray(found.copy_to_host())[first:last], int(lacking.copy_to_host()[0])
