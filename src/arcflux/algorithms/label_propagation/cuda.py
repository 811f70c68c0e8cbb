"""Synchronous label propagation: every vertex takes the label that is most frequent around it, of several the smallest.

A warp processes a vertex with at most 32 voters: each lane has a label and compares it with those of the other lanes,
so that nothing is counted in memory. A block processes the others, with its own hash table in the device's memory, at
most half of it filled; rows are sorted into two classes, so that there are few tables for hubs.

As on cores (cpu.py), vertices that change mark their neighbours once few do, and only those
that are marked count again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.label_propagation import propagate
from arcflux.engine.worker import Worker
from arcflux.gpu.kit import FULL, cuda, inner, kernel
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import first_row, lane_of, row_stride, told
from arcflux.result import Superstep

__all__ = ["KERNELS", "Labels"]

Array = NDArray[Any]

BOUNDS = (256, 8, 8)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_WARP = 32
# A hub has this many times the voters from which a vertex gets a block; bytes of tables of either class.
_HUB = 2
_TABLES = 1 << 28
_NOBODY = np.int64(-1)
# The most bits of labels for which a warp compares them together with their votes.
_BITS = 57
_LAST = np.int64((1 << _BITS) - 1)
_CHANGED, _ARCS, _SEEN = 0, 1, 2


@inner
def _better(votes: Any, name: Any, most: Any, best: Any) -> Any:
    """Whether a label leads over another: more votes, or as many and a smaller name; no label has no votes."""
    return votes > most or (votes == most and name < best)


@inner
def _leading(votes: Any, name: Any) -> Any:
    """The label that leads in a warp, and its votes, for all lanes."""
    for k in range(5):
        most = cuda.shfl_xor_sync(FULL, votes, 16 >> k)
        best = cuda.shfl_xor_sync(FULL, name, 16 >> k)
        if _better(most, best, votes, name):
            votes, name = most, best
    return votes, name


@inner
def _elected(name: Any, voters: Any) -> Any:
    """The label that most of the first lanes of a warp have, of several the smallest, for all; none if none has one.

    Votes and label are compared as one number, whose lower part is the inverted label.
    """
    votes, other = np.int64(0), np.int32(0)
    while other < voters:
        if cuda.shfl_sync(FULL, name, other) == name:
            votes += np.int64(1)
        other = np.int32(other + np.int32(1))
    coded = np.int64(0)
    if name != _NOBODY:
        coded = (votes << np.int64(_BITS)) + (_LAST - name)
    for k in range(5):
        coded = max(coded, cuda.shfl_xor_sync(FULL, coded, 16 >> k))
    if coded == np.int64(0):
        return _NOBODY
    return _LAST - (coded & _LAST)


@inner
def _different(neighbours: Any, i: Any, first: Any, v: Any) -> Any:
    """Whether neighbour i counts: it is not v, and is the `first` of its row or differs from the one before."""
    return np.uint64(neighbours[i]) != v and (first or neighbours[i - np.uint64(1)] != neighbours[i])


@inner
def _voters(directed: Any, rows: Any, in_rows: Any, v: Any) -> Any:
    """The number of arcs at a vertex."""
    one = np.uint64(1)
    count = np.uint64(rows[v + one]) - np.uint64(rows[v])
    if directed:
        count += np.uint64(in_rows[v + one]) - np.uint64(in_rows[v])
    return np.int64(count)


@inner
def _count(
    neighbours: Any, begin: Any, end: Any, v: Any, label: Any, names: Any, votes: Any, base: Any, shift: Any
) -> None:  # fmt: skip
    """Count the labels of a row in the block's table, where a name is 1 more than a label, and 0 is none."""
    one = np.uint64(1)
    mask = (one << (np.uint64(64) - shift)) - one
    i, first = begin + np.uint64(cuda.threadIdx.x), cuda.threadIdx.x == 0
    while i < end:
        if _different(neighbours, i, first, v):
            name = names.dtype.type(np.uint64(label[np.uint64(neighbours[i])]) + one)
            slot = (np.uint64(name) * _GOLDEN) >> shift
            there = cuda.atomic.cas(names, base + slot, names.dtype.type(0), name)
            while there != 0 and there != name:
                slot = (slot + one) & mask
                there = cuda.atomic.cas(names, base + slot, names.dtype.type(0), name)
            cuda.atomic.add(votes, base + slot, np.uint32(1))
        i += np.uint64(cuda.blockDim.x)
        first = False


def _voting(directed: bool) -> tuple[Any, Any, Any]:
    """The kernels: vertices of warps vote, vertices of blocks vote, and changes are applied."""

    @kernel
    def by_warp(
        rows: Any, neighbours: Any, in_rows: Any, in_neighbours: Any, which: Any, size: Any, everywhere: Any,
        marked: Any, label: Any, after: Any, tally: Any,
    ) -> None:  # fmt: skip
        """Let the listed vertices vote, a warp for each; a block adds up what its warps count."""
        sums = cuda.shared.array(3, np.int64)
        if cuda.threadIdx.x < 3:
            sums[cuda.threadIdx.x] = 0
        cuda.syncthreads()
        zero, one = np.uint64(0), np.uint64(1)
        k = first_row()
        while k < size:
            v = np.uint64(which[k])
            if everywhere or marked[v]:
                name = _NOBODY
                begin, end = np.uint64(rows[v]), np.uint64(rows[v + one])
                i = begin + lane_of()
                if i < end:
                    if _different(neighbours, i, i == begin, v):
                        name = np.int64(label[np.uint64(neighbours[i])])
                elif directed:
                    first, last = np.uint64(in_rows[v]), np.uint64(in_rows[v + one])
                    j = first + (i - end)
                    if j < last and _different(in_neighbours, j, j == first, v):
                        name = np.int64(label[np.uint64(in_neighbours[j])])
                best = _elected(name, np.int32(_voters(directed, rows, in_rows, v)))
                if lane_of() == zero:
                    marked[v] = False
                    cuda.atomic.add(sums, _SEEN, np.int64(1))
                    if best != _NOBODY and best != np.int64(label[v]):
                        after[v] = best
                        cuda.atomic.add(sums, _CHANGED, np.int64(1))
                        cuda.atomic.add(sums, _ARCS, _voters(directed, rows, in_rows, v))
            k += row_stride()
        cuda.syncthreads()
        if cuda.threadIdx.x < 3 and sums[cuda.threadIdx.x] > 0:
            cuda.atomic.add(tally, cuda.threadIdx.x, sums[cuda.threadIdx.x])

    @kernel
    def by_block(
        rows: Any, neighbours: Any, in_rows: Any, in_neighbours: Any, which: Any, size: Any, everywhere: Any,
        marked: Any, label: Any, after: Any, tally: Any, names: Any, votes: Any, slots: Any,
    ) -> None:  # fmt: skip
        """Let the listed vertices vote, a block for each; names and votes, the tables, are zero before and after."""
        most_of = cuda.shared.array(32, np.int64)
        best_of = cuda.shared.array(32, np.int64)
        one = np.uint64(1)
        base = np.uint64(cuda.blockIdx.x) * slots
        k = np.uint64(cuda.blockIdx.x)
        while k < size:
            v = np.uint64(which[k])
            if everywhere or marked[v]:
                voters = np.uint64(_voters(directed, rows, in_rows, v))
                shift = np.uint64(63)
                while (one << (np.uint64(64) - shift)) < voters + voters and (one << (np.uint64(64) - shift)) < slots:
                    shift -= one
                _count(neighbours, np.uint64(rows[v]), np.uint64(rows[v + one]), v, label, names, votes, base, shift)
                if directed:
                    first, last = np.uint64(in_rows[v]), np.uint64(in_rows[v + one])
                    _count(in_neighbours, first, last, v, label, names, votes, base, shift)
                cuda.syncthreads()
                most, best = np.int64(0), _NOBODY
                slot, end = base + np.uint64(cuda.threadIdx.x), base + (one << (np.uint64(64) - shift))
                while slot < end:
                    if names[slot] != 0:
                        here, name = np.int64(votes[slot]), np.int64(names[slot]) - np.int64(1)
                        if _better(here, name, most, best):
                            most, best = here, name
                        names[slot] = 0
                        votes[slot] = 0
                    slot += np.uint64(cuda.blockDim.x)
                most, best = _leading(most, best)
                if cuda.laneid == 0:
                    most_of[cuda.threadIdx.x >> 5] = most
                    best_of[cuda.threadIdx.x >> 5] = best
                cuda.syncthreads()
                if cuda.threadIdx.x == 0:
                    for warp in range(1, cuda.blockDim.x >> 5):
                        if _better(most_of[warp], best_of[warp], most, best):
                            most, best = most_of[warp], best_of[warp]
                    marked[v] = False
                    cuda.atomic.add(tally, _SEEN, np.int64(1))
                    if most > 0 and best != np.int64(label[v]):
                        after[v] = best
                        cuda.atomic.add(tally, _CHANGED, np.int64(1))
                        cuda.atomic.add(tally, _ARCS, _voters(directed, rows, in_rows, v))
            cuda.syncthreads()
            k += np.uint64(cuda.gridDim.x)

    @kernel
    def take(
        rows: Any, neighbours: Any, in_rows: Any, in_neighbours: Any, size: Any, mark: Any, marked: Any, label: Any,
        after: Any,
    ) -> None:  # fmt: skip
        """Apply the votes to labels; if requested, a warp marks the neighbours of those that change."""
        one = np.uint64(1)
        v = first_row()
        while v < size:
            new = after[v]
            changes = told(new != label[v])  # before any thread writes
            if changes != np.uint64(0):
                if lane_of() == np.uint64(0):
                    label[v] = new
                if mark:
                    i, end = np.uint64(rows[v]) + lane_of(), np.uint64(rows[v + one])
                    while i < end:
                        marked[np.uint64(neighbours[i])] = True
                        i += np.uint64(32)
                    if directed:
                        i, end = np.uint64(in_rows[v]) + lane_of(), np.uint64(in_rows[v + one])
                        while i < end:
                            marked[np.uint64(in_neighbours[i])] = True
                            i += np.uint64(32)
            v += row_stride()

    return by_warp, by_block, take


_MADE = {directed: _voting(directed) for directed in (False, True)}
_GRAPH = ("u4[]", "u4[]", "u4[]", "u4[]")
_VOTE = (*_GRAPH, "u4[]", "u8", "?", "?[]", "u4[]", "u4[]", "i8[]")
KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    f"{name}{': directed' if directed else ''}": (made, types)
    for directed, kernels in _MADE.items()
    for name, made, types in zip(
        ("label propagation: warps", "label propagation: blocks", "label propagation: taken over"),
        kernels,
        (_VOTE, (*_VOTE, "u4[]", "u4[]", "u8"), (*_GRAPH, "u8", "?", "?[]", "u4[]", "u4[]")),
        strict=True,
    )
}


class Labels:
    """The labels on one GPU; the vertices of the worker's share vote."""

    def __init__(self, worker: Worker) -> None:
        room, (out, into), directed = worker.room, worker.rows, worker.graph.directed
        self.worker, self.room, self.size, kind = worker, room, worker.graph.vertices, out.neighbours.dtype
        self.by_warp, self.by_block, self.take = _MADE[directed]
        n, self.arcs = self.size, len(out.neighbours) * (2 if directed else 1)
        voters = np.diff(out.offsets).astype(np.int64) + (np.diff(into.offsets).astype(np.int64) if directed else 0)
        self.own = slice(*worker.share(n))
        mine, voters = np.arange(n)[self.own], voters[self.own]
        hub = np.minimum(voters, n) > _HUB * room.shapes.block_from
        classes = [(voters > _WARP) & ~hub, (voters > _WARP) & hub]
        small = mine[(voters > 0) & (voters <= _WARP)].astype(kind)
        shapes = [self._tables(voters[some], kind.itemsize + 4) for some in classes]
        tables = sum(blocks * slots for blocks, slots in shapes) * (kind.itemsize + 4)
        offset_bytes = bytes_of_rows(out.offsets) * (2 if directed else 1)
        room.reserve(offset_bytes + n * (3 * kind.itemsize + 1) + tables + 24, "vertices, and tables to count labels")
        rows = [room.rows(out.offsets), room.edges(out.neighbours)]
        self.graph = rows + ([room.rows(into.offsets), room.edges(into.neighbours)] if directed else rows)
        self.known = np.arange(n, dtype=kind)
        self.label, self.after = room.copied(self.known), room.copied(self.known)
        self.marked, self.tally = room.filled(n, np.bool_), room.filled(3, np.int64)
        self.small = room.copied(small) if len(small) else None
        self.large = [
            (room.copied(mine[some].astype(kind)), blocks, np.uint64(slots),
             room.filled(blocks * slots, kind), room.filled(blocks * slots, np.uint32))
            for some, (blocks, slots) in zip(classes, shapes, strict=True)
            if some.any()
        ]  # fmt: skip

    def propagate(self, rounds: int) -> list[Superstep]:
        """Up to this many rounds of all vertices."""
        return propagate(self.worker, self, rounds)

    def _tables(self, voters: Array, item: int) -> tuple[int, int]:
        """The number of blocks that count at once, and the slots of each one's table."""
        if not len(voters):
            return 0, 0
        most = min(int(voters.max()), self.size)
        slots = 2 << max(0, most - 1).bit_length()
        room = _TABLES if self.room.left is None else min(_TABLES, self.room.left // 4)
        fitting = max(1, room // (slots * item))
        return min(fitting, self.room.shapes.blocks, len(voters)), slots

    def vote(self, everywhere: bool) -> Array:
        """Let own vertices vote, all or the marked ones: how many change, arcs of these, and how many voted."""
        self.tally.copy_to_device(np.zeros(3, np.int64))
        state = everywhere, self.marked, self.label, self.after, self.tally
        if self.small is not None:
            size = len(self.small)
            self.room.launch(self.by_warp, 32 * size, *self.graph, self.small, np.uint64(size), *state)
        for which, blocks, slots, names, votes in self.large:
            threads = self.room.shapes.block_threads
            table = names, votes, slots
            self.room.launch_blocks(
                self.by_block, blocks, threads, *self.graph, which, np.uint64(len(which)), *state, *table
            )
        return np.asarray(self.tally.copy_to_host())

    def changes(self) -> Array:
        """Own vertices that change, each with its label."""
        voted = np.asarray(self.after.copy_to_host())[: self.size][self.own]
        moved = np.flatnonzero(voted != self.known[self.own])
        return np.stack([(moved + self.own.start).astype(voted.dtype), voted[moved]], 1)

    def adopt(self, changes: Array | None, mark: bool) -> None:
        """Apply the votes, and these changes of others; with `mark`, neighbours of changed vertices vote next."""
        if changes is not None:
            self.known[changes[:, 0]] = changes[:, 1]
            if self.size:
                self.after.copy_to_device(self.known)
        n = np.uint64(self.size)
        self.room.launch(self.take, 32 * self.size, *self.graph, n, mark, self.marked, self.label, self.after)

    def result(self) -> Array:
        """The label of every vertex."""
        return np.asarray(self.label.copy_to_host())[: self.size]
