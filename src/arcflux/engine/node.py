"""What the ranks of a node share in a run on parts, and how they run kernels on it.

Fields, messages, accumulators and the frontier stand in arrays of all vertices by their global numbers, one for each
node. Of the messages, the first half is what vertices send in this superstep, the second what they will send next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile.lower import Lowered
from arcflux.compile.parts import PART_TALLY
from arcflux.compile.source import polls
from arcflux.devices import Device
from arcflux.engine.calls import Calls, OnCores
from arcflux.engine.exchange import Lists, Traffic
from arcflux.engine.state import parameter_values, rows
from arcflux.engine.team import Ranks
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.spmd.pool import STOP, TORN
from arcflux.transports.base import Transport

__all__ = ["Node", "identity"]

Array = NDArray[Any]


class Node:
    """A rank's view of its node: shared arrays, own counters, and kernels.

    `mine` are the vertices that the rank owns, `everywhere` its share of those that every node has whole; `lists` say
    who tells whom. `linked` says whether messages go from device to device, without the node's memory.
    """

    parts: Parts
    lists: Lists
    mine: Array
    everywhere: Array

    def __init__(
        self,
        lowered: Lowered,
        graph: Graph,
        values: Mapping[str, Array],
        threads: int,
        transport: Transport,
        device: Device,
        linked: bool,
    ) -> None:
        self.lowered, self.graph, self.transport, self.device = lowered, graph, transport, device
        self.threads, self.linked = threads, linked
        self.compiled = 0.0
        self.polled = any(polls(lowered, name) for name in lowered.functions)
        self.left_loop = False
        self.over: Callable[[], bool] = lambda: False
        self.traffic = Traffic()
        self.team = Ranks.of(transport)
        self._share_state(values)
        self.calls: Calls = device.calls(self, OnCores(self))

    def _share_state(self, values: Mapping[str, Array]) -> None:
        """What the node's ranks share: fields, messages, accumulators, the frontier.

        The memory is that of earlier runs where there were any, since new pages cost a short run more than its work.
        Fields stay where they are: they are the result.
        """
        graph, lowered, team = self.graph, self.lowered, self.team
        n, kind = graph.vertices, graph.out.neighbours.dtype
        written = lowered.functions["start"].always_writes - set(values)
        zeros = team.small
        self.fields = {
            name: rows(partial(team.kept, zero=name not in written), n, *kind_of)
            for name, kind_of in lowered.fields.items()
        }
        self.messages = [rows(zeros, 2 * n, message.dtype, message.length) for message in lowered.messages]
        self.accumulators = {name: rows(team.lent, n, *lowered.fields[name]) for name in sorted(lowered.reductions)}
        for name, array in self.accumulators.items():
            self._filled(array, identity(lowered.reductions[name].operation, array.dtype))
        self.moves, self.pending = zeros(n, np.bool_), zeros(n, np.bool_)
        self.residuals = zeros(max(1, n * len(lowered.measures)) if lowered.deterministic else 1, np.float64)
        self.bits, self.queues = zeros(2 * (-(-n // 64)), np.uint64), team.lent(2 * n, kind)
        self.stamp, self.heads = zeros(n, np.uint8), zeros(16, np.int64)
        if team.leads:
            for name, given in values.items():
                self.fields[name][:] = given
        self.tally = np.zeros((self.threads, PART_TALLY))
        self.counts = np.zeros(16, np.int64)
        self.constants = [*self.fields.values(), n, graph.edges, graph.arcs, *parameter_values(lowered.program, graph)]
        self.held = [graph.into.offsets, graph.out.offsets, self.moves, self.pending, self.residuals, self.tally]
        self.held += [*self.messages, *self.accumulators.values()]
        self.transport.node_barrier()

    def set_aggregated(self, total: float) -> None:
        """From now on kernels are given another sum of `aggregate`; without one in the program, nothing changes."""
        place = self.lowered.aggregated
        if place is not None:
            self.constants[place - len(self.lowered.program.parameters)] = total

    def _filled(self, array: Array, value: Any) -> Array:
        """The array, of which each rank of the node has filled its share."""
        place, mates = self.transport.place, len(self.transport.mates)
        share = -(-len(array) // mates)
        array[place * share : (place + 1) * share] = value
        return array

    def _cleared(self, array: Array) -> None:
        """Each rank of the node sets its share of an array to zero, where kernels will find it."""
        place, mates = self.transport.place, len(self.transport.mates)
        share = -(-len(array) // mates)
        self.calls.zero(array[place * share : (place + 1) * share])

    # --- the frontier

    def _mark(self, step: int) -> np.uint8:
        return np.uint8(step % 255 + 1)

    def bits_at(self, step: int) -> Array:
        """The frontier of a superstep, as this node knows it."""
        half = len(self.bits) // 2
        return self.bits[half:] if step & 1 else self.bits[:half]

    def _queue(self, step: int) -> Array:
        half = self.graph.vertices
        return self.queues[half:] if step & 1 else self.queues[:half]

    def _clear_next(self, step: int) -> None:
        """Make room for the next frontier; now and then for marks, too. Each rank of the node does its share."""
        self._cleared(self.bits_at(step + 1))
        if self.team.leads:
            self.calls.zero(self.heads[8 * ((step + 1) & 1) :][:1])
        if step % 255 == 0:
            self.transport.node_barrier()
            self._cleared(self.stamp)
            self.transport.node_barrier()

    # --- kernels

    def watch(self, control: Array) -> None:
        """Look at a kernel with long loops while it runs: end it when the run is over, and see whether it was left."""
        if self.over():
            control[STOP] = 1
        self.left_loop = self.left_loop or bool(control[TORN])

    def _each(self, name: str, step: int, mine: Array, everywhere: Array, *given: Any) -> None:
        """Run a kernel on own vertices, and on the share of those that every node has, which one node counts."""
        self._call(name, step, mine, *given)
        if not len(everywhere):
            return
        self.calls.fetch(self.tally, self.counts)
        tally, told = self.tally.copy(), int(self.counts[1])
        self._call(name, step, everywhere, *given)
        if self.transport.node > 0:
            self.calls.fetch(self.tally, self.counts)
            self.tally[:] = tally
            self.counts[2] += self.counts[1] - told
            self.calls.changed(self.tally, self.counts)

    def _call(self, name: str, step: int, *given: Any) -> None:
        self.calls.run(name, step, *given)


def identity(operation: str, dtype: np.dtype[Any]) -> Any:
    """What a reduction leaves as it is."""
    if operation in ("sum", "or", "any"):
        return dtype.type(0)
    if operation == "product":
        return dtype.type(1)
    if operation == "and":
        return np.bool_(True) if dtype.kind == "b" else dtype.type(np.iinfo(dtype).max if dtype.kind == "u" else -1)
    if dtype.kind == "f":
        return dtype.type(np.inf if operation == "min" else -np.inf)
    if dtype.kind == "b":
        return np.bool_(operation == "min")
    return dtype.type(np.iinfo(dtype).max if operation == "min" else np.iinfo(dtype).min)
