"""How a rank calls the kernels of its part: on cores, or through the equivalent calls of its device.

The runner names a kernel and the arrays of the node that it works on. On cores that is all. A device with its own
memory has copies of these arrays, so the runner also declares what the host will read (`fetch`) and what it has written
(`changed`).
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

# Kernels that one thread runs, and that a rank may call without the other ranks.
_ALONE = ("receive", "residual", "stop")
# Those that call no function of the program.
_BRIEF = ("receive", "residual")


class Carrier(Protocol):
    """Carries messages from device to device; a row is the values of one vertex."""

    def differing(self, vertices: Array) -> Array:
        """Which of the vertices will send something other than they send now."""

    def send(self, peer: int, vertices: Array, later: bool) -> int:
        """Send the messages of these vertices, the current or (`later`) the next ones; returns the number of bytes."""

    def receive(self, peer: int, vertices: Array) -> None:
        """Expect the messages of these vertices."""

    def finish(self) -> None:
        """Wait until everything is sent and received."""


class Calls(Protocol):
    """The calls that the runner makes to run kernels.

    `carrier` carries messages between devices that have their own memories and a link to each other; where it is None,
    messages are in the node's memory. `compiled`: seconds spent compiling so far.
    """

    carrier: Carrier | None
    compiled: float

    def run(self, name: str, step: int, *given: Any) -> None:
        """Run a kernel of a superstep with these arguments besides the node's arrays."""

    def prepare(self, name: str, step: int, *given: Any) -> None:
        """Compile a kernel for the arguments that `run` will get, so that no run includes compiling. Collective."""

    def alone(self, name: str, *arguments: Any) -> None:
        """Run a kernel that gets only these arguments."""

    def fixed(self, own: OwnPart) -> int:
        """Bytes of the device's memory that a part needs besides its edges."""

    def take(self, own: OwnPart, placed: Placed) -> None:
        """Compute this part from now on; its edges lie where `placed` says."""

    def fetch(self, *arrays: Array) -> None:
        """Declare that the host will read these arrays (all of them, if none is named)."""

    def changed(self, *arrays: Array) -> None:
        """Declare that the host has written these arrays (all of them, if none is named)."""

    def zero(self, array: Array) -> None:
        """Set an array to zero, in place."""

    def close(self) -> None:
        """End the run."""


class Watch:
    """Watches a kernel with long loops: stops it when the run is over, and notices whether a loop was interrupted.

    `torn` says whether a loop was interrupted.
    """

    def __init__(self, over: Callable[[], bool]) -> None:
        self.over, self.torn = over, False

    def __call__(self, control: Array) -> None:
        """Check the control words of a running kernel."""
        if self.over():
            control[STOP] = 1
        self.torn = self.torn or bool(control[TORN])


class OnCores:
    """Kernels on cores, in the memory of the node; `watch` checks them while they run, where loops may be long."""

    carrier: Carrier | None = None

    def __init__(self, state: NodeState, threads: int, watch: Watch | None) -> None:
        self.state, self.threads, self.watch = state, threads, watch
        with cache.one_at_a_time:
            self.made = cache.module(cpu.parts_source(state.lowered))
        self.compiled = 0.0
        self._ready: set[str] = set()

    def run(self, name: str, step: int, *given: Any) -> None:
        """Run a kernel on the threads of this rank."""
        self.alone(name, step, *given, *self.state.held, *self.state.constants)

    def prepare(self, name: str, step: int, *given: Any) -> None:
        """Compile a kernel before its first use."""
        if name not in self._ready:
            self._compile(name, step, *given, *self.state.held, *self.state.constants)

    def _compile(self, name: str, *arguments: Any) -> None:
        """Compile a kernel on one rank for all. Collective, except for kernels that a rank may call alone."""
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
        """Run a kernel, compiling it before its first use."""
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
        """Bytes of arrays besides edges: what a device with its own memory holds, and a virtual one counts.

        Of messages, which have two halves, a device holds one.
        """
        state, n = self.state, self.state.graph.vertices
        arrays = [*(array for array in state.held[2:] if array is not state.tally), *state.fields.values()]
        return sum(array.nbytes // 2 if len(array) == 2 * n else array.nbytes for array in arrays)

    def take(self, own: OwnPart, placed: Placed) -> None:
        """Nothing to do: kernels get the part's arrays with each call."""

    def fetch(self, *arrays: Array) -> None:
        """Nothing to do: kernels work on the host's arrays."""

    def changed(self, *arrays: Array) -> None:
        """Nothing to do: kernels work on the host's arrays."""

    def zero(self, array: Array) -> None:
        """Set an array to zero."""
        array[:] = 0

    def close(self) -> None:
        """Nothing to release."""
