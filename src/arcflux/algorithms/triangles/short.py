"""Triangles of graphs whose rows are all short, such as grids and roads: rows are merged as they are.

Packing rows as bits pays when a row is met many times. Where no vertex has more than a few neighbours, it costs more
than all the intersections.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.graph import Graph
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import fetch_add, take

__all__ = ["CHUNK", "are_short", "merge"]

_SHORT = 16
CHUNK = 4096


def are_short(graph: Graph) -> bool:
    """Whether all rows of an undirected graph are short, and sorted."""
    return not graph.directed and graph.sorted and int(graph.out_degrees.max(initial=0)) <= _SHORT


@kernel
def merge(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, found: Any) -> None:
    """A triangle u > v > w is found from u: for every v in its row, the w that both rows have."""
    one = np.uint64(1)
    while True:
        begin, end = take(control, np.uint64(found.size), np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(begin, end):
            first, last = offsets[u], offsets[u + one]
            for i in range(first, last):
                v = np.uint64(neighbours[i])
                if v >= u:
                    break
                if i > first and neighbours[i - one] == neighbours[i]:
                    continue  # a parallel edge
                j, k, stop = first, offsets[v], offsets[v + one]
                while j < i and k < stop:
                    a, b = np.uint64(neighbours[j]), np.uint64(neighbours[k])
                    if b >= v or a >= v:
                        break
                    if a == b and (j == first or neighbours[j - one] != neighbours[j]):
                        fetch_add(found, u, 1)
                        fetch_add(found, v, 1)
                        fetch_add(found, a, 1)
                    j += np.uint64(a <= b)
                    k += np.uint64(b <= a)
