"""A kernel of many supersteps with its arguments, launched as often as needed and watched while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.compile.lower import Lowered
from arcflux.engine.state import State
from arcflux.graph import Graph
from arcflux.result import History, Superstep
from arcflux.spmd.interrupt import held
from arcflux.spmd.pool import STOP
from arcflux.spmd.team import Team

__all__ = ["Loop", "Options", "tolerance_of"]

Array = NDArray[Any]

# Supersteps of one launch: enough that a launch costs nothing, few enough that their history is small.
_AT_ONCE = 4096


@dataclass(frozen=True)
class Options:
    """How to run: "auto", "push" or "pull"; workers; the most supersteps; the most seconds.

    `push_over_pull`: what an arc is expected to cost to push over what it costs to pull, until both were measured.
    """

    direction: str
    threads: int
    limit: int
    timeout: float | None
    push_over_pull: float = 3.0


class Loop:
    """One run of a kernel. Each kind of kernel has a subclass, which knows its arguments and its history.

    `board` are the kernel's counters, `sums` its partial residuals; `choice` and `rest` are its other arguments.
    """

    kernel: Any
    board: Array
    sums: Array
    choice: list[Any]
    rest: list[Any]

    def __init__(self, lowered: Lowered, graph: Graph, made: Any, options: Options, team: Team) -> None:
        self.lowered = lowered
        self.graph = graph
        self.made = made
        self.options = options
        self.team = team
        self.threads = team.workers
        self.finished = graph.vertices == 0
        self.barrier = team.barrier()
        self.slots = team.small((2 * self.threads, 8))
        self.history = team.small((_AT_ONCE, 8), np.float64)
        self.tolerance = tolerance_of(lowered)
        self.asked = "deterministic" if lowered.pull_only else "asked for" if options.direction != "auto" else ""

    # --- what each kind says

    def prepare(self) -> None:
        """Have the graph in the form that the kernel needs; done once for each graph."""

    def extra(self) -> list[Any]:
        """The arrays besides the fields that `started` fills."""
        raise NotImplementedError

    def begin(self, state: State) -> None:
        """Set the kernel and its arguments, now that the first state is known."""
        raise NotImplementedError

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """What a row of the kernel's history says, with the seconds in the third place."""
        raise NotImplementedError

    def done(self, last: Superstep | None) -> bool:
        """Whether the run has converged with this superstep; None when none was completed."""
        return last is not None and (last.changed == 0 or last.residual < self.tolerance)

    def choose(self, steps: int) -> int:
        """Set the kernel for what comes after so many supersteps; how many of them, at most, before asking again."""
        return _AT_ONCE

    def launched(self, steps: int) -> None:
        """Look at the raw history of the supersteps from `steps` on, which all workers see alike."""

    # --- what all do

    def borrowed(self, size: int, dtype: Any) -> Array:
        """Memory for the time of the run, contents undefined."""
        return self.team.lent(size, dtype)

    def give_back(self) -> None:
        """The run is over: what was borrowed serves the next one. The history that is left of it holds no arrays."""
        self.team.end()
        self.rest = self.choice = []

    def compile(self, state: State) -> float:
        """Compile the kernel, so that a run is only a run; the seconds it took."""
        self.begin(state)
        begun = time.perf_counter()
        self.kernel.ready(0, self.threads, np.zeros(16, np.int64), *self.arguments(0, 1))
        return time.perf_counter() - begun

    def arguments(self, first: int, last: int) -> list[Any]:
        """The kernel's arguments for supersteps from `first` to before `last`."""
        shared = [self.barrier, self.board, self.slots, self.sums, self.history]
        return [*shared, first, last, *self.choice, *self.rest]

    def run(self) -> History:
        """Run; what happened in each superstep."""
        rows: list[Array] = []
        steps = 0
        limit, timeout = self.options.limit, self.options.timeout
        until = None if timeout is None else time.perf_counter() + timeout
        with trace.task(self.lowered.program.name, unit="supersteps") as task, held() as pressed:

            def over() -> bool:
                return pressed() or (until is not None and time.perf_counter() > until)

            def glance(control: Array) -> None:
                task.at(int(control[2]))
                if over():
                    control[STOP] = 1

            while not self.finished and steps < limit and not (rows and self.team.agreed(over())):
                self.team.together()
                self.history[:] = 0
                begun = time.perf_counter()
                arguments = self.arguments(steps, min(limit, steps + self.choose(steps)))
                self.team.launch(self.kernel, self.threads, *arguments, glance=glance)
                self.launched(steps)
                rows.append(self._read(time.perf_counter() - begun))
                self.finished = self.done(self.superstep(steps, rows[-1][-1].tolist()) if len(rows[-1]) else None)
                steps += len(rows[-1])
                task.at(steps)
        return History(np.concatenate(rows) if rows else self.history[:0], self.superstep)

    def _read(self, seconds: float) -> Array:
        """The history of a launch; the kernel's clock is scaled to the seconds that passed."""
        rows = self.history[: np.count_nonzero(self.history[:, 2])].copy()
        rows[:, 2] *= seconds / rows[:, 2].sum() if len(rows) else 0.0
        if "residual" not in self.lowered.functions:
            rows[:, 1] = 0.0
        return rows


def tolerance_of(lowered: Lowered) -> float:
    """Below which residual a run has converged: the program's parameter `tolerance`, if it has a residual at all."""
    parameter = lowered.program.parameters.get("tolerance")
    return float(parameter.value) if parameter is not None and "residual" in lowered.functions else -1.0
