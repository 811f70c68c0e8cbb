"""Supports of edges, and peeling by them, on a team of cores: sorted rows are merged.

An edge has one number, in the order of its lower end; `edge_of` gives it for each arc. `state` of an edge: GONE, STAYS,
or LEAVES in this round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.graph import Graph
from arcflux.graph.arcs import edge_of_arcs
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.memory import frozen

__all__ = ["Trusses"]

Array = NDArray[Any]
_CHUNK = 256
GONE, STAYS, LEAVES = 0, 1, 2


@inner
def _find(neighbours: Any, low: Any, high: Any, wanted: Any) -> Any:
    """The first place from `low` to before `high` of a sorted row that is not below `wanted`."""
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if neighbours[middle] < wanted:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@kernel
def count_support(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, low: Any, high: Any, begin: Any,
    support: Any,
) -> None:  # fmt: skip
    """``support[e - begin]``: how many neighbours the ends of edge e have in common."""
    one = np.uint64(1)
    while True:
        first, last = take(control, np.uint64(support.size), np.uint64(_CHUNK))
        if first == last:
            break
        for k in range(first, last):
            u, v = np.uint64(low[begin + k]), np.uint64(high[begin + k])
            a, a_end, b, b_end = offsets[u], offsets[u + one], offsets[v], offsets[v + one]
            if a_end - a > b_end - b:
                a, a_end, b, b_end = b, b_end, a, a_end
            common = 0
            if (a_end - a) << np.uint64(4) < b_end - b:  # a hub: its row is searched, not walked
                for i in range(a, a_end):
                    b = _find(neighbours, b, b_end, neighbours[i])
                    common += b < b_end and neighbours[b] == neighbours[i]
                a = a_end
            while a < a_end and b < b_end:
                x, y = neighbours[a], neighbours[b]
                common += x == y
                a += np.uint64(x <= y)
                b += np.uint64(y <= x)
            support[k] = common


@kernel
def lose_triangles(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, edge_of: Any, low: Any, high: Any,
    leaving: Any, state: Any, lost: Any,
) -> None:  # fmt: skip
    """``lost[e]``: how many triangles of e lose an edge in this round; each counts at its first edge that leaves."""
    one = np.uint64(1)
    while True:
        first, last = take(control, np.uint64(leaving.size), np.uint64(_CHUNK))
        if first == last:
            break
        for k in range(first, last):
            edge = leaving[k]
            u, v = np.uint64(low[edge]), np.uint64(high[edge])
            a, a_end, b, b_end = offsets[u], offsets[u + one], offsets[v], offsets[v + one]
            while a < a_end and b < b_end:
                x, y = neighbours[a], neighbours[b]
                if x == y:
                    one_edge, other = np.int64(edge_of[a]), np.int64(edge_of[b])
                    there, here = state[one_edge], state[other]
                    mine = not ((there == LEAVES and one_edge < edge) or (here == LEAVES and other < edge))
                    if there != GONE and here != GONE and mine:
                        if there == STAYS:
                            fetch_add(lost, one_edge, 1)
                        if here == STAYS:
                            fetch_add(lost, other, 1)
                a += np.uint64(x <= y)
                b += np.uint64(y <= x)


class Trusses:
    """The edges of a simple graph, their supports, and which of them are left."""

    def __init__(self, worker: Worker, rows: Graph) -> None:
        self.worker, self.cores, self.rows = worker, worker.cores, rows
        low, high, places = rows.edge_numbers()
        self.size = len(places)
        self.ends = frozen(np.ascontiguousarray(low)), frozen(np.ascontiguousarray(high))
        self.edge_of = edge_of_arcs(rows)
        self.state, self.lost = self.cores.host(self.size, np.uint8), self.cores.host(self.size, np.int64)
        self.cores.publish(STAYS, self.state)
        self.support: Array = np.empty(0, np.int64)

    def supports(self) -> Array:
        """In how many triangles each edge is."""
        first, last = self.worker.share(self.size)
        own = self.cores.host(last - first, np.int64)
        arguments = *self.rows.out, *self.ends, np.int64(first), own
        self.cores.launch(count_support, None, *arguments, visits=self._visits(len(own)))
        self.cores.together()
        self.support = self.worker.gather(own).copy()
        return self.support

    def _visits(self, edges: int) -> int:
        """How many arcs the rows of both ends of so many edges have, about."""
        return 2 * edges * (1 + self.rows.arcs // max(1, self.rows.vertices))

    def left(self) -> Array:
        """Which edges are left."""
        found: Array = self.state == STAYS
        self.cores.together()
        return found

    def peel(self, least: int) -> None:
        """Let edges leave whose support is below `least`, until there are none."""
        leaving = self._weak(least)
        while len(leaving):
            self._mark(leaving, LEAVES)
            self.cores.publish(0, self.lost)
            first, last = self.worker.share(len(leaving))
            mine = frozen(leaving[first:last].copy())
            arguments = *self.rows.out, self.edge_of, *self.ends, mine, self.state, self.lost
            self.cores.launch(lose_triangles, None, *arguments, visits=self._visits(len(mine)))
            self.cores.together()
            self.support = self.support - self.worker.sum(self.lost)
            self._mark(leaving, GONE)
            leaving = self._weak(least)

    def _weak(self, least: int) -> Array:
        found: Array = np.flatnonzero((self.state == STAYS) & (self.support < least))
        self.cores.together()
        return found

    def _mark(self, edges: Array, state: int) -> None:
        self.cores.together()
        if self.cores.leads:
            self.state[edges] = state
        self.cores.together()
