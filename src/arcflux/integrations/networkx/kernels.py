"""Walks over the rows of a graph in NetworkX's order, one step after the other: they decide the order of results.

Each is linear in what it visits. What takes longer than that, or whose order does not show, is Arcflux's own algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.spmd.jit import kernel

__all__ = [
    "call",
    "components_in_order",
    "generations_in_order",
    "levels_in_order",
    "settle_in_order",
]

Array = NDArray[Any]


def call(walk: Any, *arguments: Any) -> None:
    """Run a kernel on the calling thread alone."""
    control = np.zeros(16, np.int64)
    walk.ready(0, 1, control, *arguments)
    walk(0, 1, control, *arguments)


@kernel
def levels_in_order(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, limit: Any, order: Any, level: Any,
    parent: Any, size: Any,
) -> None:  # fmt: skip
    """Breadth-first search to depth `limit`: vertices in the order in which they are met, their levels and parents.

    ``order[:size[0]]`` are the sources, whose level is 0; that of others is -1. ``size[0]`` grows to what was met.
    """
    one = np.uint64(1)
    begin, end = 0, size[0]
    while begin < end:
        u = order[begin]
        begin += 1
        if level[u] >= limit:
            break
        if end == order.size:
            break
        for i in range(offsets[u], offsets[u + one]):
            v = np.uint64(neighbours[i])
            if level[v] < 0:
                level[v] = level[u] + 1
                parent[v] = u
                order[end] = v
                end += 1
    size[0] = end


@kernel
def settle_in_order(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, weights: Any, distance: Any, group: Any,
    begin: Any, order: Any, parent: Any, size: Any,
) -> None:  # fmt: skip
    """The order in which Dijkstra's algorithm with a queue that is first-in-first-out among equals settles vertices.

    Distances are known. A vertex enters the queue for good when the first settled vertex offers its distance, that is
    its parent; vertices at one distance leave the queue in the order in which they entered. ``group[v]`` numbers the
    distances in ascending order (-1: unreachable), and ``begin[k]`` is where those of group k go in `order`. There the
    sources, ``size[0]`` of them, are already, with themselves as parents; all others have -1.
    """
    one = np.uint64(1)
    place = 0
    reached = order.size
    begin[0] = size[0]
    while place < reached:
        u = order[place]
        place += 1
        for i in range(offsets[u], offsets[u + one]):
            v = np.uint64(neighbours[i])
            if parent[v] < 0 and group[v] >= 0 and distance[u] + weights[i] == distance[v]:
                parent[v] = u
                order[begin[group[v]]] = v
                begin[group[v]] += 1


@kernel
def components_in_order(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, place: Any, preorder: Any, low: Any,
    stack: Any, waiting: Any, members: Any, ends: Any, size: Any,
) -> None:  # fmt: skip
    """Strongly connected components in the order in which a depth-first search completes them (Tarjan 1972).

    `members` are the vertices, component by component, each begun by its root; ``ends[:size[0]]`` is where each ends.
    place, preorder, low: int64[n], where preorder is 0 and place is a copy of the offsets; stack, waiting: int64[n].
    A vertex that is in a component already has low 0.
    """
    one = np.uint64(1)
    n = preorder.size
    met, found, filled, waits = 0, 0, 0, 0
    for source in range(n):
        if preorder[source] != 0:
            continue
        stack[0] = source
        top = 1
        met += 1
        preorder[source] = met
        low[source] = met
        while top > 0:
            v = np.uint64(stack[top - 1])
            deeper = False
            while place[v] < np.int64(offsets[v + one]):
                w = np.uint64(neighbours[place[v]])
                place[v] += 1
                if preorder[w] == 0:
                    met += 1
                    preorder[w] = met
                    low[w] = met
                    stack[top] = w
                    top += 1
                    deeper = True
                    break
                if low[w] != 0 and preorder[w] < low[v]:
                    low[v] = preorder[w]
            if deeper:
                continue
            top -= 1
            if low[v] == preorder[v]:
                members[filled] = v
                filled += 1
                while waits > 0 and preorder[waiting[waits - 1]] > preorder[v]:
                    waits -= 1
                    low[waiting[waits]] = 0
                    members[filled] = waiting[waits]
                    filled += 1
                low[v] = 0
                ends[found] = filled
                found += 1
            else:
                waiting[waits] = v
                waits += 1
                above = stack[top - 1]
                low[above] = min(low[above], low[v])
    size[0] = found


@kernel
def generations_in_order(
    worker: Any, workers: Any, control: Any, offsets: Any, neighbours: Any, left: Any, order: Any, ends: Any, size: Any,
) -> None:  # fmt: skip
    """Generations of an acyclic graph: those without remaining in-neighbours, in the order in which they become so.

    ``left[v]`` is v's in-degree at first. ``order[:ends[k]]`` are the vertices of the first k + 1 generations, and
    ``size[0]`` is how many generations there are, ``size[1]`` how many vertices in them.
    """
    one = np.uint64(1)
    end, generations = 0, 0
    for first in range(left.size):
        if left[first] == 0:
            order[end] = first
            end += 1
    begin: Any = 0
    while begin < end:
        stop = end
        ends[generations] = stop
        generations += 1
        for k in range(begin, stop):
            u = np.uint64(order[k])
            for i in range(offsets[u], offsets[u + one]):
                v = np.uint64(neighbours[i])
                left[v] -= 1
                if left[v] == 0:
                    order[end] = v
                    end += 1
        begin = stop
    size[0], size[1] = generations, end
