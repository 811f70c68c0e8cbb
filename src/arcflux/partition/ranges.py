"""Contiguous vertices with all their in-arcs, about as many arcs in each part, from the offsets alone (Lux, 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.core import Graph
from arcflux.partition.parts import Parts

__all__ = ["bounds", "split"]


def split(graph: Graph, k: int) -> Parts:
    """Cut the vertices where the arcs before them are nearest to an equal share."""
    return Parts(graph, k, "ranges", bounds=bounds(graph.into.offsets, k))


def bounds(offsets: NDArray[np.uint64], k: int) -> NDArray[np.int64]:
    """Vertices that cut rows into `k` ranges of about as many arcs: int64[k + 1], from 0 to all.

    Examples
    --------
    >>> bounds(np.array([0, 9, 10, 11, 12], np.uint64), 2).tolist()
    [0, 1, 4]
    """
    vertices, arcs = len(offsets) - 1, int(offsets[-1])
    if not arcs:
        return equal(vertices, k)
    marks = np.array([i * arcs // k for i in range(1, k)], np.uint64)
    after = np.searchsorted(offsets, marks)
    before = np.maximum(after, 1) - 1
    nearer = marks - offsets[before] < offsets[after] - marks
    return np.concatenate([[0], np.where(nearer & (after > 0), before, after), [vertices]]).astype(np.int64)


def equal(vertices: int, k: int) -> NDArray[Any]:
    """Bounds of `k` ranges of as many vertices each."""
    return np.array([i * vertices // k for i in range(k + 1)], np.int64)
