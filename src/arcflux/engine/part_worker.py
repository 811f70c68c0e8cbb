"""One rank of a run on parts: the state of its node, its part, and the kernels that work on both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.source import has_long_loops
from arcflux.devices import Demand, Device
from arcflux.engine.calls import Calls, OnCores, Watch
from arcflux.engine.node_state import NodeState
from arcflux.engine.own_part import OwnPart
from arcflux.engine.placing import place_part
from arcflux.graph import Graph
from arcflux.spmd.memory import leave_pages
from arcflux.transports.base import Transport

__all__ = ["PartWorker"]

Array = NDArray[Any]


class PartWorker:
    """Computes a part.

    lowered, graph: the program and its graph; transport: connects it to the other ranks; device: runs kernels, through
    `calls`; state: the arrays of its node; own: its part, until bounds move; polled: whether kernels may have to be
    interrupted, which `watch` does. `linked`: whether messages go from device to device, without the node's memory.
    """

    def __init__(
        self, state: NodeState, own: OwnPart, device: Device, threads: int, linked: bool, over: Callable[[], bool]
    ) -> None:
        self.state, self.own, self.device = state, own, device
        self.lowered: Lowered = state.lowered
        self.graph: Graph = state.graph
        self.transport: Transport = state.transport
        self.threads, self.linked = threads, linked
        self.watch = Watch(over)
        self.polled = any(has_long_loops(self.lowered, name) for name in self.lowered.functions)
        self.calls: Calls = device.calls(state, OnCores(state, threads, self.watch if self.polled else None), linked)
        self._held_bytes = 0
        self.take(own)

    def take(self, own: OwnPart) -> None:
        """Compute this part from now on: take device memory for it, and stream what does not fit.

        Collective: the ranks of a node divide its memory.
        """
        self.own = own
        offsets = own.part.into.offsets
        arc = own.part.into.neighbours.itemsize
        arc += sum(own.part.in_columns[name].dtype.itemsize for name in self.lowered.columns)
        demand = Demand(offsets, arc, self.calls.fixed(own))
        self.release()
        shared = self.state.nbytes
        self.placed, self.note = place_part(own, demand, self.device, self.transport, shared)
        self._held_bytes = self.placed.device_bytes
        self.device.hold(self._held_bytes, f"part {own.part.number}")
        self.streamed = [demand.between(*pair) for pair in pairwise(self.placed.blocks.tolist())]
        self.calls.take(own, self.placed)

    def release(self) -> None:
        """Release the part's memory on the device."""
        self.device.release(self._held_bytes)
        self._held_bytes = 0

    # --- edges that do not fit on the device

    def transfer(self, nbytes: int | None = None) -> float:
        """Take the time of sending this many bytes, or all streamed blocks, over the device's link; in seconds."""
        if nbytes is not None:
            return self.device.transfer(nbytes) if nbytes else 0.0
        if self.placed.hosted < self.placed.rows:
            self._leave_file()
        return sum(map(self.device.transfer, self.streamed))

    def _leave_file(self) -> None:
        """Drop the pages of rows that stay in a mapped file: the next superstep reads them again."""
        offsets, *arrays = self.own.in_edges
        for array in arrays:
            leave_pages(array, int(offsets[self.placed.hosted]), int(offsets[-1]))

    def pushed_bytes(self, step: int) -> int:
        """Bytes of the out-edges along which a superstep pushes, if they are not on the device.

        If the in-edges of a part do not fit, its out-edges do not either.
        """
        if not self.streamed:
            return 0
        self.calls.fetch(self.state.queues, self.state.heads)
        offsets, *arrays = self.own.out_edges
        arc = sum(array.itemsize for array in arrays)
        if not self.lowered.sparse:
            return arc * (int(offsets[-1]) - int(offsets[0]))
        senders = self.state.queue_at(step)[: int(self.state.heads_at(step)[0])].astype(np.int64)
        return arc * int((offsets[senders + 1] - offsets[senders]).sum())

    # --- kernels

    def each(self, name: str, step: int, mine: Array, everywhere: Array, *given: Any) -> None:
        """Run a kernel on own vertices, and on this rank's share of replicated ones, which only one node counts."""
        calls, state = self.calls, self.state
        calls.run(name, step, mine, *given)
        if not len(everywhere):
            return
        counted = [state.tally, *state.totals.sums.values()]
        calls.fetch(*counted, state.counts)
        before, senders = [array.copy() for array in counted], int(state.counts[1])
        calls.run(name, step, everywhere, *given)
        if self.transport.node > 0:
            calls.fetch(*counted, state.counts)
            for array, values in zip(counted, before, strict=True):
                array[:] = values
            state.counts[2] += state.counts[1] - senders
            calls.changed(*counted, state.counts)

    # --- the frontier

    def clear_frontier(self, step: int) -> None:
        """Clear this node's frontier of a superstep, and marks when they wrap around; each rank clears its share."""
        state, calls = self.state, self.calls
        calls.zero(state.own_share(state.bits_at(step)))
        if state.team.leads:
            calls.zero(state.heads_at(step)[:1])
        if (step - 1) % 255 == 0:
            self.transport.node_barrier()
            calls.zero(state.own_share(state.stamp))
            self.transport.node_barrier()

    def join_frontier(self, step: int, vertices: Array) -> None:
        """Add vertices of other nodes to the frontier of a superstep."""
        state = self.state
        self.calls.alone("receive", vertices, state.bits_at(step), state.queue_at(step), state.heads_at(step))

    def changed_vertices(self) -> Array:
        """Own vertices that changed, as listed by the last kernel that published."""
        self.calls.fetch(self.own.told, self.state.counts, self.state.moves)
        return self.own.told[: int(self.state.counts[1])]

    def forget_changes(self, told: Array) -> None:
        """Clear the changes: all nodes that read these vertices have their values."""
        self.state.moves[told] = False
        self.calls.changed(self.state.moves)

    # --- undoing

    def saved(self, vertices: Array) -> dict[str, Array]:
        """Copies of the fields of some vertices."""
        return {name: array[vertices] for name, array in self.state.fields.items()}

    def restore(self, vertices: Array, before: Mapping[str, Array]) -> None:
        """Restore the fields of some vertices."""
        fields = self.state.fields
        self.calls.fetch(*fields.values())
        for name, values in before.items():
            fields[name][vertices] = values
        self.calls.changed(*fields.values())

    def saved_edges(self) -> dict[str, Array]:
        """Copies of the edge fields that a superstep changes in place, on the first rank of the node."""
        leads = self.polled and self.state.team.leads
        return {name: array.copy() for name, array in self.state.edges.undone.items()} if leads else {}

    def restore_edges(self, before: Mapping[str, Array]) -> None:
        """Restore the fields of edges."""
        self.transport.node_barrier()
        for name, array in self.state.edges.undone.items():
            if name in before:
                array[:] = before[name]
        self.transport.node_barrier()

    # --- measures

    def clear_measures(self) -> None:
        """Clear the reductions, and the contributions of own vertices that a superstep may leave out."""
        lowered, state = self.lowered, self.state
        if lowered.totals:
            state.totals.clear()
            self.calls.changed(*state.totals.sums.values())
        some = lowered.sparse or lowered.rests or "wants" in lowered.functions
        if not (some and state.brought):
            return
        self.calls.fetch(*state.brought)
        places = self.own.updated.astype(np.int64)
        for array in state.brought:
            array[places] = 0.0
        self.calls.changed(*state.brought)

    def set_totals(self, known: Mapping[str, Any]) -> None:
        """Set these totals for the kernels."""
        if known:
            self.state.totals.set(known)
            self.calls.changed(*(self.state.totals.values[name] for name in known))

    def stops(self, step: int) -> bool | None:
        """Whether the program's `stop` ends the run after a superstep; all ranks have the same totals and answer.

        None if a loop of it was interrupted, on any rank.
        """
        if "stop" not in self.lowered.functions:
            return False
        answer = np.zeros(1, np.bool_)
        self.calls.alone("stop", answer, step, *self.state.constants)
        if not has_long_loops(self.lowered, "stop"):
            return bool(answer[0])
        stops, torn = self.transport.reduce(np.array([answer[0], self.watch.torn], np.uint8), "max")
        return None if torn else bool(stops)
