"""Connected components by union-find on a sample of the edges first: Afforest.

Every vertex points to one of a smaller number or to itself, so the pointers are a forest and a root is the smallest
vertex of its tree. An edge links the larger of two roots to the smaller one; in the end every vertex points to the
smallest vertex of its component, whatever the order of the workers. The sample, two edges of each vertex, already joins
most of a large component. Vertices that point into that component then skip the rest of their edges: the other end of
such an edge points there too, or processes the edge itself.

Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling", IPDPS 2018.

A single worker runs all phases in one launch (:func:`afforest`); one of several joins its own rows phase by phase
(:func:`join`), and merges others' forests in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.spmd.barrier import all_here
from arcflux.spmd.forest import compress, link
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import fetch_add, take
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import STOP
from arcflux.spmd.random import bits, key

__all__ = ["Forest"]

Array = NDArray[Any]

# Vertices that a worker claims at a time, counters for the claims of phases (a cache line each), and vertices in the
# sample of roots.
_CHUNK = 1 << 13
_PHASES = 6
_SAMPLES = 256
# Edges of each vertex in the sample.
_SAMPLED = np.uint64(2)


@inner
def _chunk(control: Any, board: Any, phase: Any, size: Any) -> Any:
    """Claim the next vertices of a phase: begin and end, equal if none are left or the launch was stopped."""
    if control[STOP] != 0:
        return size, size
    begin = np.uint64(fetch_add(board, 8 * phase, _CHUNK))
    return min(begin, size), min(begin + np.uint64(_CHUNK), size)


@inner
def _most_frequent(above: Any, sample: Any) -> None:
    """``sample[0]``: the root that most of some random vertices point to."""
    stream = key(0, 0)
    for i in range(_SAMPLES):
        sample[i] = above[bits(stream, i) % np.uint64(above.size)]
    most, winner = 0, sample[0]
    for i in range(_SAMPLES):
        count = 0
        for j in range(i, _SAMPLES):
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

    `mirrored`: every edge is stored at both of its ends, so that one end may skip it. board: int64[8 * _PHASES] is zero
    at first; above and sample have the neighbours' type, sample has length _SAMPLES.
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
    if not all_here(barrier, worker, workers):
        return
    while True:
        begin, end = _chunk(control, board, 1, size)
        if begin == end:
            break
        compress(above, begin, end)
    if not all_here(barrier, worker, workers):
        return
    while True:  # a larger first neighbour, and the second one
        begin, end = _chunk(control, board, 2, size)
        if begin == end:
            break
        for u in range(begin, end):
            for i in range(offsets[u], min(offsets[u] + two, offsets[u + one])):
                if i != offsets[u] or neighbours[i] > u:
                    link(above, u, neighbours[i])
    if not all_here(barrier, worker, workers):
        return
    while True:
        begin, end = _chunk(control, board, 3, size)
        if begin == end:
            break
        compress(above, begin, end)
    if not all_here(barrier, worker, workers):
        return
    if worker == 0:
        _most_frequent(above, sample)
    if not all_here(barrier, worker, workers):
        return
    giant = sample[0]
    while True:  # the other edges, except those of the giant component
        begin, end = _chunk(control, board, 4, size)
        if begin == end:
            break
        for u in range(begin, end):
            if mirrored and above[u] == giant:
                continue
            for i in range(offsets[u] + two, offsets[u + one]):
                link(above, u, neighbours[i])
    if not all_here(barrier, worker, workers):
        return
    while True:
        begin, end = _chunk(control, board, 5, size)
        if begin == end:
            break
        compress(above, begin, end)


@kernel
def join(
    worker: Any, workers: Any, control: Any, begin: Any, end: Any, offsets: Any, neighbours: Any, first: Any, last: Any,
    giant: Any, above: Any,
) -> None:  # fmt: skip
    """Link the arcs from the `first` to before the `last` of the rows from `begin` to before `end`.

    With a giant, except those of rows that point to it.
    """
    while True:
        low, high = take(control, end - begin, np.uint64(_CHUNK))
        if low == high:
            break
        for u in range(begin + low, begin + high):
            if giant.size > 0 and above[u] == giant[0]:
                continue
            row, row_end = offsets[u], offsets[u + np.uint64(1)]
            for i in range(row + min(first, row_end - row), row + min(last, row_end - row)):
                link(above, u, np.uint64(neighbours[i]))


@kernel
def join_roots(worker: Any, workers: Any, control: Any, roots: Any, above: Any) -> None:
    """Link each vertex with its root in another forest."""
    while True:
        begin, end = take(control, np.uint64(above.size), np.uint64(_CHUNK))
        if begin == end:
            break
        for v in range(begin, end):
            link(above, v, np.uint64(roots[v]))


@kernel
def flatten(worker: Any, workers: Any, control: Any, above: Any) -> None:
    """Point vertices directly to their roots."""
    while True:
        begin, end = take(control, np.uint64(above.size), np.uint64(_CHUNK))
        if begin == end:
            break
        compress(above, begin, end)


class Forest:
    """The forest that a team of cores shares: ``above[v]`` is a vertex of v's component, no larger than v."""

    def __init__(self, worker: Worker) -> None:
        self.graph, self.cores = worker.graph, worker.cores
        self.size, self.kind = self.graph.vertices, self.graph.out.neighbours.dtype
        self.above = self.cores.kept(self.size, self.kind, zero=False)
        self.own = tuple(map(np.uint64, worker.share(self.size)))
        self.chunks = -(-self.size // _CHUNK)

    def join_all(self) -> None:
        """Join all edges, in one launch."""
        board, sample = self.cores.small(8 * _PHASES), self.cores.small(_SAMPLES, self.kind)
        mirrored = not self.graph.directed
        arguments = self.cores.barrier(), board, *self.graph.out, mirrored, self.above, sample
        self.cores.launch(afforest, self.chunks, *arguments, visits=self.size + self.graph.arcs)

    def sample(self) -> None:
        """Join two edges of each own vertex."""
        self.cores.publish(np.arange(self.size, dtype=self.kind), self.above)
        self._join(np.uint64(0), _SAMPLED, None)

    def rest(self, giant: int | None) -> None:
        """Join the other edges of own vertices, except of those that point to the giant, if there is one."""
        self._join(_SAMPLED, np.uint64(self.graph.arcs), giant)

    def absorb(self, roots: Array) -> None:
        """Join every vertex with its root in another worker's forest."""
        self.cores.launch(join_roots, self.chunks, frozen(roots), self.above)
        self._flatten()

    def adopt(self, roots: Array) -> None:
        """Take over the forest of another worker."""
        self.cores.publish(roots, self.above)

    def at(self, vertices: Array) -> Array:
        """The parents of some vertices."""
        found: Array = self.above[vertices]
        return found

    def roots(self) -> Array:
        """The parent of each vertex."""
        return self.above

    def result(self) -> Array:
        """The roots as a result."""
        return self.cores.result(self.above)

    def _join(self, first: np.uint64, last: np.uint64, giant: int | None) -> None:
        skipped = np.empty(0, self.kind) if giant is None else np.array([giant], self.kind)
        self.cores.launch(join, self.chunks, *self.own, *self.graph.out, first, last, skipped, self.above)
        self._flatten()

    def _flatten(self) -> None:
        self.cores.launch(flatten, self.chunks, self.above)
