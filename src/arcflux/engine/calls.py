"""How a rank calls the kernels of its part: on cores, or on what its device has instead.

Whoever calls says by name what is to be done, and on which arrays of the node. On cores nothing else has to be said. A
device with a memory of its own has copies of these arrays, so it is told what the host will read (`fetch`) and what it
has written (`changed`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache, cpu
from arcflux.spmd.pool import run as launch

if TYPE_CHECKING:
    from arcflux.engine.node import Node

__all__ = ["Calls", "Carrier", "OnCores"]

Array = NDArray[Any]

# Kernels that a rank may call when others do not, and that one thread runs.
_ALONE = ("receive", "residual")


class Carrier(Protocol):
    """What carries messages from device to device; rows are those of vertices."""

    def differing(self, vertices: Array) -> Array:
        """Which of the vertices will send something else than now."""

    def send(self, peer: int, vertices: Array, later: bool) -> int:
        """Send what these vertices send, now or (`later`) next; how many bytes that is."""

    def receive(self, peer: int, vertices: Array) -> None:
        """Expect what these vertices send."""

    def finish(self) -> None:
        """Wait for all that was sent and is expected."""


class Calls(Protocol):
    """What the engine asks of whoever runs kernels.

    `carrier` carries messages between devices, where they have memories of their own and a way to each other; where it
    is None, messages are in the node's memory.
    """

    carrier: Carrier | None

    def run(self, name: str, *given: Any) -> None:
        """Run a kernel of a superstep: its number, then what the kernel takes besides the node's arrays."""

    def prepare(self, name: str, *given: Any) -> None:
        """Compile a kernel for what `run` will be given, so that its first run is only a run. Collective."""

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel that only knows what it is given."""

    def fixed(self) -> int:
        """Bytes that the part takes of the device's memory besides its edges."""

    def took_part(self) -> None:
        """The rank has taken another part: other vertices, other edges."""

    def fetch(self, *arrays: Array) -> None:
        """The host will read these arrays; all of them without any."""

    def changed(self, *arrays: Array) -> None:
        """The host has written these arrays; all of them without any."""

    def zero(self, array: Array) -> None:
        """Set an array to zero, where it is."""

    def close(self) -> None:
        """The run is over."""


class OnCores:
    """Kernels on cores, in the memory of the node."""

    carrier: Carrier | None = None

    def __init__(self, node: Node) -> None:
        self.node = node
        with cache.one_at_a_time:
            self.made = cache.module(cpu.parts_source(node.lowered))
        self.ready: set[str] = set()

    def run(self, name: str, *given: Any) -> None:
        """Run a kernel on this rank's threads."""
        self.alone(name, *given, *self.node.held, *self.node.constants)

    def prepare(self, name: str, *given: Any) -> None:
        """Compile a kernel before its first use."""
        if name not in self.ready:
            self._compile(name, *given, *self.node.held, *self.node.constants)

    def _compile(self, name: str, *arguments: Any) -> None:
        """Compile a kernel on one rank for all; collective, but for those that a rank may call when others do not."""
        self.ready.add(name)
        node, begun = self.node, time.perf_counter()
        alone = name in _ALONE or node.transport.rank == 0
        if not alone:
            node.transport.barrier()
        getattr(self.made, f"part_{name}").ready(0, node.threads, np.zeros(16, np.int64), *arguments)
        if alone and name not in _ALONE:
            node.transport.barrier()
        node.compiled += time.perf_counter() - begun

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel; before its first use it is compiled."""
        kernel, threads = getattr(self.made, f"part_{name}"), self.node.threads
        if name not in self.ready:
            self._compile(name, *arguments)
        if self.node.polled and name not in _ALONE:
            launch(kernel, threads, *arguments, threads=threads, glance=self.node.watch, ends=True)
        elif threads == 1 or name in _ALONE:
            kernel(0, 1, np.zeros(16, np.int64), *arguments)
        else:
            launch(kernel, threads, *arguments, threads=threads)

    def fixed(self) -> int:
        """What kernels work on of all vertices; a device that computes on cores pretends to have it."""
        node = self.node
        arrays = [*(array for array in node.held[2:] if array is not node.tally), *node.fields.values()]
        return sum(array.nbytes // max(1, len(array)) for array in arrays) * node.graph.vertices

    def took_part(self) -> None:
        """Kernels are given the part's arrays each time."""

    def fetch(self, *arrays: Array) -> None:
        """The host's arrays are those that kernels work on."""

    def changed(self, *arrays: Array) -> None:
        """The host's arrays are those that kernels work on."""

    def zero(self, array: Array) -> None:
        """Set an array to zero."""
        array[:] = 0

    def close(self) -> None:
        """There is nothing to give back."""
