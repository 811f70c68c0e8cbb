"""Connected components by union-find on a sample of the edges first: Afforest on a GPU.

As in cpu.py every vertex points to one of a smaller number or to itself. An edge links the larger of two roots to the
smaller one by compare-and-swap, so that in the end every vertex points to the smallest of its component, whatever the
order of the threads. The sample, two edges of each vertex, joins most of a large component; vertices that point there
then skip the rest of their edges, if the other end of each has it, too.

One of several workers joins its own rows, and the pairs of other workers' forests like edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.components import ASKED, largest_root
from arcflux.engine.worker import Worker
from arcflux.gpu import primitives
from arcflux.gpu.kit import cuda, inner, kernel
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import first_row, lane_of, row_stride

__all__ = ["KERNELS", "Forest"]

Array = NDArray[Any]

BOUNDS = (256, 8, 8)


@inner
def _link(above: Any, one: Any, other: Any) -> None:
    """Join the trees of two vertices. The compare-and-swap's value is used next: a plain load may be stale."""
    while one != other:
        high, low = max(one, other), min(one, other)
        found = np.uint64(above[high])
        if found == high:
            found = np.uint64(cuda.atomic.cas(above, high, above.dtype.type(high), above.dtype.type(low)))
            if found == high:
                break
        if found == low:
            break
        one, other = found, low


@kernel
def _first(rows: Any, neighbours: Any, above: Any) -> None:
    """Every vertex points to its first neighbour, if that is a smaller one, else to itself."""
    one, size = np.uint64(1), np.uint64(above.shape[0])
    u = np.uint64(cuda.grid(1))
    while u < size:
        to = u
        if rows[u] < rows[u + one]:
            to = min(u, np.uint64(neighbours[rows[u]]))
        above[u] = to
        u += np.uint64(cuda.gridsize(1))


@kernel
def _flatten(above: Any) -> None:
    """Point vertices directly to their roots."""
    size = np.uint64(above.shape[0])
    v = np.uint64(cuda.grid(1))
    while v < size:
        found = np.uint64(above[v])
        root = found
        up = np.uint64(above[root])
        while up != root:
            root = up
            up = np.uint64(above[root])
        if root != found:
            above[v] = root
        v += np.uint64(cuda.gridsize(1))


@kernel
def _sample(rows: Any, neighbours: Any, first: Any, last: Any, above: Any) -> None:
    """Join a larger first neighbour, and the second one, of the rows from `first` to before `last`."""
    one = np.uint64(1)
    u = first + np.uint64(cuda.grid(1))
    while u < last:
        begin, end = np.uint64(rows[u]), np.uint64(rows[u + one])
        if begin < end:
            v = np.uint64(neighbours[begin])
            if v > u:
                _link(above, u, v)
            if begin + one < end:
                _link(above, u, np.uint64(neighbours[begin + one]))
        u += np.uint64(cuda.gridsize(1))


@kernel
def _rest(rows: Any, neighbours: Any, first: Any, last: Any, giant: Any, above: Any) -> None:
    """Join the other neighbours, except of vertices that point to the giant; a warp processes a row."""
    one, two = np.uint64(1), np.uint64(2)
    u = first + first_row()
    while u < last:
        if np.uint64(above[u]) != giant:
            i, end = np.uint64(rows[u]) + two + lane_of(), np.uint64(rows[u + one])
            while i < end:
                _link(above, u, np.uint64(neighbours[i]))
                i += np.uint64(32)
        u += row_stride()


@kernel
def _pairs(roots: Any, above: Any) -> None:
    """Join every vertex with its parent in another forest."""
    size = np.uint64(above.shape[0])
    v = np.uint64(cuda.grid(1))
    while v < size:
        root = np.uint64(roots[v])
        if root != v:
            _link(above, v, root)
        v += np.uint64(cuda.gridsize(1))


_LISTS = ("u4[]", "u4[]")
KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "components: first neighbours": (_first, (*_LISTS, "u4[]")),
    "components: flattened": (_flatten, ("u4[]",)),
    "components: sample": (_sample, (*_LISTS, "u8", "u8", "u4[]")),
    "components: the rest": (_rest, (*_LISTS, "u8", "u8", "u8", "u4[]")),
    "components: pairs": (_pairs, _LISTS),
}


class Forest:
    """The forest on one GPU, which joins the rows of its share."""

    def __init__(self, worker: Worker) -> None:
        room, offsets, neighbours = worker.room, *worker.graph.out
        self.directed, self.room, self.size, kind = worker.graph.directed, room, len(offsets) - 1, neighbours.dtype
        n, asked = self.size, ASKED * (8 + kind.itemsize)
        room.reserve(bytes_of_rows(offsets) + (2 if worker.size > 1 else 1) * n * kind.itemsize + asked, "vertices")
        self.graph = room.rows(offsets), room.edges(neighbours)
        self.above = room.empty(n, kind)
        first, last = worker.share(n)
        self.mine = np.uint64(first), np.uint64(last)
        room.launch(_first, n, *self.graph, self.above)
        room.launch(_flatten, n, self.above)

    def join_all(self) -> None:
        """Join all edges."""
        self.sample()
        self.rest(None if self.directed else largest_root(self))

    def sample(self) -> None:
        """Join two edges of each own vertex."""
        self.room.launch(_sample, int(self.mine[1] - self.mine[0]), *self.graph, *self.mine, self.above)
        self.room.launch(_flatten, self.size, self.above)

    def rest(self, giant: int | None) -> None:
        """Join the other edges of own vertices, except of those that point to the giant, if there is one."""
        threads = 32 * int(self.mine[1] - self.mine[0])
        skipped = np.uint64(self.size if giant is None else giant)
        self.room.launch(_rest, threads, *self.graph, *self.mine, skipped, self.above)
        self.room.launch(_flatten, self.size, self.above)

    def absorb(self, roots: Array) -> None:
        """Join every vertex with its root in another worker's forest."""
        self.room.launch(_pairs, self.size, self.room.copied(roots), self.above)
        self.room.launch(_flatten, self.size, self.above)

    def adopt(self, roots: Array) -> None:
        """Take over the forest of another worker."""
        self.above.copy_to_device(roots)

    def at(self, vertices: Array) -> Array:
        """The parents of some vertices."""
        found = self.room.empty(len(vertices), self.above.dtype)
        primitives.gather(self.above, self.room.copied(vertices), found)
        return np.asarray(found.copy_to_host())

    def roots(self) -> Array:
        """The parent of each vertex."""
        return np.asarray(self.above.copy_to_host())[: self.size]

    result = roots
