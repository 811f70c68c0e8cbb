"""Vertices of each window in the order of their in-degrees, for sweeps over the rows of all vertices.

Where rows are short, a processor waits longest for having guessed wrongly where a row ends. Rows of one length after
the other are guessed right, and a window is so short that its rows stay in the cache. (SELL-C-sigma; Kreutzer, Hager,
Wellein, Fehske, Bishop 2014.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.graph.core import Graph
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import claim
from arcflux.spmd.memory import empty, frozen
from arcflux.spmd.team import Team

__all__ = ["WINDOW", "degree_order"]

Array = NDArray[Any]

WINDOW = 256
_CHUNK = 64 * WINDOW
# Rows of more arcs are taken to be of one length: a wrong guess is little beside them.
_LONGEST = 63
# Rows out of their order are fetched one by one, a cache line of neighbours each. Longer ones, on average, would come
# too late; in their order the processor foresees them. Programs that change messages in place need more supersteps out
# of order (PageRank on a road 18 for 14, on denser graphs up to twice as many): of these, rows of a quarter of a line.
_LINE, _LINE_IN_PLACE = 64, 16
# A wrong guess takes six times as long as it takes to follow the order.
_CHANGES = 1 / 6
_SAMPLE = 4096


def degree_order(graph: Graph, in_place: bool) -> Array | None:
    """uint8[vertices]: the place in its window of each vertex in turn, by degree; None where that does not pay.

    Every process finds it for itself, once for each graph.
    """
    line = _LINE_IN_PLACE if in_place else _LINE
    if graph.arcs * graph.into.neighbours.itemsize > line * graph.vertices or not _lengths_change(graph):
        return None
    if "degree order" not in graph.kept:
        team, found = Team(), empty(graph.vertices, np.uint8)
        counts = team.small((team.workers, _LONGEST + 2 + 8))
        team.launch(_sorted, -(-graph.vertices // _CHUNK), graph.into.offsets, counts, found)
        graph.kept["degree order"] = frozen(found)
    order: Array = graph.kept["degree order"]
    return order


def _lengths_change(graph: Graph) -> bool:
    """Whether many rows, by a sample, are not as long as the row before; else the processor guesses right as it is."""
    if "lengths change" not in graph.kept:
        offsets = graph.into.offsets
        some = np.linspace(0, max(0, graph.vertices - 2), min(graph.vertices, _SAMPLE)).astype(np.int64)
        before, here, after = (offsets[np.minimum(some + k, graph.vertices)] for k in range(3))
        graph.kept["lengths change"] = bool((here - before != after - here).mean() > _CHANGES) if len(some) else False
    return bool(graph.kept["lengths change"])


@kernel
def _sorted(worker: Any, workers: Any, control: Any, offsets: Any, counts: Any, order: Any) -> None:
    """Sort the vertices of each window by counting."""
    one, n, longest = np.uint64(1), np.uint64(order.size), np.uint64(_LONGEST)
    count = counts[worker]
    while True:
        chunk = np.uint64(claim(control)) * np.uint64(_CHUNK)
        if chunk >= n:
            break
        for begin in range(chunk, min(chunk + np.uint64(_CHUNK), n), np.uint64(WINDOW)):
            end = min(begin + np.uint64(WINDOW), n)
            for k in range(_LONGEST + 2):
                count[k] = 0
            for v in range(begin, end):
                count[min(offsets[v + one] - offsets[v], longest) + one] += 1
            for k in range(_LONGEST + 1):
                count[k + 1] += count[k]
            for v in range(begin, end):
                length = min(offsets[v + one] - offsets[v], longest)
                order[begin + np.uint64(count[length])] = v - begin
                count[length] += 1
