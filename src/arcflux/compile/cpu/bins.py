"""The memory of the bins that buckets.py fills: blocks of vertices, the bins of each worker, and the width of a bin.

A kernel cannot allocate, and the number of waiting entries has no useful bound (a vertex has one for each improvement).
So there are blocks for the usual number; their memory is only touched when it is used. When blocks run out, the kernel
marks the vertices that it could not store, ends the round, and returns: :meth:`Bins.hand_over` doubles the blocks and
adds those vertices again.
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
# The number of bins of a window, and of blocks per vertex and for each worker's bin at first.
WINDOW = 1024
_PER_VERTEX = 4
# The width of a bin unless the program sets it: mean weight over mean degree, the degree to this power, times a factor.
# On Kronecker, random and grid graphs of a million vertices the first factor is within 4 % of the best that was
# measured with two workers. Parts, which synchronise less often, use the second factor; and so do many workers,
# unmeasured.
_POWER = 1.5
_FACTOR, _LARGEST_FACTOR = 5.0, 12.0
_SAMPLE = 1 << 16
# The least width of a bin: its inverse is finite, and priorities that are closer are in one bucket.
_NARROWEST = 2.0**-1000
_FAR = 1.7e308


class Board:
    """The positions of the kernel's counters, each on its own cache line; those from CURRENT on outlive a launch."""

    CLAIMS, TAILS, FRESH, CURRENT, LATE, FINISHED, SIZE = 0, 24, 48, 56, 57, 58, 64


class Bins:
    """The arrays of a run, in the order of the kernel's arguments: `arguments`."""

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
        """The arrays that the kernel works on."""
        return [self.scale, self.pool, self.links, self.queue, self.heads, self.counts, self.free, self.lost]

    @property
    def finished(self) -> bool:
        """Whether no vertex waits."""
        return bool(self.board[Board.FINISHED])

    def hand_over(self) -> None:
        """Reset the counters of a launch; add again the vertices that were lost for lack of blocks.

        A launch may end in any round, by the clock or at the last superstep, with its claims and lists counted.
        """
        self.board[: Board.FRESH] = 0
        if self.board[Board.FRESH] > self.links.size:
            self._grow()

    def _blocks(self, count: int) -> tuple[Array, Array, Array]:
        queue = self.allocate(2 * count, np.int64).reshape(2, count)
        return self.allocate(count * BLOCK, self.kind), self.allocate(count, np.int64), queue

    def _grow(self) -> None:
        """Double the blocks, and add the lost vertices. Their bucket may be over, so they count as late."""
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
        """The vertices in any bin, between two rounds: some may have left through another bin since."""
        waits = self.lost.copy()
        for bin in np.flatnonzero(self.counts.any(axis=0)).tolist():
            for some in self._held(bin):
                waits[some] = True
        return waits

    def _given(self) -> list[Array]:
        """Vertices that were added and are not distributed to bins yet."""
        return self._held(-1)

    def _held(self, bin: int) -> list[Array]:
        """The vertices that all workers have in a bin."""
        pieces = []
        for block, count in zip(self.heads[:, bin].tolist(), self.counts[:, bin].tolist(), strict=True):
            while count > 0:
                count_in_block = (count - 1) % BLOCK + 1
                pieces.append(self.pool[block * BLOCK : block * BLOCK + count_in_block].astype(np.int64))
                block, count = int(self.links[block]), count - count_in_block
        return pieces

    def _give(self, vertices: Array) -> None:
        """Chain vertices in new blocks, a share for each worker, in the last bin: the kernel distributes them."""
        shares = np.array_split(vertices, self.threads)
        for worker, share in enumerate(shares):
            first, count = int(self.board[Board.FRESH]), -(-len(share) // BLOCK)
            # The last block is the head of the chain, which may be partly filled.
            self.pool[first * BLOCK : first * BLOCK + len(share)] = share
            self.links[first : first + count] = np.arange(first - 1, first + count - 1)
            self.heads[worker, -1], self.counts[worker, -1] = first + count - 1, len(share)
            self.board[Board.FRESH] += count


def capacity(vertices: int, threads: int) -> int:
    """The number of blocks at first: a multiple of the vertices, and one for each bin."""
    return _PER_VERTEX * vertices // BLOCK + 2 * threads * (WINDOW + 2)


def width(lowered: Lowered, graph: Graph, workers: int | None = None) -> float:
    """The priority range of a bin: the parameter `delta` if it is set, else from the edge columns that compute reads.

    A bucket should have enough work for all workers, and little that must be repeated. For weights up to 1, Meyer and
    Sanders (2003) take the inverse of the degree; a power above 1 makes buckets wider where degrees are low, as in
    roads, which have few vertices per bucket. Vertices without out-edges do not count. Few `workers` of one process
    need less in a bucket than many, or than parts, for which `workers` is None.
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
    """The mean absolute value of those that are finite and not 0; 0 if there are none."""
    sizes = np.abs(values.astype(np.float64))
    sizes = sizes[(sizes > 0) & (sizes < np.inf)]
    return float((sizes / len(sizes)).sum()) if len(sizes) else 0.0
