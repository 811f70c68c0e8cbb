"""Phases on a team that shares everything: the fields stay, and each phase has a loop whose arrays are borrowed once.

A call of a phase is two launches: `started`, which asks the phase's `start` and makes what vertices send of the fields
as they are now, and the kernel of its supersteps; one where there is nothing to ask and nothing to send. Supersteps of
a phase are counted on from one call to the next, so that its queues, stamps and halves of messages go on as if the run
had never left it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache
from arcflux.compile.cpu import module as cpu
from arcflux.compile.failures import refusing_failures
from arcflux.compile.lower import Lowered, fact
from arcflux.compile.pieces.source import polls
from arcflux.engine.loop import Loop, Options, ending, stopping
from arcflux.engine.phases.host import Advanced, host
from arcflux.engine.phases.lowered import LoweredPhases
from arcflux.engine.state import State, parameter_values
from arcflux.engine.together import loop_of
from arcflux.engine.totals import shown
from arcflux.graph import Graph
from arcflux.result import History, Result, Superstep
from arcflux.spmd.team import Team

__all__ = ["phases_together"]

Array = NDArray[Any]
Glance = Callable[[Array], None]

# Supersteps of one launch: a phase that is called for one superstep at a time has no use for a long history.
_AT_ONCE = 256


def phases_together(
    lowered: LoweredPhases, graph: Graph, values: Mapping[str, Any], options: Options, team: Team
) -> Result:
    """Run a program with phases on a team whose workers see all of the graph and its state."""
    begun, program = time.perf_counter(), lowered.program
    team.at(-1)
    options = replace(options, at_once=min(options.at_once, _AT_ONCE))
    state = State(lowered.first, graph, values, team, options.at_once)
    with stopping(options, team.agreed) as over:
        stage = _Team(lowered, graph, state, options, team, over)
        once = time.perf_counter() - begun
        once += stage.start()
        p = dict(zip(program.constants, parameter_values(program, graph), strict=True))
        limit = 0 if stage.torn else options.limit
        hosted = host(program, stage, limit, graph, p, lambda: state.totals.history)
        fields = {name: team.result(array) for name, array in state.fields.items()}
        edges = state.edges.result()
        stage.give_back()
    seconds = time.perf_counter() - begun - once
    return Result(
        program.name, graph, fields, hosted.history, hosted.converged, seconds, once, program.references,
        totals=hosted.totals, iterations=hosted.iterations, edges=edges,
    )  # fmt: skip


@fact
def _asks(lowered: Lowered) -> bool:
    """Whether a call begins with `started`: not where all are active, send nothing and have no start."""
    start = lowered.functions["start"]
    quiet = not (start.writes or lowered.totals_of("start") or polls(lowered, "start"))
    return lowered.sparse or bool(lowered.messages) or not quiet


class _Team:
    """A team as the stage of phases."""

    def __init__(
        self, lowered: LoweredPhases, graph: Graph, state: State, options: Options, team: Team,
        over: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.first, self.state, self.team, self._over = lowered.first, state, team, over
        self.options = options
        self.phases = {
            name: _Phase(each, state.of(each, lowered.view(name, graph)), options, team, over)
            for name, each in lowered.phases.items()
        }
        self.torn = False

    def over(self) -> bool:
        """Whether the run is to end."""
        return self.team.agreed(self._over())

    def total(self, name: str) -> Any:
        """A total as it is now."""
        return shown(self.state.totals.values[name][0])

    def start(self) -> float:
        """The first state, and all kernels compiled; the seconds of compiling."""
        loop = loop_of(self.first, self.state.graph, cache.module(cpu.source(self.first)), self.options, self.team)
        glance = loop.watched(self._over) if loop.polled else None
        compiled = self.state.start(loop.made, [], glance)
        self.torn = loop.torn
        if self.torn:
            self.state.reset()
        for phase in self.phases.values():
            with refusing_failures(phase.state.lowered):
                compiled += phase.compile()
        return compiled

    def give_back(self) -> None:
        """The run is over: what was borrowed serves the next one."""
        for phase in self.phases.values():
            phase.loop.give_back()


class _Phase:
    """A phase with its loop; `steps` counts its supersteps in all calls."""

    def __init__(self, lowered: Lowered, state: State, options: Options, team: Team, over: Callable[[], bool]) -> None:
        self.loop: Loop = loop_of(lowered, state.graph, cache.module(cpu.source(lowered)), options, team)
        self.state, self.team, self.over = state, team, over
        self.glance = self.loop.watched(over)
        self.steps = 0
        self.rows: list[Array] = []
        self.asking: dict[int, list[Any]] = {}
        self.timed = ending(options) is not None
        self.asks = _asks(lowered)
        self.contributes = lowered.totals_of("start") or lowered.totals_of("update")

    def compile(self) -> float:
        """Borrow all arrays, and compile all kernels; the seconds of compiling."""
        loop, state = self.loop, self.state
        loop.prepare()
        loop.extra()
        begun = time.perf_counter()
        loop.made.started.ready(0, self.team.workers, np.zeros(16, np.int64), *self._starting())
        compiled = time.perf_counter() - begun
        state.active[:] = True
        return compiled + loop.compile(state)

    def _starting(self) -> list[Any]:
        """The arguments of `started`: those of even supersteps and those of odd ones, made once."""
        half = self.steps & 1
        if half not in self.asking:
            graph, state = self.state.graph, self.state
            offsets = [graph.into.offsets, graph.out.offsets]
            self.asking[half] = [*offsets, state.active, *self.loop.started(self.steps), *state.constants]
        return self.asking[half]

    def _start(self) -> None:
        """Ask `start` of every vertex, and make what they send."""
        loop, state = self.loop, self.state
        if loop.brief and self.team.kind == "threads" and not self.timed:
            state.launch_start(loop.made, self._starting(), brief=True)
        else:
            state.launch_start(loop.made, self._starting(), self.glance)

    def advance(self, room: int, quiet: bool) -> Advanced:
        """Ask `start`, then take one superstep, or as many as it takes until no vertex changes."""
        loop, changed, limit = self.loop, 0, self.steps + (room if quiet else 1)
        taken, before = self.steps, loop.saved()
        if self.asks:
            self._start()
        if loop.torn:
            loop.restore(before)
            return Advanced(0, 0, True)
        if self.contributes:
            self._begin_totals()
        loop.begin_call(taken)
        loop.refill(self.state, taken)
        cut = False
        while not (loop.finished or cut) and self.steps < limit:
            rows = loop.advance(self.steps, limit, self.glance)
            if rows is None:
                if self.steps == taken:
                    loop.restore(before)
                return Advanced(self.steps - taken, changed, True)
            self.rows.append(rows)
            self.steps += len(rows)
            changed += int(np.sum(loop.columns(rows)["changed"]))
            cut = quiet and not loop.finished and (self.steps >= limit or self.team.agreed(self.over()))
        return Advanced(self.steps - taken, changed, cut)

    def _begin_totals(self) -> None:
        """What `start` has contributed is known; kernels of other phases have left sums in places of their own."""
        state = self.state
        state.totals.begin(state.lowered.totals_of("start"), state.chunks)
        self.team.together()
        if self.team.leads:
            state.totals.clear(each.name for each in self.contributes)

    def history(self) -> Sequence[Superstep]:
        """All its supersteps so far."""
        return History(self.loop.past(self.rows), self.loop.superstep, self.loop.columns)
