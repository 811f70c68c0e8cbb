"""The memory of the bins that buckets.py fills: blocks of vertices, which worker has which, and how wide a bin is.

A kernel cannot allocate, and how many vertices wait at once has no useful bound (one waits as often as it improves). So
there are blocks for as many as usually wait; the memory is only touched when it is used. When blocks run out, the
kernel marks the vertices it could not keep, ends the round, and comes back: :meth:`Bins.hand_over` doubles the blocks
and hands those vertices over again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.lower import Lowered
from arcflux.graph import Graph
from arcflux.spmd.memory import zeros

__all__ = ["BLOCK", "Bins", "Board", "width"]

Array = NDArray[Any]

BLOCK = 64
# How many bins a window has, and how many blocks there are for a vertex and for each worker's bin at first.
WINDOW = 1024
_PER_VERTEX = 4
# The width of a bin unless the program says otherwise: mean weight over mean degree, the degree to this power, times
# a factor. On Kronecker, random and grid graphs of a million vertices the first is within 4 % of the best that was
# measured with two workers. Parts, which meet less often, take the second; and so do many workers, unmeasured.
_POWER = 1.5
_FACTOR, _LARGEST_FACTOR = 5.0, 12.0
_SAMPLE = 1 << 16
# A bin is at least so wide: its inverse is finite, and what is less apart is in one bucket.
_NARROWEST = 2.0**-1000
_FAR = 1.7e308


class Board:
    """Where the kernel's counters are, each on a cache line of its own; from CURRENT on, what outlives a launch."""

    CLAIMS, TAILS, FRESH, CURRENT, LATE, FINISHED, SIZE = 0, 24, 48, 56, 57, 58, 64


class Bins:
    """The arrays of a run, in the order in which the kernel takes them: `arguments`."""

    def __init__(
        self, graph: Graph, active: Array, threads: int, delta: float, allocate: Callable[[int, Any], Array]
    ) -> None:
        self.threads = threads
        self.allocate = allocate
        self.reason = f"the next bucket, of width {delta:.6g}"
        self.board = np.zeros(Board.SIZE, np.int64)
        self.scale = np.array([-_FAR, 1.0 / delta])
        self.heads = np.full((threads, WINDOW + 2), -1, np.int64)
        self.counts = np.zeros((threads, WINDOW + 2), np.int64)
        self.free = np.full((threads, 8), -1, np.int64)
        self.lost = zeros(graph.vertices, np.bool_)
        self.kind = graph.out.neighbours.dtype
        self.pool, self.links, self.queue = self._blocks(capacity(graph.vertices, threads))
        self._give(np.flatnonzero(active))

    @property
    def arguments(self) -> list[Any]:
        """What the kernel works on."""
        return [self.scale, self.pool, self.links, self.queue, self.heads, self.counts, self.free, self.lost]

    @property
    def finished(self) -> bool:
        """Whether no vertex waits."""
        return bool(self.board[Board.FINISHED])

    def hand_over(self) -> None:
        """Have the counters of a launch begin at 0; hand over again what was lost for lack of blocks.

        A launch may end in any turn, by the clock or at the last superstep, with its claims and lists counted.
        """
        self.board[: Board.FRESH] = 0
        if self.board[Board.FRESH] > self.links.size:
            self._grow()

    def _blocks(self, count: int) -> tuple[Array, Array, Array]:
        queue = self.allocate(2 * count, np.int64).reshape(2, count)
        return self.allocate(count * BLOCK, self.kind), self.allocate(count, np.int64), queue

    def _grow(self) -> None:
        """Double the blocks, and give the vertices that were lost. Their bucket may be over: so they are late."""
        again = np.flatnonzero(self.lost)
        self.lost[again] = False
        again = np.concatenate([again, *self._given()])
        old, links, used = self.pool, self.links, self.links.size
        self.pool, self.links, self.queue = self._blocks(2 * used + len(again))
        self.pool[: used * BLOCK], self.links[:used] = old, links
        self.board[Board.FRESH] = used
        self.board[Board.LATE] = 1
        self._give(again)

    def waiting(self) -> Array:
        """The vertices in any bin, between two rounds: some may have been taken from another bin since."""
        found = self.lost.copy()
        for bin in np.flatnonzero(self.counts.any(axis=0)).tolist():
            for some in self._held(bin):
                found[some] = True
        return found

    def _given(self) -> list[Array]:
        """What was given before and is not dealt out yet."""
        return self._held(-1)

    def _held(self, bin: int) -> list[Array]:
        """The vertices that all workers have in a bin."""
        found = []
        for block, count in zip(self.heads[:, bin].tolist(), self.counts[:, bin].tolist(), strict=True):
            while count > 0:
                held = (count - 1) % BLOCK + 1
                found.append(self.pool[block * BLOCK : block * BLOCK + held].astype(np.int64))
                block, count = int(self.links[block]), count - held
        return found

    def _give(self, vertices: Array) -> None:
        """Chain vertices in fresh blocks, a share for each worker, in the last bin: the kernel deals it out."""
        shares = np.array_split(vertices, self.threads)
        for worker, share in enumerate(shares):
            first, count = int(self.board[Board.FRESH]), -(-len(share) // BLOCK)
            # The last block is the head of the chain, which may be filled in part.
            self.pool[first * BLOCK : first * BLOCK + len(share)] = share
            self.links[first : first + count] = np.arange(first - 1, first + count - 1)
            self.heads[worker, -1], self.counts[worker, -1] = first + count - 1, len(share)
            self.board[Board.FRESH] += count


def capacity(vertices: int, threads: int) -> int:
    """How many blocks there are at first: for every vertex some times, and one for each bin."""
    return _PER_VERTEX * vertices // BLOCK + 2 * threads * (WINDOW + 2)


def width(lowered: Lowered, graph: Graph, workers: int | None = None) -> float:
    """How much priority a bin spans: the parameter `delta` if it is set, else from the edge columns compute reads.

    A bucket should hold enough work for all workers, and little that has to be done again. For weights up to 1, Meyer
    and Sanders (2003) take the inverse of the degree; a power above 1 makes buckets wider where degrees are low, as in
    roads, which have few vertices to a bucket. Vertices without out-edges do not count. Few `workers` of one process
    need less in a bucket than many, or than parts, for which there is no number of them.
    """
    delta = lowered.program.parameters.get("delta")
    if delta is not None and delta.value > 0:
        return max(_NARROWEST, float(delta.value))
    key = "mean weight over degree", tuple(lowered.columns)
    if key not in graph.kept:
        degree = _mean(_sampled(graph.out_offsets[1:]) - _sampled(graph.out_offsets[:-1])) or 1.0
        means = [_mean(graph.column_sample(name, _SAMPLE)) for name in lowered.columns]
        graph.kept[key] = max(means, default=1.0) / degree**_POWER
    factor = _LARGEST_FACTOR if workers is None else min(_LARGEST_FACTOR, _FACTOR * max(1.0, workers / 2) ** 0.5)
    chosen = factor * float(graph.kept[key])
    return max(_NARROWEST, chosen) if 0 < chosen < np.inf else 1.0


def _sampled(values: Array) -> Array:
    """Some tens of thousands of values, spread evenly."""
    return values[:: max(1, len(values) // _SAMPLE)]


def _mean(values: Array) -> float:
    """The mean size of those values that are finite and not 0; 0 when there are none."""
    sizes = np.abs(values.astype(np.float64))
    sizes = sizes[(sizes > 0) & (sizes < np.inf)]
    return float((sizes / len(sizes)).sum()) if len(sizes) else 0.0
