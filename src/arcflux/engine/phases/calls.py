"""A phase on a team, with its loop: what a call of it launches, and the supersteps of all calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache
from arcflux.compile.cpu import module as cpu
from arcflux.compile.lower import Lowered, fact
from arcflux.compile.pieces.source import has_long_loops
from arcflux.engine.loop import Loop, Options, ending
from arcflux.engine.phases.host import Advanced
from arcflux.engine.state import State
from arcflux.engine.together import loop_of
from arcflux.history import History, Superstep
from arcflux.spmd.team import Team

__all__ = ["Phase"]

Array = NDArray[Any]


@fact
def _asks(lowered: Lowered) -> bool:
    """Whether a call begins with `started`: not if all vertices are active, with no start, and send none or fields."""
    start = lowered.functions["start"]
    quiet = not (start.writes or lowered.totals_of("start") or has_long_loops(lowered, "start"))
    return lowered.sparse or bool(lowered.messages and not lowered.direct) or not quiet


class Phase:
    """A phase with its loop; `steps` counts its supersteps in all calls."""

    def __init__(self, lowered: Lowered, state: State, options: Options, team: Team, over: Callable[[], bool]) -> None:
        self.loop: Loop = loop_of(lowered, state.graph, cache.module(cpu.source(lowered)), options, team)
        self.state, self.team, self.over = state, team, over
        self.glance = self.loop.watched(over)
        self.steps = 0
        self.rows: list[Array] = []
        self.counted = 0
        self.asking: dict[int, list[Any]] = {}
        self.timed = ending(options) is not None
        self.asks = _asks(lowered)
        self.contributes = lowered.totals_of("start") or lowered.totals_of("update")

    def compile(self) -> float:
        """Borrow all arrays, and compile all kernels; returns the seconds of compiling."""
        loop, state = self.loop, self.state
        loop.prepare()
        loop.fields = state.fields
        loop.extra()
        begun = time.perf_counter()
        loop.made.started.ready(0, self.team.workers, np.zeros(16, np.int64), *self._starting())
        compiled = time.perf_counter() - begun
        state.active[:] = True
        return compiled + loop.compile(state)

    def _starting(self) -> list[Any]:
        """The arguments of `started`, for even supersteps and for odd ones; built once."""
        half = self.steps & 1
        if half not in self.asking:
            graph, state = self.state.graph, self.state
            offsets = [graph.into.offsets, graph.out.offsets]
            self.asking[half] = [*offsets, state.active, *self.loop.started(self.steps), *state.constants]
        return self.asking[half]

    def _start(self) -> None:
        """Run `start` on every vertex, and compute what they send."""
        loop, state = self.loop, self.state
        if loop.brief and self.team.kind == "threads" and not self.timed:
            state.launch_start(loop.made, self._starting(), brief=True)
        else:
            state.launch_start(loop.made, self._starting(), self.glance)

    def advance(self, room: int, quiet: bool) -> Advanced:
        """Run `start`, then one superstep, or as many as it takes until no vertex changes."""
        loop, changed, limit = self.loop, 0, self.steps + (room if quiet else 1)
        first, before = self.steps, loop.saved()
        if self.asks:
            self._start()
        if loop.torn:
            loop.restore(before)
            return Advanced(0, 0, True)
        if self.contributes:
            self._begin_totals()
        loop.begin_call(first)
        loop.refill(self.state, first)
        cut = False
        while not (loop.finished or cut) and self.steps < limit:
            rows = loop.advance(self.steps, limit, self.glance)
            if rows is None:
                if self.steps == first:
                    loop.restore(before)
                return Advanced(self.steps - first, changed, True)
            self.rows.append(rows)
            self.steps += len(rows)
            changed += int(np.sum(loop.columns(rows)["changed"]))
            cut = quiet and not loop.finished and (self.steps >= limit or self.team.agreed(self.over()))
        return Advanced(self.steps - first, changed, cut)

    def took(self, rows: Array, seconds: float) -> None:
        """Record supersteps that another launch executed, in this many seconds."""
        self.rows.append(rows)
        self.steps += len(rows)
        self.loop.seconds += seconds

    def recent_ticks(self) -> float:
        """The ticks of all supersteps since the last call of this."""
        ticks = sum(float(rows[:, 2].sum()) for rows in self.rows[self.counted :])
        self.counted = len(self.rows)
        return ticks

    def _begin_totals(self) -> None:
        """Reduce the totals of `start`, and clear the partial sums that kernels of other phases left."""
        state = self.state
        state.totals.begin(state.lowered.totals_of("start"), state.chunks)
        self.team.together()
        if self.team.leads:
            state.totals.clear(each.name for each in self.contributes)

    def history(self) -> Sequence[Superstep]:
        """All its supersteps so far."""
        return History(self.loop.past(self.rows), self.loop.superstep, self.loop.columns)
