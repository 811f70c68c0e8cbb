"""Loading the messages that a part reads from its node's memory to the device: fetched by a kernel, or sent by cores.

The two ways of the Lux paper (figure 13). *kernel*: threads of the GPU read the listed positions of the node's memory,
which is locked and mapped, and cores do nothing. *cores*: cores gather the values into contiguous locked memory, the
link carries them to the device in bulk, and kernels process what has arrived: three things at once, each on its own
piece, in two alternating buffers. As in the paper, a pull, which needs everything before it begins, uses the first way,
and a push, which can begin with a part, the second; the device may choose otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import config
from arcflux.gpu import api, walk
from arcflux.gpu.launch import Shapes
from arcflux.spmd.jit import kernel
from arcflux.spmd.machine import take
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run

__all__ = ["Loader"]

Array = NDArray[Any]

# Bytes of a piece: copying it takes many times what starting the copy does, and is short against a superstep.
_PIECE = 1 << 20
# Rows of a piece in the simulator, where there are few of them.
_FEW = 8
# Rows that a core gathers at a time.
_ROWS = 4096


class Loader:
    """Loads messages of the node (`there`) to `here`, arrays of the device with the same rows.

    `queue`: the stream of the kernels that will read them; `sharers`: how many workers share the node's cores.
    """

    def __init__(self, there: list[Array], here: list[Any], mapped: list[Any], queue: Any, asked: str, sharers: int):
        self.there, self.here, self.mapped, self.queue, self.asked = there, here, mapped, queue, asked
        self.threads = max(1, config.threads() // sharers)
        self.near: dict[str, Any] = {}
        self._buffers: list[_Buffer] | None = None
        row = sum(array.nbytes // max(1, len(array)) for array in there)
        self.piece = _FEW if api.simulated() else max(1024, _PIECE // max(1, row))

    def nbytes(self, vertices: int) -> int:
        """The most bytes of the device that it uses for this many vertices: a list, a frontier, and two pieces."""
        row = sum(array.nbytes // max(1, len(array)) for array in self.there)
        return 4 * vertices + 8 * (-(-vertices // 64)) + (0 if self.asked == "kernel" else 2 * self.piece * row)

    def brought(self, places: Array, listed: Any, push: bool, shapes: Shapes) -> Iterator[tuple[int, int]]:
        """Load the rows at these positions (`listed`: the same on the device); yields the ranges that are ready.

        Kernels launched on the queue after a range is yielded find its rows; the next are loaded meanwhile.
        """
        if not len(places):
            return
        by_cores = self.asked == "cores" or (self.asked == "auto" and push)
        if by_cores:
            yield from self._by_cores(places, listed, shapes)
        else:
            self._by_kernel(listed, len(places), shapes)
            yield 0, len(places)

    def whole(self, places: Array, listed: Any, push: bool, shapes: Shapes) -> None:
        """Load all of it."""
        for _ in self.brought(places, listed, push, shapes):
            pass

    def copied(self, name: str, array: Array) -> Any:
        """A copy of a node's array on the device, in a buffer that is kept under this name."""
        room = self.near.get(name)
        if room is None or room.size < array.size or room.dtype != array.dtype:
            room = self.near[name] = api.empty(max(1, len(array)), array.dtype)
        view = room[: len(array)]
        if len(array):
            view.copy_to_device(array, stream=self.queue)
        return view

    def _by_kernel(self, listed: Any, size: int, shapes: Shapes) -> None:
        for there, here in zip(self.mapped, self.here, strict=True):
            if len(here.shape) == 1:
                api.launch(walk.load_values, *shapes.walking(size), listed, size, there, here, on=self.queue)
            else:
                shape = shapes.walking(size * here.shape[1])
                api.launch(walk.load_vectors, *shape, listed, size, there, here, here.shape[1], on=self.queue)

    def _by_cores(self, places: Array, listed: Any, shapes: Shapes) -> Iterator[tuple[int, int]]:
        if self._buffers is None:
            self._buffers = [_Buffer(self.piece, self.there) for _ in range(2)]
        api.synchronize()  # earlier kernels have finished writing to the node's memory
        for number, first in enumerate(range(0, len(places), self.piece)):
            last = min(first + self.piece, len(places))
            buffer = self._buffers[number % 2]
            self._gather(places[first:last], buffer)
            self._send(buffer, listed[first:last], last - first, shapes)
            yield first, last
            buffer.used.record(self.queue)

    def _gather(self, places: Array, buffer: _Buffer) -> None:
        """Cores gather the values of a piece, once the buffer's previous copy is complete."""
        buffer.came.synchronize()
        for there, locked in zip(self.there, buffer.locked, strict=True):
            rows, out = there.reshape(len(there), -1), locked.reshape(len(locked), -1)
            run(gathered, -(-len(places) // _ROWS), frozen(places), frozen(rows), out, threads=self.threads)

    def _send(self, buffer: _Buffer, listed: Any, size: int, shapes: Shapes) -> None:
        """The link copies a piece once kernels are done with the buffer; then its rows are scattered."""
        buffer.used.wait(buffer.link)
        for device, locked in zip(buffer.device, buffer.locked, strict=True):
            device[:size].copy_to_device(locked[:size], stream=buffer.link)
        buffer.came.record(buffer.link)
        buffer.came.wait(self.queue)
        for device, here in zip(buffer.device, self.here, strict=True):
            if len(here.shape) == 1:
                api.launch(walk.put_values, *shapes.walking(size), listed, size, device, here, on=self.queue)
            else:
                shape = shapes.walking(size * here.shape[1])
                api.launch(walk.put_vectors, *shape, listed, size, device, here, here.shape[1], on=self.queue)


class _Buffer:
    """A buffer for a piece on the device and, locked, on the host; with events for its arrival and last use."""

    def __init__(self, rows: int, like: list[Array]) -> None:
        shapes = [((rows, *array.shape[1:]), array.dtype) for array in like]
        self.device, self.locked = [api.empty(*shape) for shape in shapes], [api.pinned(*shape) for shape in shapes]
        self.came, self.used, self.link = api.event(), api.event(), api.stream()


@kernel
def gathered(worker: Any, workers: Any, control: Any, places: Any, rows: Any, out: Any) -> None:
    """``out[k] = rows[places[k]]``, on all cores."""
    while True:
        begin, end = take(control, np.uint64(places.size), np.uint64(_ROWS))
        if begin == end:
            break
        for k in range(begin, end):
            p = np.uint64(places[k])
            for j in range(rows.shape[1]):
                out[k, j] = rows[p, j]
