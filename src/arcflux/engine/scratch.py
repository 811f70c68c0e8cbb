"""The arrays in which workers count and select when vertices visit their neighbourhoods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.generators import scratch
from arcflux.graph import Graph
from arcflux.spmd.memory import zeros
from arcflux.spmd.votes import slots

__all__ = ["scratch_for", "worker_scratch"]

Array = NDArray[Any]
# Counts of a table have the width of its keys.
_WIDE = 1 << 31


def worker_scratch(lowered: Lowered, graph: Graph, workers: int) -> list[Array]:
    """The scratch arrays, a row for each worker, as large as the longest row of edges needs."""
    return list(scratch_for(lowered, int(graph.in_degrees.max(initial=1)), workers).values())


def scratch_for(lowered: Lowered, longest: int, workers: int) -> dict[str, Array]:
    """The same for rows of at most this many edges, by the names that kernels use."""
    arrays: dict[str, Array] = {}
    size = slots(longest)
    for one in scratch(lowered):
        dtype = np.dtype(np.int64) if longest >= _WIDE and one.dtype.itemsize < 8 else one.dtype
        length = {"table": 2 * size, "slots": size, "weights": size, "values": longest}[one.use]
        rows = zeros(workers * length, dtype)
        arrays[f"{one.name}s"] = rows.reshape(workers, size, 2) if one.use == "table" else rows.reshape(workers, length)
    return arrays
