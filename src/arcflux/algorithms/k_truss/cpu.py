"""Supports of edges, and peeling by them, on a team of cores.

Supports: every vertex marks the neighbours that it leads up to (rows.py) and walks the rows that these lead up to; a
marked vertex there is the third corner of a triangle, which is found once ("compact-forward", Latapy 2008). Meanwhile a
mark counts for the edge to its vertex, so that only one of the three edges is written out of order.

Peeling: ``state`` of an edge is GONE, STAYS, or LEAVES in this round. Edges that lose a triangle are listed; the next
ones to leave are among these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.k_truss.rows import Rows, select
from arcflux.engine.worker import Worker
from arcflux.graph import Graph
from arcflux.graph.arcs import edge_of_arcs
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.memory import frozen, zeros
from arcflux.spmd.search import lower_bound

__all__ = ["Trusses"]

Array = NDArray[Any]
_CHUNK = 64
GONE, STAYS, LEAVES = 0, 1, 2
# A row that is this many times longer than the other one is searched by bisection, not walked.
_LONGER = np.uint64(4)


@inner
def _add(into: Any, place: Any, value: Any, alone: Any) -> None:
    if alone:
        into[place] += np.int32(value)
    else:
        fetch_add(into, place, np.int32(value))


@kernel
def count_support(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, edges: Any, first: Any, last: Any,
    marks: Any, support: Any,
) -> None:  # fmt: skip
    """``support[e]``: int32, incremented by the triangles of edge e whose lowest corner is a vertex of first:last.

    The rows lead up; marks: int32[workers, n], zero before and after.
    """
    one, mark, alone = np.uint64(1), marks[worker], workers == 1
    while True:
        begin, end = take(control, np.uint64(last - first), np.uint64(_CHUNK))
        if begin == end:
            break
        for u in range(np.uint64(first) + begin, np.uint64(first) + end):
            if offsets[u + one] - offsets[u] < np.uint64(2):
                continue
            for i in range(offsets[u], offsets[u + one]):
                mark[neighbours[i]] = 1
            for i in range(offsets[u], offsets[u + one]):
                v, found = np.uint64(neighbours[i]), np.int32(0)
                for j in range(offsets[v], offsets[v + one]):
                    w = neighbours[j]
                    if mark[w] != 0:
                        mark[w] += np.int32(1)
                        found += np.int32(1)
                        _add(support, edges[j], 1, alone)
                mark[v] += found
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                if mark[v] > 1:
                    _add(support, edges[i], mark[v] - np.int32(1), alone)
                mark[v] = 0


@inner
def _lose(edge: Any, one: Any, other: Any, state: Any, lost: Any, touched: Any, count: Any) -> None:
    """A triangle of an edge that leaves: the others lose it if this is the first of its edges that leaves."""
    there, here = state[one], state[other]
    if there == GONE or here == GONE or (there == LEAVES and one < edge) or (here == LEAVES and other < edge):
        return
    if there == STAYS and fetch_add(lost, one, np.int32(1)) == 0:
        touched[fetch_add(count, 0, 1)] = one
    if here == STAYS and fetch_add(lost, other, np.int32(1)) == 0:
        touched[fetch_add(count, 0, 1)] = other


@kernel
def lose_triangles(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, edges: Any, low: Any, high: Any,
    leaving: Any, state: Any, lost: Any, touched: Any, count: Any,
) -> None:  # fmt: skip
    """``lost[e]``: how many triangles of e lose an edge in this round; ``touched[:count[0]]``: the edges with any."""
    one = np.uint64(1)
    while True:
        first, last = take(control, np.uint64(leaving.size), np.uint64(_CHUNK))
        if first == last:
            break
        for k in range(first, last):
            edge = leaving[k]
            u, v = np.uint64(low[edge]), np.uint64(high[edge])
            a, a_end, b, b_end = offsets[u], offsets[u + one], offsets[v], offsets[v + one]
            if a_end - a > b_end - b:
                a, a_end, b, b_end = b, b_end, a, a_end
            searches = (a_end - a) << _LONGER < b_end - b
            while a < a_end and b < b_end:
                if searches:
                    b = lower_bound(neighbours, b, b_end, neighbours[a])
                    if b == b_end:
                        break
                x, y = neighbours[a], neighbours[b]
                if x == y:
                    _lose(edge, np.int64(edges[a]), np.int64(edges[b]), state, lost, touched, count)
                a += np.uint64(x <= y)
                b += np.uint64(y <= x)


class Trusses:
    """The remaining edges of a simple graph, their supports, and their numbers in the whole graph."""

    def __init__(self, worker: Worker, graph: Graph) -> None:
        self.worker, self.cores = worker, worker.cores
        self.rows = Rows(*graph.out, edge_of_arcs(graph))
        low, high, places = graph.edge_numbers()
        self.ends: tuple[Array, Array] = (low, high)
        self.numbers: Array = np.arange(len(places))
        self._begin()

    def _begin(self) -> None:
        """Initially all edges stay, and have lost nothing."""
        self.size = len(self.numbers)
        self.state, self.lost = self.cores.host(self.size, np.uint8), self.cores.host(self.size, np.int32)
        self.support = self.cores.host(self.size, np.int32)
        self.touched, self.count = self.cores.host(self.size, np.int64), self.cores.small(1)
        self.low, self.high = (frozen(np.ascontiguousarray(ends)) for ends in self.ends)
        self.cores.publish(STAYS, self.state)
        self.cores.publish(0, self.lost)

    def supports(self) -> Array:
        """In how many remaining triangles each edge is. A worker has the lowest corners of a share of arcs."""
        up = select(self.cores, self.rows)
        share = np.array(self.worker.share(len(up.neighbours)), np.uint64)
        first, last = np.searchsorted(up.offsets[1:], share, side="right")
        marks = zeros(self.cores.workers * (len(up.offsets) - 1), np.int32).reshape(self.cores.workers, -1)
        self.cores.publish(0, self.support)
        arguments = *up, np.int64(first), np.int64(last), marks, self.support
        self.cores.launch(count_support, None, *arguments, visits=len(up.offsets) + 4 * len(up.neighbours))
        self.cores.together()
        if self.worker.size > 1:
            self.cores.publish(self.worker.sum(self.support), self.support)
        return self.support

    def restrict(self, stays: Array) -> None:
        """Remove the edges that do not stay; the remaining ones have their supports."""
        there = np.flatnonzero(stays)
        names = np.empty(self.size, self.rows.edges.dtype)
        names[there] = np.arange(len(there))
        self.rows = select(self.cores, self.rows, frozen(stays), frozen(names))
        low, high = self.ends
        self.ends, self.numbers, support = (low[there], high[there]), self.numbers[there], self.support[there]
        self.cores.together()
        self._begin()
        self.cores.publish(support, self.support)

    def left(self) -> Array:
        """Which edges remain."""
        found: Array = self.state == STAYS
        self.cores.together()
        return found

    def peel(self, least: int) -> None:
        """Remove edges whose support is below `least`, until there are none."""
        leaving: Array = np.flatnonzero((self.state == STAYS) & (self.support < least))
        while len(leaving):
            losers = leaving[self.support[leaving] > 0]  # the others are in no triangle any more
            self._mark(leaving, LEAVES)
            first, last = self.worker.share(len(losers))
            mine = frozen(losers[first:last].copy())
            visits = 2 * len(mine) * (1 + len(self.rows.neighbours) // max(1, len(self.rows.offsets)))
            arguments = mine, self.state, self.lost, self.touched, self.count
            self.cores.launch(lose_triangles, None, *self.rows, self.low, self.high, *arguments, visits=visits)
            self.cores.together()
            own = self.touched[: int(self.count[0])].copy()
            met, losses = self.worker.gather(own), self.worker.gather(self.lost[own])
            self._mark(leaving, GONE)
            if self.cores.leads:
                np.subtract.at(self.support, met, losses)
                self.lost[own], self.count[0] = 0, 0
            self.cores.together()
            met = met if self.worker.size == 1 else np.unique(met)
            leaving = met[self.support[met] < least]
            self.cores.together()

    def _mark(self, edges: Array, state: int) -> None:
        self.cores.together()
        if self.cores.leads:
            self.state[edges] = state
        self.cores.together()
