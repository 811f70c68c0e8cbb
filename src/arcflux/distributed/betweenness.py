"""Brandes' accumulation on parts: levels forward, then what each level gets back from the one behind it.

As in kernels/betweenness.py, an owner sums its own rows without asking for anybody's level. Forward, `front[k & 1]` has
the paths to the vertices of level k, and of k - 2 and so on; but of those, none has an edge to level k + 1. Backward it
has (1 + credit) / paths of level k, k + 2 and so on, to which level k - 1 has no edge except to k. A node that reads a
vertex is told its value once each way, when the turn of its level comes. Only where paths are more than a float can
count, they are carried as ``value * STEP ** power``.

Meeting after every level is what it costs, so some sources are searched from at once, each in a copy of the graph of
its own: vertex v of copy c is ``c * vertices + v``, here called a key. Where every rank has the whole graph, each takes
sources of its own instead, and they meet once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.distributed.launch import Launch
from arcflux.distributed.readers import Readers, whole
from arcflux.distributed.rows import own_rows
from arcflux.partition import partition
from arcflux.partition.parts import Parts
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport
from arcflux.transports.local import run_local

__all__ = ["dependencies"]

Array = NDArray[Any]

_FORWARD, _BACKWARD = 0, 1
# How many sources are searched from at once, and how many keys they may have.
_COPIES = 64
_KEYS = 1 << 20
_STEP = 2.0**512
# A count above this is too near to overflow, and its inverse to nothing.
_MANY = 2.0**1000


@kernel
def discover(
    worker: Any, workers: Any, control: Any, queue: Any, offsets: Any, neighbours: Any, vertices: Any, seen: Any,
    keys: Any, size: Any,
) -> None:  # fmt: skip
    """Append to `keys` what the arcs of this part lead to from a queue and nobody has seen; ``size[0]`` are there."""
    held = size[0]
    for k in range(queue.size):
        base = queue[k] // vertices * vertices
        u = np.uint64(queue[k] - base)
        for i in range(offsets[u], offsets[u + np.uint64(1)]):
            key = base + np.int64(neighbours[i])
            if not seen[key]:
                seen[key] = True
                keys[held] = key
                held += 1
    size[0] = held


@inner
def _scale(power: Any) -> Any:
    """``STEP ** power`` of a power that is at most 0; what is two steps smaller than the rest adds nothing."""
    return 1.0 if power == 0 else 1.0 / _STEP if power == -1 else 0.0


@inner
def _sum(neighbours: Any, begin: Any, end: Any, base: Any, values: Any, powers: Any, sign: Any) -> Any:
    """The sum over a row, each neighbour once, and its power; powers count as sign * powers."""
    total, power = 0.0, 0
    for i in range(begin, end):
        if i > begin and neighbours[i] == neighbours[i - np.uint64(1)]:
            continue
        key = base + np.int64(neighbours[i])
        if powers is None:
            total += values[key]
        elif values[key] > 0.0:
            here = sign * np.int64(powers[key])
            if total == 0.0:
                power = here
            if here > power:
                total = total * _scale(power - here) + values[key]
                power = here
            else:
                total += values[key] * _scale(here - power)
    return total, power


@kernel
def count_paths(
    worker: Any, workers: Any, control: Any, keys: Any, row: Any, begins: Any, ends: Any, neighbours: Any,
    vertices: Any, old: Any, new: Any, paths: Any, powers: Any, overflow: Any,
) -> None:  # fmt: skip
    """The paths to each key of a level, from those to the level before; ``overflow[0]`` when powers are needed."""
    for k in range(keys.size):
        key = keys[k]
        base = key // vertices * vertices
        r = row[key - base]
        count, power = _sum(neighbours, begins[r], ends[r], base, old, powers, 1)
        if powers is not None:
            if count >= _STEP:
                count, power = count / _STEP, power + 1
            powers[key] = power
        elif count > _MANY:
            overflow[0] = 1
        new[key] = paths[k] = count


@kernel
def credit(
    worker: Any, workers: Any, control: Any, keys: Any, row: Any, begins: Any, ends: Any, neighbours: Any,
    vertices: Any, old: Any, new: Any, paths: Any, powers: Any, endpoints: Any, scores: Any,
) -> None:  # fmt: skip
    """What each key of a level gets from the level behind, added to its vertex's score; and what it gives on."""
    for k in range(keys.size):
        key = keys[k]
        base = key // vertices * vertices
        r = row[key - base]
        total, power = _sum(neighbours, begins[r], ends[r], base, old, powers, -1)
        gained = paths[k] * total
        if powers is not None and total > 0.0:
            gained *= _scale(min(0, power + np.int64(powers[key])))
        new[key] = (1.0 + gained) / paths[k]
        scores[r] += gained + endpoints


def dependencies(transport: Transport, parts: Parts, sources: Array, endpoints: bool) -> tuple[Array, Launch]:
    """For each vertex, the sum of what the shortest paths from each source give to it; with their ends, if so asked."""
    if not parts.duplicated:
        launch = Launch(transport)
        return _accumulated(transport, parts, sources, endpoints, launch), launch
    mine, one = sources[transport.rank :: transport.size], partition(parts.graph, 1)

    def alone(rank: Transport) -> tuple[Array, Launch]:
        launch = Launch(rank, quiet=transport.rank > 0)
        return _accumulated(rank, one, mine, endpoints, launch), launch

    sums, launch = run_local(1, alone)[0]
    return transport.reduce(sums, "sum"), launch


def _accumulated(transport: Transport, parts: Parts, sources: Array, endpoints: bool, launch: Launch) -> Array:
    """The sums over all sources, by one search of all ranks."""
    search = _Search(transport, parts, launch, len(sources))
    scores = search.run(sources, endpoints, powers=False)
    if scores is None:
        scores = search.run(sources, endpoints, powers=True)
    assert scores is not None, "with powers there is no overflow"
    return whole(transport, parts, scores)


class _Search:
    """One rank's part of all searches. Fronts, what was seen and the queue of a level are shared by the node.

    A rank has the keys that it owns in the order of their levels, which begin at `starts`, with the paths to each.
    `heard` are keys of others whose values it has written for its node.
    """

    def __init__(self, transport: Transport, parts: Parts, launch: Launch, sources: int) -> None:
        graph, rank, shared = parts.graph, transport.rank, transport.shared
        self.transport, self.parts, self.launch, self.n = transport, parts, launch, graph.vertices
        self.copies = max(1, min(_COPIES, sources, _KEYS // max(1, self.n)))
        self.out, self.into = own_rows(parts, rank, out=True), own_rows(parts, rank, out=False)
        self.arcs = [frozen(array) for array in parts.at_targets().part(rank).out]
        ahead = Readers.of(transport, parts, launch, out=[False])
        behind = Readers.of(transport, parts, launch, out=[True]) if graph.directed else ahead
        self.ahead, self.behind = (readers.copies(self.copies, self.n) for readers in (ahead, behind))
        size, own = self.copies * self.n, self.copies * len(self.out.vertices)
        self.fronts, self.powers = shared((2, size), np.float64), shared(size, np.int32)
        self.seen, self.queue = shared(size, np.bool_), shared(size, np.int64)
        self.row, self.sizes = shared(self.n, np.int64), shared(len(transport.mates), np.int64)
        self.row[self.out.vertices] = np.arange(len(self.out.vertices))
        self.keys, self.paths = np.empty(own, np.int64), np.empty(own)
        rooms = np.concatenate(transport.gather(np.array([own + sum(map(len, self.ahead.hear.values()))])))
        rooms = rooms[transport.mates]
        self.rooms = np.cumsum(rooms) - rooms

    def run(self, sources: Array, endpoints: bool, *, powers: bool) -> Array | None:
        """The scores of own vertices; None when there were too many paths to count without powers. Collective."""
        scores = np.zeros(len(self.out.vertices))
        reached = np.zeros(len(sources), np.int64)
        with self.launch.task("betweenness", len(sources), "sources") as at:
            for begin in range(0, len(sources), self.copies):
                some = sources[begin : begin + self.copies]
                fine = self._forward(some, self.powers if powers else None)
                self._forget(None)
                if fine:
                    self._backward(self.powers if powers else None, float(endpoints), scores)
                    mine = self.keys[: self.starts[-1]]
                    reached[begin : begin + len(some)] = np.bincount(mine // max(1, self.n), minlength=len(some))
                self._forget(self.seen)
                if not fine:
                    return None
                at(begin + len(some))
        if endpoints:
            mine = self.parts.owner[sources] == self.transport.rank
            ends = self.transport.reduce(reached, "sum")[mine] - 1
            np.add.at(scores, self.row[sources[mine]], ends.astype(np.float64))
        return scores

    def _forward(self, sources: Array, powers: Array | None) -> bool:
        """Find the levels of all copies, and count paths; whether they could be counted."""
        first = np.arange(len(sources)) * self.n + sources
        first = first[self.parts.owner[sources] == self.transport.rank]
        self.starts = [0, len(first)]
        self.heard: list[Array] = []
        self.keys[: len(first)], self.paths[: len(first)] = first, 1.0
        self.fronts[0][first], self.seen[first] = 1.0, True
        if powers is not None:
            powers[first] = 0
        overflow = np.zeros(1, np.int64)
        level = 0
        while self._publish(level, powers, overflow):
            self._discover()
            level += 1
            self.launch(
                count_paths, self._level(level), self.row, *self.into[1:], self.n, self.fronts[(level - 1) & 1],
                self.fronts[level & 1], self.paths[self.starts[level] : self.starts[level + 1]], powers, overflow,
            )  # fmt: skip
            self.transport.node_barrier()
        return not self.overflowed

    def _publish(self, level: int, powers: Array | None, overflow: Array) -> bool:
        """The keys of a level become the node's queue, and go to their readers; whether there are any, anywhere."""
        transport, found = self.transport, self._level(level)
        transport.superstep = level
        arrays = [self.fronts[level & 1], *([] if powers is None else [powers])]
        heard = self.ahead.exchange(transport, found, arrays, _FORWARD)
        self.heard.append(heard)
        place = int(self.rooms[transport.place])
        self.queue[place : place + len(found)] = found
        self.queue[place + len(found) : place + len(found) + len(heard)] = heard
        self.sizes[transport.place] = len(found) + len(heard)
        count, over = transport.reduce(np.array([len(found), int(overflow[0])]), "sum").tolist()
        self.overflowed = over > 0
        return count > 0 and not self.overflowed

    def _discover(self) -> None:
        """The own keys of the next level, ascending."""
        size = np.array([self.starts[-1]], np.int64)
        for place, room in enumerate(self.rooms.tolist()):
            queue = frozen(self.queue[room : room + int(self.sizes[place])])
            self.launch(discover, queue, *self.arcs, self.n, self.seen, self.keys, size)
        self.keys[self.starts[-1] : int(size[0])].sort()
        self.starts.append(int(size[0]))

    def _backward(self, powers: Array | None, endpoints: float, scores: Array) -> None:
        """Add up what each level gets from the one behind; the source, level 0, counts for nothing."""
        arrays = [] if powers is None else [powers]
        last = len(self.starts) - 3  # the level after it is empty
        for level in range(last, 0, -1):
            old, new = self.fronts[(level + 1) & 1], self.fronts[level & 1]
            self.launch(
                credit, self._level(level), self.row, *self.out[1:], self.n, old, new,
                self.paths[self.starts[level] : self.starts[level + 1]], powers, endpoints, scores,
            )  # fmt: skip
            if level > 1:
                mine = self._level(level)
                self.heard.append(self.behind.exchange(self.transport, mine, [new, *arrays], _BACKWARD))
            self.transport.node_barrier()

    def _level(self, level: int) -> Array:
        """The own keys of a level."""
        return frozen(self.keys[self.starts[level] : self.starts[level + 1]])

    def _forget(self, seen: Array | None) -> None:
        """Make both fronts zero; with `seen`, what was seen unseen."""
        mine = self.keys[: self.starts[-1]]
        for front in self.fronts:
            for keys in (mine, *self.heard):
                front[keys] = 0.0
        if seen is not None:
            seen[mine] = False
        self.transport.node_barrier()
