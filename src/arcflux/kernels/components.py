"""Connected components by union-find on a sample of the edges first: Afforest.

Every vertex points to one of a smaller number or to itself, so the pointers are a forest and a root is the smallest
vertex of its tree. An edge hangs the larger of two roots under the smaller one; in the end every vertex points to the
smallest vertex of its component, whichever worker came first. The sample, two edges of each vertex, already joins most
of a large component. What points into that component then skips the rest of its edges: the other end of such an edge
points there too, or looks at the edge itself.

Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling", IPDPS 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.spmd.barrier import wait
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import compare_and_swap, fetch_add
from arcflux.spmd.pool import STOP
from arcflux.spmd.random import bits, key

__all__ = ["CHUNK", "PHASES", "SAMPLES", "afforest", "compress", "link", "most_frequent"]

# Vertices that a worker takes at a time, counters that the phases take them from (a cache line each), and vertices that
# are asked where they point.
CHUNK = 1 << 13
PHASES = 6
SAMPLES = 256


@inner
def _chunk(control: Any, board: Any, phase: Any, size: Any) -> Any:
    """The next vertices of a phase: begin and end, equal when none are left or the launch was stopped."""
    if control[STOP] != 0:
        return size, size
    begin = np.uint64(fetch_add(board, 8 * phase, CHUNK))
    return min(begin, size), min(begin + np.uint64(CHUNK), size)


@inner
def link(above: Any, u: Any, v: Any) -> None:
    """Join the trees of u and v."""
    one, other = above[u], above[v]
    while one != other:
        high, low = max(one, other), min(one, other)
        found = above[high]
        if found == low or (found == high and compare_and_swap(above, high, high, low) == high):
            break
        one, other = above[above[high]], above[low]


@inner
def compress(above: Any, begin: Any, end: Any) -> None:
    """Point vertices straight to their roots."""
    for v in range(begin, end):
        root = above[v]
        while above[root] != root:
            root = above[root]
        if above[v] != root:
            above[v] = root


@inner
def most_frequent(above: Any, sample: Any) -> None:
    """``sample[0]``: the root that most of some random vertices point to."""
    stream = key(0, 0)
    for i in range(SAMPLES):
        sample[i] = above[bits(stream, i) % np.uint64(above.size)]
    most, winner = 0, sample[0]
    for i in range(SAMPLES):
        count = 0
        for j in range(i, SAMPLES):
            count += sample[j] == sample[i]
        if count > most:
            most, winner = count, sample[i]
    sample[0] = winner


@kernel
def afforest(
    worker: Any, workers: Any, control: Any, barrier: Any, board: Any, offsets: Any, neighbours: Any, mirrored: Any,
    above: Any, sample: Any,
) -> None:  # fmt: skip
    """``above[v]``: the smallest vertex of v's weakly connected component.

    `mirrored` says that every edge is stored at both of its ends, so that one end may skip it. board: int64[8 * PHASES]
    and barrier: int64[16] are zero at first; above and sample are of the neighbours' type, sample of length SAMPLES.
    """
    one, two = np.uint64(1), np.uint64(2)
    size = np.uint64(above.size)
    while True:  # every vertex points to its first neighbour, if that is a smaller one
        begin, end = _chunk(control, board, 0, size)
        if begin == end:
            break
        for u in range(begin, end):
            above[u] = u
            if offsets[u] < offsets[u + one]:
                above[u] = min(u, np.uint64(neighbours[offsets[u]]))
    wait(barrier, workers)
    while True:
        begin, end = _chunk(control, board, 1, size)
        if begin == end:
            break
        compress(above, begin, end)
    wait(barrier, workers)
    while True:  # a larger first neighbour, and the second one
        begin, end = _chunk(control, board, 2, size)
        if begin == end:
            break
        for u in range(begin, end):
            for i in range(offsets[u], min(offsets[u] + two, offsets[u + one])):
                if i != offsets[u] or neighbours[i] > u:
                    link(above, u, neighbours[i])
    wait(barrier, workers)
    while True:
        begin, end = _chunk(control, board, 3, size)
        if begin == end:
            break
        compress(above, begin, end)
    wait(barrier, workers)
    if worker == 0:
        most_frequent(above, sample)
    wait(barrier, workers)
    giant = sample[0]
    while True:  # the other edges, but those of the giant
        begin, end = _chunk(control, board, 4, size)
        if begin == end:
            break
        for u in range(begin, end):
            if mirrored and above[u] == giant:
                continue
            for i in range(offsets[u] + two, offsets[u + one]):
                link(above, u, neighbours[i])
    wait(barrier, workers)
    while True:
        begin, end = _chunk(control, board, 5, size)
        if begin == end:
            break
        compress(above, begin, end)
