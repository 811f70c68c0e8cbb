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
from arcflux.compile import cache, cpu
from arcflux.compile.bins import width
from arcflux.compile.dense import CHUNK
from arcflux.compile.lower import Lowered
from arcflux.compile.parts import PART_TALLY
from arcflux.devices import CPU, Demand, Device, place
from arcflux.engine.direction import Direction
from arcflux.engine.exchange import Lists, Traffic, packed, rows_of, unpacked
from arcflux.engine.loop import Options, tolerance_of
from arcflux.engine.migrate import Balancer
from arcflux.engine.state import parameter_values, rows
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.result import Result, Superstep
from arcflux.spmd.memory import frozen
from arcflux.spmd.pool import run as launch
from arcflux.transports.base import Transport

__all__ = ["PartRun", "Setting"]

Array = NDArray[Any]

# Kernels that a rank may call when others do not, and that one thread runs.
_ALONE = ("receive", "residual")
# What ranks add up: changed, edges, residual, senders, whether to stop, bytes of values and of all else.
_COUNTED = 7
_COMBINE = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or,
            "and": np.bitwise_and, "any": None}  # fmt: skip


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


class PartRun:
    """One rank's part of a run."""

    def __init__(
        self, lowered: Lowered, graph: Graph, values: Mapping[str, Array], setting: Setting, transport: Transport
    ) -> None:
        self.lowered, self.graph, self.transport = lowered, graph, transport
        self.parts, self.high, self.options = setting.parts, setting.high, setting.options
        self.over = setting.over
        devices = setting.devices
        self.device = CPU(self.options.threads) if devices is None else devices[transport.rank]
        self.held_bytes = 0
        self.made = cache.module(cpu.parts_source(lowered))
        self.ready: set[str] = set()
        self.compiled = 0.0
        self.traffic = Traffic()
        self.whole = self.parts.placement == "target" and self.high is None
        self.direction = Direction(lowered, self.options.direction, graph.vertices, graph.arcs)
        self.tolerance = tolerance_of(lowered)
        self._share_state(values)
        self.take_part()
        self.balancer = Balancer(self, setting.rebalance)

    # --- the arrays

    def _share_state(self, values: Mapping[str, Array]) -> None:
        """What the node's ranks share: fields, messages, accumulators, the frontier."""
        graph, lowered, shared = self.graph, self.lowered, self.transport.shared
        n, kind = graph.vertices, graph.out.neighbours.dtype

        def of(size: int, dtype: Any, length: int | None) -> Array:
            return rows(shared, size, dtype, length)

        self.fields = {name: of(n, *kind_of) for name, kind_of in lowered.fields.items()}
        self.messages = [of(2 * n, message.dtype, message.length) for message in lowered.messages]
        self.accumulators = {name: of(n, *lowered.fields[name]) for name in sorted(lowered.reductions)}
        self.moves, self.pending = shared(n, np.bool_), shared(n, np.bool_)
        self.residuals = shared(n if lowered.deterministic and "residual" in lowered.functions else 1, np.float64)
        self.bits, self.queues = shared(2 * (-(-n // 64)), np.uint64), shared(2 * n, kind)
        self.stamp, self.heads = shared(n, np.uint8), shared(16, np.int64)
        if self.transport.place == 0:
            for name, array in self.accumulators.items():
                array[:] = _identity(lowered.reductions[name].operation, array.dtype)
            for name, given in values.items():
                self.fields[name][:] = given
        self.tally = np.zeros((self.options.threads, PART_TALLY))
        self.counts = np.zeros(16, np.int64)
        self.constants = [*self.fields.values(), n, graph.edges, graph.arcs, *parameter_values(lowered.program, graph)]
        self.held = [graph.into.offsets, graph.out.offsets, self.moves, self.pending, self.residuals, self.tally]
        self.held += [*self.messages, *self.accumulators.values()]
        self.transport.node_barrier()

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
        vertex = sum(array.nbytes // max(1, len(array)) for array in self.held[2:] if array is not self.tally)
        vertex += sum(array.nbytes // max(1, len(array)) for array in self.fields.values())
        demand = Demand(offsets, arc, vertex * self.graph.vertices)
        self.device.release(self.held_bytes)
        self.placed = place([demand], [self.device]).parts[0]
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

    # --- the loop

    def run(self) -> Result:
        """Run; the same result on every rank."""
        begun = time.perf_counter()
        history: list[Superstep] = []
        self._begin()
        with trace.task(self.lowered.program.name, unit="supersteps") as task:
            while not self.finished and len(history) < self.options.limit:
                self.transport.superstep = step = len(history)
                started = time.perf_counter()
                self.compute(step)
                self.exchange(step)
                history.append(self.converge(step, started))
                self.balancer.after(step)
                if self.balancer.planning:
                    planned, moved = self.balancer.planning, self.balancer.migration
                    history[-1] = replace(history[-1], planning=planned, migration=moved)
                task.at(step + 1)
                if self.stopped:
                    break
        fields = self._collected()
        self.device.release(self.held_bytes)
        seconds = time.perf_counter() - begun - self.compiled
        name, references = self.lowered.program.name, self.lowered.program.references
        return Result(name, self.graph, fields, history, self.finished, seconds, self.compiled, references)

    def _begin(self) -> None:
        """The first state; who is active at first sends."""
        self.finished = self.graph.vertices == 0
        self.stopped = self.early = False
        self._each("start", 0, self.mine, self.everywhere)
        self._leave_init_to_one()
        self.transport.node_barrier()
        self._publish(-1, self.mine, self.everywhere)
        self._tell(-1)
        if self.lowered.steady:
            self._tell_all()
        self._agree(0.0)
        if self.lowered.sparse:
            self.finished = self.size == 0

    def compute(self, step: int) -> None:
        """Take the part through a superstep, up to what its vertices will send."""
        self.tally[:] = 0
        self.counts[:] = 0
        self.edges_before, self.size_before = self.edges, self.size
        self.pull = self.direction.choose(self.size, self.edges)
        self.early = self.pull and self.whole and not self.lowered.ordered
        self._clear_next(step)
        if self.whole and self.pull:
            with self.device.timed() as took:
                self._pulled(step)
            self.updated = self.mine, self.everywhere
        else:
            with self.device.timed() as took:
                self._gathered(step)
            seconds = took.seconds
            if not self.whole:
                self.transport.node_barrier()
                self._contribute(step)
            self.updated = self._receivers(step)
            with self.device.timed() as took:
                self._each("apply", step, *self.updated)
            took.seconds += seconds
            self._leave_init_to_one()
        self.seconds = took.seconds + sum(map(self.device.transfer, self.streamed))

    def _pulled(self, step: int) -> None:
        """Own vertices take all their messages: those whose edges are with the device, then block by block.

        What the first half of them will send goes out while the second half computes.
        """
        size = len(self.mine)
        ends = [0, self.placed.resident, *self.placed.blocks[1:].tolist()] if self.streamed else [0, size // 2, size]
        for piece, (first, last) in enumerate(pairwise(np.array(ends, np.uint64))):
            self._call("pull", step, self.mine, first, last, *self._in_edges, self.bits_at(step))
            if self.early and not self.streamed:
                self._tell_half(piece)
        if self.early and self.streamed:
            self._tell_half(0)
            self._tell_half(1)

    def exchange(self, step: int) -> None:
        """What changed becomes what is sent, here and in the nodes that read it."""
        self.transport.node_barrier()
        self._publish(step, *((self.mine, self.everywhere) if self.lowered.ordered else self.updated))
        self._tell(step)

    def converge(self, step: int, started: float) -> Superstep:
        """How much changed everywhere; whether that is the end."""
        changed, residual = self._agree(self.seconds)
        edges = self.edges_before if self.lowered.sparse else self.graph.arcs
        self.direction.measured(edges, self.slowest)
        self.finished = (self.size if self.lowered.sparse else changed) == 0 or residual < self.tolerance
        frontier = self.size_before if self.lowered.sparse else self.graph.vertices
        way = "pull" if self.pull else "push"
        shown = residual if "residual" in self.lowered.functions else 0.0
        return Superstep(
            step, way, frontier, shown, time.perf_counter() - started, changed, edges, self.direction.reason,
            bytes=self.bytes, more_bytes=self.more_bytes, part_seconds=self.part_seconds,
        )  # fmt: skip

    # --- compute

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
        place, mates = self.transport.place, len(self.transport.mates)
        later = self.bits_at(step + 1)
        share = -(-len(later) // mates)
        later[place * share : (place + 1) * share] = 0
        if place == 0:
            self.heads[8 * ((step + 1) & 1)] = 0
        if step % 255 == 0:
            self.transport.node_barrier()
            share = -(-len(self.stamp) // mates)
            self.stamp[place * share : (place + 1) * share] = 0
            self.transport.node_barrier()

    def _gathered(self, step: int) -> None:
        """Messages along the part's edges are reduced into accumulators."""
        listing = [self.stamp, self._mark(step), self.reached, self.counts]
        if self.pull:
            self._call("gather", step, self.targets, *self._in_edges, self.bits_at(step), *listing)
        else:
            size = int(self.heads[8 * (step & 1)])
            self._call("push", step, self._queue(step), size, *self._out_edges, self.whole, *listing)

    def _receivers(self, step: int) -> tuple[Array, Array]:
        """Vertices to update, own ones and the share of those everywhere: that received, or all when all send."""
        if not self.lowered.sparse:
            return self.mine, self.everywhere
        if self.whole:
            return frozen(self.reached[: int(self.counts[0])]), self.everywhere
        mark = self._mark(step)
        mine, everywhere = (which[self.stamp[which] == mark] for which in (self.mine, self.everywhere))
        return frozen(mine), frozen(everywhere)

    # --- contributors to owners

    def _contribute(self, step: int) -> None:
        """What this node has reduced for vertices of other nodes goes to their owners, and comes from them."""
        transport, arrays, mark = self.transport, list(self.accumulators.values()), self._mark(step)
        self._reduce_high(step)
        for peer, vertices in self.lists.give.items():
            chosen = self.stamp[vertices] == mark if self.lowered.sparse else np.ones(len(vertices), bool)
            message, some = packed(vertices, chosen, lambda some: [array[some] for array in arrays], self.traffic)
            transport.post(peer, message, tag=1)
            for name, array in self.accumulators.items():
                array[some] = _identity(self.lowered.reductions[name].operation, array.dtype)
        for peer, vertices in self.lists.take.items():
            some, values = unpacked(transport.collect(peer, tag=1), vertices, arrays)
            for (name, array), value in zip(self.accumulators.items(), values, strict=True):
                combine = _COMBINE[self.lowered.reductions[name].operation]
                array[some] = value if combine is None else combine(array[some], value)
            self.stamp[some] = mark
        transport.finish()
        transport.node_barrier()

    def _reduce_high(self, step: int) -> None:
        """Accumulators of vertices that every node has are reduced over all nodes, by one rank of each."""
        if self.high is None or self.transport.nodes == 1 or self.transport.place > 0:
            return
        high, mark = np.flatnonzero(self.high), self._mark(step)
        came = self.stamp[high] == mark
        anywhere = self.leaders.reduce(came.astype(np.uint8), "max").astype(bool) if self.lowered.sparse else came
        for name, array in self.accumulators.items():
            operation, mine = self.lowered.reductions[name].operation, array[high]
            if operation == "any":
                mine = np.where(came, mine, _identity("max", array.dtype))
                array[high] = np.where(anywhere, self.leaders.reduce(mine, "max"), array[high])
            else:
                array[high] = self.leaders.reduce(np.ascontiguousarray(mine), operation).reshape(mine.shape)
            self.traffic.values += mine.nbytes
        self.stamp[high[anywhere]] = mark

    def _leave_init_to_one(self) -> None:
        """What init gives to a vertex that every node has counts once: in the first node."""
        if self.transport.node > 0:
            for name, array in self.accumulators.items():
                array[self.everywhere] = _identity(self.lowered.reductions[name].operation, array.dtype)

    # --- owners to readers

    def _publish(self, step: int, mine: Array, everywhere: Array) -> None:
        """Own vertices that changed now send what they have prepared."""
        limit = self._limit() if self.lowered.ordered else 0.0
        heads = self.heads[8 * ((step + 1) & 1) :]
        later = [self.bits_at(step + 1), self._queue(step + 1), heads, self.told, self.counts]
        self._each("publish", step, mine, everywhere, limit, *later)

    def _limit(self) -> float:
        """Up to which priority vertices send: the end of the first bucket in which any waits. Collective."""
        least = np.full(self.options.threads, np.inf)
        before = self.tally.copy()
        self._call("least", 0, self.mine, least)
        lowest = least.min()
        self._call("least", 0, self.everywhere, least)
        self.tally[:] = before
        lowest = float(self.transport.reduce(np.array([min(lowest, least.min())]), "min")[0])
        return np.inf if lowest == np.inf else (np.floor(lowest / self._width) + 1) * self._width

    @cached_property
    def _width(self) -> float:
        return width(self.lowered, self.graph)

    def _tell(self, step: int) -> None:
        """What own vertices now send goes to the nodes that read them; what others send comes in."""
        transport, n = self.transport, self.graph.vertices
        now = [message[:n] for message in self.messages]
        told = np.sort(self.told[: int(self.counts[1])])
        if not self.early:
            for peer, vertices in self.lists.tell.items():
                chosen = self._chosen(vertices, told)
                transport.post(peer, packed(vertices, chosen, lambda some: [a[some] for a in now], self.traffic)[0])
        for peer, everything in self.lists.hear.items():
            for vertices in self._halves(peer, everything) if self.early else [everything]:
                some, values = unpacked(transport.collect(peer), vertices, now)
                for array, value in zip(now, values, strict=True):
                    array[some] = value
                if self.lowered.sparse and len(some):
                    self.join_frontier(step + 1, frozen(some))
        transport.finish()
        self.moves[told] = False

    def _tell_half(self, half: int) -> None:
        """What own vertices of one half have prepared, if it changed, goes to the nodes that read them."""
        n = self.graph.vertices
        later = [message[n:] for message in self.messages]
        for peer, everything in self.lists.tell.items():
            vertices = self._halves(self.transport.rank, everything)[half]
            if self.lowered.sparse:
                chosen = self.moves[vertices]
            else:
                chosen = np.zeros(len(vertices), bool)
                for now, then in zip(self.messages, later, strict=True):
                    differs = now[vertices] != then[vertices]
                    chosen |= differs.any(axis=1) if differs.ndim > 1 else differs
            self.transport.post(
                peer, packed(vertices, chosen, lambda some: [array[some] for array in later], self.traffic)[0]
            )

    def _halves(self, owner: int, vertices: Array) -> list[Array]:
        """Vertices of an owner: those in the first half of its own, and the others."""
        if owner not in self.middles:
            own = self.parts.owned(owner)
            self.middles[owner] = int(own[len(own) // 2]) if len(own) else 0
        cut = int(np.searchsorted(vertices, vertices.dtype.type(self.middles[owner])))
        return [vertices[:cut], vertices[cut:]]

    def join_frontier(self, step: int, vertices: Array) -> None:
        """Vertices of other nodes are in the frontier of a superstep."""
        heads = self.heads[8 * (step & 1) :]
        self._call_plain("receive", vertices, self.bits_at(step), self._queue(step), heads)

    def _tell_all(self) -> None:
        """Every vertex sends once at the start, when pull will not ask who is in the frontier."""
        n = self.graph.vertices
        for which in (self.mine, self.everywhere):
            for message in self.messages:
                message[which] = message[n + which.astype(np.int64)]
        for peer, vertices in self.lists.tell.items():
            self.transport.post(peer, [message[vertices] for message in self.messages], tag=2)
        for peer, vertices in self.lists.hear.items():
            values = rows_of(self.transport.collect(peer, tag=2), 0, len(vertices), self.messages)
            for message, value in zip(self.messages, values, strict=True):
                message[vertices] = value
        self.transport.finish()

    def _chosen(self, vertices: Array, told: Array) -> Array:
        """Which of the vertices are among those told."""
        if len(told) * 16 > len(vertices):
            return self.moves[vertices]
        chosen = np.zeros(len(vertices), bool)
        places = np.searchsorted(vertices, told)
        inside = places < len(vertices)
        chosen[places[inside][vertices[places[inside]] == told[inside]]] = True
        return chosen

    def _agree(self, seconds: float) -> tuple[int, float]:
        """Add up what all ranks have counted; how many vertices changed, and the residual."""
        size, rank = self.transport.size, self.transport.rank
        mine = np.zeros(_COUNTED + size)
        mine[:3] = self.tally[:, :3].sum(axis=0)
        mine[3] = self.counts[1] - self.counts[2]
        mine[4] = self.over()
        mine[5:_COUNTED] = self.traffic.values, self.traffic.places + self.traffic.headers
        mine[_COUNTED + rank] = seconds
        self.traffic = Traffic()
        total = self.transport.reduce(mine, "sum")
        self.size, self.edges = int(total[3]), int(total[1])
        self.bytes, self.more_bytes = int(total[5]), int(total[6])
        self.stopped = total[4] > 0
        self.part_seconds = tuple(total[_COUNTED:].tolist())
        self.slowest = max(self.part_seconds)
        residual = float(total[2])
        if "residual" not in self.lowered.functions:
            residual = np.inf
        elif self.lowered.deterministic:
            residual = self._ordered_residual()
        return int(total[0]), residual

    def _ordered_residual(self) -> float:
        """The sum of all residuals in the order in which one process adds them up."""
        everywhere = self.residuals
        if self.transport.nodes > 1:
            pieces = self.transport.gather(self.residuals[self.mine])
            everywhere = np.zeros_like(self.residuals)
            for rank, piece in enumerate(pieces):
                everywhere[self.parts.owned(rank)] = piece
        total = np.zeros(1)
        self._call_plain("residual", everywhere, CHUNK, total)
        self.transport.node_barrier()
        return float(total[0])

    # --- the end

    def _collected(self) -> dict[str, Array]:
        """All fields of all vertices, in arrays of this rank's own."""
        self.transport.barrier()
        made = {name: array.copy() for name, array in self.fields.items()}
        if self.transport.nodes > 1:
            own = self.parts.owned(self.transport.rank)
            for array in made.values():
                for rank, piece in enumerate(self.transport.gather(array[own].reshape(-1))):
                    array[self.parts.owned(rank)] = piece.reshape(-1, *array.shape[1:])
        return made

    # --- kernels

    def _each(self, name: str, step: int, mine: Array, everywhere: Array, *given: Any) -> None:
        """Run a kernel on own vertices, and on the share of those that every node has, which one node counts."""
        self._call(name, step, mine, *given)
        if not len(everywhere):
            return
        tally, told = self.tally.copy(), int(self.counts[1])
        self._call(name, step, everywhere, *given)
        if self.transport.node > 0:
            self.tally[:] = tally
            self.counts[2] += self.counts[1] - told

    def _call(self, name: str, step: int, *given: Any) -> None:
        self._call_plain(name, step, *given, *self.held, *self.constants)

    def _call_plain(self, name: str, *arguments: Any) -> None:
        """Run a kernel; before its first use one rank compiles it for all."""
        kernel, threads = getattr(self.made, f"part_{name}"), self.options.threads
        if name not in self.ready:
            self.ready.add(name)
            begun = time.perf_counter()
            alone = name in _ALONE or self.transport.rank == 0
            if not alone:
                self.transport.barrier()
            kernel.ready(0, threads, np.zeros(16, np.int64), *arguments)
            if alone and name not in _ALONE:
                self.transport.barrier()
            self.compiled += time.perf_counter() - begun
        if threads == 1 or name in _ALONE:
            kernel(0, 1, np.zeros(16, np.int64), *arguments)
        else:
            launch(kernel, threads, *arguments, threads=threads)


def _identity(operation: str, dtype: np.dtype[Any]) -> Any:
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
