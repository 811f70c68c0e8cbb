"""The GPU memory of a native algorithm: arrays within the device's budget, edges there or mapped, launches.

The size of vertices and scratch is known before anything is copied, and refused in bytes if it does not fit. Edges that
do not fit as well stay in the node's memory, locked and mapped, and kernels read them over the link.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.errors import GraphError
from arcflux.gpu import api
from arcflux.gpu.launch import chosen
from arcflux.gpu.memory import Memory, no_room

__all__ = ["Room", "bytes_of_rows", "working"]

Array = NDArray[Any]

# Bytes of a budget for counters and other small arrays.
_SLACK = 1024


class Room:
    """The memory of one device for one piece of work.

    `left`: the bytes that its budget leaves for edges, None without a budget; `compiled`: the seconds of first
    launches, in which kernels are compiled. `check` is called before each launch, and raises when the work has to end.
    """

    kind = "cuda"

    def __init__(self, device: Any, memory: Memory, check: Callable[[], None] | None = None) -> None:
        self.check = check or (lambda: None)
        self.name, self.memory = device.name, memory
        self.shapes = chosen(np.zeros(0), asked=getattr(device, "shapes", None))
        self.left = None if memory.budget is None else max(0, memory.budget - _SLACK)
        self.compiled = 0.0
        self.seen: set[int] = set()

    def reserve(self, nbytes: int, what: str) -> None:
        """Reserve this many bytes of the budget for vertices and scratch, or refuse."""
        if self.left is None or self.memory.budget is None:
            return
        if nbytes > self.left:
            raise no_room(self.name, what, nbytes, self.left, self.memory.budget)
        self.left -= nbytes

    def host(self, size: int, dtype: Any) -> Array:
        """Scratch memory of the host, contents undefined."""
        return np.empty(size, dtype)

    def copied(self, array: Array) -> Any:
        """An array of vertices or scratch on the device."""
        return api.to_device(array) if array.size else self.empty(1, array.dtype)

    def empty(self, size: int, dtype: Any) -> Any:
        """Memory of the device, at least one element, contents undefined."""
        return api.empty(max(1, size), dtype)

    def filled(self, size: int, dtype: Any, value: Any = 0) -> Any:
        """Memory of the device, all of one value."""
        return api.to_device(np.full(max(1, size), value, dtype))

    def rows(self, offsets: Array) -> Any:
        """Offsets on the device, in 32 bits if they fit; kernels count the arcs of a row in 32 bits."""
        if int(offsets[-1]) < 1 << 32:
            return api.to_device(offsets.astype(np.uint32))
        longest = int(np.diff(offsets).max())
        if longest >= 1 << 32:
            raise GraphError(
                f"a vertex has {longest:,} arcs", expected="fewer than 4,294,967,296 on a GPU",
                remedy="devices='cpu', or merge parallel edges with deduplicate='first'",
            )  # fmt: skip
        return api.to_device(offsets.astype(np.uint64))

    def edges(self, array: Array) -> Any:
        """An array with a value for every edge: on the device if the budget allows it, else mapped."""
        if not len(array):
            return self.empty(1, array.dtype)
        if self.takes(array.nbytes):
            return api.to_device(array)
        return api.mapped(np.ascontiguousarray(array))[0]

    def takes(self, nbytes: int) -> bool:
        """Whether the budget allows this many more bytes; if so, they are reserved."""
        if self.left is not None and nbytes > self.left:
            return False
        self.left = None if self.left is None else self.left - nbytes
        return True

    def mapped(self, size: int, dtype: Any) -> Any:
        """Memory of the node that the device reads and writes, at least one element."""
        return api.mapped(np.zeros(max(1, size), dtype))[0]

    def launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        """Run a kernel whose threads process so much work in a grid-stride loop."""
        self.launch_blocks(kernel, *self.shapes.walking(threads), *arguments)

    def launch_blocks(self, kernel: Any, blocks: Any, threads: int, *arguments: Any) -> None:
        """Run a kernel on this many blocks, in one or two dimensions, of this many threads."""
        self.check()
        first, begun = id(kernel) not in self.seen, time.perf_counter()
        self.seen.add(id(kernel))
        api.launch(kernel, blocks, threads, *arguments)
        if first and not api.simulated():
            self.compiled += time.perf_counter() - begun


def bytes_of_rows(offsets: Array) -> int:
    """The bytes of :meth:`Room.rows`."""
    return len(offsets) * (4 if int(offsets[-1]) < 1 << 32 else 8)


@contextmanager
def working(device: Any, check: Callable[[], None] | None = None) -> Iterator[Room]:
    """Work on a device: within its budget, with errors converted, and nothing left on it at the end."""
    memory = Memory(device.name, device.memory)
    with device.active(), api.within(memory):
        yield Room(device, memory, check)
        api.synchronize()
