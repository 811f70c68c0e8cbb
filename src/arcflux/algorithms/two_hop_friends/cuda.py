"""The vertices two edges away from each of some vertices, as sorted lists; a block processes a vertex.

Each block has a bitmap of all vertices. Its warps process the neighbours in turn, and lanes set the bits of their
neighbours; the vertex itself and its neighbours are cleared again. Then the block walks the words between the first and
the last that it has set, and clears them: it adds up the number of bits, or scans the counts for the position at which
each thread writes, which gives sorted lists.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.engine.worker import Worker
from arcflux.gpu import api
from arcflux.gpu.kit import cuda, inner, kernel, numbered
from arcflux.gpu.room import bytes_of_rows
from arcflux.gpu.warps import lane_of, warp_sum
from arcflux.spmd.memory import empty

__all__ = ["KERNELS", "TwoHop"]

Array = NDArray[Any]

BOUNDS = (256, 8, 8)
# The most bytes of bitmaps, and of the lists of one launch.
_BITMAPS = 1 << 28
_LISTS = 1 << 28


@inner
def _take_out(bits: Any, base: Any, w: Any) -> None:
    cuda.atomic.and_(bits, base + (w >> np.uint64(5)), ~(np.uint32(1) << np.uint32(w & np.uint64(31))))


@inner
def _gather(rows: Any, neighbours: Any, v: Any, bits: Any, base: Any, span: Any) -> None:
    """Set the bits of the neighbours of v's neighbours, except v and its neighbours; all threads of a block call it."""
    one, five = np.uint64(1), np.uint64(5)
    begin, end = np.uint64(rows[v]), np.uint64(rows[v + one])
    warps = np.uint64(cuda.blockDim.x >> 5)
    i = begin + np.uint64(cuda.threadIdx.x >> 5)
    while i < end:
        u = np.uint64(neighbours[i])
        if u != v and (i == begin or neighbours[i - one] != neighbours[i]):
            j, last = np.uint64(rows[u]) + lane_of(), np.uint64(rows[u + one])
            while j < last:
                w = np.uint64(neighbours[j])
                bit = np.uint32(1) << np.uint32(w & np.uint64(31))
                if bits[base + (w >> five)] & bit == np.uint32(0):
                    cuda.atomic.or_(bits, base + (w >> five), bit)
                    word = np.int64(w >> five)
                    if word < span[0]:
                        cuda.atomic.min(span, 0, word)
                    if word >= span[1]:
                        cuda.atomic.max(span, 1, word + 1)
                j += np.uint64(32)
        i += warps
    cuda.syncthreads()
    i = begin + np.uint64(cuda.threadIdx.x)
    while i < end:
        _take_out(bits, base, np.uint64(neighbours[i]))
        i += np.uint64(cuda.blockDim.x)
    if cuda.threadIdx.x == 0:
        _take_out(bits, base, v)
    cuda.syncthreads()


@kernel
def _count(rows: Any, neighbours: Any, chosen: Any, size: Any, bits: Any, words: Any, counts: Any) -> None:
    """``counts[k]``: how many there are for the k-th chosen vertex; `bits` are zero before and after."""
    span = cuda.shared.array(2, np.int64)
    base = np.uint64(cuda.blockIdx.x) * words
    k = np.uint64(cuda.blockIdx.x)
    while k < size:
        if cuda.threadIdx.x == 0:
            span[0], span[1] = np.int64(words), 0
        cuda.syncthreads()
        _gather(rows, neighbours, np.uint64(chosen[k]), bits, base, span)
        mine = np.int64(0)
        at, end = np.uint64(span[0]) + np.uint64(cuda.threadIdx.x), np.uint64(span[1])
        while at < end:
            mine += np.int64(cuda.popc(bits[base + at]))
            bits[base + at] = 0
            at += np.uint64(cuda.blockDim.x)
        mine = warp_sum(mine)
        if lane_of() == np.uint64(0) and mine > 0:
            cuda.atomic.add(counts, k, mine)
        cuda.syncthreads()
        k += np.uint64(cuda.gridDim.x)


@kernel
def _list(
    rows: Any, neighbours: Any, chosen: Any, size: Any, bits: Any, words: Any, starts: Any, shift: Any, friends: Any
) -> None:  # fmt: skip
    """List them in order from ``friends[starts[k] - shift]`` on; `bits` are zero before and after."""
    span = cuda.shared.array(2, np.int64)
    scratch = cuda.shared.array(33, np.int64)
    one, five = np.uint32(1), np.uint64(5)
    base = np.uint64(cuda.blockIdx.x) * words
    k = np.uint64(cuda.blockIdx.x)
    while k < size:
        if cuda.threadIdx.x == 0:
            span[0], span[1] = np.int64(words), 0
        cuda.syncthreads()
        _gather(rows, neighbours, np.uint64(chosen[k]), bits, base, span)
        place = np.int64(starts[k]) - shift
        begin, end = np.uint64(span[0]), np.uint64(span[1])
        while begin < end:
            at = begin + np.uint64(cuda.threadIdx.x)
            word = np.uint32(0)
            if at < end:
                word = bits[base + at]
                bits[base + at] = 0
            mine = np.uint64(place + numbered(np.int64(cuda.popc(word)), scratch))
            while word != np.uint32(0):
                rest = np.uint32(word & (word - one))
                friends[mine] = (at << five) + np.uint64(cuda.popc(np.uint32((word ^ rest) - one)))
                mine += np.uint64(1)
                word = rest
            place += scratch[cuda.blockDim.x >> 5]
            cuda.syncthreads()
            begin += np.uint64(cuda.blockDim.x)
        cuda.syncthreads()
        k += np.uint64(cuda.gridDim.x)


_SHARED = ("u4[]", "u4[]", "u4[]", "u8", "u4[]", "u8")
KERNELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "two-hop friends: count": (_count, (*_SHARED, "i8[]")),
    "two-hop friends: list": (_list, (*_SHARED, "i8[]", "i8", "u4[]")),
}


class TwoHop:
    """The lists of some vertices, on a GPU."""

    def __init__(self, worker: Worker, chosen: Array) -> None:
        room, (offsets, neighbours) = worker.room, worker.rows[0]
        self.room, self.size, self.kind = room, len(chosen), neighbours.dtype
        self.words = -(-(len(offsets) - 1) // 32) + 1
        self.longest = (len(offsets) - 1) * self.kind.itemsize
        fixed = bytes_of_rows(offsets) + self.size * (16 + self.kind.itemsize)
        room.reserve(fixed + self.longest, "vertices, and a list of them")
        blocks, self.threads = room.shapes.walking(self.size * room.shapes.threads)
        room.reserve(4 * self.words, "a bitmap of all vertices")  # as many blocks as fit, but at least one
        more = (blocks - 1) * 4 * self.words
        more = min(more, _BITMAPS) if room.left is None else min(more, _BITMAPS, room.left // 4)
        self.blocks = 1 + more // (4 * self.words)
        room.reserve((self.blocks - 1) * 4 * self.words, "bitmaps")
        self.graph = room.rows(offsets), room.edges(neighbours)
        self.chosen = room.copied(chosen.astype(self.kind))
        self.bits = room.filled(self.blocks * self.words, np.uint32)

    def counts(self) -> Array:
        """The number of friends of each chosen vertex."""
        counts = self.room.filled(self.size, np.int64)
        if self.size:
            self._launch(_count, 0, self.size, counts)
        return np.asarray(counts.copy_to_host())[: self.size]

    def lists(self, offsets: Array) -> Array:
        """All of them, the k-th vertex's from ``offsets[k]`` on; as many at a time as fit on the device."""
        friends = empty(int(offsets[-1]), self.kind)
        room = self.longest + (_LISTS if self.room.left is None else min(_LISTS, self.room.left))
        cuts = [0]
        while cuts[-1] < self.size:
            end = int(offsets[cuts[-1]]) + room // self.kind.itemsize
            cuts.append(int(np.searchsorted(offsets, end, side="right")) - 1)
        found = self.room.empty(int(np.diff(offsets[cuts]).max(initial=0)), self.kind)
        starts = self.room.copied(offsets[:-1].astype(np.int64))
        for first, last in pairwise(cuts):
            begin, end = int(offsets[first]), int(offsets[last])
            if end > begin:
                self._launch(_list, first, last, starts[first:last], np.int64(begin), found)
                friends[begin:end] = found[: end - begin].copy_to_host()
        return friends

    def _launch(self, kernel: Any, first: int, last: int, *arguments: Any) -> None:
        shape = min(self.blocks, last - first), self.threads
        some = self.chosen[first:last], np.uint64(last - first), self.bits, np.uint64(self.words)
        self.room.launch_blocks(kernel, *shape, *self.graph, *some, *arguments)
        api.synchronize()
