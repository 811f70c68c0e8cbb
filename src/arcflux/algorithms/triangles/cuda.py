"""Triangles and links among neighbours: edges are kept at the end of lower degree, and both ends' rows intersected.

Vertices are ordered by degree, then by number. A row keeps the neighbours that come after its vertex, so that no row is
longer than the square root of twice the edges, and a triangle is found once, from the edge between its first two
vertices. The shorter row of an edge is looked up in the longer one: by the thread that has the edge when it is short,
else by all lanes of the warp together.

In a directed graph neighbours are those of either direction, and `twice` says of an edge that it goes both ways. A row
has the out-neighbours first, then those that are in-neighbours only, each part in order. What lies opposite to a corner
of a triangle counts for it once or twice (the rule of LDBC Graphalytics).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.triangles import degrees_of, order_by_degree
from arcflux.engine.worker import Worker
from arcflux.gpu import primitives
from arcflux.gpu.kit import cuda, inner, kernel
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import first_row, lane_of, place_in, row_stride, said_before, told, warp_sum
from arcflux.graph import Graph

__all__ = ["KERNELS", "Triangles"]

Array = NDArray[Any]

# Registers are limited for this many threads of a block, and blocks of a multiprocessor.
BOUNDS = (256, 8, 8)
# A warp processes a shorter row from this length on.
_LONG = 8


@inner
def _after(degrees: Any, u: Any, v: Any) -> Any:
    """Whether v comes after u in the order of degrees."""
    one, other = degrees[u], degrees[v]
    return one < other or (one == other and u < v)


@inner
def _keep(
    directed: Any, fill: Any, u: Any, neighbours: Any, first: Any, end: Any, others: Any, low: Any, high: Any,
    second: Any, degrees: Any, at: Any, targets: Any, owners: Any, twice: Any,
) -> Any:  # fmt: skip
    """Keep some of a row, written from position `at` on: returns how many, and the number of distinct neighbours.

    Of the second row, of in-neighbours, only those count that are not in the other row, of out-neighbours.
    """
    one = np.uint64(1)
    kept, different = np.uint64(0), np.uint64(0)
    begin = first
    while begin < end:
        i = begin + lane_of()
        v = u
        if i < end and (i == first or neighbours[i - one] != neighbours[i]):
            v = np.uint64(neighbours[i])
        new = v != u
        both = False
        if directed and new:
            width = np.uint32(high - low)
            both = place_in(others, low, np.uint32(0), width, others.dtype.type(v)) != width
            new = not second or not both
        mine = new and _after(degrees, u, v)
        said = told(mine)
        if fill and mine:
            place = at + kept + said_before(said)
            targets[place] = v
            owners[place] = u
            if directed:
                twice[place] = both
        kept += np.uint64(cuda.popc(said))
        if not fill:
            different += np.uint64(cuda.popc(told(new)))
        begin += np.uint64(32)
    return kept, different


def _keeping(directed: bool, fill: bool) -> Any:
    """The kernel that counts what rows keep, or the one that writes it; a warp processes a row."""

    if fill:

        @kernel
        def write(
            rows: Any, neighbours: Any, in_rows: Any, in_neighbours: Any, degrees: Any, size: Any, begins: Any,
            firsts: Any, targets: Any, owners: Any, twice: Any,
        ) -> None:  # fmt: skip
            """Write what each row keeps from ``begins[u]`` on, and its vertex."""
            one = np.uint64(1)
            u = first_row()
            while u < size:
                begin, end = np.uint64(rows[u]), np.uint64(rows[u + one])
                low, high = np.uint64(in_rows[u]), np.uint64(in_rows[u + one])
                at = np.uint64(begins[u])
                _keep(
                    directed, True, u, neighbours, begin, end, in_neighbours, low, high, False, degrees, at, targets,
                    owners, twice,
                )  # fmt: skip
                if directed:
                    at += np.uint64(firsts[u])
                    _keep(
                        directed, True, u, in_neighbours, low, high, neighbours, begin, end, True, degrees, at,
                        targets, owners, twice,
                    )  # fmt: skip
                u += row_stride()

        return write

    @kernel
    def count(
        rows: Any, neighbours: Any, in_rows: Any, in_neighbours: Any, degrees: Any, size: Any, counts: Any,
        firsts: Any, several: Any,
    ) -> None:  # fmt: skip
        """How many neighbours each row keeps, how many of them are out-neighbours, and how many it has at all."""
        one, zero = np.uint64(1), np.uint64(0)
        u = first_row()
        while u < size:
            begin, end = np.uint64(rows[u]), np.uint64(rows[u + one])
            low, high = np.uint64(in_rows[u]), np.uint64(in_rows[u + one])
            kept, different = _keep(
                directed, False, u, neighbours, begin, end, in_neighbours, low, high, False, degrees, zero, counts,
                counts, counts,
            )  # fmt: skip
            more, others = zero, zero
            if directed:
                more, others = _keep(
                    directed, False, u, in_neighbours, low, high, neighbours, begin, end, True, degrees, zero, counts,
                    counts, counts,
                )  # fmt: skip
            if lane_of() == zero:
                counts[u] = kept + more
                firsts[u] = kept
                several[u] = different + others
            u += row_stride()

    return count


@inner
def _row(begins: Any, u: Any) -> Any:
    """The begin and length of a vertex's row: no row has 2**32 neighbours that come after its vertex."""
    begin = np.uint64(begins[np.uint64(u)])
    return begin, np.uint32(np.uint64(begins[np.uint64(u) + np.uint64(1)]) - begin)


@inner
def _compare(
    directed: Any, corners: Any, k: Any, offset: Any, stride: Any, begins: Any, firsts: Any, targets: Any, owners: Any,
    twice: Any, found: Any,
) -> Any:  # fmt: skip
    """The triangles on edge k, for every k-th entry of the shorter row; returns their number."""
    zero = np.uint32(0)
    u, v = owners[k], targets[k]
    begin, size = _row(begins, u)
    base, length = _row(begins, v)
    if size > length:
        u, v = v, u
        begin, base = base, begin
        size, length = length, size
    middle = firsts[np.uint64(v)] if directed else length
    of_u, of_v = zero, zero
    side = np.uint32(1 + twice[k]) if directed else np.uint32(1)
    i = np.uint32(offset)
    while i < size:
        w = targets[begin + np.uint64(i)]
        there, missing = place_in(targets, base, zero, middle, w), middle
        if directed and there == middle:
            there, missing = place_in(targets, base, middle, length, w), length
        if there != missing:
            of_u = np.uint32(of_u + np.uint32(1))
            if corners:
                of_v = np.uint32(of_v + np.uint32(1))
                if directed:
                    of_u = np.uint32(of_u + twice[base + np.uint64(there)])
                    of_v = np.uint32(of_v + twice[begin + np.uint64(i)])
                cuda.atomic.add(found, np.uint64(w), np.int64(side))
        i = np.uint32(i + np.uint32(stride))
    if corners and of_u > zero:
        cuda.atomic.add(found, np.uint64(u), np.int64(of_u))
        cuda.atomic.add(found, np.uint64(v), np.int64(of_v))
    return np.int64(of_u)


def _comparing(directed: bool, corners: bool) -> Any:
    """The kernel that counts triangles: at each corner, or (of an undirected graph) all of them."""

    @kernel
    def triangles(
        begins: Any, firsts: Any, targets: Any, owners: Any, twice: Any, first: Any, last: Any, found: Any
    ) -> None:  # fmt: skip
        """Add to ``found`` the triangles on the edges from `first` to before `last`: by vertex, or all to found[0]."""
        one, zero, width = np.uint64(1), np.uint64(0), np.uint64(32)
        base = first + first_row() * width
        mine = np.int64(0)
        while base < last:
            k = base + lane_of()
            wide = False
            if k < last:
                wide = min(_row(begins, owners[k])[1], _row(begins, targets[k])[1]) >= _LONG
                if not wide:
                    mine += _compare(directed, corners, k, zero, one, begins, firsts, targets, owners, twice, found)
            said = np.uint32(told(wide))
            while said != np.uint32(0):
                rest = np.uint32(said & np.uint32(said - np.uint32(1)))
                edge = base + np.uint64(cuda.popc(np.uint32(np.uint32(said ^ rest) - np.uint32(1))))
                mine += _compare(
                    directed, corners, edge, lane_of(), width, begins, firsts, targets, owners, twice, found
                )
                said = rest
            base += row_stride() * width
        if not corners:
            mine = warp_sum(mine)
            if lane_of() == zero and mine > 0:
                cuda.atomic.add(found, 0, mine)

    return triangles


_COUNT = {directed: _keeping(directed, False) for directed in (False, True)}
_WRITE = {directed: _keeping(directed, True) for directed in (False, True)}
_CORNERS = {directed: _comparing(directed, True) for directed in (False, True)}
_ALL = _comparing(False, False)

_ROWS, _LIST, _LONGS, _FLAGS, _SIZE = "u4[]", "u4[]", "i8[]", "u1[]", "u8"
_GRAPH = (_ROWS, _LIST, _ROWS, _LIST, _LIST, _SIZE)
KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "triangles: rows counted": (_COUNT[False], (*_GRAPH, _LIST, _LIST, _LONGS)),
    "triangles: rows written": (_WRITE[False], (*_GRAPH, _LONGS, _LIST, _LIST, _LIST, _FLAGS)),
    "triangles: all": (_ALL, (_LONGS, _LIST, _LIST, _LIST, _FLAGS, _SIZE, _SIZE, _LONGS)),
    "triangles: corners": (_CORNERS[False], (_LONGS, _LIST, _LIST, _LIST, _FLAGS, _SIZE, _SIZE, _LONGS)),
    "clustering: rows counted": (_COUNT[True], (*_GRAPH, _LIST, _LIST, _LONGS)),
    "clustering: rows written": (_WRITE[True], (*_GRAPH, _LONGS, _LIST, _LIST, _LIST, _FLAGS)),
    "clustering: corners": (_CORNERS[True], (_LONGS, _LIST, _LIST, _LIST, _FLAGS, _SIZE, _SIZE, _LONGS)),
}


class Triangles:
    """The rows of a graph by degree, on a GPU, which takes a share of their edges.

    Beside cores, vertices have the cores' order, and the share is that of a range of vertices.
    """

    def __init__(self, worker: Worker) -> None:
        room, (out, into), self.directed = worker.room, worker.rows, worker.graph.directed
        self.room, self.size = room, worker.graph.vertices
        self.first_of_its_kind = worker.peers.index("cuda") == worker.rank
        n, kind, arcs = self.size, out.neighbours.dtype, len(out.neighbours)
        most = arcs if self.directed else arcs // 2 + 1
        offset_bytes = bytes_of_rows(out.offsets) * (2 if self.directed else 1)
        room.reserve(offset_bytes + 36 * (n + 1) + 8 * primitives.tiles(n + 1), "vertices")
        # Edges by degree are read randomly, the others twice sequentially: they come first.
        kept = room.empty if room.takes(most * (2 * kind.itemsize + self.directed)) else room.mapped
        rows = [room.rows(out.offsets), room.edges(out.neighbours)]
        rows += [room.rows(into.offsets), room.edges(into.neighbours)] if self.directed else rows
        counts, self.firsts = room.filled(n + 1, np.uint32), room.empty(n, np.uint32)
        self.several, self.begins = room.empty(n, np.int64), room.empty(n + 1, np.int64)
        mixed = "cpu" in worker.peers
        shared = *rows, room.copied(_order(worker.graph, mixed).astype(np.uint32)), np.uint64(n)
        room.launch(_COUNT[self.directed], 32 * n, *shared, counts, self.firsts, self.several)
        sums = room.empty(primitives.tiles(n + 1), np.int64)
        primitives.scan(counts, sums, self.begins)
        self.edges = int(sums.copy_to_host()[-1])
        self.targets, self.owners = kept(self.edges, kind), kept(self.edges, kind)
        self.twice = kept(self.edges if self.directed else 1, np.uint8)
        where = self.begins, self.firsts, self.targets, self.owners, self.twice
        room.launch(_WRITE[self.directed], 32 * n, *shared, *where)
        vertices = worker.share_of_rows()
        self.share = tuple(map(self._begin, vertices)) if mixed else worker.share(self.edges)

    def _begin(self, vertex: int) -> int:
        """The edge with which the row of a vertex begins."""
        return int(self.begins[vertex : vertex + 1].copy_to_host()[0])

    def corners(self, degrees: bool) -> tuple[Array, Array]:
        """Contributions of own edges to vertices: triangles, or edges among neighbours; and, if asked, neighbours.

        Every GPU knows the number of distinct neighbours of each vertex; the first of them returns it.
        """
        found = self.room.filled(self.size, np.int64)
        self._compare(_CORNERS[self.directed], found)
        counted = np.zeros(self.size if degrees else 0, np.int64)
        if degrees and self.first_of_its_kind:
            counted[:] = np.asarray(self.several.copy_to_host())[: self.size]
        return np.asarray(found.copy_to_host())[: self.size], counted

    def count(self) -> int:
        """How many triangles an undirected graph has, on own edges."""
        found = self.room.filled(1, np.int64)
        self._compare(_ALL, found)
        return int(found.copy_to_host()[0])

    def _compare(self, kernel: Any, found: Any) -> None:
        where, (first, last) = (self.begins, self.firsts, self.targets, self.owners, self.twice), self.share
        self.room.launch(kernel, last - first, *where, np.uint64(first), np.uint64(last), found)


def _order(graph: Graph, mixed: bool) -> Array:
    """The order of vertices, lowest first: by degree, or the cores' order, in which the highest rank comes first."""
    if not mixed:
        return degrees_of(graph).astype(np.int64)
    rank, n = order_by_degree(graph)[1], graph.vertices
    return n - 1 - (np.arange(n) if rank is None else rank.astype(np.int64))
