"""A program on parts of a graph: compute the parts, exchange what changed, test for convergence, balance.

Every rank runs the same loop over its own part and meets the others twice a superstep: when all ranks of its node have
read what the node's vertices send (then it may change), and when all parts have reported how much changed.
`node_state.py` has what a node shares, `compute.py` what a rank computes, `exchange/` what nodes send each other, and
`balance/` when and how bounds of parts move.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from arcflux import trace
from arcflux.compile.direction import Direction
from arcflux.compile.lower import Lowered
from arcflux.devices import CPU, Device
from arcflux.engine.agreement import Agreement, agree
from arcflux.engine.balance.migrate import Balancer
from arcflux.engine.compute import Compute
from arcflux.engine.exchange.collect import collect_fields, collect_senders
from arcflux.engine.exchange.cut_edges import CutEdges, collect_edges
from arcflux.engine.exchange.model import Model
from arcflux.engine.loop import Options, tolerance_of
from arcflux.engine.node_state import NodeState
from arcflux.engine.own_part import OwnPart
from arcflux.engine.part_worker import PartWorker
from arcflux.engine.record import Record
from arcflux.graph import Graph
from arcflux.result import Result
from arcflux.spmd.interrupt import ending_by_itself
from arcflux.transports.base import Transport

__all__ = ["PartRun", "Setting"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Setting:
    """What all ranks of a run agree on.

    model: the exchange, and the split it needs; options; over: whether to stop early; devices: one for each part, or
    None for cores; rebalance: "auto", "local" or "off"; network: bytes a second between nodes, None if not measured.
    """

    model: Model
    options: Options
    over: Callable[[], bool]
    devices: Sequence[Device] | None = None
    rebalance: str = "off"
    network: float | None = None


class PartRun:
    """One rank's part of a run."""

    def __init__(
        self, lowered: Lowered, graph: Graph, values: Mapping[str, Array], setting: Setting, transport: Transport,
        like: NodeState | None = None,
    ) -> None:  # fmt: skip
        """`like`: the state whose fields this run shares, if it is one of several phases."""
        options, devices, model = setting.options, setting.devices, setting.model
        device = CPU(options.threads) if devices is None else devices[transport.rank]
        apart = transport.nodes == transport.size > 1  # each rank is a node of its own and shares no memory
        linked = apart and devices is not None and all(each.kind == "cuda" for each in devices)
        own = OwnPart.take(model.parts, model.replicated, transport, lowered.columns)
        state = NodeState(lowered, graph, values, options.threads, transport, like)
        self.lowered, self.graph, self.values, self.options = lowered, graph, values, options
        self.worker = PartWorker(state, own, device, options.threads, linked, setting.over)
        self.exchange = model.strategy(self.worker)
        self.compute = Compute(self.worker, self.exchange)
        self.mail = self.compute.mail
        self.cut_edges = CutEdges(self.worker, self.exchange.meter)
        self.direction = Direction(lowered, options.direction, graph.vertices, graph.arcs, options.push_over_pull)
        how = "off" if lowered.mails else setting.rebalance  # mail waits with owners
        self.balancer = Balancer(self.worker, self.exchange, how, options.limit, setting.network)
        self.record = Record(self.direction, transport.size)
        self.notes = [said for said in (model.note, self.worker.note, self.balancer.note) if said]
        self.finished, self.tolerance = graph.vertices == 0, tolerance_of(lowered)
        self.broken_off = False  # in the program's `stop`

    def run(self) -> Result:
        """Run; every rank returns the same result."""
        begun = time.perf_counter()
        with ending_by_itself():
            agreed = self.start()
            with trace.task(self.lowered.program.name, unit="supersteps") as task:
                while self._goes_on(agreed):
                    agreed = self.superstep(agreed)
                    task.at(self.step)
            if self.options.piece is not None and not (agreed.torn and self.lowered.ordered):
                self.options.piece.senders = collect_senders(self.worker, self.step)
            return self._result(begun)

    @property
    def step(self) -> int:
        """The number of the next superstep."""
        return self.options.first + len(self.record)

    def superstep(self, last: Agreement) -> Agreement:
        """Execute one superstep; returns the counts of all ranks. A torn superstep is undone."""
        worker, exchange, transport = self.worker, self.exchange, self.worker.transport
        transport.superstep = step = self.step
        started, before, edges = time.perf_counter(), self.saved(), worker.saved_edges()
        worker.state.edges.begin(self.lowered, step)
        pull = self.direction.choose(last.senders, last.edges)
        seconds = self.compute.superstep(step, pull)
        transport.node_barrier()
        self.compute.publish(step)
        exchange.tell(step, self.compute.halves)
        self.cut_edges.tell()
        agreed = agree(worker, "update", seconds, exchange.meter.taken(), self.balancer.told)
        if agreed.torn:
            worker.restore(*before)
            worker.restore_edges(edges)
            return agreed
        worker.state.edges.advance(self.lowered, 1)
        self._converge(last, agreed, started)
        if not (self.finished or self.broken_off) and (cost := self.balancer.after(step, agreed)):
            self.record.balanced(*cost)
        return agreed

    def _goes_on(self, agreed: Agreement) -> bool:
        """Whether to execute another superstep; there is at least one, even if the time is over."""
        over = agreed.torn or self.broken_off or (agreed.stopped and len(self.record))
        return not (self.finished or over) and self.step < self.options.limit

    def start(self) -> Agreement:
        """Run `start` for the state before the next superstep; vertices that are active at first send."""
        step = self.step
        before = self.saved(first=not len(self.record))
        self.direction.begin()
        self.compute.start(step)
        self.exchange.tell(step - 1, halves=False)
        agreed = agree(self.worker, "start", 0.0, self.exchange.meter.taken(), None)
        if agreed.torn:
            self.worker.restore(*before)
            return agreed
        piece = self.options.piece
        self.worker.set_totals({**agreed.totals, **(piece.totals if piece is not None else {})})
        if self.lowered.sparse:
            self.finished = agreed.senders == 0
        if self.lowered.rests:
            self.finished = agreed.changed == 0 and not self._mail_under_way()
        return agreed

    def _mail_under_way(self) -> bool:
        """Whether any vertex has mail that it has not received."""
        return self.mail is not None and self.mail.under_way > 0

    def saved(self, first: bool = False) -> tuple[Array, dict[str, Array]]:
        """Own vertices and their fields, if a superstep may have to be undone; at `first`, their initial values."""
        if not self.worker.polled:
            return self.worker.own.mine, {}
        vertices = self.worker.own.updated
        before = self.worker.saved(vertices)
        if first:
            for name, array in before.items():
                array[:] = self.values[name][vertices] if name in self.values else 0
        return vertices, before

    def _converge(self, last: Agreement, agreed: Agreement, started: float) -> None:
        """Record the superstep, and decide whether the run has converged."""
        lowered, graph = self.lowered, self.graph
        self.worker.set_totals(agreed.totals)
        self.worker.state.totals.note()
        measured = "residual" in lowered.functions
        edges, frontier = (last.edges, last.senders) if lowered.sparse else (graph.arcs, graph.vertices)
        edges = edges if lowered.has_edges else 0
        if self.mail is not None and lowered.rests:  # vertices that took part, and the records that they received
            frontier, edges = agreed.edges, self.mail.delivered
        self.direction.measured(edges, max(agreed.part_seconds))
        over = (agreed.senders if lowered.sparse else agreed.changed) == 0 and not self._mail_under_way()
        self.finished = over or (measured and agreed.residual < self.tolerance)
        stops = self.worker.stops(self.step)
        self.finished, self.broken_off = bool(stops) or self.finished, stops is None
        self.record.add(
            agreed.part_seconds, self.worker.own.parts.bounds, pull=self.direction.pull, frontier=frontier,
            residual=agreed.residual if measured else 0.0, seconds=time.perf_counter() - started,
            changed=agreed.changed, edges=edges, bytes=agreed.values, more_bytes=agreed.besides,
        )  # fmt: skip

    def _result(self, begun: float) -> Result:
        worker, program, totals = self.worker, self.lowered.program, self.worker.state.totals
        fields = collect_fields(worker)
        if self.mail is not None:
            self.mail.close()
        collect_edges(worker)
        edges = worker.state.edges.result()
        worker.calls.close()
        worker.state.team.end()
        worker.release()
        compiled = worker.calls.compiled
        seconds = time.perf_counter() - begun - compiled
        nodes = f"{worker.transport.nodes} nodes" if worker.transport.nodes > 1 else "one node"
        return Result(
            program.name, self.graph, fields, self.record.history(totals.history), self.finished, seconds, compiled,
            program.references, exchange=self.exchange.name, where=f"{worker.transport.size} parts on {nodes}",
            notes=tuple(self.notes), totals=totals.last, edges=edges,
        )  # fmt: skip
