"""Triangles on parts: by wedges (wedges.py), or by intersecting a share of all rows where every rank has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.distributed.readers import whole
from arcflux.distributed.wedges import Wedges
from arcflux.kernels.rows import Rows
from arcflux.partition.parts import Parts
from arcflux.transports.base import Transport

__all__ = ["corners", "count"]

Array = NDArray[Any]


def corners(
    transport: Transport, parts: Parts, *, degrees: bool = False, batch: int | None = None
) -> tuple[Array, Array | None, Launch]:
    """Triangles through each vertex, or edges among its neighbours if directed; and how many neighbours it has.

    The same as :meth:`arcflux.kernels.rows.Rows.corners`. `batch`: how many wedges a rank takes in at a time.
    """
    launch = Launch(transport)
    if parts.duplicated:
        rows = Rows(parts.graph, 1)
        found, counted = rows.corners(rows.turn(transport.rank, transport.size), degrees=degrees)
        launch.compiled += rows.compile_seconds
        counted = None if counted is None else transport.reduce(counted, "sum")
    else:
        wedges = Wedges(transport, parts, launch, batch)
        found = np.zeros(parts.graph.vertices, np.int64)
        wedges.count(found)
        counted = whole(transport, parts, wedges.distinct).astype(np.int64) if degrees else None
    return transport.reduce(found, "sum"), counted, launch


def count(transport: Transport, parts: Parts) -> int:
    """How many triangles there are."""
    if parts.duplicated:
        rows = Rows(parts.graph, 1)
        own = rows.count(rows.turn(transport.rank, transport.size))
    else:
        own = Wedges(transport, parts, Launch(transport)).count(None)
    return int(transport.reduce(np.array([own]), "sum")[0])
