"""Phases in plain Python: the user's own functions, vertex by vertex, over one list of states."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

from arcflux.compile.python.promises import check_same_end, check_settled
from arcflux.compile.python.run import PlainRun, fields_of, given_fields, without_garbage_collection
from arcflux.compile.python.totals import Counted
from arcflux.engine.phases.host import Advanced, host
from arcflux.engine.phases.lowered import LoweredPhases
from arcflux.graph import Graph
from arcflux.result import Result, Superstep
from arcflux.spmd.interrupt import unless_over

__all__ = ["phases_in_python"]


@without_garbage_collection()
def phases_in_python(
    lowered: LoweredPhases, graph: Graph, limit: int, given: Mapping[str, Any], over: Callable[[], bool] | None
) -> Result:
    """Run a program with phases in plain Python and check its promises; a superstep that is `over` is undone."""
    begun, program = time.perf_counter(), lowered.program
    first = unless_over(lambda: PlainRun(lowered.first, graph, given), over)
    if first is None:  # start was interrupted: fields are as they were before it
        fields = given_fields(lowered.first, graph, given)
        return Result(program.name, graph, fields, [], False, time.perf_counter() - begun, iterations=0)
    stage = _Plain(lowered, graph, first, over)
    hosted = host(program, stage, limit, graph, vars(first.p))
    fields = fields_of(lowered.first, first.states)
    return Result(
        program.name, graph, fields, hosted.history, hosted.converged, time.perf_counter() - begun,
        references=program.references, totals=hosted.totals, iterations=hosted.iterations,
        edges=first.edge_state.result(),
    )  # fmt: skip


class _Plain:
    """Plain Python as the stage of phases."""

    def __init__(self, lowered: LoweredPhases, graph: Graph, first: PlainRun, over: Callable[[], bool] | None) -> None:
        self._over, self._g = over, first.g
        self.phases = {
            name: _Phase(PlainRun(each, lowered.view(name, graph), {}, like=first), first, over)
            for name, each in lowered.phases.items()
        }

    def total(self, name: str) -> Any:
        """The current value of a total."""
        return self._g.shown()[name]

    def iterate(self, iterations: int, changed: int, room: int) -> None:
        """None: Python decides."""

    def over(self) -> bool:
        """Whether the run has to end."""
        return self._over is not None and self._over()


class _Phase:
    """A phase over the states of `first`."""

    def __init__(self, run: PlainRun, first: PlainRun, over: Callable[[], bool] | None) -> None:
        self.run, self.first, self.over = run, first, over
        self.taken: list[Superstep] = []
        self.fresher: PlainRun | None = None

    def advance(self, room: int, quiet: bool) -> Advanced:
        """Run `start`, then one superstep, or as many as it takes until no vertex changes."""
        run, before, totals = self.run, self.first.states, copy.deepcopy(self.first.g)
        run.states = before
        run.begin_superstep(len(self.taken))
        if unless_over(run.begin, self.over) is None:
            return Advanced(0, 0, True)
        if not run.active:
            self.first.states = run.states
            return Advanced(0, 0, False)
        rows = run.supersteps(room if quiet else 1, self.over, len(self.taken), at_least=1)
        self.taken += rows
        self.first.states = run.states if rows else before
        cut = not rows or (quiet and bool(run.active))
        if quiet and not cut and "monotone" in run.lowered.program.promises:
            self._check_fresher(before, totals, len(rows))
        return Advanced(len(rows), sum(row.changed or 0 for row in rows), cut)

    def _check_fresher(self, before: list[dict[str, Any]], totals: Counted, supersteps: int) -> None:
        """Check that the call ends in the same state if vertices see changes of the same superstep."""
        run = self.run
        if self.fresher is None:
            self.fresher = PlainRun(run.lowered, run.graph, {}, fresh=True, like=self.first)
        fresh = self.fresher
        fresh.states, fresh.g, first = before, totals, len(self.taken) - supersteps
        fresh.begin_superstep(first)
        fresh.begin()
        fresh.supersteps(supersteps + run.graph.vertices, first=first, at_least=1)
        if "residual" in run.lowered.functions:
            check_settled(fresh)
        else:
            check_same_end(run, fresh)

    def history(self) -> list[Superstep]:
        """All its supersteps so far."""
        return self.taken
