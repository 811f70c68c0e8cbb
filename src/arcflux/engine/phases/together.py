"""Phases on a team that shares all memory: fields stay, and each phase has a loop that borrows its arrays once.

A call of a phase is two launches: `started`, which runs the phase's `start` and computes what vertices send from the
current fields, and the kernel of its supersteps. It is one launch if there is no start to run, and all that is sent are
fields that the phase does not change. The supersteps of a phase are numbered on from one call to the next, so that its
queues, stamps and halves of messages continue as if the run had never left it. Where the order of calls is fixed, many
iterations become one launch (fused.py) once calls have lost as much time as compiling took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from arcflux import trace
from arcflux.compile import cache
from arcflux.compile.cpu import module as cpu
from arcflux.compile.failures import refusing_failures
from arcflux.engine.loop import Options, seconds_of, stopping
from arcflux.engine.phases.calls import Phase
from arcflux.engine.phases.fused import Fused, fusing
from arcflux.engine.phases.host import Several, host
from arcflux.engine.phases.lowered import LoweredPhases
from arcflux.engine.state import State, parameter_values
from arcflux.engine.together import loop_of
from arcflux.engine.totals import shown
from arcflux.errors import ProgramError
from arcflux.graph import Graph
from arcflux.result import Result
from arcflux.spmd.interrupt import ending_by_itself
from arcflux.spmd.team import Team

__all__ = ["phases_together"]

# Facts of a program: the seconds that its iterations spent outside of kernels, and those that compiling took.
_LOST, _COMPILED = "lost by calls", "compiling phases"
# Supersteps of one launch: a phase that is called for one superstep at a time needs no long history.
_AT_ONCE = 256


def phases_together(
    lowered: LoweredPhases, graph: Graph, values: Mapping[str, Any], options: Options, team: Team
) -> Result:
    """Run a program with phases on a team whose workers all see the graph and its state."""
    begun, program = time.perf_counter(), lowered.program
    team.at(-1)
    state = State(lowered.first, graph, values, team, options.at_once)
    with stopping(options, team.agreed) as over:
        stage = _Team(lowered, graph, state, options, team, over)
        once = time.perf_counter() - begun
        once += stage.start()
        p = dict(zip(program.constants, parameter_values(program, graph), strict=True))
        limit = 0 if stage.torn else options.limit
        hosted = host(program, stage, limit, graph, p, lambda: state.totals.history)
        with ending_by_itself():
            fields = {name: team.result(array) for name, array in state.fields.items()}
            edges = state.edges.result()
            stage.give_back()
    once += stage.compiled
    seconds = time.perf_counter() - begun - once
    return Result(
        program.name, graph, fields, hosted.history, hosted.converged, seconds, once, program.references,
        totals=hosted.totals, iterations=hosted.iterations, edges=edges,
    )  # fmt: skip


class _Team:
    """A team as the stage of phases."""

    def __init__(
        self, lowered: LoweredPhases, graph: Graph, state: State, options: Options, team: Team,
        over: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.first, self.state, self.team, self._over = lowered.first, state, team, over
        self.options = options
        called = replace(options, at_once=min(options.at_once, _AT_ONCE))
        self.phases = {
            name: Phase(each, state.of(each, lowered.view(name, graph)), called, team, over)
            for name, each in lowered.phases.items()
        }
        self.torn = False
        self.fused: Fused | None = None
        # Whether each call is a launch of its own, whatever it costs; and when the last iteration began.
        self.alone = False
        self.asked: float | None = None
        self.compiled = 0.0

    def over(self) -> bool:
        """Whether the run has to end."""
        return self.team.agreed(self._over())

    def total(self, name: str) -> Any:
        """The current value of a total."""
        return shown(self.state.totals.values[name][0])

    def iterate(self, iterations: int, changed: int, room: int) -> Several | None:
        """Run iterations in one launch, if their order is fixed and calls have cost enough."""
        if self.fused is None and not self.alone:
            facts = self.first.facts
            facts[_LOST] = facts.get(_LOST, 0.0) + self._lost()
            if facts[_LOST] > facts[_COMPILED]:
                self._fuse()
        if self.fused is None:
            return None
        return self.fused.iterate(iterations, changed, room, self.fused.watched(self._over))

    def _lost(self) -> float:
        """The seconds since the last iteration began in which no kernel executed a superstep."""
        now, ticks = time.perf_counter(), sum(phase.recent_ticks() for phase in self.phases.values())
        before, self.asked = self.asked, now
        return 0.0 if before is None else max(0.0, now - before - seconds_of(ticks))

    def _fuse(self) -> None:
        """Compile the kernel of many iterations, if there is one."""
        begun = time.perf_counter()
        self.fused = fusing(self.first, self.phases, self.state, self.options)
        try:
            if self.fused is not None:
                with refusing_failures(self.first):
                    self.fused.ready()
        except ProgramError as failed:  # separate calls give the same results without that kernel
            trace.note(f"each call of a phase is a launch: {failed}")
            self.fused = None
        self.alone = self.fused is None
        self.compiled = time.perf_counter() - begun

    def start(self) -> float:
        """Compute the first state, and compile all kernels; returns the seconds of compiling."""
        loop = loop_of(self.first, self.state.graph, cache.module(cpu.source(self.first)), self.options, self.team)
        glance = loop.watched(self._over) if loop.polled else None
        compiled = self.state.start(loop.made, [], glance)
        self.torn = loop.torn
        if self.torn:
            self.state.reset()
        for phase in self.phases.values():
            with refusing_failures(phase.state.lowered):
                compiled += phase.compile()
        facts = self.first.facts
        facts[_COMPILED] = max(compiled, facts.get(_COMPILED, 0.0))
        return compiled

    def give_back(self) -> None:
        """Release borrowed memory for the next run."""
        for phase in self.phases.values():
            phase.loop.give_back()
        if self.fused is not None:
            self.fused.give_back()
