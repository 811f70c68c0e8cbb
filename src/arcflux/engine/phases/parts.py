"""Phases on parts of a graph: each vertex has the same owner in all of them, and its fields stay in that node's memory.

Every phase is a run on parts of its own view of the graph, with its own messages and lists of readers, over the same
fields. A call begins like a run: `start` computes what vertices send, and changes since the last call are sent to other
nodes. Every rank runs `iteration`, on the reduced counts of all ranks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from arcflux.engine.agreement import Agreement
from arcflux.engine.exchange.collect import collect_fields
from arcflux.engine.exchange.cut_edges import collect_edges
from arcflux.engine.exchange.model import Model
from arcflux.engine.exchange.own_nodes import with_own_nodes
from arcflux.engine.loop import Options
from arcflux.engine.parts import PartRun, Setting
from arcflux.engine.phases.host import Advanced, host
from arcflux.engine.phases.lowered import LoweredPhases
from arcflux.engine.phases.models import FIRST, phase_models
from arcflux.engine.phases.together import phases_together
from arcflux.engine.spread import SHARED, Spread, spread_out
from arcflux.engine.state import parameter_values
from arcflux.engine.totals import shown
from arcflux.graph import Graph
from arcflux.partition.parts import Parts
from arcflux.result import Result, Superstep
from arcflux.spmd.interrupt import ending_by_itself
from arcflux.spmd.team import Team
from arcflux.transports.base import Transport

__all__ = ["phases_spread"]

Array = NDArray[Any]


def phases_spread(
    lowered: LoweredPhases, graph: Graph, values: Mapping[str, Array], options: Options, spread: Spread
) -> Result:
    """Run a program with phases on parts: on the ranks of this process's job, or on threads of this process."""

    def together(options: Options, team: Team) -> Result:
        return phases_together(lowered, graph, values, options, team)

    def work(transport: Transport, parts: Parts, over: Callable[[], bool]) -> Result:
        models = phase_models("auto" if spread.exchange == SHARED else spread.exchange, lowered, graph, parts)
        setting = Setting(models[FIRST], options, over, spread.devices)
        if spread.devices is None:
            return _Parts(lowered, graph, values, setting, models, transport).run()
        if any(model.name != "readers" for model in models.values()):
            transport = with_own_nodes(transport, [device.kind == "cuda" for device in spread.devices])
        device = spread.devices[transport.rank]
        setting = replace(setting, options=replace(options, threads=device.threads))
        with device.active():
            return _Parts(lowered, graph, values, setting, models, transport).run()

    return spread_out(spread, graph, options, together, work)


class _Parts:
    """One rank of the parts as the stage of phases."""

    def __init__(
        self, lowered: LoweredPhases, graph: Graph, values: Mapping[str, Array], setting: Setting,
        models: Mapping[str, Model], transport: Transport,
    ) -> None:  # fmt: skip
        self.begun = time.perf_counter()
        self.program, self.graph, self.transport, self.options = lowered.program, graph, transport, setting.options
        self.first = PartRun(lowered.first, graph, values, setting, transport)
        like = self.first.worker.state
        self.phases = {
            name: _Phase(PartRun(each, view, {}, replace(setting, model=models[name]), transport, like))
            for name, each in lowered.phases.items()
            for view in [lowered.view(name, graph)]
        }
        self.stopped = False

    def iterate(self, iterations: int, changed: int, room: int) -> None:
        """Python decides on every rank: between supersteps values are sent to other nodes."""

    def over(self) -> bool:
        """Whether the run has to end, as all ranks agreed in the last superstep."""
        return any(phase.agreed is not None and phase.agreed.stopped for phase in self.phases.values())

    def total(self, name: str) -> Any:
        """The current value of a total, which all ranks have agreed on."""
        return shown(self.first.worker.state.totals.values[name][0])

    def run(self) -> Result:
        """Run; every rank returns the same result."""
        with ending_by_itself():
            return self._run()

    def _run(self) -> Result:
        graph, program = self.graph, self.program
        agreed = self.first.start()
        p = dict(zip(program.constants, parameter_values(program, graph), strict=True))
        past = self.first.worker.state.totals
        hosted = host(program, self, 0 if agreed.torn else self.options.limit, graph, p, lambda: past.history)
        runs = [phase.run for phase in self.phases.values()]
        fields = collect_fields(self.first.worker)
        collect_edges(self.first.worker)
        edges = self.first.worker.state.edges.result()
        for run in (*runs, self.first):
            run.worker.calls.close()
            run.worker.release()
        self.first.worker.state.team.end()
        compiled = sum(run.worker.calls.compiled for run in (*runs, self.first))
        seconds = time.perf_counter() - self.begun - compiled
        nodes = f"{self.transport.nodes} nodes" if self.transport.nodes > 1 else "one node"
        names = sorted({run.exchange.name for run in runs if run.lowered.has_edges})
        return Result(
            program.name, graph, fields, hosted.history, hosted.converged, seconds, compiled, program.references,
            exchange=" and ".join(names), where=f"{self.transport.size} parts on {nodes}",
            notes=tuple(dict.fromkeys(note for run in (self.first, *runs) for note in run.notes)), totals=hosted.totals,
            iterations=hosted.iterations, edges=edges,
        )  # fmt: skip


class _Phase:
    """A phase of one rank; `agreed`: the last counts of all ranks."""

    def __init__(self, run: PartRun) -> None:
        self.run = run
        self.agreed: Agreement | None = None

    def advance(self, room: int, quiet: bool) -> Advanced:
        """Run `start`, then one superstep, or as many as it takes until no vertex changes."""
        run, first, changed = self.run, len(self.run.record), 0
        vertices, before = run.saved()
        run.finished = run.graph.vertices == 0
        agreed = self.agreed = run.start()
        while not (run.finished or agreed.torn):
            agreed = self.agreed = run.superstep(agreed)
            if agreed.torn and len(run.record) == first:
                run.worker.restore(vertices, before)
            changed += 0 if agreed.torn else agreed.changed
            if not quiet or agreed.stopped or len(run.record) - first >= room:
                break
        cut = agreed.torn or (quiet and not run.finished)
        return Advanced(len(run.record) - first, changed, cut)

    def history(self) -> Sequence[Superstep]:
        """All its supersteps so far."""
        return self.run.record.history({})
