"""A program on parts of a graph: compute the parts, exchange what changed, see whether that was all, balance.

Every rank runs the same loop over its own part and meets the others twice a superstep: when all of its node have read
what the node's vertices send (then it may change), and when all parts say how much changed. What is shared by a node
stands in arrays of all vertices by their global numbers, so nothing is translated, and a part moves by moving its
bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.compile.dense import CHUNK
from arcflux.compile.lower import Lowered
from arcflux.compile.parts import TALLIED
from arcflux.devices import CPU, Demand, Device, place
from arcflux.engine.direction import Direction
from arcflux.engine.exchange import Lists, Traffic
from arcflux.engine.loop import Options, tolerance_of
from arcflux.engine.migrate import Balancer
from arcflux.engine.owners import Owners
from arcflux.engine.record import Record
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.result import Result
from arcflux.spmd.memory import frozen
from arcflux.transports.base import Transport

__all__ = ["PartRun", "Setting"]

Array = NDArray[Any]

# Bytes of the blocks that stream through a device, unless its memory is small.
_BLOCK = 4 << 20
# What ranks add up: changed, edges, residual, aggregate, senders, whether to stop, bytes of values and of all else,
# whether a loop of the program was left; then the seconds of each, and new bounds, of which the last is the number of
# vertices, if there are any.
_COUNTED = 9


@dataclass(frozen=True)
class Setting:
    """What all ranks of a run agree on.

    parts; high: vertices that every node has whole, or None; options; over: whether to stop early; devices: one for
    each part, or None for cores; rebalance: "auto", "local" or "off".
    """

    parts: Parts
    high: Array | None
    options: Options
    over: Callable[[], bool]
    devices: Sequence[Device] | None = None
    rebalance: str = "off"


class PartRun(Owners):
    """One rank's part of a run."""

    def __init__(
        self, lowered: Lowered, graph: Graph, values: Mapping[str, Array], setting: Setting, transport: Transport
    ) -> None:
        threads, devices = setting.options.threads, setting.devices
        device = CPU(threads) if devices is None else devices[transport.rank]
        apart = transport.nodes == transport.size > 1  # each has a node, of which it shares no memory with others
        linked = apart and devices is not None and all(each.linked for each in devices)
        super().__init__(lowered, graph, values, threads, transport, device, linked)
        self.parts, self.high, self.options = setting.parts, setting.high, setting.options
        self.over, self.values = setting.over, values
        self.held_bytes = 0
        self.whole = self.parts.placement == "target" and self.high is None
        self.direction = Direction(
            lowered, self.options.direction, graph.vertices, graph.arcs, self.options.push_over_pull
        )
        self.tolerance = tolerance_of(lowered)
        self.take_part()
        self.balancer = Balancer(self, setting.rebalance)

    # --- the loop

    def run(self) -> Result:
        """Run; the same result on every rank."""
        begun = time.perf_counter()
        record = Record(self.direction, self.transport.size)
        self._begin()
        with trace.task(self.lowered.program.name, unit="supersteps") as task:
            while not self.finished and len(record) < self.options.limit:
                self.transport.superstep = step = len(record)
                started = time.perf_counter()
                self._save()
                self.compute(step)
                self.exchange(step)
                self.converge(record, started)
                if self.torn:
                    self._restore()
                    break
                self.balancer.after(step, self.heard)
                if self.balancer.planning or self.balancer.migration:
                    record.balanced(self.balancer.planning, self.balancer.migration)
                task.at(step + 1)
                if self.stopped:
                    break
        fields = self._collected()
        self.calls.close()
        self.team.end()
        self.device.release(self.held_bytes)
        seconds = time.perf_counter() - begun - self.compiled
        name, references = self.lowered.program.name, self.lowered.program.references
        return Result(name, self.graph, fields, record.history(), self.finished, seconds, self.compiled, references)

    def _begin(self) -> None:
        """The first state; who is active at first sends."""
        self.finished = self.graph.vertices == 0
        self.stopped = self.early = False
        self._save(first=True)
        self._each("start", 0, self.mine, self.everywhere)
        self._leave_init_to_one()
        self.transport.node_barrier()
        self._publish(-1, self.mine, self.everywhere)
        self._tell(-1)
        self._agree(0.0)
        if self.torn:
            self._restore()
            self.options = replace(self.options, limit=0)
        elif self.lowered.sparse:
            self.finished = self.size == 0

    def _save(self, first: bool = False) -> None:
        """Copy the fields of own vertices, if a superstep may have to be undone; at `first`, they are as given."""
        if not self.polled:
            return
        self.undo = np.concatenate([self.mine, self.everywhere])
        self.before = {name: array[self.undo] for name, array in self.fields.items()}
        if first:
            for name, array in self.before.items():
                array[:] = self.values[name][self.undo] if name in self.values else 0

    def _restore(self) -> None:
        """Undo a superstep of which loops were left on some rank. Collective."""
        self.finished = False
        self.calls.fetch(*self.fields.values())
        for name, values in self.before.items():
            self.fields[name][self.undo] = values
        self.calls.changed(*self.fields.values())

    def compute(self, step: int) -> None:
        """Take the part through a superstep, up to what its vertices will send."""
        self.calls.zero(self.tally)
        self.calls.zero(self.counts)
        self._clear_measures()
        self.edges_before, self.size_before = self.edges, self.size
        self.pull = self.direction.choose(self.size, self.edges)
        self.early = self.pull and self.whole and not self.lowered.ordered
        self._clear_next(step)
        if self.whole and self.pull:
            self.calls.prepare("pull", step, *self._pulling(step, 0, 0))
            with self.device.timed() as took:
                self._pulled(step)
            self.updated = self.mine, self.everywhere
        else:
            name, given = self._gathering(step)
            self.calls.prepare(name, step, *given)
            with self.device.timed() as took:
                self._call(name, step, *given)
            seconds = took.seconds
            if not self.whole:
                self.transport.node_barrier()
                self._contribute(step)
            self.updated = self._receivers(step)
            self.calls.prepare("apply", step, self.updated[0])
            with self.device.timed() as took:
                self._each("apply", step, *self.updated)
            took.seconds += seconds
            self._leave_init_to_one()
        self.seconds = took.seconds + sum(map(self.device.transfer, self.streamed))

    def _clear_measures(self) -> None:
        """Own vertices that this superstep leaves out have no residual in it, whatever an earlier one left there."""
        some = self.lowered.sparse or "wants" in self.lowered.functions
        if not (some and self.lowered.deterministic and self.lowered.measures):
            return
        self.calls.fetch(self.residuals)
        places = np.concatenate([self.mine, self.everywhere]).astype(np.int64)
        for k in range(len(self.lowered.measures)):
            self.residuals[k * self.graph.vertices + places] = 0.0
        self.calls.changed(self.residuals)

    def exchange(self, step: int) -> None:
        """What changed becomes what is sent, here and in the nodes that read it."""
        self.transport.node_barrier()
        self._publish(step, *((self.mine, self.everywhere) if self.lowered.ordered else self.updated))
        self._tell(step)

    def converge(self, record: Record, started: float) -> None:
        """How much changed everywhere; whether that is the end."""
        changed, residual = self._agree(self.seconds)
        self.set_aggregated(self.sums["aggregate"])
        edges = self.edges_before if self.lowered.sparse else self.graph.arcs
        self.direction.measured(edges, self.slowest)
        if self.torn:
            return
        self.finished = (self.size if self.lowered.sparse else changed) == 0 or residual < self.tolerance
        frontier = self.size_before if self.lowered.sparse else self.graph.vertices
        shown = residual if "residual" in self.lowered.functions else 0.0
        record.add(
            self.part_seconds, self.parts.bounds, pull=self.pull, frontier=frontier, residual=shown,
            seconds=time.perf_counter() - started, changed=changed, edges=edges, bytes=self.bytes,
            more_bytes=self.more_bytes,
        )  # fmt: skip

    # --- the part

    def take_part(self) -> None:
        """Take the own part: its vertices, its edges, and the lists of who tells whom. Collective."""
        rank, transport = self.transport.rank, self.transport
        self.part = self.parts.part(rank)
        own = self.parts.owned(rank)
        self.everywhere = frozen(own[:0])
        if self.high is not None:
            shared = np.flatnonzero(self.high).astype(own.dtype)
            self.everywhere = frozen(np.array_split(shared, len(transport.mates))[transport.place])
            own = own[~self.high[own]]
            self.leaders = transport.split(min(1, transport.place), rank)
        self.mine = frozen(own)
        self.targets = frozen(self.part.targets)
        self.middles: dict[int, int] = {}
        self.lists = self._known_lists()
        size = self.graph.vertices
        self.reached = np.empty(size, own.dtype)
        self.told = np.empty(len(own) + len(self.everywhere), own.dtype)
        for name in ("_in_edges", "_out_edges"):
            self.__dict__.pop(name, None)
        self._place()
        self.calls.took_part()

    def _known_lists(self) -> Lists:
        """Who tells whom, found once for these parts and nodes."""
        known: dict[Any, Lists] = self.part.__dict__.setdefault("known_lists", {})
        key = tuple(self.transport.node_of.tolist())
        if self.high is not None or key not in known:
            found = Lists.of(self.transport, self.parts, self.part, self.whole, self.high)
            if self.high is not None:
                return found
            known[key] = found
        return known[key]

    def _place(self) -> None:
        """Take the device's memory for the part; what does not fit will stream through it."""
        offsets = self.part.into.offsets
        arc = self.part.into.neighbours.itemsize
        arc += sum(self.part.in_columns[name].dtype.itemsize for name in self.lowered.columns)
        demand = Demand(offsets, arc, self.calls.fixed())
        self.device.release(self.held_bytes)
        block = min(_BLOCK, max(4096, (self.device.memory or 0) // 16))
        self.placed = place([demand], [self.device], block=block).parts[0]
        self.held_bytes = self.placed.device_bytes
        self.device.hold(self.held_bytes, f"part {self.part.number}")
        self.streamed = [demand.between(*pair) for pair in pairwise(self.placed.blocks.tolist())]

    @cached_property
    def _in_edges(self) -> list[Array]:
        part = self.part
        return [frozen(array) for array in (*part.into, *(part.in_columns[name] for name in self.lowered.columns))]

    @cached_property
    def _out_edges(self) -> list[Array]:
        part = self.part
        return [frozen(array) for array in (*part.out, *(part.out_columns[name] for name in self.lowered.columns))]

    # --- compute

    def _pulled(self, step: int) -> None:
        """Own vertices take all their messages: those whose edges are with the device, then block by block.

        What the first half of them will send goes out while the second half computes.
        """
        size = len(self.mine)
        ends = [0, self.placed.resident, *self.placed.blocks[1:].tolist()] if self.streamed else [0, size // 2, size]
        for piece, (first, last) in enumerate(pairwise(ends)):
            self._call("pull", step, *self._pulling(step, first, last))
            if self.early and not self.streamed:
                self._tell_half(piece)
        if self.early and self.streamed:
            self._tell_half(0)
            self._tell_half(1)

    def _pulling(self, step: int, first: int, last: int) -> list[Any]:
        """What the kernel is given that takes own vertices from the place `first` to before `last` through pull."""
        return [self.mine, np.uint64(first), np.uint64(last), *self._in_edges, self.bits_at(step)]

    def _gathering(self, step: int) -> tuple[str, list[Any]]:
        """The kernel that reduces messages along the part's edges into accumulators, and what it is given."""
        listing = [self.stamp, self._mark(step), self.reached, self.counts]
        if self.pull:
            return "gather", [self.targets, *self._in_edges, self.bits_at(step), *listing]
        self.calls.fetch(self.heads)
        size = int(self.heads[8 * (step & 1)])
        return "push", [self._queue(step), size, *self._out_edges, self.whole, *listing]

    def _receivers(self, step: int) -> tuple[Array, Array]:
        """Vertices to update, own ones and the share of those everywhere: that received, or all when all send."""
        if not self.lowered.sparse:
            return self.mine, self.everywhere
        self.calls.fetch(self.counts)
        if self.whole:
            return frozen(self.reached[: int(self.counts[0])]), self.everywhere
        self.calls.fetch(self.stamp)
        mark = self._mark(step)
        mine, everywhere = (which[self.stamp[which] == mark] for which in (self.mine, self.everywhere))
        return frozen(mine), frozen(everywhere)

    # --- the end of a superstep, and of the run

    def _agree(self, seconds: float) -> tuple[int, float]:
        """Add up what all ranks have counted; how many vertices changed, and the residual."""
        size, rank = self.transport.size, self.transport.rank
        self.calls.fetch(self.tally, self.counts)
        times, bounds = slice(_COUNTED, _COUNTED + size), slice(_COUNTED + size, None)
        mine = np.zeros(_COUNTED + 2 * size + 1)
        mine[:4] = self.tally[:, :4].sum(axis=0)
        mine[4] = self.counts[1] - self.counts[2]
        mine[5] = self.over()
        mine[6:_COUNTED] = self.traffic.values, self.traffic.places + self.traffic.headers, self.left_loop
        mine[times][rank] = seconds
        if self.balancer.told is not None:
            mine[bounds] = self.balancer.told
        self.traffic = Traffic()
        total = self.transport.reduce(mine, "sum")
        self.size, self.edges = int(total[4]), int(total[1])
        self.bytes, self.more_bytes = int(total[6]), int(total[7])
        self.stopped, self.torn = total[5] > 0, total[8] > 0
        self.part_seconds = tuple(total[times].tolist())
        self.heard = total[bounds].astype(np.int64) if total[-1] > 0 else None
        self.slowest = max(self.part_seconds)
        self.sums = {name: float(total[place]) for name, place in TALLIED.items()}
        if self.lowered.deterministic:
            self.sums |= {name: self._ordered_sum(k) for k, name in enumerate(self.lowered.measures)}
        return int(total[0]), self.sums["residual"] if "residual" in self.lowered.functions else np.inf

    def _ordered_sum(self, k: int) -> float:
        """The sum of what is measured `k`-th of each vertex, in the order in which one process adds it up."""
        n = self.graph.vertices
        everywhere = self.residuals[k * n : (k + 1) * n]
        if self.transport.nodes > 1:
            self.calls.fetch(self.residuals)
            pieces = self.transport.gather(everywhere[self.mine])
            everywhere = np.zeros_like(everywhere)
            for rank, piece in enumerate(pieces):
                everywhere[self.parts.owned(rank)] = piece
        total = np.zeros(1)
        self.calls.alone("residual", everywhere, CHUNK, total)
        self.transport.node_barrier()
        return float(total[0])
