"""One level of Louvain or Leiden on a worker: its arrays, and the kernels that move vertices and join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker

__all__ = ["WORTHWHILE", "Array", "Level", "Moves"]

Array = NDArray[Any]

# Classes of vertices that take turns: a constant, so that the result is the same on any machine. One of 128
# neighbours is in a vertex's own class, and they choose without seeing each other's choice.
_CLASSES = 128
# Rounds of moves on a level, at most, and what part of all weight a round has to gain for another one. Most is gained
# in the first rounds; what is left is found on the next level, where it costs less.
_ROUNDS = 32
WORTHWHILE = 1e-5
# Vertices and arcs from which on a second worker is worth waking.
_FEW = 1 << 14


@dataclass(frozen=True)
class Level:
    """A weighted graph of which each edge is stored at both ends, its loops apart: twice the weight within a vertex.

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


class Moves:
    """The moves of a level's vertices, of which every worker sees all and chooses for a share."""

    def __init__(self, worker: Worker, level: Level, rate: float, seed: int, depth: int) -> None:
        """`rate`: how much of a squared mass counts; `seed` and `depth`: of the order in which vertices move."""
        self.kernels = worker.kernels("arcflux.applications.louvain")  # refused where there are none
        self.worker, self.cores, self.level, self.rate = worker, worker.cores, level, rate
        self.drawn = self.cores.host(level.size, np.uint8)
        self._launch(self.kernels.draw, np.uint64(seed % 2**64), np.uint64(depth), np.uint64(_CLASSES), self.drawn)
        self.order, self.bounds = self._sorted(self.drawn, _CLASSES)

    def settled(self, start: Array, worthwhile: float = WORTHWHILE) -> Array:
        """The community of every vertex after local moves, from where `start` puts it, while they are worthwhile."""
        enough = int(worthwhile * self.level.weight * self.kernels.GAIN)
        return self._moved(start, _ROUNDS, enough, (None, None, self.drawn))

    def refined(self, part: Array) -> Array:
        """Communities within parts: of lone vertices some join another one, each is asked once."""
        shared = self._shared(part)
        totals = self._shared(np.bincount(part, self.level.mass, self.level.size).astype(np.int64))
        alone = np.arange(self.level.size, dtype=np.uint32)
        return self._moved(alone, 1, 0, (shared, totals, self.drawn))

    def contracted(self, labels: Array, count: int) -> Level:
        """The graph whose vertices are labels 0 to before `count`."""
        level, labels = self.level, self._shared(labels)
        order, bounds = self._sorted(labels, count)
        arcs = np.add.reduceat(np.diff(level.offsets)[order], bounds[:-1].astype(np.int64)) if count else bounds[:0]
        scratch = self._tables(int(min(arcs.max(initial=0), count)))
        first, last = map(np.uint64, self.worker.share(count))
        own = int(last - first)
        lengths = self.cores.host(own, np.int64)
        where = first, last, *level.rows
        self._launch(self.kernels.row_lengths, *where, labels, order, bounds, *scratch, lengths)
        rows = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
        neighbours, weights = self.cores.host(int(rows[-1]), np.uint32), self.cores.host(int(rows[-1]), np.int64)
        masses, insides = self.cores.host(own, np.int64), self.cores.host(own, np.int64)
        sums = neighbours, weights, masses, insides
        self._launch(
            self.kernels.contract, *where, level.mass, level.loops, labels, order, bounds, *scratch, rows, *sums
        )
        offsets = np.concatenate([[0], np.cumsum(self.worker.gather(lengths))]).astype(np.uint64)
        ends, weights, masses, insides = (self.worker.gather(some) for some in sums)
        return Level(offsets, ends, weights, masses, insides, level.weight)

    # --- rounds of moves

    def _moved(self, start: Array, rounds: int, enough: int, within: tuple[Any, Any, Array]) -> Array:
        """Communities after so many rounds from `start`, or fewer when one gains no more than `enough`."""
        level, size = self.level, self.level.size
        community = self._shared(start)
        total = self._shared(np.bincount(start, level.mass, size).astype(np.int64))
        members = self._shared(np.bincount(start, minlength=size).astype(np.int64))
        awake, goals = self._shared(np.ones(size, bool)), self.cores.host(size, np.uint32)
        state = community, total, members, awake
        longest = int(np.diff(level.offsets).max(initial=np.uint64(0)))
        scratch = goals, *self._tables(min(longest, size))
        if self.worker.size > 1:
            self._rounds(rounds, enough, state, within, scratch)
        else:
            history = self.cores.small(2 * rounds)
            how = self.cores.barrier(), self.cores.small(96), *level.rows, level.mass, self.rate, self.order
            self._launch(
                self.kernels.local_moves, *how, self.bounds, *state, *within, *scratch, np.int64(enough), history
            )
        self.cores.together()
        return community.copy()

    def _rounds(self, rounds: int, enough: int, state: Any, within: Any, scratch: Any) -> None:
        """The same on several workers: each chooses for its share of a class, all move what all have chosen."""
        for _ in range(rounds):
            gained = 0
            for k in range(_CLASSES):
                gained += self._turn(self.bounds[k], self.bounds[k + 1], state, within, scratch)
            if gained <= enough:
                break

    def _turn(self, first: Any, last: Any, state: Any, within: Any, scratch: Any) -> int:
        level, goals = self.level, scratch[0]
        low, high = (first + np.uint64(some) for some in self.worker.share(int(last - first)))
        tally = self.cores.small(2)
        where = *level.rows, level.mass, self.rate, self.order
        self._launch(self.kernels.choose, *where, low, high, *state, *within, *scratch, tally)
        span = slice(int(low), int(high))
        movers = span.start + np.flatnonzero(goals[span] != level.size)
        mine = np.stack([self.order[movers], goals[movers]], 1)
        moves = self.worker.gather(mine.reshape(-1)).reshape(-1, 2)
        changes = self._shared(moves[:, 0]), self._shared(moves[:, 1])
        how = self.cores.barrier(), self.cores.small(96), level.offsets, level.neighbours, level.mass, self.order
        self._launch(self.kernels.adopt, *how, first, last, *changes, *state)
        return int(self.worker.sum(tally)[1])

    # --- arrays that the team shares

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        busy = self.level.size + len(self.level.neighbours)
        self.cores.launch(kernel, 1 if busy < _FEW else self.level.size, *arguments)

    def _shared(self, values: Array) -> Array:
        there = self.cores.host(len(values), values.dtype)
        self.cores.publish(values, there)
        return there

    def _sorted(self, labels: Array, count: int) -> tuple[Array, Array]:
        """The vertices label by label, and where each label begins."""
        order, bounds = self.cores.host(self.level.size, np.uint32), self.cores.small(count + 2, np.uint64)
        self._launch(self.kernels.sort_by_label, labels, bounds, order)
        return order, bounds[:-1]

    def _tables(self, entries: int) -> tuple[Array, Array]:
        """Scratch for each worker: a table for so many entries, which is empty, and the list of those in use."""
        slots, workers = 2 << max(0, entries - 1).bit_length(), self.cores.workers
        tables = self._shared(np.zeros(workers * slots * 2, np.int64)).reshape(workers, slots, 2)
        return tables, self.cores.host(workers * slots, np.uint32).reshape(workers, slots)
