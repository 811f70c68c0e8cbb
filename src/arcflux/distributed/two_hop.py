"""Two-hop friends on parts: the owner of a vertex asks for the rows of its neighbours, and joins them.

A rank takes some of its vertices at a time, so many that the rows of their neighbours have room; it asks each owner for
the rows that it lacks, each once, and answers the others. How long a row is everybody knows from the graph's offsets.
Where every rank has the whole graph, nobody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.distributed.rows import Rows, own_rows
from arcflux.kernels.two_hop import two_hop
from arcflux.partition.parts import Parts
from arcflux.spmd.jit import kernel
from arcflux.spmd.memory import empty, frozen
from arcflux.transports.base import Transport

__all__ = ["two_hop_friends"]

Array = NDArray[Any]

_ASK, _ROWS = 0, 1
# Neighbours in all the rows that a rank gives out at a time.
_BATCH = 1 << 22


@kernel
def measure(
    worker: Any, workers: Any, control: Any, places: Any, begins: Any, ends: Any, neighbours: Any, degrees: Any,
    sizes: Any,
) -> None:  # fmt: skip
    """``sizes[k]``: how long the row at a place is, together with the rows of those in it."""
    for k in range(places.size):
        r = np.uint64(places[k])
        size = ends[r] - begins[r]
        for i in range(begins[r], ends[r]):
            size += degrees[neighbours[i]]
        sizes[k] = size


@kernel
def copy_rows(
    worker: Any, workers: Any, control: Any, places: Any, begins: Any, ends: Any, neighbours: Any, copied: Any
) -> None:
    """The rows at some places, one after the other."""
    at = np.uint64(0)
    for k in range(places.size):
        r = np.uint64(places[k])
        for i in range(begins[r], ends[r]):
            copied[at] = neighbours[i]
            at += np.uint64(1)


@kernel
def place_lists(worker: Any, workers: Any, control: Any, which: Any, offsets: Any, piece: Any, friends: Any) -> None:
    """Put the lists of some of the chosen, one after the other in `piece`, where they belong."""
    at = 0
    for k in range(which.size):
        for i in range(offsets[which[k]], offsets[which[k] + 1]):
            friends[i] = piece[at]
            at += 1


def two_hop_friends(
    transport: Transport, parts: Parts, chosen: Array, room: Callable[[int], Array] | None, batch: int | None = None
) -> tuple[Array, Array | None, Array | None, Launch]:
    """How many friends each of `chosen` (ascending) has; and, with a `room` for so many, where their lists are.

    `batch`: how many neighbours the rows that a rank gives out at a time may have, unless it is for one vertex.
    """
    launch, by = Launch(transport), parts.owner[chosen]
    which = [np.flatnonzero(by == rank) for rank in range(transport.size)]
    exchange = _Rows(transport, parts, launch)
    bitmaps = [np.zeros((1, parts.graph.vertices // size + 1), np.uint64) for size in (64, 4096)]
    mine = chosen[which[transport.rank]]
    counts, lists = [np.empty(0, np.int64)], [np.empty(0, parts.graph.out.neighbours.dtype)]
    limit = max(1, (_BATCH if batch is None else batch) // transport.size)
    with launch.task("two-hop friends", len(mine), "vertices") as at:
        for some, rows in exchange.batches(mine, limit):
            found = np.empty(len(some), np.int64)
            shared = *rows, frozen(some), *bitmaps, found
            launch(two_hop, *shared, None, None)
            if room is not None:
                friends = room(int(found.sum()))
                # The other form of the kernel, which not every rank needs at the same time.
                two_hop(0, 1, np.zeros(16, np.int64), *shared, np.cumsum(found) - found, friends)
                lists.append(friends)
            counts.append(found)
            at(sum(map(len, counts)))
    count = np.empty(len(chosen), np.int64)
    for rank, piece in enumerate(transport.gather(np.concatenate(counts))):
        count[which[rank]] = piece
    if room is None:
        return count, None, None, launch
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    friends = room(int(offsets[-1]))
    for rank in range(transport.size):
        mine = np.concatenate(lists) if rank == transport.rank else empty(int(count[which[rank]].sum()), friends.dtype)
        launch(place_lists, which[rank], offsets, frozen(transport.broadcast(mine, rank)), friends)
    return count, offsets, friends, launch


class _Rows:
    """The rows of any vertices: own ones, and others' by asking."""

    def __init__(self, transport: Transport, parts: Parts, launch: Launch) -> None:
        self.transport, self.parts, self.owner, self.launch = transport, parts, parts.owner, launch
        self.own: Rows = own_rows(parts, transport.rank, out=True)
        self.degrees = frozen(np.diff(parts.graph.out.offsets))
        self.begins, self.ends = (empty(parts.graph.vertices, np.uint64) for _ in range(2))

    def batches(self, vertices: Array, limit: int) -> Iterator[tuple[Array, tuple[Array, Array, Array]]]:
        """Some of the vertices at a time, with their rows and those of their neighbours. Collective."""
        if self.parts.duplicated:
            offsets, neighbours = self.parts.graph.out
            yield vertices, (frozen(offsets[:-1]), frozen(offsets[1:]), neighbours)
            return
        sizes = np.empty(len(vertices), np.uint64)
        self.launch(measure, self._places(vertices), *self.own[1:], self.degrees, sizes)
        filled, done, left = np.cumsum(sizes), 0, True
        while left:
            before = int(filled[done - 1]) if done else 0
            end = int(np.searchsorted(filled, np.uint64(before + limit), side="right"))
            some = vertices[done : max(end, min(done + 1, len(vertices)))]
            done += len(some)
            yield some, self._fetch(some)
            left = bool(self.transport.reduce(np.array([done < len(vertices)], np.int64), "max")[0])

    def _fetch(self, vertices: Array) -> tuple[Array, Array, Array]:
        """Where the rows of vertices and their neighbours begin and end, by vertex, and the rows."""
        transport = self.transport
        near = self._copied(vertices)
        needed = np.union1d(near, vertices.astype(near.dtype))
        by = self.owner[needed]
        peers = [(transport.rank + step) % transport.size for step in range(1, transport.size)]
        for peer in peers:
            transport.post(peer, [needed[by == peer]], _ASK)
        for peer in peers:
            asked = np.frombuffer(transport.collect(peer, _ASK), near.dtype)
            transport.post(peer, [self._copied(asked)], _ROWS)
        known = [needed[by == transport.rank]]
        rows = [self._copied(known[0])]
        for peer in peers:
            known.append(needed[by == peer])
            rows.append(np.frombuffer(transport.collect(peer, _ROWS), near.dtype))
        transport.finish()
        order = np.concatenate(known)
        lengths = self.degrees[order]
        self.ends[order] = ends = np.cumsum(lengths, dtype=np.uint64)
        self.begins[order] = ends - lengths
        return frozen(self.begins), frozen(self.ends), frozen(np.concatenate(rows))

    def _copied(self, vertices: Array) -> Array:
        """The rows of own vertices, one after the other."""
        copied = empty(int(self.degrees[vertices].sum()), self.own.neighbours.dtype)
        self.launch(copy_rows, self._places(vertices), *self.own[1:], copied)
        return copied

    def _places(self, vertices: Array) -> Array:
        return np.searchsorted(self.own.vertices, vertices.astype(self.own.vertices.dtype))
