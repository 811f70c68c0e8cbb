"""How a rank calls the kernels of its part: on cores, or on what its device has instead.

The runner says by name what is to be done, and on which arrays of the node. On cores nothing else has to be said. A
device with a memory of its own has copies of these arrays, so it is told what the host will read (`fetch`) and what it
has written (`changed`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache
from arcflux.compile.cpu import module as cpu
from arcflux.devices import Placed
from arcflux.engine.node_state import NodeState
from arcflux.engine.own_part import OwnPart
from arcflux.spmd.pool import STOP, TORN
from arcflux.spmd.pool import run as launch

__all__ = ["Calls", "Carrier", "OnCores", "Watch"]

Array = NDArray[Any]

# Kernels that a rank may call when others do not, and that one thread runs.
_ALONE = ("receive", "residual", "stop")
# Those of them that call nothing of the program's.
_BRIEF = ("receive", "residual")


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
    """What the runner asks of whatever runs kernels.

    `carrier` carries messages between devices, where they have memories of their own and a way to each other; where it
    is None, messages are in the node's memory. `compiled` are the seconds that compiling has taken so far.
    """

    carrier: Carrier | None
    compiled: float

    def run(self, name: str, step: int, *given: Any) -> None:
        """Run a kernel of a superstep, with what it takes besides the node's arrays."""

    def prepare(self, name: str, step: int, *given: Any) -> None:
        """Compile a kernel for what `run` will be given, so that its first run is only a run. Collective."""

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel that only knows what it is given."""

    def fixed(self, own: OwnPart) -> int:
        """Bytes that a part takes of the device's memory besides its edges."""

    def take(self, own: OwnPart, placed: Placed) -> None:
        """Work on this part from now on, whose edges lie where `placed` says."""

    def fetch(self, *arrays: Array) -> None:
        """The host will read these arrays; all of them without any."""

    def changed(self, *arrays: Array) -> None:
        """The host has written these arrays; all of them without any."""

    def zero(self, array: Array) -> None:
        """Set an array to zero, where it is."""

    def close(self) -> None:
        """The run is over."""


class Watch:
    """Looks at a kernel with long loops while it runs: ends it when the run is over, and sees whether a loop was left.

    `torn` says whether one was.
    """

    def __init__(self, over: Callable[[], bool]) -> None:
        self.over, self.torn = over, False

    def __call__(self, control: Array) -> None:
        """Look at the control words of a kernel."""
        if self.over():
            control[STOP] = 1
        self.torn = self.torn or bool(control[TORN])


class OnCores:
    """Kernels on cores, in the memory of the node; `watch` looks at them where their loops may be long."""

    carrier: Carrier | None = None

    def __init__(self, state: NodeState, threads: int, watch: Watch | None) -> None:
        self.state, self.threads, self.watch = state, threads, watch
        with cache.one_at_a_time:
            self.made = cache.module(cpu.parts_source(state.lowered))
        self.compiled = 0.0
        self._ready: set[str] = set()

    def run(self, name: str, step: int, *given: Any) -> None:
        """Run a kernel on this rank's threads."""
        self.alone(name, step, *given, *self.state.held, *self.state.constants)

    def prepare(self, name: str, step: int, *given: Any) -> None:
        """Compile a kernel before its first use."""
        if name not in self._ready:
            self._compile(name, step, *given, *self.state.held, *self.state.constants)

    def _compile(self, name: str, *arguments: Any) -> None:
        """Compile a kernel on one rank for all; collective, but for those that a rank may call when others do not."""
        self._ready.add(name)
        transport, begun = self.state.transport, time.perf_counter()
        alone = name in _ALONE or transport.rank == 0
        if not alone:
            transport.barrier()
        getattr(self.made, f"part_{name}").ready(0, self.threads, np.zeros(16, np.int64), *arguments)
        if alone and name not in _ALONE:
            transport.barrier()
        self.compiled += time.perf_counter() - begun

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel; before its first use it is compiled."""
        kernel, threads = getattr(self.made, f"part_{name}"), self.threads
        if name not in self._ready:
            self._compile(name, *arguments)
        if self.watch is not None and name not in _BRIEF:
            threads = 1 if name in _ALONE else threads
            launch(kernel, threads, *arguments, threads=threads, glance=self.watch, ends=True)
        elif threads == 1 or name in _ALONE:
            kernel(0, 1, np.zeros(16, np.int64), *arguments)
        else:
            launch(kernel, threads, *arguments, threads=threads)

    def fixed(self, own: OwnPart) -> int:
        """What kernels work on of all vertices, and beside them; a device that computes on cores pretends to have it.

        Of messages, which have two halves, one is with the device.
        """
        state, n = self.state, self.state.graph.vertices
        arrays = [*(array for array in state.held[2:] if array is not state.tally), *state.fields.values()]
        return sum(array.nbytes // 2 if len(array) == 2 * n else array.nbytes for array in arrays)

    def take(self, own: OwnPart, placed: Placed) -> None:
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
