"""Triangles by merging the graph's own rows in the order of vertex numbers: nothing is ranked, packed or copied.

A triangle u > v > w is found from u: for every v below u in its row, the w below v that both rows have. The cost is
known beforehand: a row with `low` neighbours below its vertex and `high` above is walked low**2 / 2 times as that of u
and low * high times as that of v. Packing rows as bits (packed.py) pays if that is much more than the number of edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.engine.worker import Cores
from arcflux.graph import Graph
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, prefetch_to_read, take
from arcflux.spmd.search import lower_bound

__all__ = ["CHUNK", "merge_corners", "merge_count", "merging_pays"]

CHUNK = 256
# Packing an edge and reading its row as bits takes about as long as merging this many entries (measured on uniform,
# power-law, web-like and mesh graphs: the two take the same time at 20 to 25 entries an edge).
_ENTRIES = 20


def merging_pays(graph: Graph, cores: Cores) -> bool:
    """Whether rows of an undirected graph are sorted, and merging walks few entries for each edge."""
    if graph.directed or not graph.sorted:
        return False
    key = "merged entries", cores.team.kind  # ranks count together, so each of them has it or none
    if key not in graph.kept:
        totals = cores.small((cores.workers, 8), np.uint64)
        cores.launch(_walked, -(-graph.vertices // CHUNK), *graph.out, totals)
        graph.kept[key] = int(totals[:, 0].sum())
    return int(graph.kept[key]) <= _ENTRIES * (graph.arcs // 2)


@kernel
def _walked(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, totals: Any) -> None:
    """``totals[worker, 0]``: the most entries of rows that merging walks."""
    one = np.uint64(1)
    total = np.uint64(0)
    while True:
        begin, end = take(control, np.uint64(offsets.size) - one, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(begin, end):
            first, last = offsets[u], offsets[u + one]
            own = lower_bound(neighbours, first, last, u)
            low, high = own - first, last - own
            total += (low * low >> one) + low * high
    totals[worker, 0] = total


@inner
def _announce(offsets: Any, neighbours: Any, i: Any, last: Any) -> None:
    """Prefetch the rows that will be merged soon: they are scattered in memory."""
    far = i + np.uint64(16)
    if far < last:
        prefetch_to_read(offsets, np.uint64(neighbours[far]))
        prefetch_to_read(neighbours, offsets[neighbours[i + np.uint64(8)]])


@kernel
def merge_count(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, totals: Any) -> None:
    """``totals[worker, 0]``: triangles that a worker found."""
    one = np.uint64(1)
    total = np.uint64(0)
    while True:
        begin, end = take(control, np.uint64(offsets.size) - one, np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(begin, end):
            first, last = offsets[u], offsets[u + one]
            for i in range(first + one, last):  # w comes before v in the row
                v = neighbours[i]
                if v >= u:
                    break
                if neighbours[i - one] == v:
                    continue  # a parallel edge
                _announce(offsets, neighbours, i, last)
                j, k, stop = first, offsets[v], offsets[np.uint64(v) + one]
                while k < stop:
                    a, b = neighbours[j], neighbours[k]
                    if a >= v or b >= v:  # j stays before i: v itself ends the walk
                        break
                    if a == b:
                        total += np.uint64(j == first or neighbours[j - one] != a)
                    j += np.uint64(a <= b)
                    k += np.uint64(b <= a)
    totals[worker, 0] = total


@kernel
def merge_corners(worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, found: Any) -> None:
    """``found[v]``: triangles through each vertex."""
    one = np.uint64(1)
    while True:
        begin, end = take(control, np.uint64(found.size), np.uint64(CHUNK))
        if begin == end:
            break
        for u in range(begin, end):
            first, last = offsets[u], offsets[u + one]
            through_u = 0
            for i in range(first + one, last):  # w comes before v in the row
                v = neighbours[i]
                if v >= u:
                    break
                if neighbours[i - one] == v:
                    continue  # a parallel edge
                _announce(offsets, neighbours, i, last)
                through_v = 0
                j, k, stop = first, offsets[v], offsets[np.uint64(v) + one]
                while k < stop:
                    a, b = neighbours[j], neighbours[k]
                    if a >= v or b >= v:
                        break
                    if a == b and (j == first or neighbours[j - one] != a):
                        through_v += 1
                        fetch_add(found, a, 1)
                    j += np.uint64(a <= b)
                    k += np.uint64(b <= a)
                if through_v != 0:
                    fetch_add(found, v, through_v)
                    through_u += through_v
            if through_u != 0:
                fetch_add(found, u, through_u)
