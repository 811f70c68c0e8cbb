"""The ranks of one node as the workers of one team: they run kernels for a whole graph in memory that the node shares.

Every rank runs the same Python, and is one worker of every kernel. Nothing is sent: all see what one writes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from arcflux import config
from arcflux.spmd.layout import CROWDED
from arcflux.spmd.pool import run
from arcflux.spmd.team import Team
from arcflux.trace import Task
from arcflux.transports.base import Transport

__all__ = ["Ranks"]

Array = NDArray[Any]


# Bytes of shared memory to retain for the next run, at most.
_MOST_SPARE = 1 << 30
_teams: WeakKeyDictionary[Transport, Ranks] = WeakKeyDictionary()


class Ranks(Team):
    """The ranks of this rank's node.

    Shared memory of a run is reused by the next one: new pages cost a short run as much as its work. All ranks request
    the same arrays in the same order, so each finds the same blocks again. Results stay in place, one copy for all
    ranks; each rank has a flag at the end of the block that says whether it still holds the result.
    """

    kind = "ranks"

    def __init__(self, transport: Transport) -> None:
        super().__init__(1)
        self.transport = weakref.proxy(transport)
        self.workers = len(transport.mates)
        self.leads = transport.place == 0
        self.control = transport.shared(16, np.int64)
        # The chosen blocks, in rotation: a slot is overwritten only after a barrier with every rank that read it.
        self.chosen = transport.shared(8, np.int64)
        self.asked = 0
        self.spare: list[Array] = []
        self.used: list[Array] = []
        self.leased: list[Array] = []
        self.holds: list[tuple[Array, Array]] = []

    @classmethod
    def of(cls, transport: Transport) -> Ranks:
        """The team of a transport, always the same."""
        if transport not in _teams:
            _teams[transport] = cls(transport)
        return _teams[transport]

    def _memory(self, size: int, dtype: DTypeLike, zero: bool) -> Array:
        """Shared memory that was used before, or new memory."""
        kind = np.dtype(dtype)
        count = size * kind.itemsize
        fitting = [k for k, block in enumerate(self.spare) if count <= block.nbytes <= 2 * count + 4096]
        if fitting:
            block = self.spare.pop(fitting[-1])
            if zero:
                share = -(-count // self.workers)
                place = self.transport.place
                block[:count][place * share : (place + 1) * share] = 0
        else:
            block = self.transport.shared(max(1, count), np.uint8)
        self.used.append(block)
        return block[:count].view(kind)

    def kept(self, size: int, dtype: DTypeLike, *, zero: bool = True) -> Array:
        """Shared, and not reused until every rank has released it."""
        kind = np.dtype(dtype)
        count = size * kind.itemsize
        if self.leads:
            free = (
                k for k, block in enumerate(self.leased) if self._fits(block, count) and not self._flags(block).any()
            )
            self.chosen[self.asked % len(self.chosen)] = next(free, -1)
        self.together()
        place = int(self.chosen[self.asked % len(self.chosen)])
        self.asked += 1
        if place < 0:
            self.leased.append(self.transport.shared(max(1, count) + self.workers, np.uint8))
        block = self.leased[place]
        self._flags(block)[self.transport.place] = 1
        if zero and self.leads and place >= 0:
            block[:count] = 0
        # Any view that the user takes has this array as its base, since it is made from a buffer and not from an array.
        array = np.frombuffer(block[:count].data, kind)
        self.holds.append((array, block))
        return array

    def _fits(self, block: Array, count: int) -> bool:
        return count <= block.nbytes - self.workers <= 2 * count + 4096

    def _flags(self, block: Array) -> Array:
        return block[-self.workers :]

    def lent(self, size: int, dtype: DTypeLike) -> Array:
        """Shared."""
        return self._memory(size, dtype, zero=False)

    def small(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> Array:
        """Shared zeros; every rank must ask for them and meet at a barrier before using them."""
        return self._memory(int(np.prod(shape)), dtype, zero=True).reshape(shape)

    def lasting(self, size: int, dtype: DTypeLike) -> Array:
        """Shared for as long as it is referenced."""
        array: Array = self.transport.shared(size, dtype)
        return array

    def launch(
        self,
        kernel: Any,
        chunks: int,
        *args: Any,
        task: Task | None = None,
        glance: Callable[[NDArray[np.int64]], None] | None = None,
        ends: bool = False,
        brief: int = 0,
        shrinks: bool = False,
    ) -> None:
        """Run a kernel as one of its workers, from barrier to barrier of all ranks; the mates are watched meanwhile."""
        if self.leads:
            self.control[:] = 0
        self.together()
        among = self.transport.place, self.workers, self.control
        self.transport.board.control = self.control
        run(kernel, max(2, chunks), *args, task=task, glance=glance, ends=ends, among=among)
        self.together()

    def barrier(self) -> Array:
        """The barrier on the board: ranks that wait there get the alarm, and others can see that they wait."""
        barrier_words: Array = self.transport.board.barrier
        barrier_words[CROWDED] = self.workers > config.cores()
        return barrier_words

    def at(self, superstep: int) -> None:
        """Set the superstep that other ranks report if this rank is lost before a kernel counts on."""
        self.transport.superstep = superstep
        self.transport.board.control = None

    def together(self) -> None:
        """Wait for the other ranks of the node."""
        self.transport.node_barrier()

    def agreed(self, yes: bool) -> bool:
        """Whether the answer is yes on any rank."""
        return bool(self.transport.reduce(np.array([yes], np.uint8), "max")[0])

    def result(self, array: Array) -> Array:
        """The array itself; its block becomes free when the array is deleted on all ranks."""
        anchor = array if array.base is None or not isinstance(array.base, np.ndarray) else array.base
        for k, (base, block) in enumerate(self.holds):
            if base is anchor:
                flags = self._flags(block)
                weakref.finalize(anchor, flags.__setitem__, self.transport.place, 0).atexit = False
                del self.holds[k]
                return array
        raise AssertionError("a result was not kept by this team")

    def end(self) -> None:
        """End the run on all ranks."""
        self.together()
        for _, block in self.holds:
            self._flags(block)[self.transport.place] = 0
        self.holds = []
        self.spare += self.used
        self.used = []
        while sum(block.nbytes for block in self.spare) > _MOST_SPARE:
            self.spare.pop(0)
