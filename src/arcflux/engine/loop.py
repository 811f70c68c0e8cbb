"""A kernel of many supersteps with its arguments, launched as often as needed and watched while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcflux import trace
from arcflux.compile.lower import Lowered, fact
from arcflux.compile.pieces.source import has_long_loops
from arcflux.engine.call import note_interrupt
from arcflux.engine.state import State
from arcflux.graph import Graph
from arcflux.result import History, Superstep
from arcflux.spmd.interrupt import current_token, held
from arcflux.spmd.pool import BRIEF, BRIEF_VISITS, STOP, TORN
from arcflux.spmd.team import Team
from arcflux.spmd.turns import current_turns

__all__ = ["Loop", "Options", "Piece", "ending", "seconds_of", "stopping", "tolerance_of"]

Array = NDArray[Any]

# Supersteps per launch: enough that launching costs nothing, few enough that their history is small. And of the first
# launch, which is all that most runs need.
_AT_ONCE = 4096
_AT_FIRST = 256
# The column of the history in which kernels record that the program's `stop` ended the run.
_STOPPED = 7
# A brief launch runs in the calling thread, unwatched, for at most this many seconds.
_BRIEF_SECONDS = 0.1
# Waking the other workers takes about so long: a run that would end sooner uses one worker.
_WAKING_SECONDS = 2e-4
# Arcs and vertices that one worker visits in about that time.
_FEW_VISITS = 1 << 18
# Seconds between the two launches that calibrate ticks: less than a tenth of them lies between Python's clock and a
# kernel's first superstep.
_APART = 5e-3
# How many of a launch's last supersteps are shown to the watcher of a run.
_SHOWN = 64


@dataclass
class Piece:
    """One piece of a run that is executed in pieces (checkpoint.py): its first superstep, and the `totals` before it.

    When it ends, `senders` are the vertices that send next; None if all do.
    """

    first: int = 0
    totals: Mapping[str, Any] = field(default_factory=dict)
    senders: Array | None = None


@dataclass(frozen=True)
class Options:
    """How to run: direction ("auto", "push" or "pull"), workers, and the limits of supersteps and seconds.

    `push_over_pull`: the expected cost of pushing an arc relative to pulling it, until both were measured; `at_once`:
    the most supersteps of one launch; `piece`: which piece of the run it is, None if it is all of it.
    """

    direction: str
    threads: int
    limit: int
    timeout: float | None
    push_over_pull: float = 3.0
    at_once: int = _AT_ONCE
    piece: Piece | None = None

    @property
    def first(self) -> int:
        """The superstep that the run begins with."""
        return 0 if self.piece is None else self.piece.first


@fact
def _polled(lowered: Lowered) -> bool:
    """Whether a function of the program has a loop that may be long."""
    return any(has_long_loops(lowered, name) for name in lowered.functions)


class _Clock:
    """The clock of kernels: its ticks a second, measured between two launches; 0 before that."""

    rate = 0.0
    first: tuple[int, float] | None = None

    def note(self, ticks: int, seconds: float) -> None:
        """Record that a launch began at this tick, and at this time of Python's clock."""
        if self.first is None:
            self.first = ticks, seconds
        elif seconds - self.first[1] > _APART:
            self.rate = (ticks - self.first[0]) / (seconds - self.first[1])


_clock = _Clock()


def seconds_of(ticks: float) -> float:
    """The seconds of this many kernel ticks; infinite until the clock is calibrated."""
    return ticks / _clock.rate if _clock.rate else math.inf


def _seconds_waited() -> float:
    """Seconds that this thread's run has waited for its turns, where other jobs share the cores."""
    turns = current_turns()
    return 0.0 if turns is None else turns.waited


class Loop:
    """One run of a kernel. Each kind of program has a subclass that knows its kernel's arguments and history.

    `board` holds the kernel's counters, `sums` its partial residuals; `choice` and `rest` are its other arguments.
    `shrinks`: whether a launch may have fewer workers than the one before it; `changed_at`: the column of the history
    that counts changed vertices.
    """

    shrinks = True
    changed_at = 0
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
        self.history = team.small((min(_AT_FIRST, options.at_once), 8), np.float64)
        # When the run, or the call of a phase, was first launched, and with which superstep.
        self.first_launch: float | None = None
        self.first_step = self.steps = options.first
        self.fresh = True  # the history has no rows yet
        self.seconds = 0.0  # of all launches
        self.tolerance = tolerance_of(lowered)
        # An interrupted superstep is undone, so programs with long loops execute one superstep per launch.
        self.polled = _polled(lowered)
        widest = max([length or 1 for _, length in lowered.fields.values()], default=1)
        self.visits = widest * (graph.arcs + graph.vertices)
        self.brief = not self.polled and self.visits <= BRIEF_VISITS
        self.stopped, self.torn, self.first_tick = False, False, 0
        self.asked = lowered.pull_reason if lowered.pull_only else "asked for" if options.direction != "auto" else ""

    # --- what each kind of loop defines

    def prepare(self) -> None:
        """Build the form of the graph that the kernel needs; once per graph."""

    def extra(self) -> list[Any]:
        """The arrays besides the fields that the kernel `started` fills."""
        raise NotImplementedError

    def begin(self, state: State) -> None:
        """Set the kernel and its arguments."""
        raise NotImplementedError

    def started(self, step: int) -> list[Any]:
        """The arrays of `extra` as `started` fills them before a superstep."""
        raise NotImplementedError

    def refill(self, state: State, step: int) -> None:
        """Prepare a superstep from what `started` computed: the active vertices and their messages."""

    def senders(self) -> Array | None:
        """The vertices that send next, after the run has ended; None if all do."""
        return None

    def superstep(self, k: int, row: list[float]) -> Superstep:
        """The history entry of a row of the kernel's history, with the seconds in its third column."""
        raise NotImplementedError

    def columns(self, rows: Array) -> Mapping[str, Array | float]:
        """The history of all supersteps, by name."""
        return {"frontier": rows[:, 0], "residual": rows[:, 1], "seconds": rows[:, 2], "pull": rows[:, 3] == 2}

    def done(self, last: list[float] | None) -> bool:
        """Whether the run has converged with the superstep of this row; None if none was completed."""
        return last is not None and (last[self.changed_at] == 0 or last[1] < self.tolerance)

    def choose(self, steps: int) -> int:
        """Choose the kernel after this many supersteps; returns how many to run at most before choosing again."""
        return self.options.at_once

    def crew(self, steps: int) -> int:
        """How many workers to launch after this many supersteps: one at first, if it ends before others wake."""
        return 1 if self.visits <= _FEW_VISITS and self.team.kind == "threads" and not steps else self.threads

    def launched(self, steps: int) -> None:
        """After a launch: look at the raw history of its supersteps from `steps` on; all workers see the same rows."""

    # --- what all loops share

    def begin_call(self, step: int) -> None:
        """A phase is called again: like a run, its first launch may be brief and run on one worker."""
        self.first_launch, self.first_step = None, step

    def borrowed(self, size: int, dtype: Any) -> Array:
        """Memory for the duration of the run, contents undefined."""
        return self.team.lent(size, dtype)

    def give_back(self) -> None:
        """Release borrowed memory for the next run. The history of this run refers to none of it."""
        self.team.end()
        self.rest = self.choice = []
        self.fields: dict[str, Array] = {}

    def start(self, state: State) -> float:
        """Run the program's `start` on every vertex; returns the seconds spent compiling."""
        extra = self.extra()
        if self.options.first:
            extra = self.started(self.options.first)
        if self.brief and self.team.kind == "threads":
            return state.start(self.made, extra, brief=True)
        with stopping(self.options, self.team.agreed) as over:
            compiled = state.start(self.made, extra, self.watched(over) if self.polled else None)
            self.stopped = self.polled and self.team.agreed(over())
        if self.torn:
            state.reset()
        return compiled

    def compile(self, state: State) -> float:
        """Compile the kernel before the run; returns the seconds it took."""
        self.begin(state)
        self.refill(state, self.options.first)
        self.fields, self.totals = {**state.fields, **state.edges.undone}, state.totals
        self.edges = state.edges
        return state.compile(self.kernel, lambda: self.arguments(0, 1))

    def arguments(self, first: int, last: int) -> list[Any]:
        """The kernel's arguments for supersteps from `first` to before `last`."""
        shared = [self.barrier, self.board, self.slots, self.sums, self.history]
        return [*shared, first, last, *self.choice, *self.rest]

    def run(self) -> History:
        """Run all supersteps; returns their history."""
        rows: list[Array] = []
        steps = self.steps
        limit = 0 if self.stopped else self.options.limit
        self.team.at(steps)
        with (
            trace.task(self.lowered.program.name, unit="supersteps") as task,
            stopping(self.options, self.team.agreed) as over,
        ):
            glance = self.watched(over, task)
            while not self.finished and steps < limit and not (rows and self.team.agreed(over())):
                launch_rows = self.advance(steps, limit, glance)
                if launch_rows is None:
                    break
                rows.append(launch_rows)
                steps += len(launch_rows)
                self.team.at(steps)
                task.at(steps)
        self.steps = steps
        return History(self.past(rows), self.superstep, self.columns, self.totals.history)

    def _stops(self, rows: Array) -> bool:
        """Whether the program's `stop` ended the run in the last of these supersteps."""
        return "stop" in self.lowered.functions and len(rows) > 0 and bool(rows[-1, _STOPPED])

    def advance(self, first: int, limit: int, glance: Callable[[Array], None]) -> Array | None:
        """Launch supersteps from `first` on, before `limit`; returns their history, None if it was undone."""
        self.team.together()
        if not self.fresh:
            self._clear_history()
        self.fresh = False
        begun = time.perf_counter()
        if self.first_launch is None:
            self.first_launch = begun
        some = min(self.choose(first), 1 if self.polled else self.totals.supersteps, len(self.history))
        self.edges.begin(self.lowered, first)
        arguments = self.arguments(first, min(limit, first + some))
        before = self.saved()
        since = first - self.first_step
        brief = self._brief_ticks(since) if self._may_be_brief(begun) else 0
        crew = self.crew(since) if brief or since else self.threads
        waited = _seconds_waited()
        self.team.launch(self.kernel, crew, *arguments, glance=glance, ends=True, brief=brief, shrinks=self.shrinks)
        begun += _seconds_waited() - waited
        if self.torn:
            self.restore(before)
            return None
        if self.first_tick:
            _clock.note(self.first_tick, begun)
        self.launched(first)
        launch_rows = self._read()
        seconds = time.perf_counter() - begun
        self.seconds += seconds
        self._show_last(first, launch_rows, seconds)
        self.finished = self.done(launch_rows[-1].tolist() if len(launch_rows) else None)
        self.finished = self.finished or self._stops(launch_rows)
        self.totals.advance(len(launch_rows))
        self.edges.advance(self.lowered, len(launch_rows))
        return launch_rows

    def _show_last(self, first: int, taken: Array, seconds: float) -> None:
        """Show the last supersteps of a launch to the watcher of this run."""
        turns = current_turns()
        if turns is None or not len(taken):
            return
        shown = taken[-_SHOWN:].copy()
        shown[:, 2] *= seconds / taken[:, 2].sum()
        number = first + len(taken) - len(shown)
        turns.saw(number, [self.superstep(number + k, row) for k, row in enumerate(shown.tolist())])

    def _clear_history(self) -> None:
        """Clear the history for another launch, and grow it to its full size."""
        if len(self.history) < self.options.at_once:
            self.history = self.team.small((self.options.at_once, 8), np.float64)
        self.history[:] = 0

    def _may_be_brief(self, begun: float) -> bool:
        """Whether a launch that begins now may be brief: only in the first moments of a run."""
        return self.first_launch is not None and begun - self.first_launch < _BRIEF_SECONDS

    def _brief_ticks(self, steps: int) -> int:
        """After how many ticks an unwatched launch should end; 0 if it has to be watched.

        The first launches of a process are watched, and calibrate the length of a tick.
        """
        seconds = _BRIEF_SECONDS if steps or self.crew(steps) == self.threads else _WAKING_SECONDS
        watched = ending(self.options) is not None and current_turns() is None  # turns end launches, too
        return int(seconds * _clock.rate) if self.brief and not watched else 0

    def watched(self, over: Callable[[], bool], task: trace.Task | None = None) -> Callable[[Array], None]:
        """The callback that watches a launch: reports progress, ends it with the run, notices a torn superstep."""

        def glance(control: Array) -> None:
            if task is not None:
                task.at(int(control[2]))
            if over():
                control[STOP] = 1
            self.torn, self.first_tick = bool(control[TORN]), int(control[BRIEF + 1])

        return glance

    def saved(self) -> dict[str, Array]:
        """Copies of the fields, if a superstep may have to be undone."""
        return {name: array.copy() for name, array in self.fields.items()} if self.polled and self.team.leads else {}

    def restore(self, before: dict[str, Array]) -> None:
        """Restore the fields to before the superstep."""
        for name, values in before.items():
            self.fields[name][:] = values
        self.team.together()

    def past(self, launches: list[Array]) -> Array:
        """The history of all launches, with the ticks of supersteps scaled to the measured seconds."""
        rows = np.concatenate(launches) if launches else self.history[:0].copy()
        rows[:, 2] *= self.seconds / rows[:, 2].sum() if len(rows) else 0.0
        return rows

    def _read(self) -> Array:
        """The history of a launch, with ticks in the column of seconds."""
        rows = self.history[: np.count_nonzero(self.history[:, 2])].copy()
        if "residual" not in self.lowered.functions:
            rows[:, 1] = 0.0
        return rows


@contextmanager
def stopping(options: Options, agreed: Callable[[bool], bool] = bool) -> Iterator[Callable[[], bool]]:
    """Whether a run should end, by Ctrl-C, its token or its timeout; a second Ctrl-C interrupts at once.

    `agreed` says whether Ctrl-C was pressed on any rank: all ranks have the same result and end the same way.
    """
    ended = ending(options) or (lambda: False)
    with held() as pressed:
        yield lambda: pressed() or ended()
        if agreed(pressed()):
            note_interrupt()


def ending(options: Options) -> Callable[[], bool] | None:
    """Whether a run that begins now should end, by its token or its timeout; None if it has neither."""
    token, timeout, begun = current_token(), options.timeout, time.perf_counter()
    if token is None and timeout is None:
        return None
    return lambda: (
        (token is not None and token.cancelled) or (timeout is not None and time.perf_counter() > begun + timeout)
    )


def tolerance_of(lowered: Lowered) -> float:
    """The residual below which a run has converged: the program's parameter `tolerance`, if it computes a residual."""
    parameter = lowered.program.parameters.get("tolerance")
    return float(parameter.value) if parameter is not None and "residual" in lowered.functions else -1.0
