"""Triangles by checking wedges, where no rank has the whole graph (scan statistics of the HIVE study, after Pearce).

Vertices have an order: by degree, equal ones by their number. (By degree alone, as it is printed there, a triangle of
equal degrees is found six times.) The lowest corner v of a triangle sees the other two, u below w, ahead of itself; so
v's owner sends the wedge <u, w, v> to the owner of u, which has to find w ahead of u. Wedges go in batches, so small
that a rank has room for what comes from all others. Those of the same v and u go together with w rising, so that the
row of u is gone through once for all of them. Ranks of a node have their rows in memory that all of them see: where u
is of the same node, whoever of its row is ahead of v, too, is counted without making a wedge. Counts are added up at
the end: three numbers a wedge between nodes and eight bytes a vertex are all that is sent.

A directed graph is taken without its directions, and each side knows in how many it stands. A triangle then gives to a
corner the directions of the side that it does not touch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.distributed.rows import own_rows
from arcflux.partition.parts import Parts
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.memory import empty, frozen
from arcflux.transports.base import Transport

__all__ = ["WEDGES", "Wedges"]

Array = NDArray[Any]

WEDGES = 7
# Wedges that a rank takes in at a time, from all others together.
_BATCH = 1 << 20
# Degrees are compared up to here; larger ones are equal, and numbers decide.
_MOST = (1 << 32) - 1


@kernel
def orient(
    worker: Any, workers: Any, control: Any, vertices: Any, begins: Any, ends: Any, neighbours: Any, in_begins: Any,
    in_ends: Any, in_neighbours: Any, degrees: Any, starts: Any, stops: Any, ahead: Any, weights: Any, sides: Any,
    distinct: Any,
) -> None:  # fmt: skip
    """The row of each vertex ahead of it in the order, each neighbour once: number, degree, and in how many directions.

    Two sorted rows are merged; the second, and `sides`, are None in an undirected graph. `distinct`: all neighbours.
    """
    one = np.uint64(1)
    for r in range(vertices.size):
        v = np.uint64(vertices[r])
        i, end = begins[r], ends[r]
        j, in_end = i, i
        if in_neighbours is not None:
            j, in_end = in_begins[r], in_ends[r]
        at, count = starts[r], 0
        while i < end or j < in_end:
            w, ways = np.uint64(0), np.uint8(0)
            from_out = i < end
            if in_neighbours is not None:
                from_out = from_out and (j >= in_end or neighbours[i] <= in_neighbours[j])
            if from_out:
                w = np.uint64(neighbours[i])
                ways += np.uint8(1)
                while i < end and neighbours[i] == w:
                    i += one
            if in_neighbours is not None and j < in_end and (not from_out or in_neighbours[j] == w):
                w = np.uint64(in_neighbours[j])
                ways += np.uint8(1)
                while j < in_end and in_neighbours[j] == w:
                    j += one
            if w == v:
                continue
            count += 1
            if degrees[w] > degrees[v] or (degrees[w] == degrees[v] and w > v):
                ahead[at] = w
                weights[at] = degrees[w]
                if sides is not None:
                    sides[at] = ways
                at += one
        stops[r] = at
        distinct[r] = count


@inner
def _later(ahead: Any, low: Any, end: Any, w: Any) -> Any:
    """The first place from `low` on, in a row that is sorted, whose vertex is not below w: in leaps, then by halves."""
    high, leap = low, np.uint64(1)
    while high < end and np.uint64(ahead[high]) < w:
        low = high + np.uint64(1)
        high += leap
        leap += leap
    high = min(high, end)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if np.uint64(ahead[middle]) < w:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@inner
def _add(found: Any, v: Any, u: Any, w: Any, opposite: Any, to_u: Any, to_w: Any) -> None:
    """Give each corner of a triangle the directions of the side that it does not touch."""
    if found is not None:
        found[v] += np.int64(opposite)
        found[w] += np.int64(to_u)
        found[u] += np.int64(to_w)


@inner
def _own(row: Any, starts: Any, stops: Any, ahead: Any, sides: Any, mark: Any, begin: Any, near: Any, v: Any,
         found: Any, total: Any) -> None:  # fmt: skip
    """Close all wedges of v at a vertex u of this node: whoever is ahead of both is marked."""
    u = np.uint64(ahead[near])
    r = np.uint64(row[u])
    for k in range(starts[r], stops[r]):
        place = mark[ahead[k]]
        if place:
            total[0] += 1
            if sides is None:
                _add(found, v, u, np.uint64(ahead[k]), 1, 1, 1)
            else:
                _add(found, v, u, np.uint64(ahead[k]), sides[k], sides[near], sides[begin + np.uint64(place - 1)])


@kernel
def make_wedges(
    worker: Any, workers: Any, control: Any, near_by: Any, owner: Any, first: Any, vertices: Any, row: Any, starts: Any,
    stops: Any, ahead: Any, weights: Any, sides: Any, mark: Any, state: Any, wedges: Any, directions: Any, counts: Any,
    found: Any, total: Any,
) -> None:  # fmt: skip
    """Close the node's wedges, and make others' from where ``state`` (row, and the places of its pair) is, up to a full
    batch.

    ``near_by[peer]``: whether the peer is of this node; first: the place of the first own row among those of the node;
    wedges: uint[peers, 3, batch] becomes u, w, v, for each peer; ``counts[peer]``, zero before, how many. All wedges of
    the same v and u are in a row, with w rising. `mark` is zero before and after.
    """
    one = np.uint64(1)
    r, i, j = np.uint64(state[0]), np.uint64(state[1]), np.uint64(state[2])
    held, room = 0, wedges.shape[2]
    while r < np.uint64(vertices.size) and held < room:
        v = np.uint64(vertices[r])
        begin, end = starts[first + r], stops[first + r]
        for k in range(begin, end):
            mark[ahead[k]] = k - begin + one
        while begin + i < end and held < room:
            near = begin + i
            u = ahead[near]
            peer = owner[u]
            if near_by[peer]:
                _own(row, starts, stops, ahead, sides, mark, begin, near, v, found, total)
                j = end - begin
            at = counts[peer]
            while begin + j < end and held < room:
                far = begin + j
                if weights[far] > weights[near] or (weights[far] == weights[near] and ahead[far] > u):
                    wedges[peer, 0, at], wedges[peer, 1, at], wedges[peer, 2, at] = u, ahead[far], v
                    if sides is not None:
                        directions[peer, at] = np.uint8(sides[near] + np.uint8(4) * sides[far])
                    at += 1
                    held += 1
                j += one
            counts[peer] = at
            if begin + j >= end:
                i += one
                j = np.uint64(0)
        for k in range(begin, end):
            mark[ahead[k]] = 0
        if begin + i >= end:
            r += one
            i = j = np.uint64(0)
    state[0], state[1], state[2] = r, i, j


@kernel
def check(
    worker: Any, workers: Any, control: Any, u: Any, w: Any, v: Any, directions: Any, row: Any, starts: Any, stops: Any,
    ahead: Any, sides: Any, found: Any, total: Any,
) -> None:  # fmt: skip
    """Count the triangles among wedges that came: `directions` are those of the sides to u and, times 4, to w."""
    low = end = np.uint64(0)
    for k in range(u.size):
        far = np.uint64(w[k])
        if k == 0 or u[k] != u[k - 1] or w[k] < w[k - 1]:
            r = np.uint64(row[u[k]])
            low, end = starts[r], stops[r]
        low = _later(ahead, low, end, far)
        if low < end and np.uint64(ahead[low]) == far:
            total[0] += 1
            if sides is None:
                _add(found, v[k], u[k], far, 1, 1, 1)
            else:
                ways = directions[k]
                _add(found, v[k], u[k], far, sides[low], ways & np.uint8(3), ways >> np.uint8(2))


class Wedges:
    """One rank's rows, and its share of the counting. `distinct` are the neighbours of its vertices, counted once."""

    def __init__(self, transport: Transport, parts: Parts, launch: Launch, batch: int | None = None) -> None:
        """`batch`: how many wedges may come in at a time."""
        graph, rank = parts.graph, transport.rank
        self.transport, self.parts, self.launch, self.kind = transport, parts, launch, graph.out.neighbours.dtype
        self.batch = max(1, (_BATCH if batch is None else batch) // transport.size)
        out = own_rows(parts, rank, out=True)
        into = own_rows(parts, rank, out=False) if graph.directed else None
        degrees = graph.out_degrees + graph.in_degrees if graph.directed else graph.out_degrees
        degrees = np.minimum(degrees, np.uint64(_MOST)).astype(np.uint32)
        lengths = out.lengths + (0 if into is None else into.lengths)
        self.vertices, self.distinct = out.vertices, np.empty(len(out.vertices), self.kind)
        sizes = np.stack(transport.gather(np.array([len(lengths), lengths.sum()], np.int64)))[transport.mates]
        rows, room = sizes.sum(axis=0).tolist()
        self.first, begin = sizes[: transport.place].sum(axis=0).tolist()
        mine = slice(self.first, self.first + len(lengths))
        starts, stops = (transport.shared(rows, np.uint64) for _ in range(2))
        ahead, weights = transport.shared(room, self.kind), transport.shared(room, np.uint32)
        sides = transport.shared(room, np.uint8) if graph.directed else None
        starts[mine] = begin + np.cumsum(lengths) - lengths
        second = into[1:] if into is not None else (None, None, None)
        own = frozen(starts[mine]), stops[mine]
        launch(orient, *out, *second, frozen(degrees), *own, ahead, weights, sides, self.distinct)
        self.row = transport.shared(graph.vertices, self.kind)
        self.row[self.vertices] = np.arange(mine.start, mine.stop, dtype=self.kind)
        transport.node_barrier()
        self.rows = [frozen(array) for array in (starts, stops, ahead)]
        self.weights, self.sides = frozen(weights), None if sides is None else frozen(sides)

    def count(self, found: Array | None) -> int:
        """How many triangles this rank finds; adds to each corner in `found`, unless it is None. Collective."""
        total = np.zeros(1, np.int64)
        for u, w, v, directions in self._incoming(found, total):
            self.launch(check, u, w, v, directions, self.row, *self.rows, self.sides, found, total)
        return int(total[0])

    def _incoming(self, found: Array | None, total: Array) -> Iterator[tuple[Array | None, ...]]:
        """Batch by batch: make wedges and send them; give those that come from each rank."""
        transport, owner = self.transport, frozen(self.parts.owner)
        state = np.zeros(3, np.int64)
        wedges = empty(transport.size * 3 * self.batch, self.kind).reshape(transport.size, 3, self.batch)
        directions = None if self.sides is None else np.empty((transport.size, self.batch), np.uint8)
        mark = np.zeros(self.parts.graph.vertices, self.kind)
        near_by = np.asarray(transport.node_of) == transport.node
        peers = [(transport.rank + step) % transport.size for step in range(1, transport.size)]
        peers = [peer for peer in peers if not near_by[peer]]
        left = True
        while left:
            counts = np.zeros(transport.size, np.int64)
            self.launch(
                make_wedges, near_by, owner, np.uint64(self.first), self.vertices, self.row, *self.rows, self.weights,
                self.sides, mark, state, wedges, directions, counts, found, total,
            )  # fmt: skip
            for peer in peers:
                some = slice(0, int(counts[peer]))
                message = [wedges[peer, side, some] for side in range(3)]
                transport.post(peer, message if directions is None else [*message, directions[peer, some]], WEDGES)
            for peer in peers:
                yield self._read(transport.collect(peer, WEDGES))
            transport.finish()
            unfinished = int(state[0]) < len(self.vertices)
            left = bool(transport.reduce(np.array([unfinished], np.int64), "max")[0])

    def _read(self, message: Array) -> tuple[Array | None, ...]:
        size = self.kind.itemsize
        count = len(message) // (3 * size + (self.sides is not None))
        numbers = [frozen(np.frombuffer(message, self.kind, count, side * size * count)) for side in range(3)]
        rest = None if self.sides is None else frozen(np.frombuffer(message, np.uint8, count, 3 * size * count))
        return *numbers, rest
