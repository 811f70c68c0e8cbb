"""The loops of the traversal on one part of a grid: from bitmap to list and along the arcs to bitmap; levels, parents.

The bit of vertex v in the bitmap of a range is the bit ``v - base`` of its words, where base is the range's first
vertex rounded down to a word (block.py). One worker runs them: each rank has a part of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arcflux.algorithms.bfs_grid.block import Block
from arcflux.engine.worker import Worker
from arcflux.spmd.jit import inner, kernel
from arcflux.spmd.machine import count_ones, trailing_zeros
from arcflux.spmd.memory import Array

__all__ = ["SPAN", "STEEP", "Cell", "arcs_test", "count"]

SPAN, STEEP = 0, 1


@inner
def _has(bits: Any, v: Any) -> Any:
    return (bits[v >> np.uint64(6)] >> (v & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@inner
def _add(bits: Any, v: Any) -> None:
    bits[v >> np.uint64(6)] |= np.uint64(1) << (v & np.uint64(63))


@kernel
def count(bits: Any) -> Any:
    """How many bits are set."""
    total = np.uint64(0)
    for word in bits:
        total += count_ones(word)
    return total


@kernel
def listed(bits: Any, offsets: Any, queue: Any, found: Any) -> None:
    """The set bits as a list; ``found``: their number, and how many arcs leave them."""
    size, arcs = 0, np.uint64(0)
    for place in range(bits.size):
        word = bits[place]
        while word != np.uint64(0):
            v = (np.uint64(place) << np.uint64(6)) + trailing_zeros(word)
            queue[size] = v
            size += 1
            arcs += offsets[v + np.uint64(1)] - offsets[v]
            word &= word - np.uint64(1)
    found[0], found[1] = size, arcs


@kernel
def push(queue: Any, size: Any, offsets: Any, targets: Any, base: Any, visited: Any, out: Any) -> None:
    """Set the bits of all unvisited targets of the listed vertices."""
    for place in range(size):
        u = np.uint64(queue[place])
        for i in range(offsets[u], offsets[u + np.uint64(1)]):
            v = np.uint64(targets[i]) - base
            if not _has(visited, v):
                _add(out, v)


@kernel
def pull(
    targets: Any, offsets: Any, sources: Any, base: Any, source_base: Any, frontier: Any, visited: Any, out: Any
) -> None:
    """The same bits by pull: unvisited targets search for a source in the frontier."""
    for row in range(targets.size):
        v = np.uint64(targets[row]) - base
        if _has(visited, v):
            continue
        for i in range(offsets[row], offsets[row + 1]):
            if _has(frontier, np.uint64(sources[i]) - source_base):
                _add(out, v)
                break


@kernel
def settle(bits: Any, level: Any, now: Any) -> None:
    """Set the level of the vertices whose bit is set."""
    for place in range(bits.size):
        word = bits[place]
        while word != np.uint64(0):
            level[(np.uint64(place) << np.uint64(6)) + trailing_zeros(word)] = now
            word &= word - np.uint64(1)


@kernel
def predecessors(
    targets: Any, offsets: Any, sources: Any, base: Any, source_base: Any, assigned: Any, level: Any,
    source_level: Any, rising: Any, coded: Any,
) -> None:  # fmt: skip
    """``coded[v]``: 1 + the largest source one level before v, for vertices assigned here; 0 if there is none.

    Rows are read from their end; if sources are `rising` in them, the first match is the largest.
    """
    for row in range(targets.size):
        v = np.uint64(targets[row]) - base
        if not _has(assigned, v):
            continue
        best = np.int64(-1)
        for back in range(offsets[row + 1] - offsets[row]):
            u = sources[offsets[row + 1] - np.uint64(1) - back]
            if source_level[np.uint64(u) - source_base] == level[v] - 1:
                best = max(best, np.int64(u))
                if rising:
                    break
        coded[v] = best + 1


@kernel
def arcs_test(targets: Any, offsets: Any, sources: Any, level: Any, coded: Any, counts: Any, first: Any) -> None:
    """Count arcs from the tree out of it (SPAN), and arcs that lead more than one level down (STEEP).

    ``coded`` has 0 for a vertex outside the tree; ``first[rule]`` gets the ends of the first arcs that break a rule.
    """
    for row in range(targets.size):
        v = targets[row]
        for i in range(offsets[row], offsets[row + 1]):
            u = sources[i]
            if coded[u] == 0:
                continue
            if coded[v] == 0:
                rule = SPAN
            elif level[v] > level[u] + 1:
                rule = STEEP
            else:
                continue
            if counts[rule] < first.shape[1]:
                first[rule, counts[rule], 0] = u
                first[rule, counts[rule], 1] = v
            counts[rule] += 1


class Cell:
    """The arcs and levels of a cell on one core; `frontier` and `visited` are bitmaps of the search."""

    def __init__(self, worker: Worker, block: Block, frontier: Array, visited: Array, kind: Any) -> None:
        self.block, self.frontier, self.visited = block, frontier, visited
        self.source_level = np.full(block.sources.size, -1, np.int32)
        self.level = np.full(block.targets.size, -1, np.int32)
        self.queue, self.counts = np.empty(block.sources.size, np.uint64), np.zeros(2, np.int64)
        self.coded = np.zeros(block.targets.size, kind)
        bases = np.uint64(block.targets.base), np.uint64(block.sources.base)
        self.along, self.against = (*block.out, bases[0]), (*block.by_target, *bases)

    def listed(self) -> tuple[int, int]:
        """List the frontier; returns how many vertices it has, and how many arcs leave them."""
        listed(self.frontier, self.block.out.offsets, self.queue, self.counts)
        size, arcs = self.counts.tolist()
        return size, arcs

    def push(self, size: int, out: Array) -> None:
        """Push along the arcs of the listed vertices; the new bits go to `out`."""
        push(self.queue, size, *self.along, self.visited, out)

    def pull(self, out: Array) -> None:
        """Pull from unvisited targets; the new bits go to `out`."""
        pull(*self.against, self.frontier, self.visited, out)

    def settle(self, found: Array, now: int) -> None:
        """Set the levels of the frontier and of the newly found vertices."""
        settle(self.frontier, self.source_level, now)
        settle(found, self.level, now)

    def trace_back(self, assigned: Array) -> Array:
        """The predecessors of assigned vertices."""
        predecessors(*self.against, assigned, self.level, self.source_level, self.block.rising, self.coded)
        return self.coded

    def levels(self) -> tuple[Array, Array]:
        """The levels of sources and targets."""
        return self.source_level, self.level

    def compile(self) -> None:
        """Compile all kernels."""
        bits = self.visited
        listed.ready(self.frontier, self.block.out.offsets, self.queue, self.counts)
        settle.ready(self.frontier, self.level, 0)
        push.ready(self.queue, 0, *self.along, bits, bits)
        pull.ready(*self.against, self.frontier, bits, bits)
        predecessors.ready(*self.against, bits, self.level, self.source_level, True, self.coded)
