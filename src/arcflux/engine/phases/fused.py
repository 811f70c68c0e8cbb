"""Many iterations in one launch, where their order is fixed (compile/iteration.py).

The kernel that calls the phases' kernels must be compiled or loaded as well; it saves the time of a launch and of
Python for each call. It is compiled once the calls have spent as much time outside of kernels as compiling or loading
the phases took: a program that runs once on a small graph never waits for it, one that runs often soon has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux.compile import cache
from arcflux.compile.cpu.fused import Called, fused, fused_order
from arcflux.compile.lower import Lowered
from arcflux.compile.pieces.source import shared
from arcflux.engine.dense import Dense
from arcflux.engine.loop import Loop, Options
from arcflux.engine.neighbourhoods import Neighbourhoods
from arcflux.engine.phases.calls import Phase
from arcflux.engine.phases.host import Several
from arcflux.engine.state import State
from arcflux.history import Superstep

__all__ = ["Fused", "fusing"]

Array = NDArray[Any]
# Where in a kernel's arguments its supersteps begin: behind its barrier, counters, slots, sums and history.
_COUNTERS, _CHOICE = 4, 7
# A worker spins so long at a barrier before it yields its core (spmd/barrier.py): calls shorter than this run on one
# worker.
_SPIN_SECONDS = 6e-6
# Calls in one iteration: the history of a first launch has room for several of them.
_MOST_CALLS = 64


def fusing(first: Lowered, phases: Mapping[str, Phase], state: State, options: Options) -> Fused | None:
    """The loop that runs many iterations in one launch; None if their order is not fixed, or a phase needs Python."""
    if not state.graph.vertices or state.edges.arrays or not all(map(_fits, phases.values())):
        return None
    called = [_called(each) for each in phases.values()]
    if any(shared(each.lowered) != shared(first) for each in called):
        return None
    order = fused_order(first, called, list(phases))
    if order is None or order.calls > min(_MOST_CALLS, state.totals.supersteps, options.at_once):
        return None
    return Fused(first, phases, state, options, fused(first, called, order), order.calls)


def _fits(phase: Phase) -> bool:
    """Whether a call of a phase is one kernel, after `started` at most, and needs nothing from Python."""
    loop, lowered = phase.loop, phase.state.lowered
    if type(loop) not in (Dense, Neighbourhoods) or loop.polled or lowered.totals_of("start"):
        return False
    assert isinstance(loop, Dense)
    return len(loop.ways) == 1 and not loop.push and "blocks" not in loop.ways and phase.team.kind == "threads"


def _called(phase: Phase) -> Called:
    loop, lowered = phase.loop, phase.state.lowered
    own = len(loop.arguments(0, 1)) - 3 - len(phase.state.constants)
    halves = not (lowered.in_place or lowered.direct)
    return Called(lowered, loop.made.__name__, loop.kernel.__name__, own, phase.asks, len(loop.started(0)), halves)


class Fused(Loop):
    """The loop of a kernel that runs whole iterations; its supersteps are calls of phases."""

    def __init__(
        self, first: Lowered, phases: Mapping[str, Phase], state: State, options: Options, text: str, calls: int
    ) -> None:
        team = state.team
        super().__init__(first, state.graph, cache.module(text), options, team)
        self.phases, self.names, self.calls = list(phases.values()), list(phases), calls
        self.totals, self.edges, self.constants, self.fields = state.totals, state.edges, state.constants, {}
        self.kernel = self.made.fused
        self.visits = sum(each.loop.visits for each in self.phases)
        self.brief, self.polled = all(each.loop.brief for each in self.phases), False
        self.order = team.small(options.at_once)
        self.told = team.small(8)
        self.alone = False  # whether one worker runs all calls, because they are short
        self.iterations = self.changed = self.taken = self.shown_from = 0

    def ready(self) -> None:
        """Compile the kernel."""
        self.kernel.ready(0, self.threads, np.zeros(16, np.int64), *self.arguments(0, self.calls))

    def arguments(self, first: int, last: int) -> list[Any]:
        """The kernel's arguments for this many calls at most."""
        own: list[Any] = []
        for phase in self.phases:
            loop, several = phase.loop, len(phase.state.constants)
            starting = [phase.state.graph.into.offsets, phase.state.graph.out.offsets, phase.state.active]
            starting += loop.messages if isinstance(loop, Dense) else []
            phase_arguments = loop.arguments(phase.steps, phase.steps + 1)
            own += [phase.steps, *(starting if phase.asks else [])]
            own += [*phase_arguments[:_COUNTERS], *phase_arguments[_CHOICE : len(phase_arguments) - several]]
        shared_arguments = [
            self.barrier,
            self.told,
            self.history,
            self.order,
            last - first,
            self.iterations,
            self.changed,
        ]
        return [*shared_arguments, *own, *self.constants]

    def iterate(self, iterations: int, changed: int, room: int, glance: Callable[[Array], None]) -> Several | None:
        """Run iterations as long as `room` calls are left; None if there is no room for one iteration."""
        if room < self.calls:
            return None
        self.iterations, self.changed, self.shown_from = iterations, changed, self.taken
        before = self.seconds
        rows = self.advance(self.taken, self.taken + room, glance)
        assert rows is not None
        if not self.taken and super().crew(0) == 1:
            self.alone = (self.seconds - before) / len(rows) < _SPIN_SECONDS
        self.taken += len(rows)
        order = self.order[: len(rows)]
        for k, phase in enumerate(self.phases):
            mine = rows[order == k]
            share = mine[:, 2].sum() / rows[:, 2].sum()
            phase.took(mine, share * (self.seconds - before))
        names = [self.names[k] for k in order.tolist()]
        return Several(names, int(self.told[2]), int(self.told[4]), not self.told[3])

    def crew(self, steps: int) -> int:
        """One worker at first, and as long as calls are short."""
        return 1 if self.alone else super().crew(steps)

    def done(self, last: list[float] | None) -> bool:
        """Always False: the kernel decides whether the iteration is called again."""
        return False

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a call of a phase."""
        return self.phases[int(self.order[k - self.shown_from])].loop.superstep(k, row)

    def _read(self) -> Array:
        rows = self.history[: np.count_nonzero(self.history[:, 2])].copy()
        for k, phase in enumerate(self.phases):
            if "residual" not in phase.state.lowered.functions:
                rows[self.order[: len(rows)] == k, 1] = 0.0
        return rows
