"""The work of one cell of a grid on a GPU: MapGraph's expand (Fu et al., 2014, figure 4), levels and predecessors.

The bitmap of the frontier becomes a list, whose arcs are expanded to the bits of Out. A block processes as many listed
vertices as it has threads: the whole block walks rows of hubs, one after another, warps walk long rows, threads the
rest. Arcs, levels and bitmaps stay on the device; in each superstep two counts and the new bits go to the host, and the
next frontier and the column's found vertices come back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.algorithms.bfs_grid.block import Block
from arcflux.engine.worker import Worker
from arcflux.gpu import primitives
from arcflux.gpu.kit import FULL, cuda, inner, kernel
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import first_row, lane_of, row_stride, told

__all__ = ["KERNELS", "Cell"]

Array = NDArray[Any]

BOUNDS = (256, 8, 8)


@inner
def _has(bits: Any, v: Any) -> Any:
    return (bits[v >> np.uint64(6)] >> (v & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@inner
def _walk(i: Any, end: Any, stride: Any, targets: Any, base: Any, visited: Any, out: Any) -> None:
    """Set the bits of every stride-th unvisited target of a row."""
    while i < end:
        v = np.uint64(targets[i]) - base
        if not _has(visited, v) and not _has(out, v):
            cuda.atomic.or_(out, v >> np.uint64(6), np.uint64(1) << (v & np.uint64(63)))
        i += stride


@kernel
def _arcs(queue: Any, offsets: Any, counts: Any) -> None:
    """Add to counts[1] how many arcs leave the counts[0] listed vertices."""
    one, size = np.uint64(1), np.uint64(counts[0])
    k, mine = np.uint64(cuda.grid(1)), np.int64(0)
    while k < size:
        u = np.uint64(queue[k])
        mine += np.int64(offsets[u + one]) - np.int64(offsets[u])
        k += np.uint64(cuda.gridsize(1))
    for step in range(5):
        mine += cuda.shfl_down_sync(FULL, mine, 16 >> step)
    if cuda.laneid == 0 and mine > 0:
        cuda.atomic.add(counts, 1, mine)


@kernel
def _push(
    queue: Any, size: Any, offsets: Any, targets: Any, base: Any, long: Any, hub: Any, visited: Any, out: Any
) -> None:  # fmt: skip
    """Set the bits of all unvisited targets of the listed vertices."""
    turn = cuda.shared.array(3, np.uint64)
    one, zero = np.uint64(1), np.uint64(0)
    first = np.uint64(cuda.blockIdx.x) * np.uint64(cuda.blockDim.x)
    while first < size:
        k = first + np.uint64(cuda.threadIdx.x)
        begin, end = zero, zero
        if k < size:
            u = np.uint64(queue[k])
            begin, end = np.uint64(offsets[u]), np.uint64(offsets[u + one])
        while cuda.syncthreads_or(np.int32(end - begin >= hub)) != 0:
            if end - begin >= hub:
                turn[0] = np.uint64(cuda.threadIdx.x)  # the last writer wins
            cuda.syncthreads()
            if turn[0] == np.uint64(cuda.threadIdx.x):
                turn[1], turn[2] = begin, end
                begin = end
            cuda.syncthreads()
            place = turn[1] + np.uint64(cuda.threadIdx.x)
            _walk(place, turn[2], np.uint64(cuda.blockDim.x), targets, base, visited, out)
        said = told(end - begin >= long)
        while said != zero:
            rest = said & (said - one)
            lane = cuda.popc((said ^ rest) - one)
            place = np.uint64(cuda.shfl_sync(FULL, np.int64(begin), lane))
            last = np.uint64(cuda.shfl_sync(FULL, np.int64(end), lane))
            _walk(place + lane_of(), last, np.uint64(32), targets, base, visited, out)
            said = rest
        if end - begin < long:
            _walk(begin, end, one, targets, base, visited, out)
        cuda.syncthreads()
        first += np.uint64(cuda.gridDim.x) * np.uint64(cuda.blockDim.x)


@kernel
def _pull(
    targets: Any, offsets: Any, sources: Any, size: Any, base: Any, source_base: Any, frontier: Any, visited: Any,
    out: Any,
) -> None:  # fmt: skip
    """The same bits by pull: unvisited targets search for a source in the frontier, a warp for each."""
    one, zero = np.uint64(1), np.uint64(0)
    row = first_row()
    while row < size:
        v = np.uint64(targets[row]) - base
        if not _has(visited, v):
            begin, end = np.uint64(offsets[row]), np.uint64(offsets[row + one])
            said = zero
            while said == zero and begin < end:
                i = begin + lane_of()
                said = told(i < end and _has(frontier, np.uint64(sources[min(i, end - one)]) - source_base))
                begin += np.uint64(32)
            if said != zero and lane_of() == zero:
                cuda.atomic.or_(out, v >> np.uint64(6), one << (v & np.uint64(63)))
        row += row_stride()


@kernel
def _settle(bits: Any, level: Any, size: Any, now: Any) -> None:
    """Set the level of the vertices whose bit is set."""
    v = np.uint64(cuda.grid(1))
    while v < size:
        if _has(bits, v):
            level[v] = now
        v += np.uint64(cuda.gridsize(1))


@kernel
def _predecessors(
    targets: Any, offsets: Any, sources: Any, size: Any, base: Any, source_base: Any, assigned: Any, level: Any,
    source_level: Any, rising: Any, coded: Any,
) -> None:  # fmt: skip
    """``coded[v]``: 1 + the largest source one level before v, for assigned vertices; 0 if there is none.

    Rows are read from their end; if sources are `rising` in them, the first match is the largest.
    """
    one, zero, width = np.uint64(1), np.uint64(0), np.uint64(32)
    row = first_row()
    while row < size:
        v = np.uint64(targets[row]) - base
        if _has(assigned, v):
            begin, end = np.uint64(offsets[row]), np.uint64(offsets[row + one])
            wanted = level[v] - 1
            best = np.int64(-1)
            while end > begin:
                if end - begin > lane_of():
                    u = np.uint64(sources[end - one - lane_of()])
                    if source_level[u - source_base] == wanted:
                        best = max(best, np.int64(u))
                end = end - width if end - begin > width else begin
                if rising and told(best >= 0) != zero:
                    end = begin
            for step in range(5):
                best = max(best, cuda.shfl_down_sync(FULL, best, 16 >> step))
            if lane_of() == zero:
                coded[v] = best + 1
        row += row_stride()


_ROWS = ("u4[]", "u4[]", "u4[]", "u8", "u8", "u8")
KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "grid: arcs": (_arcs, ("u4[]", "u4[]", "i8[]")),
    "grid: push": (_push, ("u4[]", "u8", "u4[]", "u4[]", "u8", "u8", "u8", "u8[]", "u8[]")),
    "grid: pull": (_pull, (*_ROWS, "u8[]", "u8[]", "u8[]")),
    "grid: levels": (_settle, ("u8[]", "i4[]", "u8", "i4")),
    "grid: predecessors": (_predecessors, (*_ROWS, "u8[]", "i4[]", "i4[]", "?", "i4[]")),
}


class Cell:
    """The arcs and levels of a cell on a GPU; `frontier` and `visited` are bitmaps of the search."""

    def __init__(self, worker: Worker, block: Block, frontier: Array, visited: Array, kind: Any) -> None:
        self.room, self.block, self.host_frontier = worker.room, block, frontier
        room, sources, targets = worker.room, block.sources, block.targets
        self.host_coded = np.zeros(targets.size, kind)
        offsets = bytes_of_rows(block.out.offsets) + bytes_of_rows(block.into.offsets)
        words = 8 * (2 * sources.words + 3 * targets.words)
        kinds = 8 * sources.size + 4 * targets.size + block.rows.nbytes + self.host_coded.nbytes
        room.reserve(offsets + words + kinds + 64, "vertices and bitmaps")
        self.out = room.rows(block.out.offsets), room.edges(block.out.neighbours)
        shift, arcs = block.into.offsets - block.into.offsets[0], block.into.neighbours
        begin, end = int(block.into.offsets[0]), int(block.into.offsets[-1])
        where = np.uint64(len(block.rows)), np.uint64(targets.base), np.uint64(sources.base)
        self.into = room.copied(block.rows), room.rows(shift), room.edges(arcs[begin:end]), *where
        self.frontier, self.queue = room.filled(sources.words, np.uint64), room.empty(sources.size, np.uint32)
        self.visited, self.new = room.copied(visited), room.filled(targets.words, np.uint64)
        self.found = room.filled(targets.words, np.uint64)
        self.source_level, self.level = room.filled(sources.size, np.int32, -1), room.filled(targets.size, np.int32, -1)
        self.coded, self.counts = room.copied(self.host_coded), room.filled(2, np.int64)

    def listed(self) -> tuple[int, int]:
        """List the frontier; returns how many vertices it has, and how many arcs leave them."""
        self.counts.copy_to_device(np.zeros(2, np.int64))
        primitives.list_of(self.frontier, self.queue, self.counts)
        self.room.launch(_arcs, self.block.sources.size, self.queue, self.out[0], self.counts)
        size, arcs = self.counts.copy_to_host().tolist()
        return size, arcs

    def push(self, size: int, out: Array) -> None:
        """Push along the arcs of the listed vertices; the new bits go to `out`."""
        shapes, base = self.room.shapes, np.uint64(self.block.targets.base)
        primitives.fill(self.new, np.uint64(0))
        limits = np.uint64(shapes.warp_from), np.uint64(shapes.block_from)
        if size:
            given = self.queue, np.uint64(size), *self.out, base, *limits, self.visited, self.new
            self.room.launch(_push, size, *given)
        self._bring(self.new, out)

    def pull(self, out: Array) -> None:
        """Pull from unvisited targets; the new bits go to `out`."""
        primitives.fill(self.new, np.uint64(0))
        rows = len(self.block.rows)
        if rows:
            self.room.launch(_pull, 32 * rows, *self.into, self.frontier, self.visited, self.new)
        self._bring(self.new, out)

    def settle(self, found: Array, now: int) -> None:
        """Copy the next frontier and the found vertices from the host, and set their levels; the latter are visited."""
        both = (self.host_frontier, self.frontier, self.source_level), (found, self.found, self.level)
        for host, there, level in both:
            if len(host):
                there.copy_to_device(host)
                self.room.launch(_settle, 64 * len(host), there, level, np.uint64(len(level)), np.int32(now))
        primitives.merge(self.visited, self.found)

    def trace_back(self, assigned: Array) -> Array:
        """The predecessors of assigned vertices."""
        rows = len(self.block.rows)
        if rows and len(assigned):
            self.found.copy_to_device(assigned)
            given = self.found, self.level, self.source_level, self.block.rising, self.coded
            self.room.launch(_predecessors, 32 * rows, *self.into, *given)
            self._bring(self.coded, self.host_coded)
        return self.host_coded

    def levels(self) -> tuple[Array, Array]:
        """The levels of sources and targets."""
        here = np.empty(self.block.sources.size, np.int32), np.empty(self.block.targets.size, np.int32)
        self._bring(self.source_level, here[0])
        self._bring(self.level, here[1])
        return here

    def compile(self) -> None:
        """Nothing to do: kernels are compiled at their first launch."""

    def _bring(self, there: Any, here: Array) -> None:
        if len(here):
            here[:] = there.copy_to_host()
