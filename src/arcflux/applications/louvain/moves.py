"""One level of Louvain or Leiden on a worker: its arrays, and the kernels that move vertices and join them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.applications.louvain.coarse import (
    contract,
    flatten,
    join_within,
    masses_of,
    refine,
    sort_by_label,
    weight_within,
)
from arcflux.applications.traffic import Traffic
from arcflux.engine.worker import Worker
from arcflux.graph import Graph

__all__ = ["Array", "Level", "Moves", "Tables", "first_level"]

Array = NDArray[Any]

# Levels with fewer arcs move vertex by vertex, on one core of each node, without messages: alternating classes do
# almost three times the work, which pays if there are more cores and seconds to gain.
_IN_ORDER = 1 << 25
# Classes of vertices that alternate: a constant, so that the result is the same on any machine. One of 128 neighbours
# is in a vertex's own class, and these choose without seeing each other's choice.
_CLASSES = 128
# Vertices next to each other that move one after the other, for the sake of caches; blocks of them, of 1 where there
# are few, come in the order of a stride by the golden ratio and the seed. (In the order of their numbers communities
# that are next to each other there grow together: modularity .479 and not .491 of a planted partition.)
_BLOCK = 64
_GOLDEN = 0.6180339887498949
# Rounds of moves on a level, at most, and what part of all weight a round has to gain for another one. Most is gained
# in the first rounds; what is left is found on the next level, where it costs less, and in the end.
_ROUNDS = 32
_WORTHWHILE = 1e-3
# Vertices and arcs from which a second worker is worth waking.
_FEW = 1 << 15


@dataclass(frozen=True)
class Level:
    """A weighted graph with each edge stored at both ends, its loops separately: twice the weight within a vertex.

    offsets: uint64[n + 1]; neighbours: uint[arcs]; weights: int64[arcs], or None for 1 each; mass, loops: int64[n];
    weight: that of all arcs and loops.
    """

    offsets: Array
    neighbours: Array
    weights: Array | None
    mass: Array
    loops: Array
    weight: int

    @property
    def size(self) -> int:
        """How many vertices there are."""
        return len(self.mass)

    @property
    def rows(self) -> tuple[Array, Array, Array | None]:
        """The arrays that kernels walk."""
        return self.offsets, self.neighbours, self.weights


def first_level(worker: Worker, graph: Graph, weights: Array | None, unit_mass: bool) -> Level:
    """An undirected graph as the first level; the mass of a vertex is its strength, or 1."""
    worker.kernels("arcflux.applications.louvain")  # refused where there are none
    size = graph.vertices
    strength, loops = worker.cores.host(size, np.int64), worker.cores.host(size, np.int64)
    chunks, visits = (graph.arcs + size) // _FEW, graph.arcs + size
    worker.cores.launch(masses_of, chunks, *graph.out, weights, strength, loops, visits=visits)
    worker.cores.together()
    mass = np.ones(size, np.int64) if unit_mass else strength
    return Level(*graph.out, weights, mass, loops, int(strength.sum()))


class Tables:
    """Scratch of each core for a level's vertices, and coarser ones': weights by label, all 0, and keys in use."""

    def __init__(self, worker: Worker, size: int) -> None:
        cores = worker.cores
        shape = cores.workers, max(1, size)
        self.weights = cores.host(shape[0] * shape[1], np.int64).reshape(shape)
        self.keys = cores.host(shape[0] * (shape[1] + 1), np.uint32).reshape(shape[0], -1)
        cores.publish(0, self.weights)


class Moves:
    """The moves of a level's vertices, of which every worker sees all."""

    def __init__(
        self, worker: Worker, level: Level, tables: Tables, rate: float, order: tuple[int, int], traffic: Traffic
    ) -> None:  # fmt: skip
        """`rate`: how much of a squared mass counts; `order`: seed and depth of the order in which vertices move."""
        self.kernels = worker.kernels("arcflux.applications.louvain")  # refused where there are none
        self.worker, self.cores, self.level, self.rate = worker, worker.cores, level, rate
        self.scratch = tables.weights, tables.keys
        self.seed, self.depth = order
        self.traffic = traffic

    def settled(self, start: Array) -> Array:
        """The community of every vertex after local moves, from where `start` puts it, while they are worthwhile."""
        community, total = self._communities(start)
        awake = self._shared(np.ones(self.level.size, bool))
        if len(self.level.neighbours) < _IN_ORDER:
            touched = self.cores.host(self.level.size, bool)
            self._in_order(community, total, awake, touched, _WORTHWHILE * self.level.weight)
        else:
            with self.traffic.phase("moves"):
                self._by_classes(community, total, awake)
        self.cores.together()
        return community.copy()

    def polished(self, start: Array, turns: int) -> Array:
        """The community of every vertex, from where `start` puts it, when no single move gains any more.

        At most this many turns. A resting vertex does not see that a distant community has become lighter: so all are
        reconsidered. Few move, one after the other.
        """
        community, total = self._communities(start)
        awake, touched = (self.cores.host(self.level.size, bool) for _ in range(2))
        for turn in range(turns):
            count, near = self.cores.small(1), touched if turn else None
            given = *self.level.rows, self.level.mass, self.rate, community, total, near, *self.scratch, awake, count
            self._launch(self.kernels.find_movable, *given)
            self.cores.together()
            if not count[0]:
                break
            self.cores.publish(False, touched)
            self._in_order(community, total, awake, touched, 0.0)
        self.cores.together()
        return community.copy()

    def refined(self, part: Array, count: int) -> Array:
        """Connected pieces of the parts 0 to before `count`: of lone vertices some join another one."""
        level, labels = self.level, self._shared(part)
        order, bounds = self._sorted(labels, count)
        piece, total = self.cores.host(level.size, np.uint32), self.cores.host(level.size, np.int64)
        first, last = map(np.uint64, self.worker.share(count))
        given = first, last, *level.rows, level.mass, self.rate, labels, order, bounds, piece, total, *self.scratch
        self._launch(refine, *given)
        self.cores.together()
        found = np.empty(level.size, np.uint32)
        with self.traffic.phase("refinement"):
            found[order] = self.worker.gather(piece[order[int(bounds[first]) : int(bounds[last])]])
        return found

    def contracted(self, labels: Array, count: int) -> Level:
        """The graph whose vertices are labels 0 to before `count`."""
        level, labels = self.level, self._shared(labels)
        order, bounds = self._sorted(labels, count)
        arcs = np.zeros(level.size + 1, np.uint64)
        np.cumsum(np.diff(level.offsets)[order], out=arcs[1:])
        begins = arcs[bounds]  # arcs of the labels before each
        first, last = map(np.uint64, self.worker.share(count))
        own, most = int(last - first), int(begins[last] - begins[first])
        lengths, masses, insides = (self.cores.host(own, np.int64) for _ in range(3))
        rows = self.cores.host(most, np.uint32), self.cores.host(most, np.int64)
        starts = self.cores.small(2 * self.cores.workers, np.uint64)
        self._launch(
            contract, first, last, *level.rows, level.mass, level.loops, labels, order, bounds, begins,
            *self.scratch, lengths, *rows, masses, insides, starts,
        )  # fmt: skip
        self.cores.together()
        spans = [slice(*map(int, span)) for span in starts[: 2 * self._busy()].reshape(2, -1).T]
        ends, sums = (np.concatenate([some[span] for span in spans]) for some in rows)
        pieces = lengths, ends, sums, masses.copy(), insides.copy()
        with self.traffic.phase("contraction"):
            lengths, ends, sums, masses, insides = map(self.worker.gather, pieces)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
        return Level(offsets, ends, sums, masses, insides, level.weight)

    def connected(self, part: Array) -> Array:
        """Of each vertex, the smallest of those that edges within its part connect it with."""
        labels, above = self._shared(part), self._shared(np.arange(self.level.size, dtype=np.uint32))
        self._launch(join_within, self.level.offsets, self.level.neighbours, labels, above)
        self._launch(flatten, above)
        self.cores.together()
        return above.copy()

    def within(self, labels: Array) -> int:
        """The weight of arcs within labels."""
        found = self.cores.small(1)
        self._launch(weight_within, *self.level.rows, self._shared(labels), found)
        self.cores.together()
        return int(found[0])

    # --- rounds of moves

    def _communities(self, start: Array) -> tuple[Array, Array]:
        total = np.bincount(start, self.level.mass, self.level.size)  # integers of at most 52 bits
        return self._shared(start), self._shared(total.astype(np.int64))

    def _in_order(self, community: Array, total: Array, awake: Array, touched: Array, enough: float) -> None:
        block = _BLOCK if self.level.size > _BLOCK**2 else 1
        history, blocks = self.cores.small(_ROUNDS, np.float64), -(-self.level.size // block)
        stride = 1 + (int(_GOLDEN * blocks) + self.seed + self.depth) % max(1, blocks)
        while math.gcd(stride, blocks) > 1:
            stride += 1
        members = self._shared(np.bincount(community, minlength=self.level.size).astype(np.int64))
        given = np.uint64(block), np.uint64(stride), community, total, members, awake, touched
        self.cores.launch(
            self.kernels.moves_in_order, 1, *self.level.rows, self.level.mass, self.rate, *given, *self.scratch, enough,
            history, visits=self._visits,
        )  # fmt: skip
        self.cores.together()

    def _by_classes(self, community: Array, total: Array, awake: Array) -> None:
        level, size = self.level, self.level.size
        drawn, goals = self.cores.host(size, np.uint8), self.cores.host(size, np.uint32)
        seed = np.uint64(self.seed % 2**64), np.uint64(self.depth), np.uint64(_CLASSES)
        self._launch(self.kernels.draw, *seed, drawn)
        members = self._shared(np.bincount(community, minlength=size).astype(np.int64))
        order, bounds = self._sorted(drawn, _CLASSES)
        state, scratch = (community, total, members, awake), (drawn, goals, *self.scratch)
        enough = int(_WORTHWHILE * level.weight * self.kernels.GAIN)
        if self.worker.size > 1:
            for _ in range(_ROUNDS):
                turns = [self._turn(order, bounds[k], bounds[k + 1], state, scratch) for k in range(_CLASSES)]
                if sum(turns) <= enough:
                    return
            return
        history = self.cores.small(_ROUNDS)
        how = self.cores.barrier(), self.cores.small(96), *level.rows, level.mass, self.rate, order, bounds
        self._launch(self.kernels.local_moves, *how, *state, *scratch, np.int64(enough), history)

    def _turn(self, order: Array, first: Any, last: Any, state: Any, scratch: Any) -> int:
        """A class's turn on several workers: each chooses for its share of it, and all apply all moves."""
        level, goals = self.level, scratch[1]
        low, high = (first + np.uint64(some) for some in self.worker.share(int(last - first)))
        tally = self.cores.small(1)
        where = *level.rows, level.mass, self.rate, order
        self._launch(self.kernels.choose, *where, low, high, *state, *scratch, tally)
        span = slice(int(low), int(high))
        movers = span.start + np.flatnonzero(goals[span] != level.size)
        mine = np.stack([order[movers], goals[movers]], 1)
        moves = self.worker.gather(mine.reshape(-1)).reshape(-1, 2)
        changes = self._shared(moves[:, 0]), self._shared(moves[:, 1])
        how = self.cores.barrier(), self.cores.small(96), level.offsets, level.neighbours, level.mass, order
        self._launch(self.kernels.adopt, *how, first, last, *changes, *state)
        return int(self.worker.sum(tally)[0])

    # --- arrays that the team shares

    @property
    def _visits(self) -> int:
        return self.level.size + len(self.level.neighbours)

    def _busy(self) -> int:
        """How many cores kernels run on."""
        return 1 if self._visits < _FEW else min(self.cores.workers, self.level.size)

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        self.cores.launch(kernel, self._busy(), *arguments, visits=self._visits)

    def _shared(self, values: Array) -> Array:
        there = self.cores.host(len(values), values.dtype)
        self.cores.publish(values, there)
        return there

    def _sorted(self, labels: Array, count: int) -> tuple[Array, Array]:
        """The vertices label by label, and where each label begins."""
        order, bounds = self.cores.host(self.level.size, np.uint32), self.cores.small(count + 2, np.uint64)
        self.cores.launch(sort_by_label, 1, labels, bounds, order, visits=self._visits)
        self.cores.together()
        return order, bounds[:-1]
